"""One figure of the paper, from result tables to its files: statistics, picture, caption. No PyTorch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from qrt import published
from qrt.atomic import write_json, write_text
from qrt.figures import style
from qrt.figures.calibration_maps import draw_calibration_maps
from qrt.figures.densities import draw_densities
from qrt.figures.per_epoch import draw_decomposition, draw_pages
from qrt.statistics.columns import COLUMNS
from qrt.statistics.curves import CURVE_METRICS, curve_statistics
from qrt.statistics.densities import density_statistics
from qrt.statistics.figure_statistics import FigureStatistics, LeftOut
from qrt.statistics.headline import headline
from qrt.study.artifacts import ARTIFACTS, Artifact
from qrt.study.config import StudyConfig
from qrt.study.protocol import describe
from qrt.text.formats import escape_rst

LONGEST_LIST = 3  # reasons that a footer names


@dataclass(frozen=True)
class Results:
    """The result tables that a figure draws from; those it does not need are empty."""

    records: Mapping[str, Mapping[str, Any]]  # of the prepared datasets
    methods: pd.DataFrame
    curves: pd.DataFrame
    predictions: pd.DataFrame
    maps: pd.DataFrame
    sample: pd.DataFrame

    @property
    def discreteness(self) -> dict[str, float]:
        """The top-10 share of each dataset that there is."""
        return {name: record["top10"] for name, record in self.records.items() if record["status"] == "available"}


def figure_statistics(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Every number of one figure."""
    if artifact.kind == "maps":
        return FigureStatistics({"maps": results.maps, "sample": results.sample})
    shown = artifact.shown(study.datasets)
    if artifact.kind == "densities":
        if not shown:
            return _not_in_the_study(artifact)
        return density_statistics(results.predictions, results.methods, shown[0])
    if artifact.kind in ("decomposition", "pages"):
        datasets = shown if artifact.kind == "decomposition" else _by_training_rows(study, results)
        if not datasets:
            return _not_in_the_study(artifact)
        part, metric = artifact.curve
        return curve_statistics(
            results.curves,
            results.methods,
            datasets,
            parts=[part or "validation"],
            metrics=[metric] if metric else CURVE_METRICS,
            pce_column="pce_levels",  # what the curves record under every protocol
        )
    from qrt.figures.comparison_figures import (
        comparison_statistics,  # here, since other figures can do without all it brings
    )

    return comparison_statistics(artifact, study, results)


def draw(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, results: Results) -> Figure:
    """The picture, with a footer that says what it stands on."""
    title = f"{artifact.number}: {artifact.title}"
    figure = _drawn(artifact, statistics, study, results, title)
    style.add_footer(figure, footer(artifact, statistics, study))
    return figure


def _drawn(
    artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, results: Results, title: str
) -> Figure:
    if artifact.kind == "maps":
        return draw_calibration_maps(statistics, title=title)
    if artifact.kind not in ("comparison", "differences", "discreteness") and not statistics.datasets:
        return style.message_figure("; ".join(statistics.notes) or "There are no results to draw.", title)
    if artifact.kind == "densities":
        return draw_densities(statistics, dataset=statistics.datasets[0], title=title)
    if artifact.kind == "decomposition":
        theirs = (published.figure1_curves(), published.figure1_marks()) if study.published else (None, None)
        return draw_decomposition(
            statistics,
            datasets=statistics.datasets,
            title=title,
            published_curves=theirs[0],
            published_marks=theirs[1],
        )
    if artifact.kind == "pages":
        part, metric = artifact.curve
        return draw_pages(statistics, metric=metric, part=part, title=title, datasets=_by_training_rows(study, results))
    from qrt.figures.comparison_figures import draw_compared

    return draw_compared(artifact, statistics, study, title)


def _by_training_rows(study: StudyConfig, results: Results) -> list[str]:
    rows = {name: record.get("train_rows") or 0 for name, record in results.records.items()}
    return sorted(study.datasets, key=lambda name: (rows.get(name, 0), name))


def _not_in_the_study(artifact: Artifact) -> FigureStatistics:
    names = " and ".join(artifact.datasets)
    empty = {name: pd.DataFrame(columns=list(COLUMNS[name])) for name in artifact.statistics}
    return FigureStatistics(empty, asked=len(artifact.datasets), notes=(f"This study has no {names}.",))


def footer(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> str:
    """What the figure stands on, in one line."""
    parts = [f"Protocol: {describe(study.protocol_name, study.protocol)}"]
    if artifact.kind != "maps":
        what = "non-discrete datasets" if _leaves_discrete_out(artifact) else "datasets"
        parts.append(f"{len(statistics.datasets)} of {statistics.asked} {what}")
        parts.append(f"{statistics.splits} split{'s' if statistics.splits != 1 else ''}")
    if artifact.datasets and statistics.datasets and not set(statistics.datasets) & set(artifact.datasets):
        parts.append(f"{', '.join(statistics.datasets)} in place of {', '.join(artifact.datasets)}")
    parts += left_out_words(statistics.left_out)
    return " · ".join(parts)


def left_out_words(left_out: Sequence[LeftOut]) -> list[str]:
    """What was left out, by reason, the most frequent ones first."""
    counts: Counter[str] = Counter()
    for entry in left_out:
        counts[entry.reason] += 1
    words = [f"left out {count}×: {reason}" for reason, count in counts.most_common(LONGEST_LIST)]
    if len(counts) > LONGEST_LIST:
        words.append(f"and {len(counts) - LONGEST_LIST} more reasons (summary.json)")
    return words


def _leaves_discrete_out(artifact: Artifact) -> bool:
    return artifact.comparison is not None and artifact.comparison.dataset_set == "non_discrete"


def summary(name: str, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> dict[str, Any]:
    """What `summary.json` says about a figure."""
    comparison = artifact.comparison.under(study.protocol) if artifact.comparison else None
    return {
        "artifact": name,
        "number": artifact.number,
        "title": artifact.title,
        "protocol": describe(study.protocol_name, study.protocol),
        "switches": asdict(study.protocol),
        "baseline": comparison.baseline.label if comparison else None,
        "datasets": list(statistics.datasets),
        "datasets_asked": statistics.asked,
        "splits": statistics.splits,
        "left_out": [asdict(entry) for entry in statistics.left_out],
        "notes": list(statistics.notes),
        "headline": headline(artifact, statistics),
        "footer": footer(artifact, statistics, study),
    }


def write_figure(name: str, study: StudyConfig, results: Results, folder: Path, *, pdf: Path, png: Path) -> str:
    """Write statistics, caption and picture of one figure; returns its headline."""
    artifact = ARTIFACTS[name]
    statistics = figure_statistics(artifact, study, results)
    for table in artifact.statistics:
        columns = list(COLUMNS[table])
        write_text(folder / f"{table}.csv", statistics.tables[table][columns].to_csv(index=False))
    described = summary(name, artifact, statistics, study)
    write_json(folder / "summary.json", json.loads(json.dumps(described, default=str)))
    write_text(folder / "caption.rst", caption(described))
    with style.paper_style():
        style.save(draw(artifact, statistics, study, results), pdf, png)
    return str(described["headline"])


def caption(described: Mapping[str, Any]) -> str:
    """The caption of the report, in reStructuredText."""
    sentences = [f"**{described['number']}.** {escape_rst(described['title'])}."]
    if described["baseline"]:
        sentences.append(f"Baseline: {escape_rst(described['baseline'])}.")
    if described["headline"]:
        sentences.append(escape_rst(described["headline"]))
    return " ".join(sentences) + f"\n\n{escape_rst(described['footer'])}.\n"
