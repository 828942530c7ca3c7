"""Predictive densities of single test rows of one dataset (Figures 23 to 28)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results, empty_figure, not_in_the_study
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import DENSITIES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics


class DensitiesFigure:
    """A row of panels per method, one for each test row."""

    tables = DENSITIES

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The predictions that were kept of the dataset."""
        return RequiredResults(datasets=artifact.shown(datasets), tables=("predictions",), examples=True)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """The densities of the tuned methods."""
        from qrt_study.statistics.densities import density_statistics

        shown = artifact.shown(study.datasets)
        if not shown:
            return not_in_the_study(artifact, self.tables)
        return density_statistics(results.predictions, results.methods, shown[0])

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """The curves, with the realised targets."""
        from qrt_study.figures.densities import draw_densities

        if not statistics.datasets:
            return empty_figure(statistics, title)
        return draw_densities(statistics, dataset=statistics.datasets[0], title=title)

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """The mean NLL of each method on the rows shown."""
        instances = statistics.tables["instances"]
        means = instances.groupby("method", sort=False)["nll"].mean()
        listed = ", ".join(f"{method} {value:.2f}" for method, value in means.items())
        return f"Mean NLL of the {instances['row'].nunique()} test rows shown: {listed}." if listed else ""
