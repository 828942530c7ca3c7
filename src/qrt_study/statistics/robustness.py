"""How robust the main comparison is: means that a single split carries, and what discrete targets change.

With discrete targets NLL has no lower bound: a mixture gains without end by narrowing on frequent values. CRPS does
not reward that, so a gain that CRPS shows too is one of prediction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from qrt_study.plan.artifacts import DISCRETE
from qrt_study.statistics.effects import Array, moments
from qrt_study.statistics.rank_tests import wilcoxon
from qrt_study.statistics.seeds import seed_differences

FEWEST_SPLITS = 3  # of which one can be left out
ALL, CONTINUOUS, DISCRETE_TARGETS = "all", "continuous", "discrete"

_COMPARED = {
    "metric": "metric of the figures: NLL, PCE, CRPS, SD; test rows, lower is better",
    "method": "the one method of the difference",
    "baseline": "the method that is subtracted",
}
PER_DATASET: dict[str, str] = _COMPARED | {
    "dataset": "name of the dataset",
    "targets": f"discrete if more than {DISCRETE:.0%} of the training targets are among their ten most frequent values",
    "splits": "splits in which both methods are usable",
    "mean": "mean over these splits of method - baseline",
    "standard_error": "its standard error over splits",
    "median": "median over splits",
    "without_one_low": f"smallest mean when one split is left out; missing with fewer than {FEWEST_SPLITS}",
    "without_one_high": "largest mean when one split is left out",
    "one_split_decides": "the sign of the mean changes when one split is left out",
}
SUMMARY: dict[str, str] = _COMPARED | {
    "targets": "datasets that count: all, or those with continuous or discrete targets",
    "datasets": "how many these are",
    "lower": "datasets on which the mean is below 0",
    "lower_by_median": "datasets on which the median over splits is below 0",
    "one_split_decides": "datasets on which one split decides the sign of the mean",
    "p_value": "Wilcoxon's signed-rank test of the means over datasets, two-sided",
}


class Robustness(NamedTuple):
    """The differences of the main comparison dataset by dataset, and what they come to."""

    per_dataset: pd.DataFrame
    summary: pd.DataFrame


def robustness_statistics(
    methods: pd.DataFrame, metrics: Mapping[str, str], discreteness: Mapping[str, float]
) -> Robustness:
    """The robustness of each comparison; `methods` are the tuned methods of the main comparison, one seed.

    `metrics` maps labels to metrics of the result table, `discreteness` has the share of each dataset's targets among
    their ten most frequent values.
    """
    found = []
    differences = seed_differences(methods, metrics)
    for place, rows in differences.groupby([*_COMPARED, "dataset"], sort=False):
        dataset = str(place[-1])
        targets = DISCRETE_TARGETS if discreteness.get(dataset, 0.0) > DISCRETE else CONTINUOUS
        named = dict(zip([*_COMPARED, "dataset"], place, strict=True)) | {"targets": targets}
        found.append(named | _over_splits(rows["difference"].to_numpy(float)))
    per_dataset = pd.DataFrame(found, columns=list(PER_DATASET))
    summary = [
        dict(zip(_COMPARED, place, strict=True)) | {"targets": targets} | _over_datasets(chosen)
        for place, rows in per_dataset.groupby(list(_COMPARED), sort=False)
        for targets in (ALL, CONTINUOUS, DISCRETE_TARGETS)
        if len(chosen := rows if targets == ALL else rows[rows["targets"] == targets])
    ]
    return Robustness(per_dataset, pd.DataFrame(summary, columns=list(SUMMARY)))


def _over_splits(differences: Array) -> dict[str, Any]:
    """One comparison on one dataset: differences (S,)."""
    of_splits = moments(differences)
    without_one = np.array([math.nan])
    if len(differences) >= FEWEST_SPLITS:
        without_one = (differences.sum() - differences) / (len(differences) - 1)
    mean = float(of_splits.mean)
    return {
        "splits": len(differences),
        "mean": mean,
        "standard_error": float(of_splits.standard_error),
        "median": float(np.median(differences)),
        "without_one_low": float(without_one.min()),
        "without_one_high": float(without_one.max()),
        "one_split_decides": bool((np.sign(without_one) == -np.sign(mean)).any()),
    }


def _over_datasets(rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "datasets": len(rows),
        "lower": int((rows["mean"] < 0).sum()),
        "lower_by_median": int((rows["median"] < 0).sum()),
        "one_split_decides": int(rows["one_split_decides"].sum()),
        "p_value": wilcoxon(rows["mean"].to_numpy(float))[1],
    }
