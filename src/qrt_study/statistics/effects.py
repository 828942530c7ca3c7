"""Means, standard errors and Cohen's d of runs, and letter values over datasets (docs/protocol.md, section 7).

Runs are arrays with the splits on the last axis, (..., S); a run that cannot be used is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

COHENS_D_FORMS = ("pooled", "released")
# The depths that are drawn: median, fourths and eighths.
LETTER_QUANTILES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 7 / 8)
# Below this number of datasets the tails hold less than one dataset each: every dataset is a point.
FEWEST_FOR_TAILS = 8


@dataclass(frozen=True)
class Moments:
    """Number, mean and sum of squared deviations of the usable runs, each (...); no run: mean NaN."""

    runs: NDArray[np.int64]
    mean: Array
    squares: Array

    @property
    def standard_error(self) -> Array:
        """Sample standard deviation / sqrt(n); NaN for fewer than two runs."""
        return np.sqrt(ratio(self.squares, self.runs * (self.runs - 1.0)))


def moments(values: Array) -> Moments:
    """The moments over the last axis.

    They do not depend on the order of the runs, not even in the last bit, and equal runs have exactly their own value
    as mean and no deviation: otherwise rounding alone would break ties and make a huge Cohen's d of nothing.
    """
    if values.shape[-1] == 0:
        values = np.full((*values.shape[:-1], 1), np.nan)
    ordered = np.sort(values, axis=-1)  # NaN last
    runs = np.isfinite(ordered).sum(axis=-1)
    smallest = ordered[..., :1]
    above = np.where(np.isfinite(ordered), ordered - smallest, 0.0)
    mean_above = ratio(above.sum(axis=-1), runs)
    deviations = np.where(np.isfinite(ordered), above - mean_above[..., None], 0.0)
    return Moments(runs, smallest[..., 0] + mean_above, (deviations**2).sum(axis=-1))


def cohens_d(method: Array, baseline: Array, form: str) -> Array:
    """Cohen's d of the runs of a method against those of the baseline, unpaired (docs/protocol.md, row 5).

    "pooled" divides by the pooled standard deviation sqrt((SS1 + SS2) / (n1 + n2 - 2)); "released" by
    sqrt((v1 + v2) / (n1 + n2 - 2)) with population variances v = SS / n: for n + n runs, d is larger by sqrt(n).
    No deviation and equal means give 0; no deviation and different means, or too few runs, give NaN.
    """
    one, two = moments(method), moments(baseline)
    freedom = np.where((one.runs > 0) & (two.runs > 0), one.runs + two.runs - 2.0, 0.0)
    if form == "pooled":
        deviation = np.sqrt(ratio(one.squares + two.squares, freedom))
    elif form == "released":
        variances = ratio(one.squares, one.runs) + ratio(two.squares, two.runs)
        deviation = np.sqrt(ratio(variances, freedom))
    else:
        raise ValueError(f"form of Cohen's d {form!r}: must be one of {', '.join(COHENS_D_FORMS)}")
    difference = one.mean - two.mean
    return np.where((difference == 0) & (deviation == 0), 0.0, ratio(difference, deviation))


def relative_difference(difference: Array, baseline_mean: Array) -> Array:
    """The difference as a share of the baseline's size; NaN where the baseline is 0."""
    return ratio(difference, np.abs(baseline_mean))


def letter_values(values: Array) -> tuple[Array, int]:
    """The quantiles at LETTER_QUANTILES of the finite ones among the values (N,), and how many these are."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return np.full(len(LETTER_QUANTILES), np.nan), 0
    return np.quantile(finite, LETTER_QUANTILES), finite.size


def beyond_letter_values(values: Array) -> NDArray[np.bool_]:
    """Which of the values (N,) are drawn one by one: those beyond the outer letter values, all where they are few."""
    quantiles, count = letter_values(values)
    if count < FEWEST_FOR_TAILS:
        return np.isfinite(values)
    return np.isfinite(values) & ((values < quantiles[0]) | (values > quantiles[-1]))


def ratio(numerator: Array, denominator: Array | NDArray[np.int64]) -> Array:
    """Numerator / denominator, NaN where the denominator is not above 0."""
    safe = np.where(denominator > 0, denominator, 1.0)
    return np.where(denominator > 0, numerator / safe, np.nan)
