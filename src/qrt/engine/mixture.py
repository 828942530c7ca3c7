"""Mixtures of Gaussians, the base model's predictive distribution (docs/protocol.md, section 2).

All functions but `quantile` take any leading dimensions (a stack of networks, for example) and any floating dtype.
These are the definitions; `mixture_terms` has log-density and CDF again, with closed-form gradients for training.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qrt.engine.root_finding import increasing_root
from qrt.errors import UserError

MIN_SCALE = 1e-3  # docs/protocol.md, section 2
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
# Standard normal quantiles at which F is tabulated, where there are so many levels for each component that it pays.
_NODES = torch.tensor([0.1, 0.3, 0.55, 0.8, 1.05, 1.3, 1.6, 1.9, 2.2, 2.6, 3.0, 3.5, 4.2, 5.2, 6.5, 8.0]).double()
_NODES = torch.cat([-_NODES.flip(0), _NODES])
_MANY_LEVELS = 20
_SURE_PROBIT = 5.0
_CHUNK_QUANTILES = 2**14  # solved together: their arrays stay in the processor's cache


class GaussianMixture(NamedTuple):
    """N predictive distributions of K components: `means`, `scales` and `log_weights`, each (..., N, K)."""

    means: Tensor
    scales: Tensor
    log_weights: Tensor


def from_outputs(outputs: Tensor) -> GaussianMixture:
    """The mixtures of network outputs (..., N, 3K), laid out as K means, K scale parameters, K logits."""
    means, rho, logits = outputs.chunk(3, dim=-1)
    return GaussianMixture(means, softplus(rho) + MIN_SCALE, torch.log_softmax(logits, dim=-1))


def affine(mixture: GaussianMixture, shift: float, scale: float) -> GaussianMixture:
    """The mixture of shift + scale * Y, where Y has the given mixture. `scale` must be positive."""
    if not (math.isfinite(shift) and math.isfinite(scale) and scale > 0):
        raise UserError(
            f"cannot change the scale of a mixture with shift {shift} and scale {scale}: both must be finite "
            "and the scale above 0 (a constant target has scale 0)"
        )
    return GaussianMixture(mixture.means * scale + shift, mixture.scales * scale, mixture.log_weights)


def pooled(mixtures: Sequence[GaussianMixture]) -> GaussianMixture:
    """The linear pool of M mixtures (..., N, K), each with the weight 1/M: a mixture (..., N, M K)."""
    means, scales, log_weights = (torch.cat(tensors, dim=-1) for tensors in zip(*mixtures, strict=True))
    return GaussianMixture(means, scales, log_weights - math.log(len(mixtures)))


def log_density(mixture: GaussianMixture, y: Tensor) -> Tensor:
    """log f(y | x), (..., N) for y: (..., N); finite however far y is in the tails."""
    z = (y.unsqueeze(-1) - mixture.means) / mixture.scales
    terms = mixture.log_weights - torch.log(mixture.scales) - 0.5 * z * z
    return torch.logsumexp(terms, dim=-1) - _LOG_SQRT_2PI


def cdf(mixture: GaussianMixture, y: Tensor) -> Tensor:
    """F(y | x), the PIT of y, (..., N) for y: (..., N). Relatively exact in the lower tail, never above 1."""
    z = (mixture.means - y.unsqueeze(-1)) / mixture.scales
    components = torch.erfc(z * _SQRT_HALF)
    # Weights in floating point may sum to a little more than 1.
    return (0.5 * (mixture.log_weights.exp() * components).sum(dim=-1)).clamp(max=1.0)


def mean(mixture: GaussianMixture) -> Tensor:
    """E[Y | x], (..., N)."""
    return (mixture.log_weights.exp() * mixture.means).sum(dim=-1)


def standard_deviation(mixture: GaussianMixture) -> Tensor:
    """Standard deviation of Y given x, (..., N)."""
    # Around the mean, so that a far-away mean does not cancel the variance.
    deviation = mixture.means - mean(mixture).unsqueeze(-1)
    return (mixture.log_weights.exp() * (mixture.scales**2 + deviation**2)).sum(dim=-1).sqrt()


def _expected_distance(shift: Tensor, scale: Tensor) -> Tensor:
    """E|X| for X normal with mean `shift` and standard deviation `scale`, elementwise."""
    z = shift / scale
    return shift * torch.erf(z * _SQRT_HALF) + 2 * scale * torch.exp(-0.5 * z * z - _LOG_SQRT_2PI)


def crps(mixture: GaussianMixture, y: Tensor) -> Tensor:
    """Continuous ranked probability score E|Y - y| - E|Y - Y'| / 2 in closed form, (..., N) for y: (..., N).

    For mixtures of normals: Grimit et al. (2006), Quarterly Journal of the Royal Meteorological Society 132.
    """
    weights = mixture.log_weights.exp()
    to_target = (weights * _expected_distance(y.unsqueeze(-1) - mixture.means, mixture.scales)).sum(dim=-1)
    shift = mixture.means.unsqueeze(-1) - mixture.means.unsqueeze(-2)
    scale = torch.hypot(mixture.scales.unsqueeze(-1), mixture.scales.unsqueeze(-2))
    pairs = weights.unsqueeze(-1) * weights.unsqueeze(-2) * _expected_distance(shift, scale)
    return to_target - 0.5 * pairs.sum(dim=(-2, -1))


def quantile(mixture: GaussianMixture, levels: Tensor) -> Tensor:
    """F^{-1}(u | x) for every row and level, (N, L) float64 for levels: (L,) in [0, 1] and a mixture (N, K).

    Level 0 is -inf and level 1 is +inf. Solved to rounding by a bracketed Newton method.
    """
    if mixture.means.dim() != 2:
        raise ValueError(f"quantiles need a mixture of shape (N, K), not {tuple(mixture.means.shape)}")
    levels = levels.double()
    if not bool(((levels >= 0) & (levels <= 1)).all()):
        raise UserError(f"a quantile level is outside [0, 1]: {levels.tolist()}")
    probits = torch.special.ndtri(levels)
    inner = probits.isfinite()
    result = probits.repeat(len(mixture.means), 1)
    if bool(inner.any()):
        rows = max(1, _CHUNK_QUANTILES // int(inner.sum()))
        chunks = zip(*(values.double().split(rows) for values in mixture), strict=True)
        result[:, inner] = torch.cat([_inner_quantiles(GaussianMixture(*c), probits[inner]) for c in chunks])
    return result


def _inner_quantiles(mixture: GaussianMixture, probits: Tensor) -> Tensor:
    """Quantiles (N, L) at the levels whose standard normal quantiles are probits: (L,), all finite."""
    rows, count = len(mixture.means), len(probits)
    # Each component's own quantile: the mixture's lies between the smallest and the largest.
    ends = mixture.means.unsqueeze(1) + mixture.scales.unsqueeze(1) * probits.unsqueeze(-1)
    lower, upper = ends.amin(dim=-1).flatten(), ends.amax(dim=-1).flatten()
    row_of, target = torch.arange(rows).repeat_interleave(count), probits.repeat(rows)
    # Work with the smaller tail, which keeps its digits next to 0 where 1 - F would lose them.
    side = torch.where(target > 0, -1.0, 1.0).double()
    # One vector over the rows for each component: sums over a last dimension of K values would double the time.
    means, precisions = mixture.means.T.contiguous(), mixture.scales.reciprocal().T.contiguous()
    weights = mixture.log_weights.exp().T.contiguous()
    heights = weights * precisions

    def probit_gap(x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """Phi^{-1}(F(x)) - Phi^{-1}(u): a straight line for one component, nearly so in a mixture's tails."""
        row, sign = row_of.index_select(0, which), side.index_select(0, which)
        to_tail = sign * -_SQRT_HALF
        tail, slope, standard = torch.zeros_like(x), torch.zeros_like(x), []
        for mean_of, precision, weight in zip(means, precisions, weights, strict=True):
            z = (x - mean_of.index_select(0, row)).mul_(precision.index_select(0, row))
            tail.addcmul_((z * to_tail).erfc_(), weight.index_select(0, row))
            standard.append(z)
        probit = torch.special.ndtri(tail.mul_(0.5).clamp_(max=1.0)).mul_(sign)
        half_square = 0.5 * probit * probit
        for z, height in zip(standard, heights, strict=True):
            slope.addcmul_(torch.addcmul(half_square, z, z, value=-0.5).exp_(), height.index_select(0, row))
        return probit - target.index_select(0, which), slope

    if count < _MANY_LEVELS * means.shape[0] or not rows:
        return increasing_root(probit_gap, lower, upper).reshape(rows, count)
    low, high, start = (values.flatten() for values in _brackets(mixture, probits))
    # In the far tails, where 1 - F has lost its digits, the components' own quantiles are the better bracket.
    inner = target.abs() < _SURE_PROBIT
    lower = torch.where(inner, torch.maximum(low, lower), lower)
    upper = torch.where(inner, torch.minimum(high, upper), upper)
    start = torch.where(inner, torch.minimum(torch.maximum(start, lower), upper), 0.5 * (lower + upper))
    return increasing_root(probit_gap, lower, upper, start).reshape(rows, count)


def _brackets(mixture: GaussianMixture, probits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Brackets of the quantiles of `_inner_quantiles` and about the quantiles themselves: (N, L) each.

    They come from a table of F at 32 quantiles of each component, one node further than needed on either side.
    """
    grid = (mixture.means.unsqueeze(-1) + mixture.scales.unsqueeze(-1) * _NODES).flatten(start_dim=1)
    grid.numpy().sort(axis=1)
    twice = torch.zeros_like(grid)
    for mean_of, precision, weight in zip(
        *(values.split(1, dim=1) for values in (mixture.means, mixture.scales.reciprocal(), mixture.log_weights.exp())),
        strict=True,
    ):
        twice.addcmul_((mean_of - grid).mul_(precision * _SQRT_HALF).erfc_(), weight)
    # Values that are equal but for rounding may descend.
    table = torch.special.ndtri(twice.mul_(0.5).clamp_(max=1.0)).cummax(dim=1).values
    wanted = probits.repeat(len(grid), 1)
    last = grid.shape[1] - 1
    above = torch.searchsorted(table, wanted).clamp_(1, last)
    left, right = above - 1, above
    from_value, to_value = table.gather(1, left), table.gather(1, right)
    share = ((wanted - from_value) / (to_value - from_value)).nan_to_num_(0.5, 0.5, 0.5).clamp_(0, 1)
    start = torch.lerp(grid.gather(1, left), grid.gather(1, right), share)
    low = grid.gather(1, (left - 1).clamp_(min=0))
    high = grid.gather(1, (right + 1).clamp_(max=last))
    return low, high, start
