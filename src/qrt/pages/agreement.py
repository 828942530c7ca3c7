"""Our values beside the published ones: Figure 2, Table 2 and Figure 1."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pandas as pd

from qrt.pages.page import Cell, Column, Content, Html, Row, document, filters, paragraph, section, table, tag
from qrt.pages.study_words import StudyWords
from qrt.statistics.agreement import Agreement, outliers
from qrt.text.formats import escape_markdown, to_markdown
from qrt.text.words import count, is_missing, listed, number, p_value, text, two_decimals

REMARK = (
    "Both studies use the same splits, so standard errors over splits leave out the share of the random initial "
    "weights. Measured in this project: other seeds on the same splits move the mean difference by a standard "
    "deviation of 0.11 on CPU and 0.07 on Yacht. So some points beyond two joint standard errors are to be expected."
)
TIME_REMARK = (
    "Time per epoch of QRTC divided by that of BASE. Seconds of different machines cannot be compared, their ratio "
    "can. The published times are divided by the selected epoch."
)
FIGURE1_REMARK = (
    "Means over splits at each split's own selected epoch, on validation rows of the standardised target; epochs are "
    "counted from 1. The published marks have no standard errors."
)
_METRICS = {
    "nll_recalibrated": "NLL of F'",
    "nll_base": "NLL of F",
    "alpha_entropy_pit": "entropy term α H(Z)",
    "pce": "PCE of F'",
}
# Tables as (heading, column, how to write it); a column that is written as a number is sorted as one.
_Shown = tuple[tuple[str, str, Any], ...]
_NUMBERS = (number, two_decimals)
_POINTS: _Shown = (
    ("Dataset", "dataset", text),
    ("Method", "method", text),
    ("Ours", "ours", number),
    ("Standard error", "ours_standard_error", number),
    ("Published", "published", number),
    ("Its standard error", "published_standard_error", number),
    ("z", "z", two_decimals),
    ("Same sign", "same_sign", lambda value: "yes" if value else "no"),
    ("Within two", "within_two", lambda value: "" if is_missing(value) else "yes" if value else "no"),
)
_TIMES: _Shown = (
    ("Dataset", "dataset", text),
    ("Ours", "ours", two_decimals),
    ("Published", "published", two_decimals),
    ("Ours / published", "quotient", two_decimals),
)
_FIGURE1: _Shown = (
    ("Dataset", "dataset", text),
    ("Metric", "metric", lambda value: _METRICS.get(value, value)),
    ("Method", "method", text),
    ("Ours", "ours", number),
    ("Standard error", "ours_standard_error", number),
    ("Published", "published", number),
    ("Difference", "difference", number),
    ("Our epoch", "our_epoch", number),
    ("Published epoch", "published_epoch", number),
)
_ORDERS: _Shown = (
    ("Dataset", "dataset", text),
    ("Metric", "metric", lambda value: _METRICS.get(value, value)),
    ("Our order, lowest first", "our_order", text),
    ("Published order", "published_order", text),
    ("Same", "same_order", lambda value: "yes" if value else "no"),
)


def summary_sentences(figure2: Agreement) -> list[str]:
    """What Figure 2 comes to, one sentence per method."""
    sentences = []
    for row in figure2.summary.to_dict("records"):
        words = [f"{row['method']}: the same sign on {row['same_sign']} of {row['datasets']} datasets"]
        if row["with_standard_errors"]:
            words.append(f"within two joint standard errors on {row['within_two']} of {row['with_standard_errors']}")
        if not is_missing(row["spearman"]):
            words.append(f"rank correlation {number(row['spearman'], 2)} ({p_value(row['spearman_p'])})")
        words.append(f"median absolute difference {number(row['median_absolute_difference'], 2)}")
        sentences.append("; ".join(words) + ".")
    return sentences


def outlier_sentence(figure2: Agreement) -> str:
    """Which points lie more than two joint standard errors apart."""
    far = outliers(figure2.points)
    if far.empty:
        return (
            "No point lies more than two joint standard errors from the published one." if len(figure2.points) else ""
        )
    names = [f"{row['dataset']} ({row['method']}, z = {number(row['z'], 2)})" for row in far.to_dict("records")]
    return f"More than two joint standard errors apart: {listed(names)}."


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
    """The page. `picture` is the PNG of `qrt.figures.agreement.draw_agreement`; it becomes part of the page."""
    lede = f"Our results beside the numbers that the paper publishes. Protocol: {study.protocol}. {study.basis}."
    return document(
        "Agreement",
        lede,
        _figure2_section(figure2, picture),
        _times_section(times),
        _figure1_section(figure1),
        file="agreement.html",
    )


def _figure2_section(figure2: Agreement, picture: bytes) -> Html:
    parts: list[Html] = _note(figure2)
    if len(figure2.points):
        parts.append(tag("ul", *(tag("li", sentence) for sentence in summary_sentences(figure2))))
        if picture:
            source = f"data:image/png;base64,{b64encode(picture).decode()}"
            words = "Scatter plot of our differences to BASE against the published ones"
            parts.append(tag("figure", tag("img", src=source, alt=words), class_="picture"))
        parts.append(paragraph(outlier_sentence(figure2)))
        parts.append(paragraph(REMARK, class_="remark"))
        parts.append(filters("points", "datasets", [("far", "yes", "outliers"), ("sign", "no", "other sign")]))
        facts = [
            {"far": "yes" if abs(row["z"]) > 2 else "no", "sign": "yes" if row["same_sign"] else "no"}
            for row in figure2.points.to_dict("records")
        ]
        parts.append(_table("points", figure2.points, _POINTS, "Test NLL minus that of BASE, per dataset", facts))
    return section("figure2", "Figure 2: difference of NLL to BASE", *parts)


def _times_section(times: Agreement) -> Html:
    parts = _note(times)
    if len(times.points):
        parts.append(paragraph(time_sentence(times)))
        parts.append(paragraph(TIME_REMARK, class_="remark"))
        parts.append(_table("times", times.points, _TIMES, "QRTC / BASE, time per epoch"))
    return section("table2", "Table 2: ratio of training times", *parts)


def _figure1_section(figure1: Agreement) -> Html:
    parts = _note(figure1)
    if len(figure1.points):
        same = int(figure1.summary["same_order"].sum())
        parts.append(paragraph(f"The methods have the same order in {same} of {len(figure1.summary)} panels."))
        parts.append(_table("orders", figure1.summary, _ORDERS, "Order of the methods at the selected epoch"))
        parts.append(paragraph(FIGURE1_REMARK, class_="remark"))
        parts.append(_table("marks", figure1.points, _FIGURE1, "Values at the selected epoch"))
    return section("figure1", "Figure 1: values at the selected epoch", *parts)


def _note(agreement: Agreement) -> list[Html]:
    return [paragraph(agreement.note)] if agreement.note else []


def _table(
    name: str, values: pd.DataFrame, shown: _Shown, caption: str, facts: list[dict[str, str]] | None = None
) -> Html:
    columns = [
        Column(heading, "number", "number") if write in _NUMBERS else Column(heading, look="" if place else "lead")
        for place, (heading, _, write) in enumerate(shown)
    ]
    rows = []
    for place, record in enumerate(values.to_dict("records")):
        cells: list[Cell | Content] = []
        for _, column, write in shown:
            value = record[column]
            key = None if write not in _NUMBERS else "" if is_missing(value) else float(value)
            cells.append(Cell(write(value), key))
        rows.append(Row(cells, facts=facts[place] if facts else {}))
    return table(name, columns, rows, caption=caption)


def agreement_markdown(figure2: Agreement, times: Agreement, figure1: Agreement, study: StudyWords) -> str:
    """The page as Markdown."""
    lines = ["# Agreement", "", f"Protocol: {escape_markdown(study.protocol)}. {study.basis}.", ""]
    lines += ["## Figure 2: difference of NLL to BASE", ""]
    if len(figure2.points):
        lines += [f"- {escape_markdown(sentence)}" for sentence in summary_sentences(figure2)]
        lines += ["", escape_markdown(outlier_sentence(figure2)), "", REMARK, ""]
    lines += _markdown_table(figure2, figure2.points, _POINTS, "Test NLL minus that of BASE, per dataset")
    lines += ["## Table 2: ratio of training times", ""]
    if len(times.points):
        lines += [time_sentence(times), "", TIME_REMARK, ""]
    lines += _markdown_table(times, times.points, _TIMES, "QRTC / BASE, time per epoch")
    lines += ["## Figure 1: values at the selected epoch", ""]
    if len(figure1.points):
        lines += [FIGURE1_REMARK, "", to_markdown(_written(figure1.summary, _ORDERS), "Order of the methods")]
    lines += _markdown_table(figure1, figure1.points, _FIGURE1, "Values at the selected epoch")
    return "\n".join(lines)


def _markdown_table(agreement: Agreement, values: pd.DataFrame, shown: _Shown, caption: str) -> list[str]:
    note = [escape_markdown(agreement.note), ""] if agreement.note else []
    return note + ([to_markdown(_written(values, shown), caption)] if len(values) else [])


def _written(values: pd.DataFrame, shown: _Shown) -> pd.DataFrame:
    return pd.DataFrame({heading: [write(value) for value in values[column]] for heading, column, write in shown})
