"""One figure of the paper, from the files with its numbers to its picture. Nothing is computed here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from qrt_study import published
from qrt_study.figures import style
from qrt_study.figures.calibration_maps import draw_calibration_maps
from qrt_study.figures.comparison import draw_comparison, draw_differences
from qrt_study.figures.densities import draw_densities
from qrt_study.figures.discreteness import draw_discreteness
from qrt_study.figures.kinds import KINDS, comparison_of
from qrt_study.figures.per_epoch import draw_decomposition, draw_per_epoch
from qrt_study.plan.artifacts import FIGURES, Artifact
from qrt_study.plan.config import StudyConfig
from qrt_study.statistics.figure_statistics import FigureStatistics, read_summary


def draw_figure(name: str, *, study: StudyConfig, statistics: Path, pdf: Path, png: Path) -> None:
    """Draw the numbers in the folder `statistics`, with a footer that says what they are based on."""
    artifact, described = FIGURES[name], read_summary(statistics)
    found = FigureStatistics.read(statistics, KINDS[artifact.kind].tables)
    with style.paper_style():
        figure = DRAWN[artifact.kind](artifact, found, study, f"{described['number']}: {described['title']}")
        style.add_footer(figure, described["footer"])
        style.save(figure, pdf, png)


def _comparison(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    one = comparison_of(artifact).under(study.protocol)
    return draw_comparison(statistics, title=title, metrics=one.metrics, baseline=one.baseline.label, bars=one.bars)


def _differences(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    one, theirs = comparison_of(artifact), published.figure2() if study.published else None
    return draw_differences(statistics, title=title, metrics=one.metrics, methods=one.bars, published=theirs)


def _decomposition(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    curves, marks = (published.figure1_curves(), published.figure1_marks()) if study.published else (None, None)
    return draw_decomposition(
        statistics, datasets=statistics.datasets, title=title, published_curves=curves, published_marks=marks
    )


def _per_epoch(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    part, metric = artifact.curve
    return draw_per_epoch(statistics, metric=metric, part=part, title=title, datasets=statistics.datasets)


def _discreteness(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    metrics = comparison_of(artifact).metrics
    return draw_discreteness(statistics, method=artifact.method, metrics=metrics, title=title)


def _densities(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    return draw_densities(statistics, dataset="".join(statistics.datasets), title=title)


# The picture of each kind.
DRAWN: dict[str, Callable[[Artifact, FigureStatistics, StudyConfig, str], Figure]] = {
    "comparison": _comparison,
    "differences": _differences,
    "decomposition": _decomposition,
    "per_epoch": _per_epoch,
    "discreteness": _discreteness,
    "maps": lambda artifact, statistics, study, title: draw_calibration_maps(statistics, title=title),
    "densities": _densities,
}
