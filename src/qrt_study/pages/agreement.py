"""Our values beside the published ones: Figure 2, Table 2 and Figure 1."""

from __future__ import annotations

import pandas as pd

from qrt.text.formats import escape_markdown
from qrt.text.page import Html, document, filters, paragraph, picture_of, section, tag
from qrt.text.words import count, counted, is_missing, listed, number, p_value, two_decimals
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import (
    Shown,
    markdown_table,
    numbers,
    plain,
    range_of,
    value_table,
    with_error,
    yes_or_no,
)
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
_TIMES = (
    plain("Dataset", "dataset"),
    numbers("Ours", "ours", two_decimals),
    numbers("Published", "published", two_decimals),
    numbers("Ours / published", "quotient", two_decimals),
)
_FIGURE1 = (
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
        words = []
        if row["tested"]:
            words += [
                f"the published value is inside our 95 % prediction interval on {row['inside']} of "
                f"{counted(row['tested'], 'dataset')} (outside: {row['outside']}, to be expected if both measure the "
                f"same: {number(row['expected_outside'], 2)}; after Holm's correction: {row['outside_after_holm']})",
                f"the interval also holds 0 on {row['holds_zero']}",
            ]
        words.append(f"the same sign on {row['same_sign']} of {row['datasets']}")
        if not is_missing(row["spearman"]):
            words.append(f"rank correlation {number(row['spearman'], 2)} ({p_value(row['spearman_p'])})")
        words.append(f"median absolute difference {number(row['median_absolute_difference'], 2)}")
        sentences.append(f"{row['method']}: {'; '.join(words)}.")
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
) -> str:
    """The page. `picture` is the PNG of `qrt_study.figures.agreement.draw_agreement`; it becomes part of the page."""
    if study.demonstration:
        contents = tag("ul", *(tag("li", line) for line in CONTENTS))
        return document(
            "Agreement", "", paragraph(WHAT_THE_PAGE_DOES), contents,
            file="agreement.html", pages=study.pages, demonstration=study.demonstration,
        )  # fmt: skip
    lede = f"Our results beside the numbers that the paper publishes. Protocol: {study.protocol}. {study.basis}."
    return document(
        "Agreement",
        lede,
        _figure2_section(figure2, picture),
        _times_section(times),
        _figure1_section(figure1),
        file="agreement.html",
        pages=study.pages,
    )


def _figure2_section(figure2: Agreement, picture: bytes) -> Html:
    parts: list[Html] = _note(figure2)
    if len(figure2.points):
        parts.append(tag("ul", *(tag("li", sentence) for sentence in summary_sentences(figure2))))
        parts.append(paragraph(outlier_sentence(figure2)))
        if picture:
            words = "Our differences to BASE against the published ones, and the p-values of their distances in order"
            parts.append(picture_of(picture, words))
        parts.append(paragraph(CRITERION))
        parts.append(tag("ul", *(tag("li", warning) for warning in WARNINGS), class_="remark"))
        if len(carried(figure2)):
            parts.append(tag("h3", "Where a single split carries the published mean"))
            parts.append(paragraph(CARRIED_REMARK))
            parts.append(
                value_table("carried", carried(figure2), _CARRIED, "Means and medians, test NLL minus that of BASE")
            )
        parts.append(tag("h3", "All datasets"))
        parts.append(filters("points", "datasets", [("inside", "no", "outside"), ("sign", "no", "other sign")]))
        facts = [
            {"inside": yes_or_no(row["inside"]), "sign": yes_or_no(row["same_sign"])}
            for row in figure2.points.to_dict("records")
        ]
        parts.append(value_table("points", figure2.points, _POINTS, "Test NLL minus that of BASE, per dataset", facts))
    return section("figure2", "Figure 2: difference of NLL to BASE", *parts)


def _times_section(times: Agreement) -> Html:
    parts = _note(times)
    if len(times.points):
        parts.append(paragraph(time_sentence(times)))
        parts.append(paragraph(TIME_REMARK, class_="remark"))
        parts.append(value_table("times", times.points, _TIMES, "QRTC / BASE, time per epoch"))
    return section("table2", "Table 2: ratio of training times", *parts)


def _figure1_section(figure1: Agreement) -> Html:
    parts = _note(figure1)
    if len(figure1.points):
        same = int(figure1.summary["same_order"].sum())
        parts.append(paragraph(f"The methods have the same order in {same} of {len(figure1.summary)} panels."))
        parts.append(value_table("orders", figure1.summary, _ORDERS, "Order of the methods at the selected epoch"))
        parts.append(paragraph(FIGURE1_REMARK, class_="remark"))
        parts.append(value_table("marks", figure1.points, _FIGURE1, "Values at the selected epoch"))
    return section("figure1", "Figure 1: values at the selected epoch", *parts)


def _note(agreement: Agreement) -> list[Html]:
    return [paragraph(agreement.note)] if agreement.note else []


def agreement_markdown(figure2: Agreement, times: Agreement, figure1: Agreement, study: StudyWords) -> str:
    """The page as Markdown."""
    if study.demonstration:
        lines = ["# Agreement", "", f"**{study.demonstration}**", "", WHAT_THE_PAGE_DOES, ""]
        return "\n".join([*lines, *(f"- {line}" for line in CONTENTS), ""])
    lines = ["# Agreement", "", f"Protocol: {escape_markdown(study.protocol)}. {study.basis}.", ""]
    lines += ["## Figure 2: difference of NLL to BASE", ""]
    if len(figure2.points):
        lines += [f"- {escape_markdown(sentence)}" for sentence in summary_sentences(figure2)]
        lines += ["", escape_markdown(outlier_sentence(figure2)), "", CRITERION, ""]
        lines += [*(f"- {warning}" for warning in WARNINGS), ""]
        if len(carried(figure2)):
            lines += [CARRIED_REMARK, ""]
            lines.append(markdown_table(carried(figure2), _CARRIED, "A single split carries the published mean"))
    lines += _markdown_table(figure2, figure2.points, _POINTS, "Test NLL minus that of BASE, per dataset")
    lines += ["## Table 2: ratio of training times", ""]
    if len(times.points):
        lines += [time_sentence(times), "", TIME_REMARK, ""]
    lines += _markdown_table(times, times.points, _TIMES, "QRTC / BASE, time per epoch")
    lines += ["## Figure 1: values at the selected epoch", ""]
    if len(figure1.points):
        lines += [FIGURE1_REMARK, "", markdown_table(figure1.summary, _ORDERS, "Order of the methods")]
    lines += _markdown_table(figure1, figure1.points, _FIGURE1, "Values at the selected epoch")
    return "\n".join(lines)


def _markdown_table(agreement: Agreement, values: pd.DataFrame, shown: tuple[Shown, ...], caption: str) -> list[str]:
    note = [escape_markdown(agreement.note), ""] if agreement.note else []
    return note + ([markdown_table(values, shown, caption)] if len(values) else [])
