"""Distributions from the probabilities of bars, against formulas written out and TabPFN's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from conftest import PROJECT
from qrt import QuantileRecalibrator, distribution_from_bars, distribution_from_quantiles
from qrt.estimator.recalibrated import RecalibratedDistribution
from support.foundation_models import outputs

BORDERS = np.array([-3.0, -1.0, 0.0, 0.5, 4.0, 9.0])
PROBABILITIES = np.array([[0.1, 0.2, 0.4, 0.2, 0.1], [0.0, 0.5, 0.0, 0.5, 0.0], [0.7, 0.1, 0.1, 0.05, 0.05]])
LEVELS = np.array([1e-9, 0.01, 0.2, 0.3, 0.5, 0.66, 0.9, 0.97, 1 - 1e-9])
FILES = PROJECT / "tests/estimator/files"


def pieces(row: int) -> list[tuple[float, Any]]:
    """The probability and the distribution of each bar, by scipy."""
    scales = np.diff(BORDERS)[[0, -1]] / stats.halfnorm.ppf(0.5)
    inner = [stats.uniform(BORDERS[bar], BORDERS[bar + 1] - BORDERS[bar]) for bar in range(1, 4)]
    lower = stats.truncnorm(-np.inf, 0, loc=BORDERS[1], scale=scales[0])
    upper = stats.halfnorm(BORDERS[-2], scales[1])
    return list(zip(PROBABILITIES[row], [lower, *inner, upper], strict=True))


@pytest.fixture
def bars() -> RecalibratedDistribution:
    return distribution_from_bars(BORDERS, PROBABILITIES)


def test_distribution_is_uniform_within_bars_and_half_normal_at_both_ends(bars: RecalibratedDistribution) -> None:
    y = np.array([-30.0, -3.0, -1.2, -0.3, 0.2, 1.0, 3.9, 5.0, 9.0, 40.0])
    expected = [[sum(share * one.cdf(at) for share, one in pieces(row)) for at in y] for row in range(3)]
    np.testing.assert_allclose(bars.cdf(np.tile(y, (3, 1))), expected, rtol=1e-12, atol=1e-15)
    expected = [[sum(share * one.pdf(at) for share, one in pieces(row)) for at in y] for row in range(3)]
    np.testing.assert_allclose(bars.pdf(np.tile(y, (3, 1))), expected, rtol=1e-10)
    assert bars.log_score(0.2)[1] == np.inf  # a bar without probability
    assert np.isfinite(bars.log_score(1000.0)[[0, 2]]).all()


def test_half_of_the_probability_of_a_tail_is_within_its_bar(bars: RecalibratedDistribution) -> None:
    np.testing.assert_allclose(bars.cdf(-3.0), PROBABILITIES[:, 0] / 2)
    np.testing.assert_allclose(1 - bars.cdf(9.0), PROBABILITIES[:, -1] / 2)


@pytest.mark.parametrize("tails", [True, False])
def test_quantiles_invert_the_distribution_function_out_to_the_far_tails(tails: bool) -> None:
    one = distribution_from_bars(BORDERS, PROBABILITIES, half_normal_tails=tails)
    found = one.ppf(LEVELS)
    np.testing.assert_allclose(one.cdf(found), np.tile(LEVELS, (3, 1)), rtol=1e-6, atol=1e-12)
    assert (np.diff(found, axis=1) > 0).all()
    own = np.random.default_rng(0).uniform(size=(3, 50))
    np.testing.assert_allclose(one.cdf(one.ppf(own)), own, atol=1e-12)
    outside = (found < BORDERS[0]) | (found > BORDERS[-1])
    assert outside.any() == tails


def test_nothing_is_outside_of_the_borders_without_tails() -> None:
    one = distribution_from_bars(BORDERS, PROBABILITIES, half_normal_tails=False)
    np.testing.assert_allclose(one.ppf([0.0, 1.0])[[0, 2]], [[-3, 9], [-3, 9]])
    np.testing.assert_allclose(one.cdf([[-4.0, -3.0, 9.0, 10.0]] * 3), [[0, 0, 1, 1]] * 3)
    np.testing.assert_allclose(one.pdf(-2.0), PROBABILITIES[:, 0] / 2)
    assert (one.log_score([[-3.1, 9.1]] * 3) == np.inf).all()


def test_moments_and_crps_are_those_of_the_mixture(bars: RecalibratedDistribution) -> None:
    for row in range(3):
        shares = [share for share, _ in pieces(row)]
        means = np.array([one.mean() for _, one in pieces(row)])
        squares = np.array([one.var() for _, one in pieces(row)]) + means**2
        mean = shares @ means
        assert bars.mean()[row] == pytest.approx(mean, abs=1e-3)
        assert bars.var()[row] == pytest.approx(shares @ squares - mean**2, rel=1e-3)
    values = bars.ppf((np.arange(20_000) + 0.5) / 20_000)
    y = np.array([0.4, -2.0, 7.0])
    spread = 2 * ((2 * np.arange(1, 20_001) - 20_001) / 20_000**2 * values).sum(axis=1)
    assert bars.crps(y) == pytest.approx(np.abs(values - y[:, None]).mean(axis=1) - spread / 2, abs=1e-3)


def test_borders_that_agree_make_no_bars_of_their_own(bars: RecalibratedDistribution) -> None:
    borders = np.array([-3.0, -3.0, -1.0, 0.0, 0.0, 0.0, 0.5, 4.0, 9.0, 9.0])
    probabilities = np.array([[0.04, 0.06, 0.2, 0.1, 0.1, 0.2, 0.2, 0.03, 0.07]])
    one = distribution_from_bars(borders, probabilities)
    y = np.linspace(-5, 12, 60)
    np.testing.assert_allclose(one.cdf([y])[0], bars.cdf([y] * 3)[0])


@pytest.mark.parametrize("name", ["tabpfn", "tabicl"])
def test_stored_outputs_are_those_of_the_script(name: str) -> None:
    with np.load(FILES / f"{name}.npz") as stored:
        for key, values in outputs()[name].items():
            assert stored[key].dtype == values.dtype
            np.testing.assert_allclose(stored[key], values, rtol=1e-5)


def stored_distributions(name: str) -> tuple[Any, np.ndarray]:
    with np.load(FILES / f"{name}.npz") as stored:
        if name == "tabicl":
            return distribution_from_quantiles(stored["levels"], stored["quantiles"]), stored["y"]
        probabilities = torch.from_numpy(stored["logits"]).double().softmax(-1)
        return distribution_from_bars(torch.from_numpy(stored["borders"]), probabilities), stored["y"]


@pytest.mark.parametrize("name", ["tabpfn", "tabicl"])
def test_stored_outputs_become_calibrated(name: str) -> None:
    distribution, y = stored_distributions(name)
    pits = distribution.cdf(y)
    assert np.isfinite(distribution.log_score(y)).all()
    fitted = QuantileRecalibrator(bandwidth=0.05).fit(pits[:120])
    found = fitted.transform(distribution)
    before, after = (stats.kstest(one.cdf(y)[120:], "uniform").statistic for one in (distribution, found))
    # Two samples of 120 are further apart than 0.25 in one of 1,000 cases (Smirnov).
    assert after < min(before, 0.25)
    assert found.log_score(y)[120:].mean() < distribution.log_score(y)[120:].mean()
    low, high = found.interval(0.9).T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(0.9, abs=0.06)


def test_quantiles_of_inner_bars_are_those_that_tabpfn_interpolates() -> None:
    with np.load(FILES / "tabpfn.npz") as stored:
        borders, logits = stored["borders"].astype(float), stored["logits"].astype(float)
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    # `icdf`: the level's place between the cumulated probabilities at the borders around it.
    levels = np.array([0.05, 0.3, 0.5, 0.8, 0.95])
    expected = [np.interp(levels, [0, *row.cumsum()], borders) for row in probabilities]
    found = distribution_from_bars(borders, probabilities).ppf(levels)
    inner = (found > borders[1]) & (found < borders[-2])
    assert inner.mean() > 0.95
    np.testing.assert_allclose(found[inner], np.array(expected)[inner], rtol=1e-9)


@pytest.mark.parametrize(
    ("borders", "probabilities", "message"),
    [
        ([0, 1, 2], [[0.5, 0.4]], "add up to 1, but those of row 0 do not; of logits, take the softmax"),
        ([0, 1, 2], [[0.5, 0.5], [-3.0, 4.0]], "row 1"),
        ([0, 1, 2], [[0.5, np.nan]], "row 0"),
        ([0, 2, 1], [[0.5, 0.5]], "increasing order"),
        ([0, 1, np.inf], [[0.5, 0.5]], "finite"),
        ([0, 1], [[1.0]], "at least two"),
        ([1, 1, 2], [[0.5, 0.5]], "at least two bars must have a width"),
        ([0, 1, 2], [[0.5, 0.3, 0.2]], r"3 borders need \(N, 2\)"),
        (np.full((4000, 500), 0.002), np.arange(501.0), "swapped: borders come first"),
    ],
)
def test_unusable_bars_are_refused(borders: Any, probabilities: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        distribution_from_bars(borders, probabilities)
    assert len(str(caught.value)) < 200
