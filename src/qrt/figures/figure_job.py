"""One figure of the paper, from result tables to its files: statistics, picture, caption. No PyTorch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from qrt.atomic import write_json, write_text
from qrt.figures import style
from qrt.figures.figure_kind import Results
from qrt.figures.kinds import KINDS
from qrt.statistics.figure_statistics import NOT_RUN, FigureStatistics, LeftOut
from qrt.study.artifacts import ARTIFACTS, Artifact
from qrt.study.config import StudyConfig
from qrt.study.protocol import describe
from qrt.text.formats import escape_rst
from qrt.text.words import counted, listed

LONGEST_LIST = 3  # reasons that a footer names, and things that it names for one reason
DIVERGED, UNAVAILABLE = "diverged", "unavailable"


def figure_statistics(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Every number of one figure."""
    return _with_reasons(KINDS[artifact.kind].compute(artifact, study, results), results.records)


def _with_reasons(statistics: FigureStatistics, records: Mapping[str, Mapping[str, Any]]) -> FigureStatistics:
    """Datasets without data have the reason of their record: they do not run later, as `NOT_RUN` would say."""
    reasons = {
        name: f"{record['status']}: {record['reason']}"
        for name, record in records.items()
        if record["status"] == UNAVAILABLE
    }
    notes = {f"{name}: {NOT_RUN}": f"{name}: {reason}" for name, reason in reasons.items()}
    return replace(
        statistics,
        left_out=tuple(
            replace(entry, reason=reasons.get(entry.what, NOT_RUN)) if entry.reason == NOT_RUN else entry
            for entry in statistics.left_out
        ),
        notes=tuple(notes.get(note, note) for note in statistics.notes),
    )


def draw(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> Figure:
    """The picture, with a footer that says what it is based on."""
    title = f"{artifact.number}: {artifact.title_in(study.datasets)}"
    figure = KINDS[artifact.kind].draw(artifact, statistics, study, title)
    style.add_footer(figure, footer(artifact, statistics, study))
    return figure


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
    others = [entry for entry in statistics.left_out if entry.reason != NOT_RUN and entry not in counted_alone]
    parts += left_out_words(others)
    parts.append(study.demonstration)
    return " · ".join(filter(None, parts))


def not_run_words(left_out: Sequence[LeftOut], datasets: Sequence[str]) -> str:
    """The number of datasets without results, methods without any by name, and methods without results on some."""
    missing = [entry.what for entry in left_out if entry.reason == NOT_RUN]
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
    return f"{NOT_RUN}: {', '.join(words)}" if words else ""


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


def summary(name: str, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> dict[str, Any]:
    """What `summary.json` says about a figure."""
    comparison = artifact.comparison.under(study.protocol) if artifact.comparison else None
    return {
        "artifact": name,
        "number": artifact.number,
        "title": artifact.title_in(study.datasets),
        "protocol": describe(study.protocol_name, study.protocol),
        "switches": asdict(study.protocol),
        "baseline": comparison.baseline.label if comparison else None,
        "datasets": list(statistics.datasets),
        "datasets_asked": statistics.asked,
        "splits": statistics.splits,
        "left_out": [asdict(entry) for entry in statistics.left_out],
        "notes": list(statistics.notes),
        "headline": KINDS[artifact.kind].headline(artifact, statistics),
        "footer": footer(artifact, statistics, study),
    }


def write_figure(name: str, study: StudyConfig, results: Results, folder: Path, *, pdf: Path, png: Path) -> str:
    """Write statistics, caption and picture of one figure; returns its headline."""
    artifact = ARTIFACTS[name]
    statistics = figure_statistics(artifact, study, results)
    for table, columns in KINDS[artifact.kind].tables.items():
        write_text(folder / f"{table}.csv", statistics.tables[table][list(columns)].to_csv(index=False))
    described = summary(name, artifact, statistics, study)
    write_json(folder / "summary.json", json.loads(json.dumps(described, default=str)))
    write_text(folder / "caption.rst", caption(described))
    with style.paper_style():
        style.save(draw(artifact, statistics, study), pdf, png)
    return str(described["headline"])


def caption(described: Mapping[str, Any]) -> str:
    """The caption of the report, in reStructuredText."""
    sentences = [f"**{described['number']}.** {escape_rst(described['title'])}."]
    if described["baseline"]:
        sentences.append(f"Baseline: {escape_rst(described['baseline'])}.")
    if described["headline"]:
        sentences.append(escape_rst(described["headline"]))
    return " ".join(sentences) + f"\n\n{escape_rst(described['footer'])}.\n"
