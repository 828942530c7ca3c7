"""What the random start adds to the split: variance components, and whether conclusions on single datasets survive.

Each seed of a study is a study of its own on the same splits, and no two runs share a random start: seeds are nested
in splits. A difference of two methods on split i from start j is mu + split_i + start_ij. The standard error that the
paper reports, that of the mean over splits of one seed, therefore holds both variances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from qrt_study.statistics.effects import Array, moments
from qrt_study.statistics.intervals import mean_interval
from qrt_study.statistics.variance_components import variance_components

COMPARISONS = (("QRTC", "BASE"), ("QRC", "BASE"), ("QRTC", "QRC"))  # method minus baseline
FEWEST_SEEDS = 2
REPORTED_SEED = 0  # the seed of the paper's protocol, which all other figures use
BETTER, WORSE, NEITHER = "better", "worse", "neither"

_COMPARED = {
    "metric": "metric of the figures: NLL, PCE, CRPS, SD; test rows, lower is better",
    "method": "the one method of the difference",
    "baseline": "the method that is subtracted",
    "dataset": "name of the dataset",
}
_CONCLUSION = "better, worse or neither by Student's t over splits at 0.05; missing with one split"
DIFFERENCES: dict[str, str] = _COMPARED | {
    "split": "number of the split",
    "seed": "number of the random start within the split",
    "difference": "method - baseline; runs that are not usable are left out",
}
PER_SEED: dict[str, str] = _COMPARED | {
    "seed": "number of the random start within the split; 0 is the paper's protocol",
    "splits": "splits in which both methods are usable",
    "mean": "mean over these splits, as the paper reports it",
    "standard_error": "its standard error over splits",
    "conclusion": f"{_CONCLUSION}, of this seed alone",
}
PER_DATASET: dict[str, str] = _COMPARED | {
    "seeds": "seeds with a difference",
    "splits": "splits with a difference",
    "runs": "differences, one per split and seed at most",
    "mean": "mean over splits of the means over seeds",
    "standard_error": "its standard error over splits",
    "interval_low": "lower end of its 95 % interval (Student's t over splits)",
    "interval_high": "its upper end",
    "conclusion": f"{_CONCLUSION}, of all seeds together",
    "split_sd": "standard deviation of what the split adds; 0 where the estimate of its variance is negative",
    "seed_sd": "standard deviation of what the seed adds within a split",
    "seed_share": "share of the seed in the variance of a single run's difference",
    "seed_share_low": "lower end of its 95 % interval",
    "seed_share_high": "its upper end",
    "seed0_mean": "mean over splits of seed 0",
    "seed0_standard_error": "its standard error over splits",
    "seed0_conclusion": f"{_CONCLUSION}, of seed 0 alone",
    "spread_of_means": "standard deviation of the seeds' means",
    "reported_standard_error": "standard error over splits that a single seed reports (root mean square over seeds)",
    "tested_seeds": "seeds with a conclusion",
    "same_as_all": "seeds with the conclusion of all seeds together",
    "same_as_seed0": "seeds other than 0 with the conclusion of seed 0",
    "opposite": "seeds that say better where all together say worse, or the other way round",
}
SUMMARY: dict[str, str] = {name: _COMPARED[name] for name in ("metric", "method", "baseline")} | {
    "datasets": "datasets with two seeds or more",
    "seed_share": "median over datasets of the share of the seed in the variance",
    "seed_share_lower": "its lower quartile",
    "seed_share_upper": "its upper quartile",
    "spread_ratio": "median over datasets of the spread of the seeds' means over the reported standard error",
    "tested": "datasets with a conclusion",
    "conclusions": "conclusions of single seeds on these datasets",
    "same_as_all": "how many of them are those of all seeds together",
    "same_as_all_share": "their share",
    "opposite": "how many of them are opposite",
    "compared_with_seed0": "conclusions of seeds other than 0 where seed 0 has one, too",
    "same_as_seed0": "how many of them are those of seed 0",
    "same_as_seed0_share": "their share",
    "seed0_same": "datasets on which seed 0 and all seeds together conclude the same",
    "seed0_tested": "datasets on which seed 0 has a conclusion",
    "seed0_decided": "datasets on which seed 0 says better or worse",
    "seed0_survives": "on how many of them all seeds together say the same",
}


class SeedStatistics(NamedTuple):
    """What the seeds of a study come to, and the datasets that have one seed only."""

    per_dataset: pd.DataFrame
    per_seed: pd.DataFrame
    summary: pd.DataFrame
    left_out: tuple[str, ...]

    @property
    def datasets(self) -> list[str]:
        """The datasets with two seeds or more."""
        return list(self.per_dataset["dataset"].unique())

    @property
    def seeds(self) -> int:
        """The largest number of seeds of a dataset."""
        return int(self.per_dataset["seeds"].max()) if len(self.per_dataset) else 0


def seed_statistics(methods: pd.DataFrame, metrics: Mapping[str, str]) -> SeedStatistics:
    """Everything about the seeds of the main comparison; `methods` are its tuned methods, all seeds together.

    `metrics` maps labels to metrics of the result table (`statistics.metrics.figure_metrics`). A dataset counts for
    a comparison where at least two seeds have a usable difference.
    """
    differences = seed_differences(methods, metrics)
    per_seed, per_dataset = [], []
    for place, rows in differences.groupby(list(_COMPARED), sort=False):
        if rows["seed"].nunique() >= FEWEST_SEEDS:
            table = rows.pivot(index="split", columns="seed", values="difference")
            compared = dict(zip(_COMPARED, place, strict=True))
            of_seeds = _of_each_seed(table)
            per_seed += [compared | row for row in of_seeds]
            per_dataset.append(compared | _of_dataset(table.to_numpy(float), of_seeds))
    found = pd.DataFrame(per_dataset, columns=list(PER_DATASET))
    summary = [
        dict(zip(_COMPARED, place, strict=False)) | _of_comparison(rows)
        for place, rows in found.groupby(["metric", "method", "baseline"], sort=False)
    ]
    return SeedStatistics(
        found,
        pd.DataFrame(per_seed, columns=list(PER_SEED)),
        pd.DataFrame(summary, columns=list(SUMMARY)),
        tuple(name for name in differences["dataset"].unique() if name not in set(found["dataset"])),
    )


def seed_differences(methods: pd.DataFrame, metrics: Mapping[str, str]) -> pd.DataFrame:
    """The differences of each comparison by split and seed, with the columns of DIFFERENCES.

    A difference counts where both runs have status ok and a finite value.
    """
    keys, parts = ["dataset", "split", "seed"], []
    for label, metric in metrics.items():
        column = f"test_{metric}"
        usable = methods[(methods["status"] == "ok") & np.isfinite(methods[column].astype(float))]
        wide = usable.pivot(index=keys, columns="method", values=column).astype(float)
        for method, baseline in COMPARISONS:
            if {method, baseline} <= set(wide.columns):
                difference = (wide[method] - wide[baseline]).dropna().rename("difference").reset_index()
                parts.append(difference.assign(metric=label, method=method, baseline=baseline))
    if not parts:
        return pd.DataFrame(columns=list(DIFFERENCES))
    return pd.concat(parts, ignore_index=True)[list(DIFFERENCES)]


def conclusion(mean: float, standard_error: float, splits: int) -> str | None:
    """What Student's t over splits says at 0.05 of a difference whose lower values are better; None with one split."""
    if splits < 2:
        return None
    low, high = mean_interval(mean, standard_error, splits)
    return BETTER if high < 0 else WORSE if low > 0 else NEITHER


def _of_each_seed(table: pd.DataFrame) -> list[dict[str, Any]]:
    """What each seed alone reports; `table` has the differences by split (rows) and seed (columns)."""
    seeds = moments(table.to_numpy(float).T)
    return [
        {
            "seed": int(seed),
            "splits": int(splits),
            "mean": float(mean),
            "standard_error": float(error),
            "conclusion": conclusion(float(mean), float(error), int(splits)),
        }
        for seed, splits, mean, error in zip(table.columns, seeds.runs, seeds.mean, seeds.standard_error, strict=True)
    ]


def _of_dataset(values: Array, of_seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All seeds together: `values` (splits, seeds) are the differences, `of_seeds` what each seed alone reports."""
    of_splits = moments(moments(values).mean)
    mean, error, splits = float(of_splits.mean), float(of_splits.standard_error), int(of_splits.runs)
    low, high = mean_interval(mean, error, splits)
    components = variance_components(values)
    share_low, share_high = components.within_share_interval
    together = conclusion(mean, error, splits)
    tested = [row for row in of_seeds if row["conclusion"] is not None]
    reported: Mapping[str, Any] = next((row for row in of_seeds if row["seed"] == REPORTED_SEED), {})
    alone = reported.get("conclusion")
    return {
        "seeds": len(of_seeds),
        "splits": splits,
        "runs": int(np.isfinite(values).sum()),
        "mean": mean,
        "standard_error": error,
        "interval_low": low,
        "interval_high": high,
        "conclusion": together,
        "split_sd": float(components.between_deviation),
        "seed_sd": float(components.within_deviation),
        "seed_share": float(components.within_share),
        "seed_share_low": float(share_low),
        "seed_share_high": float(share_high),
        "seed0_mean": reported.get("mean", math.nan),
        "seed0_standard_error": reported.get("standard_error", math.nan),
        "seed0_conclusion": alone,
        "spread_of_means": float(np.std([row["mean"] for row in of_seeds], ddof=1)),
        "reported_standard_error": _root_mean_square([row["standard_error"] for row in tested]),
        "tested_seeds": len(tested),
        "same_as_all": sum(row["conclusion"] == together for row in tested),
        "same_as_seed0": sum(row["conclusion"] == alone for row in tested if row["seed"] != REPORTED_SEED),
        "opposite": sum({row["conclusion"], together} == {BETTER, WORSE} for row in tested),
    }


def _root_mean_square(values: Sequence[float]) -> float:
    return math.sqrt(sum(value**2 for value in values) / len(values)) if values else math.nan


def _of_comparison(rows: pd.DataFrame) -> dict[str, Any]:
    """One metric and comparison over its datasets."""
    tested = rows[rows["tested_seeds"] > 0]
    with_seed0 = rows[rows["seed0_conclusion"].notna()]
    decided = with_seed0[with_seed0["seed0_conclusion"] != NEITHER]
    share = rows["seed_share"].astype(float)
    conclusions, compared = int(tested["tested_seeds"].sum()), int((with_seed0["tested_seeds"] - 1).sum())
    same_as_all, same_as_seed0 = int(tested["same_as_all"].sum()), int(with_seed0["same_as_seed0"].sum())
    return {
        "datasets": len(rows),
        "seed_share": float(share.median()),
        "seed_share_lower": float(share.quantile(0.25)),
        "seed_share_upper": float(share.quantile(0.75)),
        "spread_ratio": float(_quotient(rows["spread_of_means"], rows["reported_standard_error"]).median()),
        "tested": len(tested),
        "conclusions": conclusions,
        "same_as_all": same_as_all,
        "same_as_all_share": same_as_all / conclusions if conclusions else math.nan,
        "opposite": int(tested["opposite"].sum()),
        "compared_with_seed0": compared,
        "same_as_seed0": same_as_seed0,
        "same_as_seed0_share": same_as_seed0 / compared if compared else math.nan,
        "seed0_same": int((with_seed0["seed0_conclusion"] == with_seed0["conclusion"]).sum()),
        "seed0_tested": len(with_seed0),
        "seed0_decided": len(decided),
        "seed0_survives": int((decided["seed0_conclusion"] == decided["conclusion"]).sum()),
    }


def _quotient(above: pd.Series, below: pd.Series) -> pd.Series:
    """Missing where the denominator is 0."""
    return above.astype(float) / below.astype(float).where(below.astype(float) > 0)
