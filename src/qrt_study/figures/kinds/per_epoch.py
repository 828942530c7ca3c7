"""One metric per epoch on all datasets, a small panel each (Figures 15 to 18)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results, empty_figure
from qrt_study.figures.kinds.decomposition import CURVE_PCE, headline_of_curves
from qrt_study.plan.artifacts import EXAMPLE_EXPERIMENTS, Artifact
from qrt_study.statistics.columns import CURVES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics


class PerEpochFigure:
    """A panel per dataset, the dataset with the fewest training rows first."""

    tables = CURVES

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The curves of all datasets."""
        return RequiredResults(datasets=tuple(datasets), experiments=EXAMPLE_EXPERIMENTS, tables=("curves",))

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Means over splits per epoch and at the selected one."""
        from qrt_study.statistics.curves import curve_statistics

        part, metric = artifact.curve
        rows = {name: record.get("train_rows") or 0 for name, record in results.records.items()}
        by_size = sorted(study.datasets, key=lambda name: (rows.get(name, 0), name))
        return curve_statistics(
            results.curves, results.methods, by_size, parts=[part], metrics=[metric], pce_column=CURVE_PCE
        )

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """The panels of the datasets that have curves."""
        from qrt_study.figures.per_epoch import draw_per_epoch

        if not statistics.datasets:
            return empty_figure(statistics, title)
        part, metric = artifact.curve
        return draw_per_epoch(statistics, metric=metric, part=part, title=title, datasets=statistics.datasets)

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """On how many datasets QRT is better after the selected epoch."""
        return headline_of_curves(statistics)
