"""What a figure is based on, in words: its footer, and its caption in the report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from qrt.text.formats import escape_rst
from qrt.text.words import counted, listed
from qrt_study.plan.artifacts import Artifact
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.protocol import describe
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut

LONGEST_LIST = 3  # reasons that a footer names, and things that it names for one reason
DIVERGED, UNAVAILABLE = "diverged", "unavailable"


def footer(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> str:
    """What the figure is based on, in one line."""
    parts = [f"Protocol: {describe(study.protocol_name, study.protocol)}"]
    if statistics.asked or artifact.comparison:  # Figure 11 is of no dataset
        what = "non-discrete dataset" if _leaves_discrete_out(artifact) else "dataset"
        parts.append(f"{len(statistics.datasets)} of {counted(statistics.asked, what)}")
        parts.append(counted(statistics.splits, "split"))
    parts.append(study.training_words)
    if artifact.datasets and statistics.datasets and not set(statistics.datasets) & set(artifact.datasets):
        parts.append(f"{', '.join(statistics.datasets)} in place of {', '.join(artifact.datasets)}")
    without_data = [entry for entry in statistics.left_out if entry.reason.startswith(UNAVAILABLE)]
    counted_alone = without_data if len(without_data) > LONGEST_LIST else []
    if counted_alone:
        parts.append(f"{UNAVAILABLE}: {counted(len(counted_alone), 'dataset')}")
    parts.append(not_run_words(statistics.left_out, study.datasets))
    others = [entry for entry in statistics.left_out if entry.reason != NOT_RUN_YET and entry not in counted_alone]
    parts += left_out_words(others)
    if "letter_values" in statistics.tables:
        parts.append(box_words(statistics.tables["letter_values"], statistics.tables["per_dataset"]))
    parts.append(study.demonstration)
    return " · ".join(filter(None, parts))


def not_run_words(left_out: Sequence[LeftOut], datasets: Sequence[str]) -> str:
    """The number of datasets without results, methods without any by name, and methods without results on some."""
    missing = [entry.what for entry in left_out if entry.reason == NOT_RUN_YET]
    whole = [what for what in missing if what in datasets]
    on_some = Counter(
        method for method, on, dataset in (what.partition(" on ") for what in missing) if on and dataset in datasets
    )
    methods = [what for what in missing if what not in datasets and what.partition(" on ")[0] not in on_some]
    words = [*([counted(len(whole), "dataset")] if whole else []), *methods]
    for count in dict.fromkeys(on_some.values()):
        alike = [method for method, times in on_some.items() if times == count]
        named = ", ".join(alike) if len(alike) <= LONGEST_LIST else counted(len(alike), "method")
        words.append(f"{named} on {counted(count, 'other' if whole else 'dataset')}")
    return f"{NOT_RUN_YET}: {', '.join(words)}" if words else ""


def box_words(letter_values: pd.DataFrame, per_dataset: pd.DataFrame) -> str:
    """The datasets of the boxes, if methods have results on more, and on how many."""
    in_boxes = letter_values.groupby("metric")["datasets"].max()
    counts = per_dataset.groupby(["method", "metric"], sort=False)["cohens_d"].count()
    more = counts[counts > counts.index.get_level_values("metric").map(in_boxes)].groupby("method", sort=False).max()
    if more.empty:
        return ""
    of_methods = []
    for count in sorted(more.unique()):
        alike = more.index[more == count].tolist()
        named = ", ".join(alike) if len(alike) <= LONGEST_LIST else counted(len(alike), "method")
        of_methods.append(f"{named}: {count}")
    return f"boxes: {counted(int(in_boxes.max()), 'dataset')} that all methods have ({'; '.join(of_methods)})"


def left_out_words(left_out: Sequence[LeftOut]) -> list[str]:
    """What was left out, by reason, the most frequent ones first; few things by name, many by their number."""
    by_reason: dict[str, list[str]] = {}
    for entry in left_out:
        # Networks diverge with a value of their own each, which summary.json has.
        reason = DIVERGED if entry.reason.startswith(DIVERGED) else _short(entry)
        by_reason.setdefault(reason, []).append(entry.what)
    in_order = sorted(by_reason.items(), key=lambda item: -len(item[1]))
    words = [
        f"left out {len(what)}×: {reason}" if len(what) > LONGEST_LIST else f"left out: {listed(what)} ({reason})"
        for reason, what in in_order[:LONGEST_LIST]
    ]
    if len(in_order) > LONGEST_LIST:
        words.append(f"and {len(in_order) - LONGEST_LIST} more reasons (summary.json)")
    return words


def _short(entry: LeftOut) -> str:
    """The reason, in which a long list of datasets (outside the rank tests) becomes their number."""
    why, colon, names = entry.reason.partition(": ")
    is_long = colon and entry.count > LONGEST_LIST and names.count(", ") + 1 == entry.count
    return f"{why}: {counted(entry.count, 'dataset')}" if is_long else entry.reason


def _leaves_discrete_out(artifact: Artifact) -> bool:
    return artifact.comparison is not None and artifact.comparison.dataset_set == "non_discrete"


def caption(described: Mapping[str, Any]) -> str:
    """The caption of the report, in reStructuredText."""
    sentences = [f"**{described['number']}.** {escape_rst(described['title'])}."]
    if described["baseline"]:
        sentences.append(f"Baseline: {escape_rst(described['baseline'])}.")
    if described["headline"]:
        sentences.append(escape_rst(described["headline"]))
    return " ".join(sentences) + f"\n\n{escape_rst(described['footer'])}.\n"
