"""Cohen's d against the discreteness of the targets (Figures 19 and 20)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results
from qrt_study.figures.kinds.comparison import compared_statistics, comparison_of, required_by_comparison
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import COMPARISON, DISCRETENESS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics

TABLES = {"per_dataset": COMPARISON["per_dataset"]} | DISCRETENESS


class DiscretenessFigure:
    """One point per dataset, and the isotonic regression through them."""

    tables = TABLES

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The tuned methods of all that is compared."""
        return required_by_comparison(artifact, datasets)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Effects on each dataset and their regression on the discreteness."""
        from qrt_study.statistics.discreteness import discreteness_statistics

        effects = compared_statistics(artifact, study, results, ["per_dataset"])
        metrics = comparison_of(artifact).metrics
        isotonic = discreteness_statistics(effects.tables["per_dataset"], artifact.method, metrics)
        return replace(effects, tables={**effects.tables, "isotonic": isotonic})

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """A panel for each metric."""
        from qrt_study.figures.discreteness import draw_discreteness

        metrics = comparison_of(artifact).metrics
        return draw_discreteness(statistics, method=artifact.method, metrics=metrics, title=title)

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """The rank correlations."""
        rows = statistics.tables["isotonic"].drop_duplicates("metric").dropna(subset=["spearman"])
        listed = ", ".join(f"{row.metric} {row.spearman:+.2f} (p = {row.spearman_p:.2g})" for row in rows.itertuples())
        return f"Spearman's correlation of Cohen's d with the discreteness: {listed}." if listed else ""
