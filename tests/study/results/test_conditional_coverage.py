"""Coverage given x, on simulated data whose conditional miscalibration is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import default_rng

from qrt_study.results.conditional_coverage import SLAB, excess_risk, worst_slab_coverage


def simulated(rows: int, seed: int, *, depends: bool) -> tuple[np.ndarray, np.ndarray]:
    """x (rows, 3), and which of the targets are outside: 10 % of them, all where x is large if it `depends` on x."""
    rng = default_rng(seed)
    x = rng.normal(size=(rows, 3))
    chance = np.where(x[:, 0] > 0, 0.18, 0.02) if depends else np.full(rows, 0.1)
    return x, rng.uniform(size=rows) < chance


def test_excess_risk_is_the_share_of_the_variance_that_x_explains() -> None:
    x, outside = simulated(20_000, 1, depends=True)
    # Brier scores of the true probabilities: E p (1 - p), against that of their mean.
    explained = 1 - (0.18 * 0.82 + 0.02 * 0.98) / 2 / (0.1 * 0.9)
    assert excess_risk(x, outside) == pytest.approx(explained, abs=0.01)


def test_excess_risk_is_not_above_zero_where_x_tells_nothing() -> None:
    found = [excess_risk(*simulated(2000, seed, depends=False)) for seed in range(5)]
    assert -0.05 < np.mean(found) <= 0


def test_excess_risk_needs_targets_outside() -> None:
    x, _ = simulated(50, 1, depends=False)
    assert np.isnan(excess_risk(x, np.arange(50) < 4))
    assert np.isnan(excess_risk(x, np.arange(50) >= 4))


def test_worst_slab_has_the_coverage_of_the_half_space_that_is_covered_least() -> None:
    x, outside = simulated(20_000, 2, depends=True)
    # A direction among 200 is not exactly that of the half-space, so some rows of the other half are in the slab.
    assert worst_slab_coverage(x, ~outside) == pytest.approx(0.82, abs=0.02)


def test_worst_slab_is_not_worse_than_the_rest_by_its_choice() -> None:
    found = [
        worst_slab_coverage(x, ~outside) for x, outside in (simulated(1000, seed, depends=False) for seed in range(20))
    ]
    assert np.mean(found) == pytest.approx(0.9, abs=4 * np.sqrt(0.09 / (20 * 1000 * SLAB)))


def test_both_are_the_same_every_time() -> None:
    x, outside = simulated(500, 3, depends=True)
    assert excess_risk(x, outside) == excess_risk(x, outside)
    assert worst_slab_coverage(x, ~outside) == worst_slab_coverage(x, ~outside)
