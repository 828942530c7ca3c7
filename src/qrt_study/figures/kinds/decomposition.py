"""Metrics per epoch on single datasets: the NLL and its two parts (Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results, empty_figure, not_in_the_study
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import CURVES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics

CURVE_PCE = "pce_levels"  # what the curves record under every protocol


class DecompositionFigure:
    """A row of panels per dataset, one for each metric."""

    tables = CURVES

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The curves of the datasets shown."""
        return RequiredResults(datasets=artifact.shown(datasets), tables=("curves",), examples=True)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Means over splits per epoch and at the selected one, on validation rows."""
        from qrt_study.statistics.curves import CURVE_METRICS, curve_statistics

        datasets = artifact.shown(study.datasets)
        if not datasets:
            return not_in_the_study(artifact, self.tables)
        return curve_statistics(
            results.curves, results.methods, datasets, parts=["validation"], metrics=CURVE_METRICS, pce_column=CURVE_PCE
        )

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """The curves, with the published ones."""
        from qrt_study import published
        from qrt_study.figures.per_epoch import draw_decomposition

        if not statistics.datasets:
            return empty_figure(statistics, title)
        return draw_decomposition(
            statistics,
            datasets=statistics.datasets,
            title=title,
            published_curves=published.figure1_curves() if study.published else None,
            published_marks=published.figure1_marks() if study.published else None,
        )

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """On how many datasets QRT is better after the selected epoch."""
        return headline_of_curves(statistics)


def headline_of_curves(statistics: FigureStatistics) -> str:
    """On how many datasets F' of QRT is better than that of BASE after the selected epoch."""
    selected = statistics.tables["selected"]
    sentences = []
    for metric, words in (("nll_recalibrated", "NLL of F'"), ("pce", "PCE of F'")):
        here = selected[selected["metric"] == metric].pivot_table(index="dataset", columns="method", values="value")
        if {"QRT", "BASE"} <= set(here.columns):
            both = here.dropna(subset=["QRT", "BASE"])
            lower = int((both["QRT"] < both["BASE"]).sum())
            sentences.append(
                f"After the selected epoch {words} is lower for QRT than for BASE on {lower} of {len(both)} datasets."
            )
    return " ".join(sentences)
