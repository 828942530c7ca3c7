from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from qrt_study.statistics.intervals import (
    BOUNDLESS,
    correlation_interval,
    largest_mean,
    mean_interval,
    median_interval,
    rank_share,
    rank_share_deviation,
    rank_share_interval,
    share_interval,
    shift_of_groups,
)


@pytest.mark.parametrize(("count", "total"), [(0, 6), (6, 6), (31, 44), (1, 1)])
@pytest.mark.parametrize("coverage", [0.9, 0.95])
def test_share_interval_is_clopper_and_pearsons(count: int, total: int, coverage: float) -> None:
    exact = stats.binomtest(count, total).proportion_ci(confidence_level=coverage, method="exact")
    assert share_interval(count, total, coverage) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("total", [1, 5, 6, 13, 44, 57])
def test_median_interval_is_the_sign_tests(total: int) -> None:
    values = np.random.default_rng(total).normal(size=total)
    low, high = median_interval(values)

    def p_value(median: float) -> float:
        return float(stats.binomtest(int((values > median).sum()), total).pvalue)

    if total < 6:
        assert (low, high) == BOUNDLESS
    else:
        assert p_value(low - 1e-9) <= 0.05 < p_value(low + 1e-9)
        assert p_value(high + 1e-9) <= 0.05 < p_value(high - 1e-9)


def test_rank_share_is_wilcoxons_statistic_over_the_sum_of_ranks() -> None:
    values = np.random.default_rng(0).normal(size=30)
    statistic = stats.wilcoxon(-values, alternative="greater").statistic  # ranks of the values below zero
    assert rank_share(values) == pytest.approx(statistic / (30 * 31 / 2))
    assert rank_share(-values) == pytest.approx(1 - rank_share(values))
    assert rank_share([0.0, 0.0]) == 0.5


@pytest.mark.parametrize("datasets", [6, 35])
def test_deviation_of_the_rank_share_is_that_of_simulated_signs(datasets: int) -> None:
    signs = np.random.default_rng(1).random((4000, datasets)) < 0.5
    shares = (signs * np.arange(1, datasets + 1)).sum(axis=1) / (datasets * (datasets + 1) / 2)
    assert rank_share_deviation(datasets) == pytest.approx(shares.std(), rel=0.05)


@pytest.mark.parametrize("shift", [0.0, 0.5, 1.0])
def test_rank_share_interval_covers_the_true_share(shift: float) -> None:
    """The truth for normal differences with mean -shift: P(X + Y < 0) of two of them."""
    generator, truth = np.random.default_rng(2), float(stats.norm.cdf(shift * math.sqrt(2)))
    covered = 0
    for _ in range(400):
        low, high = rank_share_interval(rank_share(generator.normal(-shift, 1, 35)), 35)
        covered += low <= truth <= high
    assert covered / 400 >= 0.93


def test_student_interval_is_scipys() -> None:
    runs = np.random.default_rng(3).normal(size=5)
    expected = stats.ttest_1samp(runs, 0).confidence_interval(0.95)
    found = mean_interval(float(runs.mean()), float(stats.sem(runs)), 5)
    assert found == pytest.approx((expected.low, expected.high))
    assert mean_interval(1.0, math.nan, 5) == BOUNDLESS
    assert mean_interval(1.0, 0.1, 1) == BOUNDLESS


def test_correlation_interval_covers_no_correlation() -> None:
    generator = np.random.default_rng(4)
    misses = 0
    for _ in range(400):
        rho = float(stats.spearmanr(generator.normal(size=45), generator.normal(size=45)).statistic)
        low, high = correlation_interval(rho, 45)
        misses += not low <= 0 <= high
    assert misses / 400 <= 0.07
    assert correlation_interval(0.5, 9) == BOUNDLESS


def test_shift_interval_inverts_mann_and_whitneys_test() -> None:
    generator = np.random.default_rng(5)
    one, two = generator.normal(0.5, 1, 13), generator.normal(0, 1, 40)
    _, (low, high) = shift_of_groups(one, two)

    def p_value(shift: float) -> float:
        return float(stats.mannwhitneyu(one - shift, two, method="asymptotic", use_continuity=False).pvalue)

    assert p_value(low - 0.1) < 0.05 < p_value(low + 0.1)
    assert p_value(high + 0.1) < 0.05 < p_value(high - 0.1)
    assert shift_of_groups(one[:1], two[:2])[1] == BOUNDLESS


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_largest_mean_is_covered(spread: float) -> None:
    generator = np.random.default_rng(6)
    covered, below = 0, 0
    for _ in range(300):
        truth = generator.normal(0, spread, 20) if spread else np.zeros(20)
        runs = generator.normal(truth[:, None], 1, (20, 5))
        estimate, (low, high) = largest_mean(runs.mean(axis=1), stats.sem(runs, axis=1), np.full(20, 5))
        covered += low <= truth.max() <= high
        below += estimate < truth.max()
    assert covered / 300 >= 0.94
    if not spread:
        assert below / 300 == pytest.approx(0.5, abs=0.1)  # too low as often as too high
