"""The one sentence that a figure says, with its numbers."""

from __future__ import annotations

import pandas as pd

from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.artifacts import Artifact


def headline(artifact: Artifact, statistics: FigureStatistics) -> str:
    """What the figure shows, in numbers from its tables; empty where it has nothing to show."""
    tables = statistics.tables
    if artifact.kind == "comparison":
        return _ranking(tables["ranks"], tables["pairs"])
    if artifact.kind == "differences":
        return _counts(tables["per_dataset"], artifact)
    if artifact.kind in ("decomposition", "pages"):
        return _selected(tables["selected"])
    if artifact.kind == "discreteness":
        return _correlations(tables["isotonic"])
    if artifact.kind == "maps":
        return _leak(tables["maps"])
    return _mean_nll(tables["instances"])


def _ranking(ranks: pd.DataFrame, pairs: pd.DataFrame) -> str:
    sentences = []
    for metric, of_metric in ranks.groupby("metric", sort=False):
        ordered = of_metric.sort_values(["mean_rank", "method"], kind="stable")
        listed = ", ".join(f"{row.method} {row.mean_rank:.2f}" for row in ordered.itertuples())
        of_pairs = pairs[pairs["metric"] == metric]
        significant = int(of_pairs["significant"].sum())
        sentences.append(
            f"Mean ranks in {metric} ({int(ordered['datasets'].iloc[0])} datasets): {listed}; "
            f"{significant} of {len(of_pairs)} differences are significant."
        )
    return " ".join(sentences)


def _counts(per_dataset: pd.DataFrame, artifact: Artifact) -> str:
    assert artifact.comparison is not None
    sentences = []
    for metric in artifact.comparison.metrics:
        counted = []
        for method in artifact.comparison.bars:
            here = per_dataset[(per_dataset["metric"] == metric) & (per_dataset["method"] == method)]
            differences = here["difference"].dropna()
            counted.append(f"{method} on {int((differences < 0).sum())} of {len(differences)} datasets")
        baseline = artifact.comparison.baseline.label
        sentences.append(f"{metric} is lower than that of {baseline} for {', '.join(counted)}.")
    return " ".join(sentences)


def _selected(selected: pd.DataFrame) -> str:
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


def _correlations(isotonic: pd.DataFrame) -> str:
    rows = isotonic.drop_duplicates("metric").dropna(subset=["spearman"])
    listed = ", ".join(f"{row.metric} {row.spearman:+.2f} (p = {row.spearman_p:.2g})" for row in rows.itertuples())
    return f"Spearman's correlation of Cohen's d with the discreteness: {listed}." if listed else ""


def _leak(maps: pd.DataFrame) -> str:
    kde = maps[maps["map"] == "KDE"].sort_values("z")
    if kde.empty:
        return ""
    inside = kde["cdf"].iloc[-1] - kde["cdf"].iloc[0]
    return f"KDE puts {1 - inside:.1%} of its mass outside of [0, 1]; TRUNC and REFL put none there."


def _mean_nll(instances: pd.DataFrame) -> str:
    means = instances.groupby("method", sort=False)["nll"].mean()
    listed = ", ".join(f"{method} {value:.2f}" for method, value in means.items())
    rows = instances["row"].nunique()
    return f"Mean NLL of the {rows} test rows shown: {listed}." if listed else ""
