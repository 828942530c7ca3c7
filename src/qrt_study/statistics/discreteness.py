"""Figures 19 and 20: Cohen's d of a method against the discreteness level of the dataset (paper, Appendix H)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt_study.statistics.columns import DISCRETENESS

ISOTONIC = tuple(DISCRETENESS["isotonic"])


def discreteness_statistics(per_dataset: pd.DataFrame, method: str, metrics: Sequence[str]) -> pd.DataFrame:
    """The table `isotonic`: one row per metric and discreteness level that occurs, in increasing order.

    Datasets whose Cohen's d or level is not finite do not enter; a metric without any dataset has no rows.
    """
    from sklearn.isotonic import IsotonicRegression  # the figure, which draws the points, starts without it

    rows: list[dict[str, Any]] = []
    for metric in metrics:
        points = usable_points(per_dataset, method, metric)
        if points.empty:
            continue
        level, d = points["discreteness"].to_numpy(float), points["cohens_d"].to_numpy(float)
        rho, p_value = _spearman(level, d)
        rising = not rho < 0  # without a rank correlation all levels or all values are equal: any direction fits
        regression = IsotonicRegression(increasing=rising).fit(level, d)
        levels = np.unique(level)
        for value, fitted in zip(levels.tolist(), regression.predict(levels).tolist(), strict=True):
            direction = "increasing" if rising else "decreasing"
            rows.append(dict(zip(ISOTONIC, (metric, method, value, fitted, direction, rho, p_value), strict=True)))
    return pd.DataFrame(rows, columns=list(ISOTONIC))


def usable_points(per_dataset: pd.DataFrame, method: str, metric: str) -> pd.DataFrame:
    """The rows of one method and metric that the regression is based on."""
    rows = per_dataset[(per_dataset["method"] == method) & (per_dataset["metric"] == metric)]
    return rows[np.isfinite(rows["cohens_d"].astype(float)) & np.isfinite(rows["discreteness"].astype(float))]


def _spearman(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Spearman's correlation and its p-value; NaN where all x or all y are equal, the p-value also for two points."""
    if len(np.unique(x)) < 2 or len(np.unique(y)) < 2:
        return np.nan, np.nan
    from scipy.stats import spearmanr

    result = spearmanr(x, y)
    return float(result.statistic), float(result.pvalue)
