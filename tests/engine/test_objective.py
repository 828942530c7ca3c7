from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from qrt.engine import mixture as gaussian
from qrt.engine import reflected_density
from qrt.engine.calibration_map import fit_map
from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture import GaussianMixture
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.network import MLP
from qrt.engine.objective import qrt_loss
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.random_streams import sample_rows, stream
from qrt.engine.stack import INITIAL_CENTRES, LEARNED_CENTRES, Stack
from qrt.engine.training_step import TrainingStep
from qrt.engine.validation import Validation
from qrt.engine.variant import TrainingSettings, Variant
from qrt.engine.vjp import differentiable
from qrt.errors import UserError
from support.generated_splits import small_split

SEED = 5


def random_outputs(rows: int, components: int, *leading: int) -> tuple[Tensor, Tensor]:
    """Outputs (*leading, rows, 3 components) and targets (rows,), float64."""
    generator = torch.Generator().manual_seed(rows + components)
    outputs = torch.randn(*leading, rows, 3 * components, generator=generator, dtype=torch.float64)
    return outputs, torch.randn(rows, generator=generator, dtype=torch.float64)


def log_map_density(points: Tensor, centres: Tensor, scale: float) -> Tensor:
    """log phi_REFL as the paper writes it: (n,) for points: (n,) and centres: (N,)."""
    x, z = points.unsqueeze(1), centres.unsqueeze(0)
    kernels = [logsigmoid(t / scale) + logsigmoid(-t / scale) for t in (x - z, -x - z, 2 - x - z)]
    return torch.logsumexp(torch.cat(kernels, dim=1), dim=1) - math.log(scale * len(centres))


@pytest.mark.parametrize("components", [1, 3, 10])
def test_mixture_terms_are_the_mixtures_log_density_and_pit(components: int) -> None:
    outputs, y = random_outputs(40, components, 2)
    mixture, _ = from_raw_outputs(outputs.transpose(1, 2))
    log_density, pit, _ = mixture_terms(mixture, y)
    expected = gaussian.from_outputs(outputs)
    torch.testing.assert_close(log_density, gaussian.log_density(expected, y), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(pit, gaussian.cdf(expected, y), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("components", [1, 3])
def test_gradients_of_mixture_terms_pass_gradcheck(components: int) -> None:
    outputs, y = random_outputs(6, components, 3)

    def terms(raw: Tensor) -> Tensor:
        def value_and_vjp(inner: Tensor) -> tuple[Tensor, Callable[[Tensor], tuple[Tensor, ...]]]:
            mixture, to_raw = from_raw_outputs(inner)
            # PITs of the second and third network only, as in a stack whose first network has no map.
            log_density, pit, to_mixture = mixture_terms(mixture, y, first_pit=1)
            return torch.cat([log_density, pit]), lambda g: (to_raw(to_mixture(g[:3], g[3:])),)

        return differentiable(value_and_vjp, raw)

    assert torch.autograd.gradcheck(terms, outputs.transpose(1, 2).contiguous().requires_grad_())


def test_mixture_terms_stay_finite_in_float32_when_targets_are_far_away() -> None:
    outputs = torch.zeros(1, 3, 4)
    outputs[:, 1] = -30.0  # the smallest scale, 1e-3
    y = torch.tensor([0.04, -0.04, 40.0, -4000.0])
    mixture, to_raw = from_raw_outputs(outputs)
    log_density, pit, to_mixture = mixture_terms(mixture, y)
    gradient = to_raw(to_mixture(-0.25, torch.ones_like(pit)))
    expected = gaussian.log_density(gaussian.from_outputs(outputs.transpose(1, 2).double()), y.double())
    torch.testing.assert_close(log_density.double(), expected, rtol=1e-5, atol=1e-5)
    assert bool(gradient.isfinite().all())


@pytest.mark.parametrize("alpha", [-5.0, -0.1, 0.0, 0.5, 1.0])
@pytest.mark.parametrize("rows", [30, 150])
def test_loss_and_gradient_are_those_of_algorithm_1(alpha: float, rows: int) -> None:
    outputs, y = random_outputs(rows, 3, 2)
    scale = kernel_scale(0.1, rows, "variance")
    mine, theirs = outputs.clone().requires_grad_(), outputs.clone().requires_grad_()
    loss = qrt_loss(gaussian.from_outputs(mine), y, alpha, scale)
    expected = []
    for network in theirs:
        mixture = gaussian.from_outputs(network)
        z = gaussian.cdf(mixture, y)
        expected.append(-(gaussian.log_density(mixture, y) + alpha * log_map_density(z, z, scale)).mean())
    torch.testing.assert_close(loss, torch.stack(expected), rtol=1e-10, atol=1e-10)
    weights = torch.tensor([1.0, -2.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad((loss * weights).sum(), mine)
    (expected_gradient,) = torch.autograd.grad((torch.stack(expected) * weights).sum(), theirs)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-8, atol=1e-12)


def test_loss_with_alpha_1_is_the_nll_of_the_recalibrated_model() -> None:
    outputs, y = random_outputs(200, 3)
    mixture = gaussian.from_outputs(outputs)
    fitted = fit_map("REFL", gaussian.cdf(mixture, y), 0.1, "variance")
    log_density, _ = PredictiveDistribution(mixture, (fitted,)).log_density_and_pit(y)
    loss = qrt_loss(mixture, y, 1.0, kernel_scale(0.1, 200, "variance"))
    torch.testing.assert_close(loss, -log_density.mean(), rtol=1e-10, atol=1e-10)


def test_loss_is_the_base_models_nll_plus_alpha_times_the_entropy_of_the_pits() -> None:
    outputs, y = random_outputs(200, 3)
    mixture = gaussian.from_outputs(outputs)
    at_0, at_1, at_3 = (float(qrt_loss(mixture, y, alpha, 0.02)) for alpha in (0.0, 1.0, 3.0))
    assert at_0 == pytest.approx(-float(gaussian.log_density(mixture, y).mean()), rel=1e-12)
    assert at_3 - at_0 == pytest.approx(3 * (at_1 - at_0), rel=1e-10)
    assert at_1 < at_0  # PITs on [0, 1] have an entropy of at most 0


def test_a_batch_of_one_row_is_refused() -> None:
    one = torch.zeros(1, 1)
    with pytest.raises(UserError, match="at least 2 rows"):
        qrt_loss(GaussianMixture(one, one + 1, one), torch.zeros(1), 1.0, 0.1)


@dataclass
class Case:
    """A stack of one network, and what a plain autograd implementation needs to know of its step."""

    settings: TrainingSettings
    stack: Stack
    step: TrainingStep
    x: Tensor
    y: Tensor
    rows: Tensor


def one_network(variant: Variant, batch: int = 48, **changes: Any) -> Case:
    data = small_split(train=96)
    x, y = (torch.from_numpy(part) for part in data.part("train"))
    settings = TrainingSettings(batch_size=batch, **changes)
    stack = Stack(MLP(x.shape[1], 3, settings.dropout), [variant], settings, [SEED], batch_rows=batch, map_rows=len(x))
    Validation((x, y), (x, y), settings, [SEED]).fix_initial_centres(stack)
    return Case(settings, stack, TrainingStep(stack, x, y, settings), x, y, torch.arange(batch) * 2)


def reference(case: Case, variant: Variant) -> tuple[Tensor, dict[str, Tensor]]:
    """Loss and gradients of the first step in float64, the network and the objective written the obvious way."""
    parameters = {name: view[0].double().clone().requires_grad_() for name, view in case.stack.parameters.views.items()}

    def mixture_of(x: Tensor, mask: Tensor) -> GaussianMixture:
        hidden = x.double()
        for layer in (1, 2, 3):
            hidden = torch.relu(hidden @ parameters[f"hidden{layer}.weight"] + parameters[f"hidden{layer}.bias"])
        outputs = (hidden * mask) @ parameters["output.weight"].T + parameters["output.bias"].T
        return gaussian.from_outputs(outputs)

    network = case.stack.network
    (mask,) = network.masks(len(case.rows), stream(SEED, "dropout"))
    y = case.y[case.rows].double()
    mixture = mixture_of(case.x[case.rows], mask)
    z = gaussian.cdf(mixture, y)
    if variant.ablation == "QRG":
        centres = z.detach()
    elif variant.ablation == "QRI":
        centres = case.stack.statistics.views[INITIAL_CENTRES][0].double()
    elif variant.ablation == "QRL" and case.settings.free_centres == "fixed":
        centres = torch.rand(len(y), generator=stream(SEED, "learned centres")).double()
    elif variant.ablation == "QRL":
        centres = parameters[LEARNED_CENTRES]
    elif variant.map_size is not None:
        rows = sample_rows(len(case.x), variant.map_size, stream(SEED, "map sample"))
        (sample_mask,) = network.masks(len(rows), stream(SEED, f"dropout of map sample {variant.map_size}"))
        centres = gaussian.cdf(mixture_of(case.x[rows], sample_mask), case.y[rows].double())
    elif case.settings.map_centres == "second_pass":
        (second_mask,) = network.masks(len(y), stream(SEED, "dropout of the second pass"))
        assert not torch.equal(second_mask, mask)
        centres = gaussian.cdf(mixture_of(case.x[case.rows], second_mask), y)
    else:
        centres = z
    term = torch.zeros((), dtype=torch.float64)
    if variant.bandwidth is not None:
        scale = kernel_scale(variant.bandwidth, len(centres), "variance")
        term = variant.alpha * log_map_density(z, centres, scale).mean()
    loss = -gaussian.log_density(mixture, y).mean() - term
    return loss.detach(), dict(zip(parameters, torch.autograd.grad(loss, list(parameters.values())), strict=True))


@pytest.mark.parametrize(
    "variant",
    [
        Variant(),
        Variant(alpha=1.0, bandwidth=0.1),
        Variant(alpha=-0.2, bandwidth=0.05),
        Variant(alpha=1.0, bandwidth=0.1, map_size=8),
        Variant(alpha=1.0, bandwidth=0.1, map_size=64),
        Variant(alpha=2.0, bandwidth=0.2, map_size=2048),
        Variant(alpha=1.0, bandwidth=0.1, ablation="QRI"),
        Variant(alpha=1.0, bandwidth=0.1, ablation="QRG"),
        Variant(alpha=1.0, bandwidth=0.1, ablation="QRL"),
    ],
    ids=lambda variant: variant.id,
)
def test_training_step_has_the_loss_and_gradient_of_its_objective(variant: Variant) -> None:
    assert_step_is_that_of_the_reference(one_network(variant), variant)


def assert_step_is_that_of_the_reference(case: Case, variant: Variant) -> None:
    loss, gradients = reference(case, variant)
    found = case.step(case.rows)
    assert float(found) == pytest.approx(float(loss), rel=1e-5)
    assert gradients.keys() == case.stack.gradients.views.keys()
    for name, gradient in gradients.items():
        error = (case.stack.gradients.views[name][0] - gradient).abs().max()
        assert float(error) <= 2e-4 * float(gradient.abs().max()) + 1e-7, name


@pytest.mark.parametrize("batch", [16, 48])  # the pairwise formula and the series
@pytest.mark.parametrize(("alpha", "bandwidth"), [(1.0, 0.1), (-0.2, 0.05), (2.0, 0.5)])
@pytest.mark.parametrize("formula", ["fast", "pairwise"])
def test_a_second_pass_gives_the_centres_and_takes_its_share_of_the_gradient(
    batch: int, alpha: float, bandwidth: float, formula: str
) -> None:
    variant = Variant(alpha=alpha, bandwidth=bandwidth)
    case = one_network(variant, batch, map_centres="second_pass", map_formula=formula)
    assert_step_is_that_of_the_reference(case, variant)


def losses_and_gradients(**switches: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """Losses (R,) and gradients of the first step of a stack of every kind, cut into several passes."""
    qrt = Variant(alpha=1.0, bandwidth=0.1)
    kinds = [Variant(), qrt, replace(qrt, bandwidth=0.3), replace(qrt, alpha=-0.2), replace(qrt, map_size=200)]
    kinds += [replace(qrt, ablation=ablation) for ablation in ("QRI", "QRG", "QRL")]
    data = small_split(train=512)
    x, y = (torch.from_numpy(part) for part in data.part("train"))
    settings = TrainingSettings(**switches)
    stack = Stack(MLP(x.shape[1], 3), kinds, settings, [SEED] * len(kinds), batch_rows=len(x), map_rows=len(x))
    Validation((x, y), (x, y), settings, [SEED] * len(kinds)).fix_initial_centres(stack)
    assert len(stack.passes(len(x))) > 1
    losses = TrainingStep(stack, x, y, settings)(torch.arange(len(x)))
    return losses, stack.gradients.views


@pytest.mark.parametrize("map_centres", ["same_pass", "second_pass"])
def test_training_by_the_pairwise_formula_is_the_same_by_rounding(
    map_centres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast_losses, fast = losses_and_gradients(map_centres=map_centres)

    def not_the_released_way(*arguments: object) -> None:
        raise AssertionError("the series, or layers shared between passes")

    monkeypatch.setattr(reflected_density, "_series", not_the_released_way)
    monkeypatch.setattr(MLP, "forward_repeatable", not_the_released_way)
    losses, gradients = losses_and_gradients(map_centres=map_centres, map_formula="pairwise")
    torch.testing.assert_close(losses, fast_losses, rtol=1e-5, atol=1e-5)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, fast[name], rtol=1e-3, atol=2e-4 * float(fast[name].abs().max()))


def test_a_second_pass_without_dropout_is_the_first_pass_again() -> None:
    variant = Variant(alpha=1.0, bandwidth=0.1)
    same, second = (one_network(variant, map_centres=centres, dropout=0.0) for centres in ("same_pass", "second_pass"))
    assert float(second.step(second.rows)) == pytest.approx(float(same.step(same.rows)), rel=1e-5)
    torch.testing.assert_close(second.stack.gradients.flat, same.stack.gradients.flat, rtol=1e-3, atol=1e-6)


def test_fixed_free_centres_are_no_parameters() -> None:
    variant = Variant(alpha=1.0, bandwidth=0.1, ablation="QRL")
    case = one_network(variant, free_centres="fixed")
    assert LEARNED_CENTRES not in case.stack.parameters.views
    assert_step_is_that_of_the_reference(case, variant)


def test_ablations_and_a_second_pass_have_different_gradients() -> None:
    # Otherwise the tests above could pass with one code path for all.
    found = []
    qrt, qrg, qrl = (Variant(alpha=1.0, bandwidth=0.1, ablation=ablation) for ablation in (None, "QRG", "QRL"))
    for variant, centres in ((qrt, "same_pass"), (qrg, "same_pass"), (qrl, "same_pass"), (qrt, "second_pass")):
        case = one_network(variant, map_centres=centres)
        case.step(case.rows)
        found.append(case.stack.gradients.views["output.weight"].clone())
    for other in found[1:]:
        assert not torch.allclose(found[0], other, rtol=0.01)
