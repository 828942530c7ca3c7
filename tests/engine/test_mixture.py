from __future__ import annotations

import math

import numpy as np
import pytest
import scoringrules
import torch
from scipy import integrate, optimize, special, stats
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.mixture import GaussianMixture
from qrt.errors import UserError


def some_mixture(rows: int = 40, components: int = 3, seed: int = 0, spread: float = 1.5) -> GaussianMixture:
    generator = torch.Generator().manual_seed(seed)
    return gaussian.from_outputs(spread * torch.randn(rows, 3 * components, generator=generator, dtype=torch.float64))


def some_targets(rows: int = 40, seed: int = 1) -> Tensor:
    return 2 * torch.randn(rows, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def one_mixture(means: list[float], scales: list[float], weights: list[float]) -> GaussianMixture:
    return GaussianMixture(*(torch.tensor([v], dtype=torch.float64) for v in (means, scales, np.log(weights).tolist())))


def scipy_cdf(mixture: GaussianMixture, row: int, y: float) -> float:
    means, scales, log_weights = (values[row].numpy() for values in mixture)
    return float(np.sum(np.exp(log_weights) * stats.norm.cdf(y, means, scales)))


def test_outputs_are_means_then_scale_parameters_then_logits() -> None:
    outputs = torch.tensor([[1.0, 2.0, -50.0, 0.0, 0.0, math.log(3.0)]], dtype=torch.float64)
    mixture = gaussian.from_outputs(outputs)
    assert mixture.means.tolist() == [[1.0, 2.0]]
    assert mixture.scales[0].tolist() == pytest.approx([1e-3, math.log(2) + 1e-3], rel=1e-12)
    assert mixture.log_weights[0].exp().tolist() == pytest.approx([0.25, 0.75], rel=1e-12)


def test_log_density_and_cdf_agree_with_scipy() -> None:
    mixture, y = some_mixture(), some_targets()
    means, scales, log_weights = (values.numpy() for values in mixture)
    expected = special.logsumexp(log_weights + stats.norm.logpdf(y.numpy()[:, None], means, scales), axis=1)
    assert gaussian.log_density(mixture, y).numpy() == pytest.approx(expected, rel=1e-12)
    expected = [scipy_cdf(mixture, row, float(value)) for row, value in enumerate(y)]
    assert gaussian.cdf(mixture, y).numpy() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("distance", [-40.0, -8.0, 8.0, 40.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_tails_are_stable_with_finite_gradients(sigma: float, distance: float, dtype: torch.dtype) -> None:
    parameters = [
        torch.tensor([[0.0, 0.5 * sigma]], dtype=dtype, requires_grad=True),
        torch.tensor([[sigma, sigma]], dtype=dtype, requires_grad=True),
        torch.tensor([[math.log(0.3), math.log(0.7)]], dtype=dtype, requires_grad=True),
    ]
    mixture = GaussianMixture(*parameters)
    y = torch.tensor([distance * sigma], dtype=dtype)
    z = np.array([distance, distance - 0.5])
    tolerance = 1e-4 if dtype == torch.float32 else 1e-12
    log_density, pit = gaussian.log_density(mixture, y), gaussian.cdf(mixture, y)
    expected = special.logsumexp(stats.norm.logpdf(z) + np.log([0.3, 0.7])) - math.log(sigma)
    assert log_density.item() == pytest.approx(expected, rel=tolerance)
    expected = np.sum([0.3, 0.7] * stats.norm.cdf(z))
    # The smallest float32 is 1e-45; float64 must have the lower tail's digits, not just a zero.
    assert pit.item() == pytest.approx(expected, rel=20 * tolerance, abs=1e-40 if dtype == torch.float32 else 0)
    for gradient in torch.autograd.grad((log_density + pit).sum(), parameters):
        assert gradient.isfinite().all()


def test_cdf_never_exceeds_one_in_single_precision() -> None:
    mixture = gaussian.from_outputs(torch.randn(5000, 30, generator=torch.Generator().manual_seed(3)))
    pits = gaussian.cdf(mixture, torch.full((5000,), 100.0))
    assert pits.max() <= 1
    assert pits.min() > 1 - 1e-6


def test_gradients_of_log_density_and_cdf_are_those_of_finite_differences() -> None:
    outputs = torch.randn(6, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    y = some_targets(6)
    assert torch.autograd.gradcheck(lambda o: gaussian.log_density(gaussian.from_outputs(o), y), outputs)
    assert torch.autograd.gradcheck(lambda o: gaussian.cdf(gaussian.from_outputs(o), y), outputs)


def test_leading_dimensions_are_a_stack_of_independent_networks() -> None:
    outputs = torch.randn(4, 7, 9, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = some_targets(7)
    stacked = gaussian.from_outputs(outputs)
    for function in (gaussian.log_density, gaussian.cdf, gaussian.crps):
        alone = torch.stack([function(gaussian.from_outputs(single), y) for single in outputs])
        assert torch.allclose(function(stacked, y), alone, rtol=1e-13, atol=1e-13)


def test_mean_and_standard_deviation_agree_with_numerical_integration() -> None:
    mixture = some_mixture(rows=6)
    means, deviations = gaussian.mean(mixture), gaussian.standard_deviation(mixture)
    for row in range(6):
        m, s, w = (values[row].numpy() for values in mixture)

        def moment(power: int, m: np.ndarray = m, s: np.ndarray = s, w: np.ndarray = w) -> float:
            pieces = [
                integrate.quad(
                    lambda y, k=k: y**power * stats.norm.pdf(y, m[k], s[k]),
                    m[k] - 12 * s[k],
                    m[k] + 12 * s[k],
                )
                for k in range(3)
            ]
            return sum(math.exp(w[k]) * pieces[k][0] for k in range(3))

        assert float(means[row]) == pytest.approx(moment(1), rel=1e-8, abs=1e-10)
        assert float(deviations[row]) == pytest.approx(math.sqrt(moment(2) - moment(1) ** 2), rel=1e-7)


def test_standard_deviation_keeps_its_digits_far_from_zero() -> None:
    shifted = gaussian.affine(some_mixture(), shift=1e7, scale=1.0)
    expected = gaussian.standard_deviation(some_mixture())
    assert torch.allclose(gaussian.standard_deviation(shifted), expected, rtol=1e-6)


@pytest.mark.parametrize("components", [1, 3, 10])
def test_closed_form_crps_agrees_with_scoringrules(components: int) -> None:
    mixture, y = some_mixture(components=components), some_targets()
    means, scales, log_weights = (values.numpy() for values in mixture)
    expected = scoringrules.crps_mixnorm(y.numpy(), means, scales, np.exp(log_weights), m_axis=-1)
    assert gaussian.crps(mixture, y).numpy() == pytest.approx(expected, rel=1e-10)


def test_closed_form_crps_agrees_with_numerical_integration() -> None:
    mixture, y = some_mixture(rows=4), some_targets(4)
    scores = gaussian.crps(mixture, y)
    for row in range(4):
        target = float(y[row])
        below = integrate.quad(lambda t, row=row: scipy_cdf(mixture, row, t) ** 2, -60, target, limit=400)[0]
        above = integrate.quad(lambda t, row=row: (1 - scipy_cdf(mixture, row, t)) ** 2, target, 60, limit=400)[0]
        assert float(scores[row]) == pytest.approx(below + above, rel=1e-6)


@pytest.mark.parametrize("components", [1, 3, 10])
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_quantile_inverts_the_cdf(components: int, spread: float) -> None:
    mixture = some_mixture(components=components, spread=spread)
    levels = torch.tensor([1e-12, 1e-3, 0.05, 0.5, 0.9, 0.999], dtype=torch.float64)
    quantiles = gaussian.quantile(mixture, levels)
    assert quantiles.shape == (40, 6)
    for column, level in enumerate(levels.tolist()):
        assert gaussian.cdf(mixture, quantiles[:, column]).numpy() == pytest.approx(level, rel=1e-9)


def test_quantiles_of_one_component_are_exact_into_both_tails() -> None:
    levels = torch.tensor([1e-300, 1e-20, 0.3, 0.5, 1 - 1e-15], dtype=torch.float64)
    quantiles = gaussian.quantile(one_mixture([3.0], [0.5], [1.0]), levels)
    assert quantiles[0].numpy() == pytest.approx(stats.norm.ppf(levels.numpy(), 3.0, 0.5), rel=1e-12)


@pytest.mark.parametrize("repeats", [1, 10], ids=["few levels", "so many that F is tabulated"])
@pytest.mark.parametrize(
    ("means", "scales", "weights"),
    [
        ([-100.0, 100.0], [1e-3, 1e-3], [0.4, 0.6]),  # far apart and narrow
        ([0.0, 0.0], [1e-3, 10.0], [0.5, 0.5]),  # a spike on a wide base
        ([0.0, 5.0, 5000.0], [1.0, 1e-3, 1.0], [0.98, 0.02 - 1e-9, 1e-9]),  # a far component of no weight
    ],
)
def test_quantiles_of_awkward_mixtures_agree_with_root_finding(
    means: list[float], scales: list[float], weights: list[float], repeats: int
) -> None:
    mixture = one_mixture(means, scales, weights)
    levels = torch.tensor([0.001, 0.05, 0.3, 0.55, 0.7, 0.95, 0.999], dtype=torch.float64).repeat(repeats)
    found = gaussian.quantile(mixture, levels)[0].tolist()
    low, high = min(means) - 40 * max(scales), max(means) + 40 * max(scales)
    for level, value in zip(levels.tolist(), found, strict=True):
        expected = optimize.brentq(
            lambda y, p=level: scipy_cdf(mixture, 0, y) - p, low, high, xtol=1e-13, rtol=1e-14, maxiter=500
        )
        assert value == pytest.approx(expected, rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("components", [1, 3, 10])
@pytest.mark.parametrize(("spread", "narrow"), [(1.5, 1.0), (6.0, 1.0), (1.5, 1e-3)])
def test_quantiles_at_many_levels_are_those_at_few(components: int, spread: float, narrow: float) -> None:
    mixture = some_mixture(components=components, spread=spread)
    mixture = mixture._replace(scales=mixture.scales * narrow)
    tails = torch.tensor([0.0, 1e-300, 1e-12, 2.0**-30, 1e-7, 1e-5, 1 - 1e-5, 1 - 2.0**-30, 1.0], dtype=torch.float64)
    levels = torch.cat([tails, torch.linspace(0.001, 0.999, 230, dtype=torch.float64)])
    few = torch.cat([gaussian.quantile(mixture, some) for some in levels.split(10)], dim=1)
    # Between narrow components F is so flat that rounding moves a quantile by up to 1e-11.
    torch.testing.assert_close(gaussian.quantile(mixture, levels), few, rtol=1e-10, atol=1e-10)


def test_quantiles_of_a_mixture_are_as_exact_in_the_upper_tail_as_in_the_lower() -> None:
    mixture = some_mixture()
    mirrored = GaussianMixture(-mixture.means, mixture.scales, mixture.log_weights)
    low = torch.tensor([2.0**-50, 2.0**-40, 2.0**-10], dtype=torch.float64)  # 1 - level is exact
    upper = gaussian.quantile(mixture, 1 - low)
    assert torch.allclose(upper, -gaussian.quantile(mirrored, low), rtol=1e-11, atol=1e-11)


def test_quantile_levels_zero_and_one_are_infinite() -> None:
    ends = gaussian.quantile(some_mixture(rows=2), torch.tensor([0.0, 0.5, 1.0]))
    assert (ends[:, 0] == -math.inf).all()
    assert ends[:, 1].isfinite().all()
    assert (ends[:, 2] == math.inf).all()


@pytest.mark.parametrize("level", [-0.1, 1.1, math.nan])
def test_quantile_level_outside_the_unit_interval_is_refused(level: float) -> None:
    with pytest.raises(UserError, match="level"):
        gaussian.quantile(some_mixture(), torch.tensor([0.5, level]))


def test_affine_change_of_scale_follows_the_change_of_variables() -> None:
    mixture, y = some_mixture(), some_targets()
    shift, scale = -7.0, 2.5
    changed, changed_y = gaussian.affine(mixture, shift, scale), shift + scale * y

    def close(one: Tensor, other: Tensor) -> bool:
        return torch.allclose(one, other, rtol=1e-10, atol=1e-12)

    log_density = gaussian.log_density(mixture, y) - math.log(scale)
    deviation = scale * gaussian.standard_deviation(mixture)
    levels = torch.tensor([0.1, 0.8])
    assert close(gaussian.cdf(changed, changed_y), gaussian.cdf(mixture, y))
    assert close(gaussian.log_density(changed, changed_y), log_density)
    assert close(gaussian.mean(changed), shift + scale * gaussian.mean(mixture))
    assert close(gaussian.standard_deviation(changed), deviation)
    assert close(gaussian.crps(changed, changed_y), scale * gaussian.crps(mixture, y))
    assert close(gaussian.quantile(changed, levels), shift + scale * gaussian.quantile(mixture, levels))


@pytest.mark.parametrize(("shift", "scale"), [(0.0, 0.0), (0.0, -1.0), (math.nan, 1.0), (0.0, math.inf)])
def test_affine_refuses_a_scale_that_is_not_positive_and_finite(shift: float, scale: float) -> None:
    with pytest.raises(UserError, match="scale"):
        gaussian.affine(some_mixture(), shift, scale)
