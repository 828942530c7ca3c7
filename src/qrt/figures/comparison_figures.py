"""The figures that compare methods over datasets: their statistics and their pictures.

A module of its own, since these need SciPy's tests, seaborn and scikit-learn, which take longer to import than another
figure to draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from qrt import published
from qrt.data.sheet import paper_datasets
from qrt.figures.comparison import draw_comparison, draw_differences
from qrt.figures.discreteness import draw_discreteness
from qrt.statistics.comparison import compare
from qrt.statistics.discreteness import discreteness_statistics
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.statistics.metrics import figure_metrics
from qrt.study.artifacts import DISCRETE, Artifact, Comparison
from qrt.study.config import StudyConfig

if TYPE_CHECKING:
    from qrt.figures.figure_job import Results


def dataset_set(comparison: Comparison, study: StudyConfig, results: Results) -> list[str]:
    """The datasets of the study that belong into a comparison.

    A dataset without data belongs into it if the paper has it there: it is then left out with its reason.
    """
    if comparison.dataset_set == "all":
        return list(study.datasets)
    known = {name: row.published.top10 for name, row in paper_datasets().items()} | results.discreteness
    return [name for name in study.datasets if known.get(name, 0.0) <= DISCRETE]


def comparison_statistics(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """The statistics of a comparing figure under the study's protocol."""
    assert artifact.comparison is not None
    comparison = artifact.comparison.under(study.protocol)
    suffixes = figure_metrics(study.protocol)
    statistics = compare(
        results.methods,
        comparison.among(results.methods),
        comparison.baseline,
        {metric: suffixes[metric] for metric in comparison.metrics},
        dataset_set(comparison, study, results),
        study.protocol.cohens_d,
        results.discreteness,
    )
    tables = dict(statistics.tables)
    if artifact.kind == "discreteness":
        of_method = tables["per_dataset"][tables["per_dataset"]["method"] == artifact.method]
        tables["isotonic"] = discreteness_statistics(of_method, artifact.method, artifact.comparison.metrics)
    wanted = {name: tables[name] for name in artifact.statistics}
    return FigureStatistics(**(vars(statistics) | {"tables": wanted}))


def draw_compared(artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
    """The picture of a comparing figure."""
    assert artifact.comparison is not None
    comparison = artifact.comparison.under(study.protocol)
    if artifact.kind == "discreteness":
        return draw_discreteness(statistics, method=artifact.method, metrics=comparison.metrics, title=title)
    # Only Figure 2's values are published, for the main base model and BASE with calibration data.
    theirs_2 = published.figure2() if study.published and artifact.kind == "differences" else None
    if artifact.kind == "differences":
        return draw_differences(
            statistics, title=title, metrics=comparison.metrics, methods=comparison.bars, published=theirs_2
        )
    return draw_comparison(
        statistics,
        title=title,
        metrics=comparison.metrics,
        baseline=comparison.baseline.label,
        bars=comparison.bars,
    )
