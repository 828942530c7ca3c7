"""Variance components of runs that are nested in groups: the one-way random-effects model, by analysis of variance.

A value is y_ij = mu + a_i + e_ij with group i and run j; a_i and e_ij are independent with variances of their own.
Values are arrays with the groups on the last axis but one and the runs on the last, (..., G, R); a missing run is NaN,
and groups may have different numbers of runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from qrt_study.statistics.effects import Array, Moments, moments, ratio
from qrt_study.statistics.intervals import COVERAGE


@dataclass(frozen=True)
class VarianceComponents:
    """The two variances, each (...); NaN where there are too few groups or runs to estimate them.

    Both are unbiased, so that `between` may be negative where the groups hardly differ.
    """

    between: Array  # of a_i
    within: Array  # of e_ij
    within_share_interval: tuple[Array, Array]  # 95 % interval of the share of e_ij in the variance of one run

    @property
    def between_deviation(self) -> Array:
        """The standard deviation of a_i; 0 for a negative estimate of its variance."""
        return np.sqrt(np.maximum(self.between, 0.0))

    @property
    def within_deviation(self) -> Array:
        """The standard deviation of e_ij."""
        return np.sqrt(self.within)

    @property
    def within_share(self) -> Array:
        """The share of e_ij in the variance of one run; NaN where nothing varies."""
        return ratio(self.within, self.within + np.maximum(self.between, 0.0))


def variance_components(values: Array) -> VarianceComponents:
    """Components by equating the mean squares of the analysis of variance to their expectations (Henderson's method I).

    Between groups the mean square has the expectation within + n0 * between, where n0 is the number of runs of each
    group, or (N - sum n_i^2 / N) / (G - 1) where groups differ in size.
    """
    group = moments(values)
    sizes = group.runs
    groups, runs = (sizes > 0).sum(axis=-1), sizes.sum(axis=-1)
    everything = moments(values.reshape(*values.shape[:-2], -1))
    within = ratio(np.nansum(group.squares, axis=-1), runs - groups)
    deviations = np.where(sizes > 0, group.mean - everything.mean[..., None], 0.0)
    between_square = ratio((sizes * deviations**2).sum(axis=-1), groups - 1)
    size = ratio(runs - ratio((sizes**2).sum(axis=-1), runs), groups - 1)
    return VarianceComponents(
        ratio(between_square - within, size), within, _within_share_interval(group, within, groups, runs)
    )


def _within_share_interval(
    group: Moments, within: Array, groups: NDArray[np.int64], runs: NDArray[np.int64]
) -> tuple[Array, Array]:
    """Thomas and Hultquist's interval, exact for groups of one size.

    The variance of the groups' means times the harmonic mean of their sizes, divided by the mean square within, has the
    F distribution after division by 1 + (harmonic mean) * between / within.
    """
    size = ratio(groups.astype(float), np.where(group.runs > 0, 1 / np.maximum(group.runs, 1), 0.0).sum(axis=-1))
    statistic = ratio(size * ratio(moments(group.mean).squares, groups - 1), within)
    freedom = np.maximum(groups - 1, 1), np.maximum(runs - groups, 1)
    tail = (1 - COVERAGE) / 2
    low, high = (
        # A quotient between / within below 0 is possible for the estimate only.
        1 / (1 + np.maximum(statistic / stats.f.ppf(level, *freedom) - 1, 0.0) / size)
        for level in (tail, 1 - tail)
    )
    return low, high
