"""Scores taken apart: against brute force, simulation and scoringrules."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
import scoringrules
from numpy.random import default_rng

from qrt_study.results.score_parts import (
    best_map_gain,
    calibrated_pce,
    coverage_by_fifth,
    crps_parts,
    deviation_of_share,
    thresholds,
)


def test_best_map_gains_the_divergence_of_the_pits_from_uniform() -> None:
    pits = scipy.stats.beta(2, 2).rvs(20_000, random_state=1)
    divergence = -scipy.stats.beta(2, 2).entropy()  # E log density, since the uniform density is 1
    assert best_map_gain(pits) == pytest.approx(divergence, abs=4 * 0.45 / np.sqrt(len(pits)))


def test_best_map_gains_nothing_on_average_with_calibrated_pits() -> None:
    gains = [best_map_gain(default_rng(seed).uniform(size=200)) for seed in range(200)]
    assert abs(np.mean(gains)) < 0.01
    # A map that is fitted to the rows it is scored on would gain by itself.
    assert np.mean(gains) < 0.002


def test_best_map_is_the_kernel_estimate_by_reflection() -> None:
    """All folds alike: the map of the others is that of a fold, whose gain can be computed kernel by kernel."""
    one = default_rng(5).beta(3, 1, size=40)
    pits = np.repeat(one, 5)  # row i is in fold i % 5
    images = np.concatenate([one + 2 * k for k in range(-3, 4)] + [-one + 2 * k for k in range(-3, 4)])
    gains = [
        np.log(scipy.stats.norm(0, h).pdf(one[:, None] - images).sum(axis=1) / len(one)).mean()
        for h in (0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3)
    ]
    assert best_map_gain(pits) == pytest.approx(max(gains), rel=1e-6)


def _isotonic_by_brute_force(outcome: np.ndarray) -> np.ndarray:
    """The min-max formula of isotonic regression."""
    n = len(outcome)
    return np.array([
        max(min(outcome[a : b + 1].mean() for b in range(i, n)) for a in range(i + 1)) for i in range(n)
    ])  # fmt: skip


def test_parts_of_crps_are_those_of_brute_force() -> None:
    rng = default_rng(2)
    mean, y = rng.normal(size=12), rng.normal(size=12)
    sd = 0.5
    points = thresholds(y)
    cdf = scipy.stats.norm(mean[:, None], sd).cdf(points)
    crps = scoringrules.crps_normal(y, mean, sd).mean()
    parts = crps_parts(crps, cdf, points, y)
    fine = np.linspace(y.min(), y.max(), 2001)
    recalibrated = []
    for t in fine:
        order = np.argsort(mean)[::-1]  # F(t) falls with the mean
        outcome = (y[order] <= t).astype(float)
        recalibrated.append(np.square(_isotonic_by_brute_force(outcome) - outcome).mean())
    uncertainty = scoringrules.crps_ensemble(y, np.tile(y, (12, 1))).mean()
    assert parts["crps_uncertainty"] == pytest.approx(uncertainty, rel=1e-12)
    assert parts["crps_discrimination"] == pytest.approx(uncertainty - np.trapezoid(recalibrated, fine), abs=0.01)
    assert parts["crps_miscalibration"] - parts["crps_discrimination"] + uncertainty == pytest.approx(crps, rel=1e-12)


def test_calibrated_forecasts_have_hardly_any_miscalibration_and_wrong_ones_have() -> None:
    rng = default_rng(3)
    mean = rng.normal(size=4000)
    y = mean + rng.normal(size=4000)
    points = thresholds(y)
    found = {}
    for sd in (1.0, 0.3):
        cdf = scipy.stats.norm(mean[:, None], sd).cdf(points)
        found[sd] = crps_parts(scoringrules.crps_normal(y, mean, sd).mean(), cdf, points, y)
    assert 0 < found[1.0]["crps_miscalibration"] < 0.02
    assert found[0.3]["crps_miscalibration"] > 0.08
    # Both order the rows alike, so they discriminate alike.
    assert found[0.3]["crps_discrimination"] == pytest.approx(found[1.0]["crps_discrimination"], abs=2e-3)


def test_equal_probabilities_are_recalibrated_alike() -> None:
    y = np.array([0.0, 1.0, 2.0, 3.0])
    points = thresholds(y)
    constant = np.full((4, len(points)), 0.5)
    assert crps_parts(1.0, constant, points, y)["crps_discrimination"] == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("n", [1, 7, 100])
def test_deviation_of_a_share_is_that_of_the_binomial(n: int) -> None:
    counts = np.arange(n + 1)
    for p in (0.05, 0.5, 0.9):
        expected = (scipy.stats.binom(n, p).pmf(counts) * np.abs(counts / n - p)).sum()
        assert float(deviation_of_share(n, p)) == pytest.approx(expected, rel=1e-9)


def test_pce_of_a_calibrated_model_is_that_of_simulated_uniform_pits() -> None:
    n, levels = 40, np.arange(1, 101) / 101
    pits = np.sort(default_rng(4).uniform(size=(20_000, n)), axis=1)
    by_levels = np.abs((pits[:, :, None] <= levels).mean(axis=1) - levels).mean() if n < 50 else 0
    by_order = np.abs(pits - np.arange(1, n + 1) / (n + 1)).mean()
    found = calibrated_pce(n)
    assert found["pce_levels_calibrated"] == pytest.approx(by_levels, rel=0.01)
    assert found["pce_sorted_calibrated"] == pytest.approx(by_order, rel=0.01)


def test_coverage_that_falls_with_the_spread_is_seen_in_its_fifths() -> None:
    rng = default_rng(6)
    sd = rng.uniform(size=50_000)
    inside = rng.uniform(size=50_000) < 1 - 0.2 * sd  # 0.9 on average
    found = coverage_by_fifth(inside, sd)
    assert [found[f"coverage_sd{k}"] for k in range(1, 6)] == pytest.approx([0.98, 0.94, 0.90, 0.86, 0.82], abs=0.01)
    assert found["coverage_gap"] == pytest.approx(0.048, abs=0.005)
    even = coverage_by_fifth(rng.uniform(size=50_000) < 0.9, sd)
    assert even["coverage_gap"] < 4 * even["coverage_gap_calibrated"]
