"""The difference to the baseline, dataset by dataset (Figures 2 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt import published
from qrt.figures.figure_kind import Needs, Results
from qrt.figures.kinds.comparison import compared_statistics, comparison_of, needs_of_comparison
from qrt.statistics.columns import COMPARISON
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.artifacts import Artifact
from qrt.study.config import StudyConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES = {"per_dataset": COMPARISON["per_dataset"]}


class DifferencesFigure:
    """Bars of the difference to the baseline on each dataset, with the published ones."""

    tables = TABLES

    def needs(self, artifact: Artifact, datasets: Sequence[str]) -> Needs:
        """The tuned methods of all that is compared."""
        return needs_of_comparison(artifact, datasets)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Effects on each dataset."""
        return compared_statistics(artifact, study, results, self.tables)

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """A panel for each metric."""
        from qrt.figures.comparison import draw_differences

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
