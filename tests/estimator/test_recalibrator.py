from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.utils.estimator_checks import check_parameters_default_constructible

from qrt import QuantileRecalibrator, distribution_from_quantiles, distribution_from_samples
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.registry import MAP_NAMES
from qrt.estimator import recalibrator
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution

DENSITY_MAPS = ("KDE", "TRUNC", "REFL")
AT_THE_ENDS = ("EMP", "DCP", "REFL")
ROWS = 6


def uniform_distance(pits: np.ndarray) -> float:
    """Kolmogorov's distance of PITs from the uniform distribution."""
    return float(stats.kstest(pits, "uniform").statistic)


def skewed_pits(count: int = 300, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).beta(1.0, 1.8, size=count)


def bases() -> dict[str, Any]:
    """Distributions of ROWS rows of every kind and shape."""
    generator = np.random.default_rng(1)
    centre, scale = generator.normal(size=ROWS), generator.uniform(0.5, 2, size=ROWS)
    samples = centre[:, None] + scale[:, None] * generator.standard_t(4, size=(ROWS, 40))
    levels = np.array([0.05, 0.2, 0.35, 0.5, 0.8, 0.95])
    return {
        "scipy, (N,)": stats.norm(centre, scale),
        "scipy, (N, 1)": stats.logistic(centre[:, None], scale[:, None]),
        "scipy, bounded": stats.beta(2 + scale, 3, loc=centre),
        "scipy, skewed": stats.gamma(2 + scale, loc=centre),
        "samples": distribution_from_samples(samples),
        "quantiles": distribution_from_quantiles(levels, stats.t(5, centre[:, None], scale[:, None]).ppf(levels)),
    }


BASES = list(bases())


class WithoutLogDensity:
    """A single normal distribution that takes one point at a time, as a single one of skpro does."""

    def cdf(self, y: float) -> float:
        return float(stats.norm.cdf(np.broadcast_to(y, ())))

    def pdf(self, y: float) -> float:
        return float(stats.norm.pdf(np.broadcast_to(y, ())))

    def ppf(self, p: float) -> float:
        return float(stats.norm.ppf(np.broadcast_to(p, ())))


def recalibrated(base: str, name: str = "REFL") -> RecalibratedDistribution:
    return QuantileRecalibrator(name, bandwidth=0.1).fit(skewed_pits()).transform(bases()[base])


@pytest.mark.parametrize(
    ("shift", "scale", "name"),
    # Of a model that is too narrow, PITs gather at 0 and 1, where KDE and TRUNC are biased: hence the paper's REFL.
    [(0, 2.0, name) for name in MAP_NAMES] + [(*wrong, name) for wrong in [(0, 0.5), (0.7, 1)] for name in AT_THE_ENDS],
)
def test_normal_with_wrong_mean_or_width_becomes_calibrated(shift: float, scale: float, name: str) -> None:
    generator = np.random.default_rng(0)
    centre = generator.normal(size=4000)
    y = generator.normal(centre, 1.0)
    wrong = stats.norm(centre + shift, scale)
    first, second = slice(0, 2000), slice(2000, None)
    fitted = QuantileRecalibrator(name, bandwidth=0.02).fit(wrong.cdf(y)[first])
    pits = fitted.transform(wrong).cdf(y)[second]
    assert uniform_distance(wrong.cdf(y)[second]) > 0.15
    # Two samples of 2,000 are further apart than 0.062 in one of 1,000 cases (Smirnov).
    assert uniform_distance(pits) < 0.062


def test_recalibration_recovers_the_true_distribution() -> None:
    y = np.random.default_rng(0).normal(size=20_000)
    wrong, truth = stats.norm(0.3, 2), stats.norm(0, 1)
    found = QuantileRecalibrator(bandwidth=0.05).fit(wrong.cdf(y)).transform(wrong)
    grid = np.linspace(-2.5, 2.5, 101)
    assert found.cdf(grid) == pytest.approx(truth.cdf(grid), abs=0.01)
    assert found.pdf(grid) == pytest.approx(truth.pdf(grid), abs=0.03)
    assert found.mean() == pytest.approx(0, abs=0.03)
    assert found.std() == pytest.approx(1, abs=0.03)
    assert found.crps(grid).mean() == pytest.approx(stats_crps_of_standard_normal(grid).mean(), abs=0.005)


def stats_crps_of_standard_normal(y: np.ndarray) -> np.ndarray:
    """Closed form of Gneiting and Raftery (2007), page 367."""
    return y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)


def test_calibrated_normal_has_the_known_moments_and_scores() -> None:
    even = (np.arange(4000) + 0.5) / 4000  # PITs of a calibrated model: the map is the identity but for rounding
    found = QuantileRecalibrator(bandwidth=0.1).fit(even).transform(stats.norm(3, 2))
    y = np.linspace(-9, 15, 25)
    assert found.mean() == pytest.approx(3, abs=1e-6)
    assert found.std() == pytest.approx(2, abs=1e-5)
    assert found.mean_difference() == pytest.approx(4 / np.sqrt(np.pi), abs=1e-5)
    assert found.crps(y) == pytest.approx(2 * stats_crps_of_standard_normal((y - 3) / 2), abs=1e-5)
    assert found.log_score(y) == pytest.approx(-stats.norm(3, 2).logpdf(y), abs=1e-5)
    assert found.median() == pytest.approx(3, abs=1e-6)
    assert found.interval(0.9) == pytest.approx(np.array(stats.norm(3, 2).interval(0.9)), abs=1e-5)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", DENSITY_MAPS)
def test_density_is_the_derivative_of_the_cdf(base: str, name: str) -> None:
    found = recalibrated(base, name)
    low, high = found.interval(0.8).T
    middle = low + (high - low) * np.array([0.21, 0.43, 0.52, 0.66, 0.71, 0.93])
    step = 1e-5 * (high - low)
    slope = (found.cdf(middle + step) - found.cdf(middle - step)) / (2 * step)
    assert found.pdf(middle) == pytest.approx(slope, rel=1e-5)
    assert found.logpdf(middle) == pytest.approx(np.log(found.pdf(middle)))


@pytest.mark.parametrize("base", BASES)
def test_density_integrates_to_the_cdf(base: str) -> None:
    found = recalibrated(base)
    low, high = found.ppf([0.02, 0.97]).T
    edges = np.linspace(low, high, 4001, axis=1)
    # The density of interpolated quantiles has jumps, where the trapezoidal rule is off by a share of one cell.
    assert np.trapezoid(found.pdf(edges), edges, axis=1) == pytest.approx(0.95, abs=2e-4)


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("name", DENSITY_MAPS)
def test_quantiles_invert_the_cdf(base: str, name: str) -> None:
    found = recalibrated(base, name)
    levels = np.array([0.2, 0.31, 0.5, 0.77, 0.9])
    quantiles = found.ppf(levels)
    assert found.cdf(quantiles) == pytest.approx(np.tile(levels, (ROWS, 1)), abs=1e-9)
    assert (np.diff(quantiles, axis=1) > 0).all()


@pytest.mark.parametrize(
    ("base", "name"), [*((base, "REFL") for base in BASES), ("scipy, skewed", "TRUNC"), ("scipy, skewed", "EMP")]
)
def test_moments_and_crps_agree_with_brute_force(base: str, name: str) -> None:
    found = recalibrated(base, name)
    # Midpoints of very many levels: mean, variance, E|Y - y| and E|Y - Y'| of equally likely values.
    values = found.ppf((np.arange(40_000) + 0.5) / 40_000)
    spread = values.std(axis=1)
    y = values[:, 9_000] + np.array([-3, -0.5, 0, 0.2, 1, 5]) * spread
    weights = (2 * np.arange(1, 40_001) - 40_001) / 40_000**2
    difference = 2 * (weights * values).sum(axis=1)
    crps = np.abs(values - y[:, None]).mean(axis=1) - 0.5 * difference
    assert found.mean() == pytest.approx(values.mean(axis=1), abs=2e-4 * spread.max())
    assert found.std() == pytest.approx(spread, rel=1e-3)
    assert found.mean_difference() == pytest.approx(difference, rel=1e-3)
    assert found.crps(y) == pytest.approx(crps, abs=2e-4 * spread.max())


@pytest.mark.parametrize("name", ["REFL", "TRUNC"])
def test_crps_and_moments_agree_with_adaptive_quadrature(name: str) -> None:
    found = QuantileRecalibrator(name).fit(skewed_pits()).transform(stats.norm(1, 2))
    for y in (-8.0, 0.3, 6.0):
        below = integrate.quad(lambda t: float(found.cdf(t)) ** 2, -16, y, limit=200)[0]
        above = integrate.quad(lambda t: (1 - float(found.cdf(t))) ** 2, y, 18, limit=200)[0]
        assert found.crps(y) == pytest.approx(below + above, abs=2e-6)
    first, second = (integrate.quad(lambda t, k=k: t**k * float(found.pdf(t)), -16, 18, limit=400)[0] for k in (1, 2))
    assert found.mean() == pytest.approx(first, abs=1e-6)
    assert found.var() == pytest.approx(second - first**2, abs=1e-5)


def mixture_of(means: Any, scales: Any, logits: Any) -> GaussianMixture:
    mean, scale, logit = (torch.as_tensor(values, dtype=torch.float64) for values in (means, scales, logits))
    return GaussianMixture(mean, scale, torch.log_softmax(logit, dim=-1))


def test_gap_between_two_modes_costs_no_accuracy() -> None:
    mixture = mixture_of([[0.0, 100.0]], [[0.01, 0.01]], [[0.0, 0.1]])
    fitted = QuantileRecalibrator().fit(skewed_pits())
    found = fitted.transform(PredictedDistribution(PredictiveDistribution(mixture)))
    # The mass of a mode, by the map, lies where the mode is.
    low = float(fitted.map_.cdf(mixture.log_weights[0, :1].exp()))
    assert found.mean() == pytest.approx(100 * (1 - low), abs=0.02)
    assert found.std() == pytest.approx(100 * np.sqrt(low * (1 - low)), abs=0.02)
    assert found.crps([30.0]) == pytest.approx(30 * low**2 + 70 * (1 - low) ** 2, abs=0.02)


def test_every_shape_of_scipy_parameters_gives_the_same() -> None:
    centre, y = np.array([0.0, 1.0, 5.0]), np.array([0.2, -1.0, 7.0])
    fitted = QuantileRecalibrator().fit(skewed_pits())
    flat, column = (fitted.transform(stats.norm(loc, 1)) for loc in (centre, centre[:, None]))
    single = [fitted.transform(stats.norm(loc, 1)) for loc in centre]
    for method in ("cdf", "pdf", "logpdf", "log_score", "crps"):
        expected = np.array([getattr(one, method)(at) for one, at in zip(single, y, strict=True)])
        assert expected.shape == (3,)
        assert getattr(flat, method)(y) == pytest.approx(expected, rel=1e-9)
        assert getattr(column, method)(y) == pytest.approx(expected, rel=1e-9)
    for method in ("mean", "std", "var", "median", "interval"):
        expected = np.array([getattr(one, method)() for one in single])
        assert getattr(flat, method)() == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert getattr(column, method)() == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_shapes_of_values_and_levels() -> None:
    found = recalibrated("scipy, (N,)")
    one, own, grid = found.cdf(0.5), found.cdf(np.full(ROWS, 0.5)), found.cdf(np.full((ROWS, 3), 0.5))
    assert (one.shape, own.shape, grid.shape) == ((ROWS,), (ROWS,), (ROWS, 3))
    assert (grid == own[:, None]).all()
    assert (one == own).all()
    assert found.ppf(0.5).shape == (ROWS,)
    assert found.ppf([0.1, 0.5]).shape == (ROWS, 2)
    own_levels = np.linspace(0.1, 0.9, 2 * ROWS).reshape(ROWS, 2)
    assert found.cdf(found.ppf(own_levels)) == pytest.approx(own_levels)
    assert found.crps(np.zeros((ROWS, 2))).shape == (ROWS, 2)
    assert (found.mean().shape, found.interval().shape, found.sample(5).shape) == ((ROWS,), (ROWS, 2), (ROWS, 5))
    assert len(found) == ROWS
    single = QuantileRecalibrator().fit(skewed_pits()).transform(stats.norm())
    assert (single.cdf(0.5).shape, single.cdf(np.zeros((2, 3))).shape) == ((), (2, 3))
    assert (single.ppf([[0.1, 0.2]]).shape, single.sample(4).shape, single.mean().shape) == ((1, 2), (4,), ())


def test_single_distribution_that_takes_one_point_at_a_time() -> None:
    fitted = QuantileRecalibrator().fit(skewed_pits())
    found, expected = fitted.transform(WithoutLogDensity()), fitted.transform(stats.norm())
    y = np.array([-1.0, 0.3, 2.0])
    assert found.logpdf(y) == pytest.approx(expected.logpdf(y))
    assert found.crps(y) == pytest.approx(expected.crps(y))
    assert found.ppf([0.1, 0.7]) == pytest.approx(expected.ppf([0.1, 0.7]))


def test_second_map_recalibrates_the_first() -> None:
    base, first, second = stats.norm(0, 2), skewed_pits(), skewed_pits(seed=5)
    once = QuantileRecalibrator().fit(first).transform(base)
    fitted = QuantileRecalibrator("EMP").fit_distribution(once, once.ppf(second))
    twice = fitted.transform(once)
    grid = np.linspace(-4, 4, 50)
    # The empirical distribution of the second PITs, at F' of the first map.
    expected = (np.sort(second)[None, :] <= once.cdf(grid)[:, None] + 1e-12).mean(axis=1)
    assert twice.cdf(grid) == pytest.approx(expected)
    values = twice.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert twice.mean() == pytest.approx(values.mean(), abs=1e-3)


def test_predicted_distribution_of_the_regressor_agrees_with_the_engine() -> None:
    means, scales, logits = np.random.default_rng(0).normal(size=(3, ROWS, 3))
    mixture = mixture_of(means, np.abs(scales) + 0.1, logits)
    base = PredictedDistribution(PredictiveDistribution(mixture))
    fitted = QuantileRecalibrator(bandwidth=0.05).fit(skewed_pits())
    found = fitted.transform(base)
    expected = PredictedDistribution(PredictiveDistribution(mixture, (fitted.map_,)))
    y = np.linspace(-1, 2, ROWS)
    for method in ("cdf", "pdf", "logpdf", "log_score"):
        assert getattr(found, method)(y) == pytest.approx(getattr(expected, method)(y))
    assert found.ppf([0.1, 0.9]) == pytest.approx(expected.ppf([0.1, 0.9]))
    own_levels = np.linspace(0.1, 0.9, ROWS)[:, None]
    assert found.ppf(own_levels) == pytest.approx(expected.ppf(own_levels))
    assert found.crps(y) == pytest.approx(expected.crps(y), abs=1e-5)
    assert found.mean() == pytest.approx(expected.mean(), abs=1e-5)
    assert found.std() == pytest.approx(expected.std(), abs=1e-5)


def test_draws_have_the_recalibrated_distribution() -> None:
    found = QuantileRecalibrator().fit(skewed_pits()).transform(stats.norm(0, 2))
    draws = found.sample(2000, random_state=0)
    assert (draws == found.sample(2000, random_state=0)).all()
    assert uniform_distance(found.cdf(draws)) < 0.04


@pytest.mark.parametrize("name", ["EMP", "DCP"])
def test_step_maps_have_no_density(name: str) -> None:
    found = recalibrated("scipy, (N,)", name)
    assert np.isnan(found.pdf(0.0)).all()
    assert np.isnan(found.log_score(0.0)).all()


def test_interpolated_normal_quantiles_are_that_normal_distribution() -> None:
    levels = [0.1, 0.4, 0.5, 0.8]
    truth = stats.norm([1.0, -3.0], [2.0, 0.5])
    found = distribution_from_quantiles(levels, np.stack([truth.ppf(level) for level in levels], axis=1))
    for y in (-4.0, -2.9, 0.1, 1.0, 2.2, 6.0):
        assert found.cdf(y) == pytest.approx(truth.cdf(y))
        assert found.pdf(y) == pytest.approx(truth.pdf(y))
    for p in (1e-6, 0.1, 0.33, 0.5, 0.99):
        assert found.ppf(p) == pytest.approx(truth.ppf(p))


def test_quantiles_that_cross_or_agree_still_give_a_distribution() -> None:
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    found = distribution_from_quantiles(levels, [[1, 2, 2, 2, 3], [5, 3, 4, 6, 6], [7, 7, 7, 7, 7]])
    assert found.ppf(0.1) == pytest.approx([1, 3, 7])
    assert found.ppf(0.9) == pytest.approx([3, 6, 7], abs=1e-4)
    y = np.array([2.5, 5.5, 7.0])
    assert found.ppf(found.cdf(y)[:, None])[:, 0] == pytest.approx(y)
    assert np.isfinite(found.logpdf(y)).all()
    # The upper tail of the second row is as wide as the row, though its two outer quantiles agree.
    assert found.ppf(0.99)[1] - 6 > 0.5


@pytest.mark.parametrize("kind", ["quantiles", "samples"])
def test_distributions_from_arrays_have_intervals_scores_and_moments_before_they_are_recalibrated(kind: str) -> None:
    truth = stats.norm([1.0, -3.0], [2.0, 0.5])
    levels = (np.arange(200) + 0.5) / 200
    values = truth.ppf(levels[:, None]).T
    found = distribution_from_quantiles(levels, values) if kind == "quantiles" else distribution_from_samples(values)
    close = 1e-4 if kind == "quantiles" else 1e-2
    if kind == "samples":  # evenly spread ones, blurred by Silverman's kernel
        truth = stats.norm([1.0, -3.0], np.array([2.0, 0.5]) * np.sqrt(1 + 0.9**2 * 200**-0.4))
    y = np.array([0.3, -2.0])
    expected = truth.std() * stats_crps_of_standard_normal((y - truth.mean()) / truth.std())
    assert found.crps(y) == pytest.approx(expected, rel=close)
    assert found.interval(0.8) == pytest.approx(np.stack(truth.interval(0.8), axis=1), rel=close)
    assert found.log_score(y) == pytest.approx(-truth.logpdf(y), abs=close)
    assert found.mean() == pytest.approx(truth.mean(), abs=1e-3)
    assert found.std() == pytest.approx(truth.std(), rel=max(close, 1e-3))
    assert (found.median().shape, found.sample(3, random_state=0).shape, len(found)) == ((2,), (2, 3), 2)
    twice = QuantileRecalibrator("EMP").fit(levels).transform(found)  # calibrated already
    assert twice.crps(y) == pytest.approx(found.crps(y), rel=2e-2)


def test_samples_become_a_kernel_estimate() -> None:
    samples = np.random.default_rng(0).gamma(3, size=(2, 60))
    found = distribution_from_samples(samples)
    for row, values in enumerate(samples):
        low, high = np.quantile(values, [0.25, 0.75])
        scale = 0.9 * min(values.std(ddof=1), (high - low) / 1.34) * 60**-0.2
        assert found.pdf(2.0)[row] == pytest.approx(stats.norm(values, scale).pdf(2.0).mean())
        assert found.cdf(2.0)[row] == pytest.approx(stats.norm(values, scale).cdf(2.0).mean())


@pytest.mark.parametrize("model", ["quantile boosting", "Bayesian ridge", "forest"])
def test_models_of_scikit_learn_become_calibrated(model: str) -> None:
    x, y = make_friedman1(2400, noise=1.0, random_state=1)
    train, calibration, test = slice(0, 400), slice(400, 1400), slice(1400, None)
    levels = [0.1, 0.3, 0.5, 0.7, 0.9]
    predicted: dict[int, Any] = {}
    if model == "quantile boosting":
        each = [
            GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=60, random_state=0) for level in levels
        ]
        for one in each:
            one.fit(x[train], y[train])
        for part in (calibration, test):
            quantiles = np.stack([one.predict(x[part]) for one in each], axis=1)
            predicted[part.start] = distribution_from_quantiles(levels, quantiles)
    elif model == "Bayesian ridge":
        ridge = BayesianRidge().fit(x[train], y[train])
        for part in (calibration, test):
            mean, std = ridge.predict(x[part], return_std=True)
            predicted[part.start] = stats.norm(mean, 0.7 * std)  # narrower than it should be
    else:
        forest = RandomForestRegressor(50, random_state=0).fit(x[train], y[train])
        for part in (calibration, test):
            samples = np.stack([tree.predict(x[part]) for tree in forest.estimators_], axis=1)
            predicted[part.start] = distribution_from_samples(samples)
    before, base = predicted[calibration.start], predicted[test.start]
    fitted = QuantileRecalibrator(bandwidth=0.05).fit(before.cdf(y[calibration]))
    found = fitted.transform(base)
    # Two samples of 1,000 are further apart than 0.087 in one of 1,000 cases (Smirnov).
    assert uniform_distance(found.cdf(y[test])) < 0.087
    assert uniform_distance(base.cdf(y[test])) > 1.5 * uniform_distance(found.cdf(y[test]))
    assert found.log_score(y[test]).mean() < -base.logpdf(y[test]).mean()
    low, high = found.interval(0.9).T
    assert ((low <= y[test]) & (y[test] <= high)).mean() == pytest.approx(0.9, abs=0.03)


def test_kernel_that_is_too_wide_for_the_pits_is_told() -> None:
    generator = np.random.default_rng(0)
    y = generator.normal(size=2000)
    far_too_narrow = stats.norm(0, 0.2)
    pits, later = far_too_narrow.cdf(y), far_too_narrow.cdf(generator.normal(size=2000))
    with pytest.warns(UserWarning, match="REFL map is 0.*smaller than 0.1, map='EMP'"):
        wide = QuantileRecalibrator().fit(pits)
    # The warning is right: 90 % of the mass cover far less.
    covered = wide.transform(stats.uniform()).cdf(later)
    assert ((covered > 0.05) & (covered < 0.95)).mean() < 0.8
    # Warnings are errors in these tests: here is none.
    empirical = QuantileRecalibrator("EMP").fit(pits).transform(stats.uniform()).cdf(later)
    assert ((empirical > 0.05) & (empirical < 0.95)).mean() == pytest.approx(0.9, abs=0.03)


def test_pits_of_any_shape_are_fitted_alike() -> None:
    centre = np.linspace(-1, 1, 50)
    y = np.random.default_rng(0).normal(centre)
    grid = np.linspace(0, 1, 20)
    flat = QuantileRecalibrator().fit(stats.norm(centre).cdf(y)).transform(stats.uniform())
    for fitted in (
        QuantileRecalibrator().fit(stats.norm(centre).cdf(y)[:, None]),
        QuantileRecalibrator().fit_distribution(stats.norm(centre), y),
        QuantileRecalibrator().fit_distribution(stats.norm(centre[:, None]), y[:, None]),
    ):
        assert fitted.n_pits_ == 50
        assert (fitted.transform(stats.uniform()).cdf(grid) == flat.cdf(grid)).all()


def test_scikit_learn_can_clone_and_set_parameters() -> None:
    fitted = QuantileRecalibrator("TRUNC", bandwidth=0.02).fit(skewed_pits())
    copy = clone(fitted)
    assert copy.get_params() == {"map": "TRUNC", "bandwidth": 0.02}
    assert not hasattr(copy, "map_")
    assert copy.set_params(bandwidth=0.3).bandwidth == 0.3
    check_parameters_default_constructible("QuantileRecalibrator", QuantileRecalibrator())


@pytest.mark.parametrize(
    ("pits", "message"),
    [
        ([0.5] * 9, "9 PITs are too few"),
        ([0.5] * 20 + [1.2], r"1 of 21 PITs are outside \[0, 1\], for example 1.2"),
        ([0.5] * 20 + [-np.inf], "outside"),
        ([0.5] * 20 + [np.nan], "1 of 21 PITs are not a number"),
        (np.full((20, 2), 0.5), r"shape \(20, 2\)"),
        (stats.norm(0, 1), r"use fit_distribution\(distribution, y\)"),
    ],
)
def test_unusable_pits_are_refused(pits: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QuantileRecalibrator().fit(pits)


def test_unusable_parameters_are_refused() -> None:
    with pytest.raises(ValueError, match="map is 'SPLINE': use one of EMP, DCP, KDE"):
        QuantileRecalibrator("SPLINE").fit(skewed_pits())
    with pytest.raises(ValueError, match="bandwidth -1"):
        QuantileRecalibrator(bandwidth=-1).fit(skewed_pits())
    with pytest.raises(NotFittedError):
        QuantileRecalibrator().transform(stats.norm())


def test_what_is_no_distribution_is_refused() -> None:
    fitted = QuantileRecalibrator().fit(skewed_pits())
    with pytest.raises(TypeError, match="ndarray has no method cdf"):
        fitted.transform(np.zeros(3))
    with pytest.raises(ValueError, match=r"shape \(2, 3\)"):
        fitted.transform(stats.norm(np.zeros((2, 3))))


def test_swapped_arguments_are_told_in_one_short_sentence() -> None:
    y = np.random.default_rng(0).normal(size=30_000)
    distributions: list[Any] = [stats.norm(np.zeros(30_000)), distribution_from_samples(np.stack([y, y + 1], axis=1))]
    for distribution in distributions:
        with pytest.raises(ValueError, match=r"swapped: write fit_distribution\(distribution, y\)") as caught:
            QuantileRecalibrator().fit_distribution(y, distribution)
        assert len(str(caught.value)) < 100


def test_unusable_values_and_levels_are_refused() -> None:
    found = recalibrated("scipy, (N,)")
    with pytest.raises(ValueError, match=r"y has the shape \(4,\)"):
        found.cdf(np.zeros(4))
    with pytest.raises(ValueError, match="NaN"):
        found.crps(np.full(ROWS, np.nan))
    with pytest.raises(ValueError, match=r"level is 1.5"):
        found.ppf(1.5)
    with pytest.raises(ValueError, match=r"levels have the shape \(4, 2\)"):
        found.ppf(np.full((4, 2), 0.5))
    with pytest.raises(ValueError, match="coverage is 90"):
        found.interval(90)
    with pytest.raises(ValueError, match="number of draws is 0"):
        found.sample(0)


@pytest.mark.parametrize(
    ("levels", "values", "message"),
    [
        ([0.5], [[1.0]], "at least two increasing"),
        ([0.5, 0.1], [[1.0, 2.0]], "increasing"),
        ([0.0, 0.5], [[1.0, 2.0]], "between 0 and 1"),
        ([0.1, 0.9], [1.0, 2.0], r"need \(N, 2\)"),
        ([0.1, 0.5, 0.9], np.zeros((3, 500)), "transpose them"),
        (np.arange(90_000.0).reshape(30_000, 3), [0.1, 0.5, 0.9], "swapped: levels come first, then values"),
        ([0.1, 0.9], [[1.0, 2.0], [np.inf, 1.0]], "those of row 1"),
        ([0.1, 0.9], [[1.0, 1.0]], "no width"),
    ],
)
def test_unusable_quantiles_are_refused(levels: Any, values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        distribution_from_quantiles(levels, values)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("samples", "message"),
    [([1.0, 2.0], "must be"), ([[1.0]], "at least two"), ([[1.0, np.nan]], "row 0"), ([[1.0, 1.0]], "no width")],
)
def test_unusable_samples_are_refused(samples: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        distribution_from_samples(samples)


def test_example_of_the_documentation_is_right() -> None:
    outcome = doctest.testmod(recalibrator)
    assert outcome.attempted > 0
    assert outcome.failed == 0
