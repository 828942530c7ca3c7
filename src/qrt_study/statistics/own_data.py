"""The methods on one dataset of the user's: their scores over splits, the best one, and whether by more than noise.

Random splits of one table share most of their rows, so differences over splits vary less than they would on new data.
The noise of a paired difference is therefore taken with Nadeau and Bengio's correction (Machine Learning 52, 2003):
its variance is s^2 (1 / J + test rows / training rows) with J splits instead of s^2 / J. Which method is the
best is decided by the same results, so Bonferroni's correction counts all pairs of methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from qrt_study.plan.protocol import Protocol
from qrt_study.statistics.effects import Array, moments
from qrt_study.statistics.metrics import figure_metrics
from qrt_study.statistics.rank_tests import LEVEL

RANKED = ("nll", "crps", "pce")  # what methods are ranked by, in this order; lower is better
_SCORES = {
    "nll": "negative log-likelihood of a test row",
    "pce": "probabilistic calibration error; 0 is perfect",
    "crps": "continuous ranked probability score, in the unit of the target",
    "sd": "mean predicted standard deviation, in the unit of the target",
    "coverage_90": "share of test rows inside the predicted central 90 % interval",
    "length_90": "mean length of this interval, in the unit of the target",
}
SCORES: dict[str, str] = {
    "method": "method by its name in the paper",
    "splits": "splits with a usable result",
    "failed_splits": "splits without one; a method with any is not ranked",
} | {
    column: words
    for name, meaning in _SCORES.items()
    for column, words in (
        (name, f"{meaning}; mean over splits"),
        (f"{name}_standard_error", "its standard error over splits"),
    )
}
COMPARISONS: dict[str, str] = {
    "dataset": "name of the dataset",
    "score": f"{', '.join(RANKED[:-1])} or {RANKED[-1]}; lower is better",
    "best": "method with the lowest mean over splits",
    "method": "another method",
    "splits": "splits of the comparison",
    "difference": "mean over splits of method - best",
    "noise": "its standard error, with the correction for splits that share rows; missing with one split",
    "p_value": "two-sided p-value of the corrected t-test; missing with one split",
    "p_corrected": "p-value times the number of pairs of methods, at most 1",
    "larger_than_noise": f"whether p_corrected is below {LEVEL}",
}


class OwnStatistics(NamedTuple):
    """The numbers of one dataset: SCORES and COMPARISONS."""

    scores: pd.DataFrame
    comparisons: pd.DataFrame


def own_statistics(
    dataset: str, methods: pd.DataFrame, protocol: Protocol, shown: Sequence[str], test_share: float
) -> OwnStatistics:
    """The statistics of a dataset of the user's; `methods` are its tuned methods, of which those `shown` count.

    `test_share` is the number of test rows over that of training rows.
    """
    columns = {"nll": "NLL", "pce": "PCE", "crps": "CRPS", "sd": "SD"}
    metrics = {name: figure_metrics(protocol)[label] for name, label in columns.items()}
    metrics |= {name: name for name in ("coverage_90", "length_90")}
    here = methods[(methods["dataset"] == dataset) & methods["method"].isin(list(shown))]
    splits = sorted(here["split"].unique())
    runs = {name: _runs(here, f"test_{metric}", shown, splits) for name, metric in metrics.items()}
    scores = _scores(runs)
    complete = scores.loc[scores["failed_splits"] == 0, "method"]
    compared = [row for name in RANKED for row in best_beside_others(runs[name].loc[complete], test_share)]
    table = pd.DataFrame(compared, columns=list(COMPARISONS)[2:])
    table.insert(0, "score", [name for name in RANKED for _ in range(max(len(complete) - 1, 0))])
    table.insert(0, "dataset", dataset)
    return OwnStatistics(scores, table)


def _runs(methods: pd.DataFrame, column: str, shown: Sequence[str], splits: Sequence[int]) -> pd.DataFrame:
    """One row per method that was asked for, one column per split; what is not usable is NaN."""
    values = methods[column].astype(float).where((methods["status"] == "ok").to_numpy())
    wide = methods.assign(value=values).pivot(index="method", columns="split", values="value")
    return wide.reindex(index=[name for name in shown if name in wide.index], columns=list(splits))


def _scores(runs: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    ranked = [runs[name].to_numpy(float) for name in RANKED]
    usable = np.isfinite(np.stack(ranked)).all(axis=0).sum(axis=1)
    first = runs[RANKED[0]]
    table: dict[str, Any] = {
        "method": list(first.index),
        "splits": usable,
        "failed_splits": len(first.columns) - usable,
    }
    for name in _SCORES:
        found = moments(runs[name].to_numpy(float))
        table |= {name: found.mean, f"{name}_standard_error": found.standard_error}
    return pd.DataFrame(table, columns=list(SCORES))


def best_beside_others(runs: pd.DataFrame, test_share: float) -> list[dict[str, Any]]:
    """The method with the lowest mean of complete runs (methods, splits) beside each of the others."""
    if len(runs) < 2:
        return []
    means = moments(runs.to_numpy(float)).mean
    best = runs.index[int(np.argmin(means))]
    others = [name for name in runs.index if name != best]
    found = [corrected_t_test((runs.loc[name] - runs.loc[best]).to_numpy(float), test_share) for name in others]
    pairs = math.comb(len(runs), 2)
    corrected = np.minimum(1, pairs * np.array([p_value for _, _, p_value in found]))
    return [
        {
            "best": best,
            "method": name,
            "splits": runs.shape[1],
            "difference": difference,
            "noise": noise,
            "p_value": p_value,
            "p_corrected": p_corrected,
            "larger_than_noise": bool(p_corrected < LEVEL),
        }
        for name, (difference, noise, p_value), p_corrected in zip(others, found, corrected, strict=True)
    ]


def corrected_t_test(differences: Array, test_share: float) -> tuple[float, float, float]:
    """Mean of paired differences (J,), its corrected standard error, and the two-sided p-value.

    Error and p-value are NaN for a single split. Equal results in every split have no noise and the p-value 1.
    """
    found = moments(differences)
    splits, mean = int(found.runs), float(found.mean)
    if splits < 2:
        return mean, math.nan, math.nan
    noise = math.sqrt(float(found.squares) / (splits - 1) * (1 / splits + test_share))
    if noise == 0:
        return mean, noise, float(mean == 0)
    return mean, noise, float(2 * stats.t.sf(abs(mean) / noise, splits - 1))
