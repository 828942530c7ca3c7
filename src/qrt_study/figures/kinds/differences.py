"""The difference to the baseline, dataset by dataset (Figures 2 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results
from qrt_study.figures.kinds.comparison import compared_statistics, comparison_of, required_by_comparison
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import COMPARISON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics

TABLES = {"per_dataset": COMPARISON["per_dataset"]}


class DifferencesFigure:
    """Bars of the difference to the baseline on each dataset, with the published ones."""

    tables = TABLES

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The tuned methods of all that is compared."""
        return required_by_comparison(artifact, datasets)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Effects on each dataset."""
        return compared_statistics(artifact, study, results, self.tables)

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """A panel for each metric."""
        from qrt_study import published
        from qrt_study.figures.comparison import draw_differences

        comparison = comparison_of(artifact).under(study.protocol)
        return draw_differences(
            statistics,
            title=title,
            metrics=comparison.metrics,
            methods=comparison.bars,
            published=published.figure2() if study.published else None,
        )

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """On how many datasets each method is better than the baseline."""
        comparison, per_dataset = comparison_of(artifact), statistics.tables["per_dataset"]
        sentences = []
        for metric in comparison.metrics:
            counted = []
            for method in comparison.bars:
                here = per_dataset[(per_dataset["metric"] == metric) & (per_dataset["method"] == method)]
                differences = here["difference"].dropna()
                counted.append(f"{method} on {int((differences < 0).sum())} of {len(differences)} datasets")
            sentences.append(f"{metric} is lower than that of {comparison.baseline.label} for {', '.join(counted)}.")
        return " ".join(sentences)
