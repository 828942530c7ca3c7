"""Our values beside the published ones: Figure 2, Table 2 and Figure 1."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from qrt.text.page import picture_of, tag
from qrt.text.words import count, counted, is_missing, listed, number, p_value, two_decimals
from qrt_study.pages.block import Block, Page, bullets, filtered, page, part, values, words, written
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import numbers, plain, range_of, with_error, yes_or_no
from qrt_study.statistics.agreement import LEVEL, Agreement, outliers

CRITERION = (
    "The criterion is the usual one for a replication: from our mean and both standard errors follows a 95 % "
    "prediction interval for the published value (Student's t with Welch's degrees of freedom, since each error comes "
    "from about five splits). The p-value is that of the Q-test, the test of two studies for one common value; Holm's "
    "correction is over the datasets of a method. If both studies measured the same, one published value in twenty "
    "would still lie outside, and the p-values in order would follow the diagonal."
)
WARNINGS = (
    "Both studies use the same splits. What a split does to both of them is counted in both standard errors, though it "
    "cancels in their distance: the test is conservative, and fewer than one in twenty outside is no surprise.",
    "Wide published errors make agreement cheap: where the interval also holds 0, a published difference of nothing "
    "would have agreed as well.",
)
CARRIED_REMARK = (
    "Here the published difference is as large as its standard error. That is what one split gives whose value is far "
    "from all others: the published mean is that split's, divided by five. Such a mean says little of the dataset, "
    "agreement with it is cheap, and medians tell more of ours."
)
TIME_REMARK = (
    "Time per epoch of QRTC divided by that of BASE. Seconds of different machines cannot be compared, their ratio "
    "can. The published times are divided by the selected epoch, and QRTC as published computes each batch twice "
    "(docs/protocol.md, rows 10 and 19)."
)
FIGURE1_REMARK = (
    "Means over splits at each split's own selected epoch, on validation rows of the standardised target; epochs are "
    "counted from 1. The published marks have no standard errors."
)
WHAT_THE_PAGE_DOES = (
    "With the paper's datasets and full training, this page sets our results beside the numbers that the paper "
    "publishes. There is nothing to compare in a demonstration: its networks are trained for a few epochs, or on data "
    "that the paper does not have. Run the study of config.yaml, and this page shows:"
)
CONTENTS = (
    "Figure 2: for each of the 44 non-discrete datasets, whether the published difference of NLL between QRTC (or QRC) "
    "and BASE is inside the 95 % prediction interval that our result gives for it, with the p-value of the distance, "
    "uncorrected and corrected over datasets, and our means with each split left out.",
    "Table 2: our ratio of the training times of QRTC and BASE beside the published one.",
    "Figure 1: our values at the selected epoch on Yacht and NYC taxi beside the published marks.",
)
_METRICS = {
    "nll_recalibrated": "NLL of F'",
    "nll_base": "NLL of F",
    "alpha_entropy_pit": "entropy term α H(Z)",
    "pce": "PCE of F'",
}


_POINTS = (
    plain("Dataset", "dataset"),
    plain("Method", "method"),
    with_error("Ours", "ours"),
    numbers("Our median", "ours_median"),
    range_of("Ours without one split", "without_one_low", "without_one_high"),
    with_error("Published", "published"),
    range_of("Interval for the published", "interval_low", "interval_high"),
    plain("Inside", "inside", yes_or_no),
    numbers("p-value", "p_value", lambda value: number(value, 2)),
    numbers("Holm", "p_holm", lambda value: number(value, 2)),
    plain("Same sign", "same_sign", yes_or_no),
)
_CARRIED = (
    plain("Dataset", "dataset"),
    plain("Method", "method"),
    with_error("Published", "published"),
    with_error("Our mean", "ours"),
    numbers("Our median", "ours_median"),
    range_of("Ours without one split", "without_one_low", "without_one_high"),
)
_RATIOS = (
    plain("Dataset", "dataset"),
    numbers("Ours", "ours", two_decimals),
    numbers("Published", "published", two_decimals),
    numbers("Ours / published", "quotient", two_decimals),
)
_MARKS = (
    plain("Dataset", "dataset"),
    plain("Metric", "metric", lambda value: _METRICS.get(value, value)),
    plain("Method", "method"),
    with_error("Ours", "ours"),
    numbers("Published", "published"),
    numbers("Difference", "difference"),
    numbers("Our epoch", "our_epoch"),
    numbers("Published epoch", "published_epoch"),
)
_ORDERS = (
    plain("Dataset", "dataset"),
    plain("Metric", "metric", lambda value: _METRICS.get(value, value)),
    plain("Our order, lowest first", "our_order"),
    plain("Published order", "published_order"),
    plain("Same", "same_order", yes_or_no),
)


def summary_sentences(figure2: Agreement) -> list[str]:
    """What Figure 2 comes to, one sentence per method."""
    sentences = []
    for row in figure2.summary.to_dict("records"):
        told = []
        if row["tested"]:
            told += [
                f"the published value is inside our 95 % prediction interval on {row['inside']} of "
                f"{counted(row['tested'], 'dataset')} (outside: {row['outside']}, to be expected if both measure the "
                f"same: {number(row['expected_outside'], 2)}; after Holm's correction: {row['outside_after_holm']})",
                f"the interval also holds 0 on {row['holds_zero']}",
            ]
        told.append(f"the same sign on {row['same_sign']} of {row['datasets']}")
        if not is_missing(row["spearman"]):
            told.append(f"rank correlation {number(row['spearman'], 2)} ({p_value(row['spearman_p'])})")
        told.append(f"median absolute difference {number(row['median_absolute_difference'], 2)}")
        sentences.append(f"{row['method']}: {'; '.join(told)}.")
    return sentences


def outlier_sentence(figure2: Agreement) -> str:
    """Which published values lie outside of the prediction interval."""
    far = outliers(figure2.points)
    if far.empty:
        return "No published value lies outside of its prediction interval." if len(figure2.points) else ""
    names = [
        f"{row['dataset']} ({row['method']}, {p_value(row['p_value'])}"
        f"{', also after Holm' if row['p_holm'] < LEVEL else ''})"
        for row in far.to_dict("records")
    ]
    return f"Outside: {listed(names)}."


def carried(figure2: Agreement) -> pd.DataFrame:
    """The points where a single split carries the published mean."""
    return figure2.points[figure2.points["single_split"].astype(bool)]


def time_sentence(times: Agreement) -> str:
    """What Table 2 comes to."""
    if times.summary.empty:
        return ""
    row = times.summary.iloc[0]
    correlation = (
        ""
        if is_missing(row["spearman"])
        else f"; rank correlation {number(row['spearman'], 2)} ({p_value(row['spearman_p'])})"
    )
    return (
        f"Median ratio {number(row['median_ours'])}, published {number(row['median_published'])}, on the "
        f"{count(row['datasets'])} common datasets; typically a factor of {number(row['median_factor'])} "
        f"apart{correlation}."
    )


def agreement_page(
    figure2: Agreement, times: Agreement, figure1: Agreement, study: StudyWords, picture: bytes = b""
) -> Page:
    """The page. `picture` is the PNG of `qrt_study.figures.agreement.draw_agreement`; it becomes part of the page."""
    if study.demonstration:
        return page("Agreement", "", study, words(WHAT_THE_PAGE_DOES), bullets(CONTENTS))
    return page(
        "Agreement",
        "Our results beside the numbers that the paper publishes.",
        study,
        part("figure2", "Figure 2: difference of NLL to BASE", words(figure2.note), *_figure2(figure2, picture)),
        part("table2", "Table 2: ratio of training times", words(times.note), *_times(times)),
        part("figure1", "Figure 1: values at the selected epoch", words(figure1.note), *_figure1(figure1)),
    )


def _figure2(figure2: Agreement, picture: bytes) -> Iterator[Block]:
    points = figure2.points
    if not len(points):
        return
    yield bullets(summary_sentences(figure2))
    yield words(outlier_sentence(figure2))
    if picture:
        shown = "Our differences to BASE against the published ones, and the p-values of their distances in order"
        yield Block(picture_of(picture, shown))
    yield words(CRITERION)
    yield bullets(WARNINGS, class_="remark")
    if len(carried(figure2)):
        yield Block(tag("h3", "Where a single split carries the published mean"))
        yield words(CARRIED_REMARK)
        caption, short = "Means and medians, test NLL minus that of BASE", "A single split carries the published mean"
        yield values("carried", carried(figure2), _CARRIED, caption, written=short)
    yield Block(tag("h3", "All datasets"))
    facts = {"inside": points["inside"].map(yes_or_no), "sign": points["same_sign"].map(yes_or_no)}
    buttons = [("inside", "no", "outside"), ("sign", "no", "other sign")]
    caption = "Test NLL minus that of BASE, per dataset"
    yield filtered("points", points, _POINTS, caption, facts, buttons)


def _times(times: Agreement) -> Iterator[Block]:
    if len(times.points):
        yield words(time_sentence(times))
        yield words(TIME_REMARK, class_="remark")
        yield values("times", times.points, _RATIOS, "QRTC / BASE, time per epoch")


def _figure1(figure1: Agreement) -> Iterator[Block]:
    if len(figure1.points):
        same = int(figure1.summary["same_order"].sum())
        told = f"The methods have the same order in {same} of {len(figure1.summary)} panels."
        caption = "Order of the methods at the selected epoch"
        yield words(told, written=False)
        yield written(FIGURE1_REMARK)
        yield values("orders", figure1.summary, _ORDERS, caption, written="Order of the methods")
        yield words(FIGURE1_REMARK, written=False, class_="remark")
        yield values("marks", figure1.points, _MARKS, "Values at the selected epoch")
