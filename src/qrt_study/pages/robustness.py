"""How robust the main comparison is: discrete targets by NLL and by CRPS, and means that a single split carries."""

from __future__ import annotations

from typing import Any

import pandas as pd

from qrt.text.formats import escape_markdown
from qrt.text.page import Html, document, filters, paragraph, section
from qrt.text.words import MINUS, count, counted, listed, p_value
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
from qrt_study.statistics.robustness import CONTINUOUS, DISCRETE_TARGETS, Robustness
from qrt_study.statistics.seeds import COMPARISONS

EXPLANATION = (
    "Two questions that the paper leaves open. First: with discrete targets NLL has no lower bound, since a mixture "
    "gains without end by narrowing on frequent values; CRPS does not reward that. Is a gain in NLL also one in CRPS? "
    "Second: how many means over splits would change their sign without a single one of the splits? Lower is better."
)
NOTHING = "There are no results of the main comparison yet."
_SUMMARY_CAPTION = "On how many datasets the method has the lower value, by the mean and by the median over splits"
_PER_DATASET_CAPTION = "Test metrics, difference over splits"
_HEADLINE = COMPARISONS[0]


def _of(heading: str, part: str) -> Shown:
    return Shown(heading, lambda record: f"{count(record[part])} of {count(record['datasets'])}", part)


_COMPARISON = Shown("Difference", lambda record: f"{record['method']} {MINUS} {record['baseline']}")
_SUMMARY = (
    plain("Metric", "metric"),
    _COMPARISON,
    plain("Targets", "targets"),
    _of("Lower by the mean", "lower"),
    _of("Lower by the median", "lower_by_median"),
    _of("One split decides the sign", "one_split_decides"),
    numbers("Wilcoxon", "p_value", p_value),
)
_PER_DATASET = (
    plain("Dataset", "dataset"),
    plain("Targets", "targets"),
    plain("Metric", "metric"),
    _COMPARISON,
    numbers("Splits", "splits", count),
    with_error("Mean", "mean", "standard_error"),
    numbers("Median", "median"),
    range_of("Without one split", "without_one_low", "without_one_high"),
    plain("One split decides the sign", "one_split_decides", yes_or_no),
)


def findings(statistics: Robustness) -> list[str]:
    """What came out for the main difference, a sentence for each question."""
    method, baseline = _HEADLINE
    summary = statistics.summary
    rows = summary[(summary["method"] == method) & (summary["baseline"] == baseline)].set_index(["metric", "targets"])
    sentences = []
    for targets in (DISCRETE_TARGETS, CONTINUOUS):
        found = [(metric, rows.loc[(metric, targets)]) for metric in ("NLL", "CRPS") if (metric, targets) in rows.index]
        if found:
            words = [
                f"{metric} on {row['lower']} of {counted(row['datasets'], 'dataset')} ({p_value(row['p_value'])})"
                for metric, row in found
            ]
            sentences.append(f"With {targets} targets {method} is below {baseline} in {listed(words)}.")
    decided = [
        f"{row['one_split_decides']} of {counted(row['datasets'], 'dataset')} for {metric}"
        for (metric, targets), row in rows.iterrows()
        if targets == "all"
    ]
    if decided:
        sentences.append(f"One split decides the sign of {method} {MINUS} {baseline} on {listed(decided)}.")
    return sentences


def robustness_page(statistics: Robustness, study: StudyWords) -> str:
    """The page."""
    lede = f"Discrete targets, and single splits. Protocol: {study.protocol}. {study.basis}."
    parts: list[Html] = [paragraph(EXPLANATION)]
    if len(statistics.per_dataset):
        parts += [paragraph(sentence, class_="answer") for sentence in findings(statistics)]
        table = value_table("comparisons", statistics.summary, _SUMMARY, _SUMMARY_CAPTION)
        parts.append(section("summary", "Over datasets", table))
        parts.append(section("datasets", "Dataset by dataset", *_datasets(statistics.per_dataset)))
    else:
        parts.append(paragraph(NOTHING))
    return document(
        "Robustness", lede, *parts, file="robustness.html", pages=study.pages, demonstration=study.demonstration
    )


def _datasets(per_dataset: pd.DataFrame) -> list[Html]:
    records: list[dict[str, Any]] = per_dataset.to_dict("records")
    facts = [
        {
            "metric": row["metric"],
            "pair": f"{row['method']}-{row['baseline']}",
            "targets": row["targets"],
            "decides": yes_or_no(row["one_split_decides"]),
        }
        for row in records
    ]
    buttons: list[tuple[str, str, Html | str | float]] = [
        ("metric", metric, metric) for metric in per_dataset["metric"].unique()
    ]
    buttons += [("pair", f"{method}-{base}", f"{method} {MINUS} {base}") for method, base in COMPARISONS]
    buttons += [("targets", targets, f"{targets} targets") for targets in per_dataset["targets"].unique()]
    buttons.append(("decides", "yes", "one split decides the sign"))
    return [
        filters("values", "datasets", buttons),
        value_table("values", per_dataset, _PER_DATASET, _PER_DATASET_CAPTION, facts),
    ]


def robustness_markdown(statistics: Robustness, study: StudyWords) -> str:
    """The page as Markdown."""
    lines = ["# Robustness", ""]
    if study.demonstration:
        lines += [f"**{study.demonstration}**", ""]
    lines += [f"Protocol: {escape_markdown(study.protocol)}. {study.basis}.", "", EXPLANATION, ""]
    if not len(statistics.per_dataset):
        return "\n".join([*lines, NOTHING, ""])
    lines += [*(f"- {escape_markdown(sentence)}" for sentence in findings(statistics)), "", "## Over datasets", ""]
    lines.append(markdown_table(statistics.summary, _SUMMARY, _SUMMARY_CAPTION))
    lines += ["## Dataset by dataset", ""]
    lines.append(markdown_table(statistics.per_dataset, _PER_DATASET, _PER_DATASET_CAPTION))
    return "\n".join(lines)
