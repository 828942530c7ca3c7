"""Comparisons of methods over datasets: Cohen's d, mean ranks and rank tests (Figures 3 to 10, 12, 14, 21, 22)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from qrt_study.data.sheet import paper_datasets
from qrt_study.figures.figure_kind import RequiredResults, Results
from qrt_study.plan.artifacts import DISCRETE, Artifact, MethodComparison
from qrt_study.statistics.columns import COMPARISON
from qrt_study.statistics.metrics import figure_metrics

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics


class ComparisonFigure:
    """Methods against a baseline and against each other, metric by metric."""

    tables = COMPARISON

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The tuned methods of all that is compared."""
        return required_by_comparison(artifact, datasets)

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Effects and rank tests."""
        return compared_statistics(artifact, study, results, self.tables)

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """Letter-value plots and critical-difference diagrams, below bars of differences where they are asked for."""
        from qrt_study.figures.comparison import draw_comparison

        comparison = comparison_of(artifact).under(study.protocol)
        return draw_comparison(
            statistics,
            title=title,
            metrics=comparison.metrics,
            baseline=comparison.baseline.label,
            bars=comparison.bars,
        )

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """The mean ranks."""
        pairs, ranks = statistics.tables["pairs"], statistics.tables["ranks"]
        return " ".join(
            _ranking(str(metric), of_metric, pairs[pairs["metric"] == metric])
            for metric, of_metric in ranks.groupby("metric", sort=False)
        )


def comparison_of(artifact: Artifact) -> MethodComparison:
    """What a comparing figure compares."""
    assert artifact.comparison is not None, f"{artifact.number} compares no methods"
    return artifact.comparison


def required_by_comparison(artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
    """The tuned methods of all that is compared, on all datasets."""
    return RequiredResults(datasets=tuple(datasets), experiments=comparison_of(artifact).experiments)


def compared_statistics(
    artifact: Artifact, study: StudyConfig, results: Results, tables: Iterable[str]
) -> FigureStatistics:
    """The statistics of a comparing figure under the study's protocol, as far as `tables` names them."""
    from qrt_study.plan.experiments import plan_study
    from qrt_study.statistics.comparison import compare

    comparison = comparison_of(artifact).under(study.protocol)
    suffixes = figure_metrics(study.protocol)
    statistics = compare(
        results.methods,
        comparison.among(plan_study(study).experiments),
        comparison.baseline,
        {metric: suffixes[metric] for metric in comparison.metrics},
        _dataset_set(comparison, study, results),
        study.protocol.cohens_d,
        results.discreteness,
    )
    return replace(statistics, tables={name: statistics.tables[name] for name in tables})


def _dataset_set(comparison: MethodComparison, study: StudyConfig, results: Results) -> list[str]:
    """The datasets of the study that belong into a comparison.

    A dataset without data belongs into it if the paper has it there: it is then left out with its reason.
    """
    if comparison.dataset_set == "all":
        return list(study.datasets)
    known = {name: row.published.top10 for name, row in paper_datasets().items()} | results.discreteness
    return [name for name in study.datasets if known.get(name, 0.0) <= DISCRETE]


def _ranking(metric: str, ranks: pd.DataFrame, pairs: pd.DataFrame) -> str:
    ordered = ranks.sort_values(["mean_rank", "method"], kind="stable")
    listed = ", ".join(f"{row.method} {row.mean_rank:.2f}" for row in ordered.itertuples())
    return (
        f"Mean ranks in {metric} ({int(ordered['datasets'].iloc[0])} datasets): {listed}; "
        f"{int(pairs['significant'].sum())} of {len(pairs)} differences are significant."
    )
