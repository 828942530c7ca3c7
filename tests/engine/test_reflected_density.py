from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor
from torch.nn.functional import logsigmoid

from qrt.engine import reflected_density
from qrt.engine.calibration_map import reflected_map
from qrt.engine.kernel import KernelWidth, kernel_scale
from qrt.engine.reflected_density import (
    SAFE_DENSITY,
    ReflectedMaps,
    log_density,
    own_log_density,
    pairwise_log_density,
    uses_series,
)
from qrt.engine.vjp import differentiable

BATCH = 512
BANDWIDTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
# Scales on both sides of the border, about 0.05246, between the cosine series and the longer period in float32.
BORDER = (0.0505, 0.0524, 0.0525, 0.06)


def pits(kind: str, size: int = BATCH) -> Tensor:
    """PITs (1, size) that are exact in float32, in float64."""
    generator = np.random.default_rng(3)
    values = {
        "uniform": generator.uniform(size=size),
        "u-shaped": generator.beta(0.3, 0.3, size=size),
        "low end": generator.beta(0.5, 6.0, size=size),
        "high end": generator.beta(20.0, 0.4, size=size),
        "ties": np.repeat(generator.beta(0.6, 0.8, size=size // 4), 4),
    }[kind]
    return torch.from_numpy(values).float().double().unsqueeze(0)


KINDS = ("uniform", "u-shaped", "low end", "high end", "ties")


def formula(points: Tensor, centres: Tensor, scale: float) -> Tensor:
    """log phi as the paper writes it, with autograd; (R, n), any distance to the centres."""
    x, z = points.unsqueeze(2), centres.unsqueeze(1)
    terms = [logsigmoid(t / scale) + logsigmoid(-t / scale) for t in (x - z, -x - z, 2 - x - z)]
    return torch.logsumexp(torch.cat(terms, dim=2), dim=2) - math.log(scale * centres.shape[1])


def value_and_gradients(points: Tensor, centres: Tensor, scale: float, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log phi by the formula, and the gradients of sum(weight * log phi) by points and by centres."""
    points, centres = points.clone().requires_grad_(), centres.clone().requires_grad_()
    value = formula(points, centres, scale)
    by_points, by_centres = torch.autograd.grad((value * weight).sum(), [points, centres])
    return value.detach(), by_points, by_centres


def relative_error(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


@pytest.fixture
def series_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflected_density, "uses_series", lambda *_: True)


def test_the_oracle_is_the_papers_formula() -> None:
    z = np.array([0.02, 0.4, 0.97])
    x = np.array([0.0, 0.1, 0.99])
    kernels = [stats.logistic.pdf(t, scale=0.07) for t in (x[:, None] - z, -x[:, None] - z, 2 - x[:, None] - z)]
    expected = np.log(sum(kernels).mean(axis=1))
    found = formula(torch.from_numpy(x)[None], torch.from_numpy(z)[None], 0.07)
    np.testing.assert_allclose(found[0].numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("width", ["variance", "scale"])
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_float32_series_agrees_with_the_formula_at_its_own_centres(
    kind: str, bandwidth: float, width: KernelWidth
) -> None:
    scale = kernel_scale(bandwidth, BATCH, width)
    assert uses_series(scale, BATCH, BATCH, torch.float32)
    z = pits(kind)
    weight = torch.full_like(z, -1 / BATCH)
    expected, by_points, by_centres = value_and_gradients(z, z, scale, weight)
    value, vjp = own_log_density(z.float(), scale)
    # A sum in single precision is as good as its largest value allows, so the logarithm of a small density is worse.
    # Which of the last bits are lost differs from one processor to the next.
    rounding = torch.finfo(torch.float32).eps * (expected.max() - expected).exp()
    assert bool(((value - expected).abs() < 2e-6 + rounding).all())
    assert relative_error(vjp(weight.float()), by_points + by_centres) < 1e-4


@pytest.mark.usefixtures("series_everywhere")
@pytest.mark.parametrize("scale", BORDER)
@pytest.mark.parametrize("kind", KINDS)
def test_series_is_exact_on_both_sides_of_the_border_between_its_two_forms(kind: str, scale: float) -> None:
    cosine = reflected_density._series(scale, BATCH, torch.float32).images is None
    assert cosine == (scale < 0.05246)
    z = pits(kind)
    value, _ = own_log_density(z.float(), scale)
    assert float((value - formula(z, z, scale)).abs().max()) < 2e-5


@pytest.mark.parametrize(
    ("points", "centres", "series"), [(512, 512, True), (135, 135, True), (512, 8, False), (20, 20, False)]
)
def test_choice_between_series_and_pairwise_formula_does_not_show(points: int, centres: int, series: bool) -> None:
    scale = kernel_scale(0.1, centres, "variance")
    assert uses_series(scale, points, centres, torch.float32) == series
    x, z = pits("uniform", points), pits("u-shaped", centres)
    value, _ = log_density(x.float(), z.float(), scale)
    expected = formula(x, z, scale)
    torch.testing.assert_close(value.double(), expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("scale", [0.0005, 0.01, *BORDER, 0.3, 1.0])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("points", "centres"), [(BATCH, 8), (BATCH, 400), (3000, 400)])
def test_density_and_cdf_without_gradient_are_those_of_the_fitted_map(
    scale: float, kind: str, points: int, centres: int
) -> None:
    ends = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
    x, z = torch.cat([pits("uniform", points), ends], dim=1), pits(kind, centres)
    log_phi, cdf = ReflectedMaps(z.float(), scale).log_density_and_cdf(x.float())
    expected, expected_cdf = reflected_map(z[0], scale).log_density_and_cdf(x[0])
    assert float((cdf[0] - expected_cdf).abs().max()) < 1e-6
    # Up to this error of phi, relative to the largest phi; where phi is tiny it is the formula's.
    wrong = (log_phi[0].double().exp() - expected.exp()).abs()
    assert float(wrong.max() / expected.exp().max()) < 2e-6
    tiny = expected < math.log(0.9 * SAFE_DENSITY)
    torch.testing.assert_close(log_phi[0].double()[tiny], expected[tiny], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("points", [40, 3000])
def test_a_point_that_is_not_a_number_has_no_density_and_leaves_the_others_alone(points: int) -> None:
    x, z = pits("uniform", points).float(), pits("u-shaped", 400).float()
    maps = ReflectedMaps(z, 0.01)
    expected = maps.log_density_and_cdf(x)
    x[0, 7] = math.nan
    others = torch.arange(points) != 7
    for found, before in zip(maps.log_density_and_cdf(x), expected, strict=True):
        assert found[0, 7].isnan()
        torch.testing.assert_close(found[0, others], before[0, others])


@pytest.mark.usefixtures("series_everywhere")
@pytest.mark.parametrize("scale", [0.01, 0.04, 0.2])
def test_series_passes_gradcheck_in_both_roles(scale: float) -> None:
    z = torch.rand(2, 11, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x = torch.rand(2, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))

    def own(values: Tensor) -> Tensor:
        def value_and_vjp(inner: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, ...]]]:
            value, vjp = own_log_density(inner, scale)
            return value, lambda gradient: (vjp(gradient),)

        return differentiable(value_and_vjp, values)

    def other(points: Tensor, centres: Tensor) -> Tensor:
        return differentiable(lambda x, z: log_density(x, z, scale), points, centres)

    assert torch.autograd.gradcheck(own, z.requires_grad_())
    assert torch.autograd.gradcheck(other, (x.requires_grad_(), z))


@pytest.mark.parametrize("scale", [0.002, 0.05, 0.3])
def test_pairwise_formula_passes_gradcheck(scale: float) -> None:
    z = torch.rand(2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    x = torch.rand(2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1), requires_grad=True)

    def pairwise(points: Tensor, centres: Tensor) -> Tensor:
        return differentiable(lambda a, b: pairwise_log_density(a, b, scale), points, centres)

    assert torch.autograd.gradcheck(pairwise, (x, z))


@pytest.mark.parametrize("bandwidth", [0.01, 0.1])
def test_tiny_densities_far_from_all_centres_keep_their_digits_and_gradients(bandwidth: float) -> None:
    centres = pits("low end", 2048).clamp(max=0.4)
    points = torch.linspace(0, 1, 300, dtype=torch.float64).float().double().unsqueeze(0)
    scale = kernel_scale(bandwidth, 2048, "variance")
    assert uses_series(scale, 300, 2048, torch.float32)
    weight = torch.full_like(points, -1 / 300)
    expected, *expected_gradients = value_and_gradients(points, centres, scale, weight)
    assert float(expected.min()) < -40
    assert float(expected.max()) > math.log(SAFE_DENSITY) + 1
    single = (points.float(), centres.float())
    value, vjp = log_density(*single, scale)
    torch.testing.assert_close(value.double(), expected, rtol=2e-5, atol=1e-4)
    for found, gradient in zip(vjp(weight.float()), expected_gradients, strict=True):
        assert relative_error(found, gradient) < 1e-4
    torch.testing.assert_close(ReflectedMaps(single[1], scale).log_density(single[0]), value)


def test_networks_of_a_stack_do_not_touch_each_other() -> None:
    stack = torch.cat([pits(kind) for kind in KINDS]).float()
    points = stack.flip(0)[:, :300]
    scale = kernel_scale(0.1, BATCH, "variance")
    together, vjp = log_density(points, stack, scale)
    own, own_vjp = own_log_density(stack, scale)
    for number in range(len(KINDS)):
        one = slice(number, number + 1)
        alone, alone_vjp = log_density(points[one], stack[one], scale)
        torch.testing.assert_close(together[one], alone)
        for found, expected in zip(vjp(together), alone_vjp(alone), strict=True):
            torch.testing.assert_close(found[one], expected, rtol=1e-4, atol=1e-4)
        own_alone, own_alone_vjp = own_log_density(stack[one], scale)
        torch.testing.assert_close(own[one], own_alone)
        torch.testing.assert_close(own_vjp(own)[one], own_alone_vjp(own_alone), rtol=1e-4, atol=1e-4)
