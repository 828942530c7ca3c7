"""Mixtures of Gaussians, the base model's predictive distribution (spec, section 2).

All functions but `quantile` take any leading dimensions (a stack of networks, for example) and any floating dtype.
These are the definitions; `mixture_terms` has log-density and CDF again, with closed-form gradients for training.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qrt.engine.root_finding import increasing_root
from qrt.errors import UserError

MIN_SCALE = 1e-3  # spec, section 2
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)
_CHUNK_VALUES = 2**17  # bounds the memory of quantiles


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
        rows = max(1, _CHUNK_VALUES // (int(inner.sum()) * mixture.means.shape[1]))
        chunks = zip(*(values.double().split(rows) for values in mixture), strict=True)
        result[:, inner] = torch.cat([_inner_quantiles(GaussianMixture(*c), probits[inner]) for c in chunks])
    return result


def _inner_quantiles(mixture: GaussianMixture, probits: Tensor) -> Tensor:
    """Quantiles (N, L) at the levels whose standard normal quantiles are probits: (L,), all finite."""
    means, scales, weights = mixture.means, mixture.scales, mixture.log_weights.exp()
    rows, count = len(means), len(probits)
    # Each component's own quantile: the mixture's lies between the smallest and the largest.
    ends = means.unsqueeze(1) + scales.unsqueeze(1) * probits.unsqueeze(-1)
    lower, upper = ends.amin(dim=-1).flatten(), ends.amax(dim=-1).flatten()
    target = probits.repeat(rows)
    # Work with the smaller tail, which keeps its digits next to 0 where 1 - F would lose them.
    side = torch.where(target > 0, -1.0, 1.0).double()

    def probit_gap(x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        """Phi^{-1}(F(x)) - Phi^{-1}(u): a straight line for one component, nearly so in a mixture's tails."""
        row, sign = which // count, side[which]
        z = (x.unsqueeze(-1) - means[row]) / scales[row]
        w = weights[row]
        tail = 0.5 * (w * torch.erfc(-sign.unsqueeze(-1) * z * _SQRT_HALF)).sum(dim=-1)
        probit = sign * torch.special.ndtri(tail.clamp(max=1.0))
        log_ratio = 0.5 * (probit * probit).unsqueeze(-1) - 0.5 * z * z
        return probit - target[which], (w / scales[row] * torch.exp(log_ratio)).sum(dim=-1)

    return increasing_root(probit_gap, lower, upper).reshape(rows, count)
