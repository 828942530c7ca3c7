from __future__ import annotations

import math

import numpy as np
import pytest
import scoringrules
import torch
from scipy import special, stats
from sklearn.metrics import mean_pinball_loss
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_error import pce_levels, pce_sorted
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.quadrature import CrpsAndMoments, crps_and_moments
from qrt.engine.registry import MapName
from qrt.engine.scores import LEVELS, quantile_scores, weighted_interval_score
from qrt.errors import UserError


def some_mixture(rows: int, components: int, spread: float = 1.5) -> GaussianMixture:
    generator = torch.Generator().manual_seed(components)
    outputs = spread * torch.randn(rows, 3 * components, generator=generator, dtype=torch.float64)
    return gaussian.from_outputs(outputs)


def some_targets(rows: int) -> Tensor:
    return 2 * torch.randn(rows, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def some_map(name: MapName, bandwidth: float, count: int = 500) -> CalibrationMap:
    return fit_map(name, torch.from_numpy(np.random.default_rng(1).beta(0.7, 0.9, count)), bandwidth)


def one_chain(predictive: PredictiveDistribution, y: Tensor) -> CrpsAndMoments:
    (found,) = crps_and_moments(predictive.mixture, [predictive.maps], y)
    return found


def fine_sum(predictive: PredictiveDistribution, y: Tensor, points: int = 400_000) -> CrpsAndMoments:
    """The three integrals by a midpoint sum over a fine grid, with the exact map at every point."""
    parts = []
    low_end, high_end = torch.zeros(1, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    for fitted in predictive.maps:
        low_end, high_end = fitted.cdf(low_end), fitted.cdf(high_end)
    for row in range(len(y)):
        means, scales, log_weights = (values[row] for values in predictive.mixture)
        target = y[row].item()
        low = min((means - 9 * scales).min().item(), target)
        high = max((means + 9 * scales).max().item(), target)
        # The target is a cell's edge, so that the jump of the CRPS's integrand costs nothing.
        left = max(1, round(points * (target - low) / (high - low)))
        edges = np.concatenate([np.linspace(low, target, left + 1), np.linspace(target, high, points - left + 1)[1:]])
        t, dt = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
        f = np.zeros_like(t)
        for mean, scale, log_weight in zip(means.tolist(), scales.tolist(), log_weights.tolist(), strict=True):
            f += math.exp(log_weight) * special.ndtr((t - mean) / scale)
        composed = torch.from_numpy(f).clamp(0, 1)
        for fitted in predictive.maps:
            composed = fitted.cdf(composed)
        f = ((composed - low_end) / (high_end - low_end)).numpy()
        mean = high - np.sum(f * dt)
        second = (high - mean) ** 2 - 2 * np.sum((t - mean) * f * dt)
        parts.append([np.sum((f - (t >= target)) ** 2 * dt), mean, math.sqrt(second)])
    return CrpsAndMoments(*torch.tensor(parts, dtype=torch.float64).T)


@pytest.mark.parametrize("components", [1, 3, 10])
@pytest.mark.parametrize("spread", [0.5, 1.5, 4.0])
def test_quadrature_of_a_base_model_agrees_with_its_closed_forms(components: int, spread: float) -> None:
    mixture, y = some_mixture(300, components, spread), some_targets(300)
    found = one_chain(PredictiveDistribution(mixture), y)
    unit = gaussian.standard_deviation(mixture)
    assert ((found.crps - gaussian.crps(mixture, y)) / unit).abs().max() < 1e-6
    assert ((found.mean - gaussian.mean(mixture)) / unit).abs().max() < 1e-6
    assert ((found.standard_deviation - unit) / unit).abs().max() < 1e-6


def test_quadrature_of_a_base_model_agrees_with_scoringrules() -> None:
    mixture, y = some_mixture(300, 3), some_targets(300)
    means, scales, log_weights = (values.numpy() for values in mixture)
    expected = scoringrules.crps_mixnorm(y.numpy(), means, scales, np.exp(log_weights), m_axis=-1)
    found = one_chain(PredictiveDistribution(mixture), y).crps
    assert found.numpy() == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize(
    ("name", "bandwidth", "tolerance"),
    [
        ("REFL", 0.2, 1e-5),
        ("REFL", 0.05, 1e-5),
        ("REFL", 0.01, 3e-4),
        ("TRUNC", 0.1, 1e-5),
        ("KDE", 0.1, 1e-5),
        ("EMP", 0.1, 5e-3),
        ("DCP", 0.1, 5e-3),
    ],
)
def test_quadrature_of_a_recalibrated_model_agrees_with_a_fine_sum(
    name: MapName, bandwidth: float, tolerance: float
) -> None:
    predictive = PredictiveDistribution(some_mixture(3, 3), (some_map(name, bandwidth),))
    y = some_targets(3)
    points = 400_000 if name in ("EMP", "DCP") else 20_000
    found, expected = one_chain(predictive, y), fine_sum(predictive, y, points)
    for value, reference in zip(found, expected, strict=True):
        assert ((value - reference) / expected.standard_deviation).abs().max() < tolerance


def test_quadrature_of_two_maps_agrees_with_a_fine_sum() -> None:
    maps = (some_map("REFL", 0.05), some_map("REFL", 0.1, count=80))
    predictive, y = PredictiveDistribution(some_mixture(3, 1), maps), some_targets(3)
    found, expected = one_chain(predictive, y), fine_sum(predictive, y, 20_000)
    for value, reference in zip(found, expected, strict=True):
        assert ((value - reference) / expected.standard_deviation).abs().max() < 2e-5


def test_quadrature_resolves_narrow_components_far_apart() -> None:
    mixture = GaussianMixture(
        torch.tensor([[-1000.0, 0.0, 1e4]], dtype=torch.float64),
        torch.tensor([[1e-3, 50.0, 1e-3]], dtype=torch.float64),
        torch.tensor([[0.3, 0.5, 0.2]], dtype=torch.float64).log(),
    )
    for target in (-1000.0005, 30.0, 1e4):
        y = torch.tensor([target], dtype=torch.float64)
        found = one_chain(PredictiveDistribution(mixture), y)
        assert found.crps.item() == pytest.approx(gaussian.crps(mixture, y).item(), rel=1e-7)
        assert found.standard_deviation.item() == pytest.approx(gaussian.standard_deviation(mixture).item(), rel=1e-7)


def test_crps_of_a_target_far_outside_grows_with_its_distance() -> None:
    mixture = some_mixture(1, 3)
    near, far = (
        one_chain(PredictiveDistribution(mixture), torch.tensor([value], dtype=torch.float64)).crps.item()
        for value in (1e4, 3e4)
    )
    assert far - near == pytest.approx(2e4, rel=1e-9)


def test_quantile_scores_agree_with_scikit_learn() -> None:
    generator = np.random.default_rng(0)
    quantiles, y = generator.normal(size=(50, 19)), generator.normal(size=50)
    scores = quantile_scores(torch.from_numpy(quantiles), LEVELS, torch.from_numpy(y)).mean(dim=0)
    for column, level in enumerate(LEVELS.tolist()):
        expected = mean_pinball_loss(y, quantiles[:, column], alpha=level)
        assert scores[column].item() == pytest.approx(expected, rel=1e-12)


def test_weighted_interval_score_is_twice_the_mean_of_19_scores_and_the_tails() -> None:
    quantiles, y = torch.linspace(-2, 2, 19, dtype=torch.float64).unsqueeze(0), 0.7
    scores = [
        (level - (y < quantile)) * (y - quantile)
        for level, quantile in zip(LEVELS.tolist(), quantiles[0].tolist(), strict=True)
    ]
    expected = 2 * np.mean([*scores, 1.5 * (scores[0] + scores[-1])])
    found = weighted_interval_score(quantiles, torch.tensor([y], dtype=torch.float64))
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_pce_over_levels_of_uniform_pits_has_the_size_binomial_noise_gives() -> None:
    count, repeats = 200, 400
    generator = torch.Generator().manual_seed(0)
    found = torch.stack([pce_levels(torch.rand(count, generator=generator).double()) for _ in range(repeats)])
    levels = np.arange(1, 101) / 101
    shares = np.arange(count + 1) / count
    mass = stats.binom.pmf(np.arange(count + 1), count, levels[:, None])
    expected = np.mean(np.sum(mass * np.abs(shares - levels[:, None]), axis=1))
    assert found.mean().item() == pytest.approx(expected, abs=4 * found.std().item() / math.sqrt(repeats))


def test_pce_over_sorted_pits_of_uniform_pits_has_the_size_order_statistics_give() -> None:
    count, repeats = 200, 400
    generator = torch.Generator().manual_seed(0)
    found = torch.stack([pce_sorted(torch.rand(count, generator=generator).double()) for _ in range(repeats)])
    a = np.arange(1, count + 1)
    b = count + 1 - a
    # Mean absolute deviation of Beta(a, b): 2 a^a b^b / (B(a, b) (a + b)^(a + b + 1)).
    log_deviation = special.xlogy(a, a) + special.xlogy(b, b) - special.betaln(a, b) - (count + 2) * math.log(count + 1)
    expected = np.mean(2 * np.exp(log_deviation))
    assert found.mean().item() == pytest.approx(expected, abs=4 * found.std().item() / math.sqrt(repeats))


@pytest.mark.parametrize("weighted", [False, True])
def test_pce_of_several_networks_is_that_of_each(weighted: bool) -> None:
    pits = torch.rand(5, 37, generator=torch.Generator().manual_seed(0)).double()
    weights = torch.arange(37, dtype=torch.float64) if weighted else None
    assert torch.equal(pce_levels(pits, weights), torch.stack([pce_levels(one, weights) for one in pits]))


def test_pce_of_pits_at_one_end_is_one_half() -> None:
    for score in (pce_levels, pce_sorted):
        assert score(torch.zeros(40)).item() == pytest.approx(0.5, rel=1e-12)
        assert score(torch.ones(40)).item() == pytest.approx(0.5, rel=1e-12)


def test_pce_counts_a_pit_that_equals_a_level_as_reaching_it() -> None:
    # All levels from 20/101 up are reached by all PITs; if equality did not count, 20/101 would not be.
    levels = np.arange(1, 101) / 101
    found = pce_levels(torch.full((30,), 20 / 101, dtype=torch.float64))
    expected = np.where(np.arange(1, 101) >= 20, 1 - levels, levels).mean()
    assert found.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pits", [[], [0.5, math.nan], [0.5, 1.5]])
def test_pce_refuses_what_are_no_pits(pits: list[float]) -> None:
    for score in (pce_levels, pce_sorted):
        with pytest.raises(UserError, match="PITs"):
            score(torch.tensor(pits))
