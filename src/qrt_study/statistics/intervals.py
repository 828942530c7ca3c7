"""Intervals of the numbers that verdicts rest on: shares, medians, rank shares, means, correlations, shifts, extremes.

Each function returns the two ends; infinite ends mean that there is too little data for the interval.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

Array = NDArray[np.float64]
Interval = tuple[float, float]

COVERAGE = 0.95
BOUNDLESS: Interval = (-math.inf, math.inf)


def share_interval(count: int, total: int, coverage: float = COVERAGE) -> Interval:
    """Clopper and Pearson's exact interval of a share."""
    tail = (1 - coverage) / 2
    low = special.betaincinv(count, total - count + 1, tail) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - tail) if count < total else 1.0
    return float(low), float(high)


def median_interval(values: ArrayLike, coverage: float = COVERAGE) -> Interval:
    """The interval of the median that belongs to the sign test; boundless for fewer than six values at 95 %."""
    ordered = np.sort(np.asarray(values, dtype=float))
    outside = int(stats.binom.ppf((1 - coverage) / 2, len(ordered), 0.5))
    # `outside` is the smallest count whose lower tail reaches 2.5 %: one fewer may lie beyond each end.
    if outside < 1:
        return BOUNDLESS
    return float(ordered[outside - 1]), float(ordered[-outside])


def rank_share(differences: ArrayLike) -> float:
    """The share of the sum of ranks of |difference| that the differences below zero have; zeros count half.

    Wilcoxon's signed-rank statistic on a scale from 0 (all above zero) to 1 (all below): 1/2 is no tendency.
    """
    return float(rank_shares(np.asarray(differences, dtype=float)))


def rank_shares(differences: Array) -> Array:
    """The rank shares (...) of differences (..., D)."""
    ranks = stats.rankdata(np.abs(differences), axis=-1)
    below, zero = ((ranks * chosen).sum(axis=-1) for chosen in (differences < 0, differences == 0))
    shares: Array = (below + zero / 2) / ranks.sum(axis=-1)
    return shares


def rank_share_deviation(datasets: int) -> float:
    """The standard deviation of the rank share of so many datasets without any tendency."""
    return math.sqrt((2 * datasets + 1) / (6 * datasets * (datasets + 1)))


def rank_share_interval(share: float, datasets: int, *, p_value: float = 1.0, level: float = 1 - COVERAGE) -> Interval:
    """Wilson's score interval of a rank share, with the number of trials that has its variance at 1/2.

    Where `p_value`, that of Wilcoxon's test, is small, the interval is stretched so that it leaves out 1/2 exactly
    where p_value < level: the normal approximation and the exact test differ a little there.
    """
    deviation = rank_share_deviation(datasets)
    z, observed = float(stats.norm.isf(level / 2)), abs(share - 0.5) / deviation
    if 0 < p_value < 0.3 and observed > 0:
        z *= observed / float(stats.norm.isf(p_value / 2))
    trials = 0.25 / deviation**2
    shrink = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / shrink
    half = z * math.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2)) / shrink
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_interval(mean: float, standard_error: float, runs: int, coverage: float = COVERAGE) -> Interval:
    """Student's interval of a mean; boundless with fewer than two runs or without a standard error."""
    if runs < 2 or not math.isfinite(standard_error):
        return BOUNDLESS
    half = float(stats.t.isf((1 - coverage) / 2, runs - 1)) * standard_error
    return mean - half, mean + half


def correlation_interval(correlation: float, count: int, coverage: float = COVERAGE) -> Interval:
    """Bonett and Wright's interval of Spearman's correlation; boundless for fewer than ten pairs."""
    if count < 10:
        return BOUNDLESS
    z = math.atanh(min(max(correlation, -1 + 1e-12), 1 - 1e-12))
    half = float(stats.norm.isf((1 - coverage) / 2)) * math.sqrt((1 + correlation**2 / 2) / (count - 3))
    return math.tanh(z - half), math.tanh(z + half)


def shift_of_groups(first: ArrayLike, second: ArrayLike, coverage: float = COVERAGE) -> tuple[float, Interval]:
    """Hodges and Lehmann's shift of the first group against the second one, and Moses's interval of it.

    The median of all differences of a value of the first group and one of the second. The interval inverts Mann and
    Whitney's test by its normal approximation; boundless where even complete separation would not be significant.
    """
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    differences = np.sort(np.subtract.outer(one, two).ravel())
    sizes, z = len(one) * len(two), float(stats.norm.isf((1 - coverage) / 2))
    outside = math.floor(sizes / 2 - z * math.sqrt(sizes * (len(one) + len(two) + 1) / 12))
    interval = BOUNDLESS if outside < 1 else (float(differences[outside - 1]), float(differences[-outside]))
    return float(np.median(differences)), interval


def largest_mean(
    means: ArrayLike, standard_errors: ArrayLike, runs: ArrayLike, coverage: float = COVERAGE
) -> tuple[float, Interval]:
    """The largest of several true means: an estimate that is too high as often as too low, and an interval.

    The largest observed mean is too high by selection. The lower end is therefore the largest of the means' lower
    bounds at Bonferroni's level (it is above a limit exactly where Holm's correction of one-sided t-tests against that
    limit leaves one significant), and the estimate the same at the level that all bounds keep with probability 1/2.
    The upper end needs no correction: the bound of whichever mean is the largest is enough.
    """
    mean, error, count = (np.asarray(values, dtype=float) for values in (means, standard_errors, runs))
    tail, number = (1 - coverage) / 2, len(mean)

    def bound(probability: float) -> Array:
        return np.asarray(stats.t.ppf(probability, count - 1) * error)

    estimate = float(np.max(mean - bound(0.5 ** (1 / number))))
    return estimate, (float(np.max(mean - bound(1 - tail / number))), float(np.max(mean + bound(1 - tail))))
