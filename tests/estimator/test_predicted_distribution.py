"""The distributions that the regressor predicts, against scipy's mixtures and numerical integration."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import optimize, stats

from qrt.engine.calibration_map import fit_map
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.registry import MapName
from qrt.estimator import distribution as module
from qrt.estimator.distribution import FloatArray, PredictedDistribution
from qrt.estimator.unusable_input import UnusableInput

ROWS, COMPONENTS = 4, 3
MEANS = np.array([[0.0, 3.0, -2.0], [100.0, 101.0, 90.0], [-5.0, -5.0, -5.0], [1e4, 1.1e4, 1.2e4]])
SCALES = np.array([[1.0, 0.5, 2.0], [3.0, 1.0, 10.0], [0.1, 0.2, 0.3], [500.0, 100.0, 50.0]])
WEIGHTS = np.array([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.2, 0.5, 0.3]])
CENTRES = torch.from_numpy(np.random.default_rng(3).beta(2.0, 1.3, size=200))


def predicted(*maps: MapName, rows: int = ROWS, index: pd.Index | None = None) -> PredictedDistribution:
    arrays = (MEANS[:rows], SCALES[:rows], np.log(WEIGHTS[:rows]))
    mixture = GaussianMixture(*(torch.from_numpy(values.copy()) for values in arrays))
    fitted = tuple(fit_map(name, CENTRES, 0.1) for name in maps)
    return PredictedDistribution(PredictiveDistribution(mixture, fitted), index)


def true_cdf(row: int, y: float, recalibrated: bool) -> float:
    """F'(y) with the reflected map written out."""
    pit = float(WEIGHTS[row] @ stats.norm.cdf(y, MEANS[row], SCALES[row]))
    if not recalibrated:
        return pit
    scale = np.sqrt(3) / np.pi * 0.1 * len(CENTRES) ** -0.2
    z = CENTRES.numpy()

    def g(x: float) -> float:
        return float(stats.logistic.cdf(x, z, scale).mean())

    return g(pit) - g(-pit) + 1 - g(2 - pit)


def typical(row: int) -> FloatArray:
    """Values between the outer components of a row."""
    spread = 3 * SCALES[row].max()
    return np.linspace(MEANS[row].min() - spread, MEANS[row].max() + spread, 7)


@pytest.mark.parametrize("maps", [(), ("REFL",)])
def test_cdf_is_the_map_of_the_mixtures_cdf(maps: tuple[MapName, ...]) -> None:
    values = np.array([typical(row) for row in range(ROWS)])
    expected = [[true_cdf(row, y, bool(maps)) for y in values[row]] for row in range(ROWS)]
    np.testing.assert_allclose(predicted(*maps).cdf(values), expected, atol=1e-12)


@pytest.mark.parametrize("maps", [(), ("REFL",), ("REFL", "TRUNC")])
def test_density_is_the_derivative_of_the_cdf_and_its_logarithm_the_logpdf(maps: tuple[MapName, ...]) -> None:
    distribution = predicted(*maps)
    values = np.array([typical(row) for row in range(ROWS)])
    step = 1e-5 * SCALES.min(axis=1, keepdims=True)
    slope = (distribution.cdf(values + step) - distribution.cdf(values - step)) / (2 * step)
    np.testing.assert_allclose(distribution.pdf(values), slope, rtol=1e-4, atol=1e-9 / SCALES.min())
    np.testing.assert_allclose(np.exp(distribution.logpdf(values)), distribution.pdf(values))
    np.testing.assert_array_equal(distribution.log_score(values), -distribution.logpdf(values))


@pytest.mark.parametrize("maps", [(), ("REFL",), ("REFL", "REFL"), ("TRUNC",)])
def test_quantiles_invert_the_cdf(maps: tuple[MapName, ...]) -> None:
    distribution = predicted(*maps)
    levels = np.array([1e-4, 0.05, 0.3, 0.5, 0.77, 0.999])
    quantiles = distribution.ppf(levels)
    assert quantiles.shape == (ROWS, len(levels))
    np.testing.assert_allclose(distribution.cdf(quantiles), np.tile(levels, (ROWS, 1)), rtol=1e-9)


def test_quantiles_of_levels_of_each_rows_own_are_those_of_common_levels() -> None:
    distribution = predicted("REFL")
    levels = np.array([1e-9, 0.05, 0.5, 0.77, 1 - 1e-9])
    np.testing.assert_allclose(distribution.ppf(np.tile(levels, (ROWS, 1))), distribution.ppf(levels), rtol=1e-7)
    mixed = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.0, 1.0]])
    own = distribution.ppf(mixed)
    np.testing.assert_allclose(distribution[:3].cdf(own[:3]), mixed[:3])
    assert own[3].tolist() == [-np.inf, np.inf]


def test_levels_zero_and_one_are_the_ends_of_the_line() -> None:
    quantiles = predicted("REFL").ppf([0, 0.5, 1])
    assert np.isneginf(quantiles[:, 0]).all()
    assert np.isposinf(quantiles[:, 2]).all()
    np.testing.assert_array_equal(quantiles[:, 1], predicted("REFL").median())


def test_one_level_gives_one_value_for_each_row_and_the_interval_its_two_ends() -> None:
    distribution = predicted("REFL")
    assert distribution.ppf(0.25).shape == (ROWS,)
    np.testing.assert_array_equal(distribution.interval(0.5), distribution.ppf([0.25, 0.75]))


def quadrature(one: PredictedDistribution, *more: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights over all of the mass of one row, with borders at many of its quantiles and at `more`."""
    levels = np.concatenate([[1e-13, 1e-9, 1e-6, 1e-3], np.linspace(0.01, 0.99, 500)])
    borders = np.unique([*one.ppf(np.unique([*levels, *(1 - levels)]))[0], *more])
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half = np.diff(borders)[:, None] / 2
    return (borders[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


@pytest.mark.parametrize("maps", [(), ("REFL",)])
def test_moments_are_those_of_the_density(maps: tuple[MapName, ...]) -> None:
    for one in predicted(*maps):
        y, dy = quadrature(one)
        mass = one.pdf(y[None, :])[0] * dy
        assert mass.sum() == pytest.approx(1, abs=1e-8)
        mean, variance = y @ mass, (y - y @ mass) ** 2 @ mass
        assert one.mean()[0] == pytest.approx(mean, abs=2e-5 * variance**0.5)
        assert one.std()[0] == pytest.approx(variance**0.5, rel=5e-5)
        assert one.var()[0] == pytest.approx(variance, rel=1e-4)


@pytest.mark.parametrize("maps", [(), ("REFL",)])
def test_crps_is_the_integral_of_the_squared_distance_to_the_step(maps: tuple[MapName, ...]) -> None:
    for row, one in enumerate(predicted(*maps)):
        for target in typical(row)[[1, 3, 5]]:
            y, dy = quadrature(one, target)
            expected = (one.cdf(y[None, :])[0] - (y >= target)) ** 2 @ dy
            assert one.crps([target])[0] == pytest.approx(expected, abs=2e-5 * one.std()[0])


def test_sample_follows_the_distribution_with_rows_independent_of_each_other() -> None:
    distribution = predicted("REFL")
    draws = distribution.sample(4000, random_state=0)
    assert draws.shape == (ROWS, 4000)
    pits = distribution.cdf(draws)
    for row in range(ROWS):
        assert stats.kstest(pits[row], "uniform").pvalue > 0.001
    assert np.abs(np.corrcoef(pits) - np.eye(ROWS)).max() < 0.06
    np.testing.assert_array_equal(draws, distribution.sample(4000, random_state=0))
    assert (draws != distribution.sample(4000, random_state=1)).any()


@pytest.mark.parametrize("name", ["cdf", "pdf", "logpdf", "crps", "log_score"])
def test_values_have_one_number_for_each_row_or_several_or_one_for_all(name: str) -> None:
    function = getattr(predicted("REFL"), name)
    values = np.array([typical(row)[2:5] for row in range(ROWS)])
    assert function(values).shape == (ROWS, 3)
    np.testing.assert_allclose(function(values[:, 1]), function(values)[:, 1])
    np.testing.assert_allclose(function(3.0), function(np.full(ROWS, 3.0)))


@pytest.mark.parametrize("name", ["cdf", "pdf", "crps"])
@pytest.mark.parametrize("values", [[1.0, 2.0], np.zeros((2, 4)), np.zeros((4, 1, 1)), [1.0, 2.0, np.nan, 3.0]])
def test_values_of_another_shape_or_that_are_no_numbers_are_refused(name: str, values: object) -> None:
    with pytest.raises(UnusableInput, match=r"shape|NaN"):
        getattr(predicted("REFL"), name)(values)


@pytest.mark.parametrize("levels", [-0.1, 1.1, np.nan, [0.5, 2.0], np.full((2, 3), 0.5), np.full((4, 2, 2), 0.5)])
def test_levels_outside_the_unit_interval_or_of_another_shape_are_refused(levels: object) -> None:
    with pytest.raises(UnusableInput, match="level"):
        predicted("REFL").ppf(levels)  # type: ignore[arg-type]


@pytest.mark.parametrize("coverage", [0, 1, -1, 90, np.nan])
def test_coverage_that_is_no_probability_is_refused(coverage: float) -> None:
    with pytest.raises(UnusableInput, match="coverage"):
        predicted().interval(coverage)


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_number_of_draws_that_is_none_is_refused(n: object) -> None:
    with pytest.raises(UnusableInput, match="draws"):
        predicted().sample(n)  # type: ignore[arg-type]


def test_values_far_away_have_finite_log_densities_and_infinite_ones_the_limits() -> None:
    distribution = predicted("REFL")
    assert np.isfinite(distribution.logpdf(-1e7)).all()
    np.testing.assert_array_equal(distribution.cdf(np.inf), np.ones(ROWS))
    np.testing.assert_array_equal(distribution.cdf(-np.inf), np.zeros(ROWS))
    np.testing.assert_array_equal(distribution.pdf(np.inf), np.zeros(ROWS))
    np.testing.assert_array_equal(distribution.crps(np.inf), np.full(ROWS, np.inf))


def test_rows_are_chosen_by_number_slice_numbers_and_mask_with_their_index() -> None:
    distribution = predicted("REFL", index=pd.Index(["a", "b", "c", "d"]))
    medians = distribution.median()
    for rows, expected in (
        (2, [2]),
        (-1, [3]),
        (slice(1, 3), [1, 2]),
        ([3, 0], [3, 0]),
        (np.array([True, False, True, False]), [0, 2]),
        ([], []),
    ):
        part = distribution[rows if not isinstance(rows, list) else np.array(rows, dtype=int)]
        assert len(part) == len(expected)
        assert part.index is not None
        assert part.index.tolist() == [["a", "b", "c", "d"][row] for row in expected]
        np.testing.assert_allclose(part.median(), medians[expected], rtol=1e-12)
    assert [len(one) for one in distribution] == [1, 1, 1, 1]
    with pytest.raises(IndexError):
        distribution[4]


def test_no_rows_give_empty_results() -> None:
    nothing = predicted("REFL")[:0]
    assert nothing.cdf([]).shape == nothing.mean().shape == nothing.ppf(0.5).shape == (0,)
    assert nothing.ppf([0.1, 0.9]).shape == nothing.interval().shape == (0, 2)
    assert nothing.sample(3).shape == (0, 3)


def test_result_does_not_depend_on_the_parts_it_is_computed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([typical(row) for row in range(ROWS)])
    distribution = predicted("REFL")
    whole = [distribution.cdf(values), distribution.crps(values), distribution.std(), distribution.sample(5, 0)]
    monkeypatch.setattr(module, "_PAIRS_AT_ONCE", 3)
    parts = [distribution.cdf(values), distribution.crps(values), distribution.std(), distribution.sample(5, 0)]
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


def test_step_map_has_quantiles_and_a_cdf_but_no_density() -> None:
    distribution = predicted("EMP")
    assert np.isnan(distribution.pdf(3.0)).all()
    assert np.isnan(distribution.log_score(3.0)).all()
    assert np.isfinite(distribution.crps(3.0)).all()
    smallest = float(CENTRES.sort().values[49])  # the 50th of 200 PITs: a quarter of them
    expected = optimize.brentq(lambda y: true_cdf(0, y, recalibrated=False) - smallest, -20, 20)
    assert distribution.ppf(0.25)[0] == pytest.approx(expected)


def test_kde_map_leaves_mass_at_infinity() -> None:
    distribution = predicted("KDE")
    assert (distribution.cdf(np.inf) < 1).all()
    assert np.isposinf(distribution.ppf(0.9999)).all()
    assert np.isfinite(distribution.mean()).all()


def test_description_names_rows_components_and_maps() -> None:
    assert repr(predicted("REFL")) == "<PredictedDistribution: 4 rows, mixtures of 3 Gaussian(s), REFL map>"
