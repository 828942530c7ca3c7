"""The kinds of figures: the numbers behind a figure of each kind, and its headline. No Matplotlib, no files.

A new kind is a row of KINDS, with its picture in `figure_job.DRAWN` and, where it needs other results than comparisons
do, a row in `qrt_study.plan.artifacts`; a figure of it is a row of ARTIFACTS there. What reads from SciPy is imported
where it is used: figures that need none start without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.artifacts import DISCRETE, Artifact, MethodComparison
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.experiments import plan_study
from qrt_study.statistics.columns import (
    COMPARISON,
    CURVES,
    DENSITIES,
    DISCRETENESS,
    INTERVALS,
    MAPS,
    WAYS,
    Columns,
)
from qrt_study.statistics.curves import CURVE_METRICS, curve_statistics
from qrt_study.statistics.densities import density_statistics
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.metrics import figure_metrics

CURVE_PCE = "pce_levels"  # what the curves record under every protocol


@dataclass(frozen=True)
class Results:
    """The result tables that a figure's numbers are computed from; those it does not need are empty."""

    records: Mapping[str, Mapping[str, Any]]  # of the prepared datasets
    methods: pd.DataFrame
    curves: pd.DataFrame
    predictions: pd.DataFrame
    maps: pd.DataFrame
    sample: pd.DataFrame
    scores: pd.DataFrame = field(default_factory=pd.DataFrame)
    conditional: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def discreteness(self) -> dict[str, float]:
        """The top-10 share of each dataset that there is."""
        return {name: record["top10"] for name, record in self.records.items() if record["status"] == "available"}


@dataclass(frozen=True)
class FigureKind:
    """What tells the numbers of one kind of figure from those of another."""

    tables: Mapping[str, Columns]  # the statistics tables, with their columns
    compute: Callable[[Artifact, StudyConfig, Results], FigureStatistics]
    headline: Callable[[Artifact, FigureStatistics], str]  # one sentence with its numbers; empty: nothing to show


def comparison_of(artifact: Artifact) -> MethodComparison:
    """What a comparing figure compares."""
    assert artifact.comparison is not None, f"{artifact.number} compares no methods"
    return artifact.comparison


def compared_statistics(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Effects and rank tests of a comparing figure under the study's protocol: the tables of its kind."""
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
    wanted = KINDS[artifact.kind].tables
    return replace(statistics, tables={name: rows for name, rows in statistics.tables.items() if name in wanted})


def _dataset_set(comparison: MethodComparison, study: StudyConfig, results: Results) -> list[str]:
    """The datasets of the study that belong into a comparison.

    A dataset without data belongs into it if the paper has it there: it is then left out with its reason.
    """
    if comparison.dataset_set == "all":
        return list(study.datasets)
    known = {name: row.published.top10 for name, row in paper_datasets().items()} | results.discreteness
    return [name for name in study.datasets if known.get(name, 0.0) <= DISCRETE]


def _gains(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Effects and rank tests of NLL and CRPS and of their parts, by scores of predictions."""
    from qrt_study.statistics.from_predictions import GAIN_METRICS

    return _compared_scores(artifact, study, results, GAIN_METRICS)


def _coverage(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Those of conditional coverage, with intervals by the size of datasets, and what maps do to F."""
    from qrt_study.statistics.from_predictions import COVERAGE_METRICS, intervals_table, runs_of_scores, ways_table

    statistics = _compared_scores(artifact, study, results, COVERAGE_METRICS)
    rows_of = {name: record["train_rows"] for name, record in results.records.items() if record.get("train_rows")}
    runs = runs_of_scores(results.scores, results.conditional, study.protocol)
    more = {
        "intervals": intervals_table(runs, comparison_of(artifact).baseline.label, rows_of),
        "ways": ways_table(results.scores, study.protocol, rows_of),
    }
    return replace(statistics, tables={**statistics.tables, **more})


def _stopping(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Effects and rank tests on the datasets that have the networks of QRC-STOP."""
    methods = results.methods
    stopped = set(methods.loc[(methods["method"] == "QRC-STOP") & (methods["status"] == "ok"), "dataset"])
    datasets = tuple(name for name in study.datasets if name in stopped)
    return compared_statistics(artifact, replace(study, datasets=datasets), results)


def _compared_scores(
    artifact: Artifact, study: StudyConfig, results: Results, metrics: Mapping[str, str]
) -> FigureStatistics:
    from qrt_study.statistics.comparison import compare
    from qrt_study.statistics.from_predictions import runs_of_scores

    comparison = comparison_of(artifact)
    return compare(
        runs_of_scores(results.scores, results.conditional, study.protocol),
        comparison.compared,
        comparison.baseline,
        metrics,
        _dataset_set(comparison, study, results),
        study.protocol.cohens_d,
        results.discreteness,
    )


def _with_regression(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Effects on each dataset and their regression on the discreteness."""
    from qrt_study.statistics.discreteness import discreteness_statistics

    effects = compared_statistics(artifact, study, results)
    metrics = comparison_of(artifact).metrics
    isotonic = discreteness_statistics(effects.tables["per_dataset"], artifact.method, metrics)
    return replace(effects, tables={**effects.tables, "isotonic": isotonic})


def _example_curves(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """All metrics of a few datasets by epoch and at the selected one, on validation rows."""
    datasets = artifact.shown(study.datasets)
    if not datasets:
        return _not_in_the_study(artifact)
    return curve_statistics(
        results.curves, results.methods, datasets, parts=["validation"], metrics=CURVE_METRICS, pce_column=CURVE_PCE
    )


def _curves_of_all(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """One metric by epoch and at the selected one, the dataset with the fewest training rows first."""
    part, metric = artifact.curve
    rows = {name: record.get("train_rows") or 0 for name, record in results.records.items()}
    by_size = sorted(study.datasets, key=lambda name: (rows.get(name, 0), name))
    return curve_statistics(
        results.curves, results.methods, by_size, parts=[part], metrics=[metric], pce_column=CURVE_PCE
    )


def _densities(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """The densities of the tuned methods."""
    shown = artifact.shown(study.datasets)
    return density_statistics(results.predictions, results.methods, *shown) if shown else _not_in_the_study(artifact)


def _maps(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """The maps as they were fitted."""
    return FigureStatistics({"maps": results.maps, "sample": results.sample})


def _not_in_the_study(artifact: Artifact) -> FigureStatistics:
    """The statistics of a figure whose datasets the study lacks."""
    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in KINDS[artifact.kind].tables.items()}
    note = f"This study has no {' and '.join(artifact.datasets)}."
    return FigureStatistics(empty, asked=len(artifact.datasets), notes=(note,))


def _mean_ranks(artifact: Artifact, statistics: FigureStatistics) -> str:
    sentences = []
    for metric, ranks in statistics.tables["ranks"].groupby("metric", sort=False):
        pairs = statistics.tables["pairs"]
        significant = pairs.loc[pairs["metric"] == metric, "significant"]
        ordered = ranks.sort_values(["mean_rank", "method"], kind="stable")
        listed = ", ".join(f"{row.method} {row.mean_rank:.2f}" for row in ordered.itertuples())
        sentences.append(
            f"Mean ranks in {metric} ({int(ordered['datasets'].iloc[0])} datasets): {listed}; "
            f"{int(significant.sum())} of {len(significant)} differences are significant."
        )
    return " ".join(sentences)


def _lower_than_baseline(artifact: Artifact, statistics: FigureStatistics) -> str:
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


def _rank_correlations(artifact: Artifact, statistics: FigureStatistics) -> str:
    rows = statistics.tables["isotonic"].drop_duplicates("metric").dropna(subset=["spearman"])
    listed = ", ".join(f"{row.metric} {row.spearman:+.2f} (p = {row.spearman_p:.2g})" for row in rows.itertuples())
    return f"Spearman's correlation of Cohen's d with the discreteness: {listed}." if listed else ""


def _lower_after_selection(artifact: Artifact, statistics: FigureStatistics) -> str:
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


def _mean_nll(artifact: Artifact, statistics: FigureStatistics) -> str:
    instances = statistics.tables["instances"]
    means = instances.groupby("method", sort=False)["nll"].mean()
    listed = ", ".join(f"{method} {value:.2f}" for method, value in means.items())
    return f"Mean NLL of the {instances['row'].nunique()} test rows shown: {listed}." if listed else ""


def _leaked_mass(artifact: Artifact, statistics: FigureStatistics) -> str:
    maps = statistics.tables["maps"]
    kde = maps[maps["map"] == "KDE"].sort_values("z")
    if kde.empty:
        return ""
    inside = kde["cdf"].iloc[-1] - kde["cdf"].iloc[0]
    return f"KDE puts {1 - inside:.1%} of its mass outside of [0, 1]; TRUNC and REFL put none there."


_PER_DATASET = {"per_dataset": COMPARISON["per_dataset"]}
KINDS: dict[str, FigureKind] = {
    "comparison": FigureKind(COMPARISON, compared_statistics, _mean_ranks),
    "differences": FigureKind(_PER_DATASET, compared_statistics, _lower_than_baseline),
    "decomposition": FigureKind(CURVES, _example_curves, _lower_after_selection),
    "per_epoch": FigureKind(CURVES, _curves_of_all, _lower_after_selection),
    "discreteness": FigureKind(_PER_DATASET | DISCRETENESS, _with_regression, _rank_correlations),
    "gains": FigureKind(COMPARISON, _gains, _mean_ranks),
    "coverage": FigureKind(COMPARISON | {"intervals": INTERVALS, "ways": WAYS}, _coverage, _mean_ranks),
    "stopping": FigureKind(COMPARISON, _stopping, _mean_ranks),
    "maps": FigureKind(MAPS, _maps, _leaked_mass),
    "densities": FigureKind(DENSITIES, _densities, _mean_nll),
}
