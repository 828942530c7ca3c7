"""The reflected map's log-density (REFL, the paper's equation `refl`) as training needs it, with its gradient.

    phi(x) = (1/N) sum_j [k(x - Z_j) + k(x + Z_j) + k(2 - x - Z_j)],    k the logistic density with scale s

costs 3 N kernels per point. Two ways to compute it are here, and `uses_series` says which is taken.

**Series.** Make the kernel periodic with period P. Its Fourier coefficients are the logistic's characteristic function,
K(t) = pi t / sinh(pi t), which falls like exp(-pi t): a few dozen frequencies w_k = 2 pi k / P carry all of it, and
phi(x) = A + sum_k [alpha_k cos(w_k x) + beta_k sin(w_k x)], where alpha and beta are linear in the means over the
centres of cos(w_k Z) and sin(w_k Z). With P = 2 the periodic images of a centre are its reflections at 0 and 1, so that

    phi(x) = 1 + 2 sum_k K(s pi k) mean_j[cos(pi k Z_j)] cos(pi k x)

is the map reflected for ever instead of once. The two differ by at most about 2 exp(-1/s) / s. Where that is more than
the precision asked for (s above 0.06 in float32), P is longer, no image comes near, and the three terms of the paper's
formula are summed in the frequency domain.

**Pairwise.** The formula itself, as a log-sum-exp. Cheaper when there are few centres or few points, and the only one
that keeps its digits where phi is tiny, because the series has an absolute error of about 1e-6. At its own centres phi
is at least 1 / (4 s N), so that training on a batch's own PITs needs the series only; of other points, those where
the series gives less than SAFE_DENSITY are computed pairwise.

The functions return their value and its gradient as described in `vjp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from qrt.engine.workspace import Workspace

SAFE_DENSITY = 0.05
_PRECISION = {torch.float32: 2e-7, torch.float64: 1e-17}
_POINTS_AT_ONCE = 1024
_TINY_AT_ONCE = 64
_CACHED_VALUES = 2**19

OwnVjp = Callable[[Tensor], Tensor]
Vjp = Callable[[Tensor], tuple[Tensor, Tensor]]


def uses_series(scale: float, points: int, centres: int, dtype: torch.dtype) -> bool:
    """Whether the series is cheaper than the pairwise formula for so many points and centres.

    The series computes `terms` basis rows at all points and centres, the pairwise formula 3 kernels per pair. Measured,
    a pair costs as much as 16 values of the basis, and what the series costs anyhow as much as 100 rows of it.
    """
    return (_series(scale, dtype).terms + 100) * (points + centres) < 16 * points * centres


def networks_at_once(scale: float, points: int, dtype: torch.dtype) -> int:
    """How many networks to give to one call, so that the basis at `points` points stays in the processor's cache."""
    return max(1, _CACHED_VALUES // (2 * _series(scale, dtype).terms * points))


def own_log_density(z: Tensor, scale: float, workspace: Workspace | None = None) -> tuple[Tensor, OwnVjp]:
    """log phi at the centres themselves: (R, B) for z: (R, B), and the vjp through both roles of z."""
    if not uses_series(scale, z.shape[1], z.shape[1], z.dtype):
        value, vjp = pairwise_log_density(z, z, scale)

        def both_roles(gradient: Tensor) -> Tensor:
            as_points, as_centres = vjp(gradient)
            return as_points + as_centres

        return value, both_roles
    series = _series(scale, z.dtype)
    basis = series.basis(z, workspace, "own")
    values = series.values(basis)
    moments = values.mean(dim=-1)
    density = series.density(series.coefficients(moments), basis)

    def vjp_of_series(gradient: Tensor) -> Tensor:
        weight = gradient / density
        weighted = torch.bmm(weight.unsqueeze(1), values.transpose(1, 2)).div_(z.shape[1])
        both = series.derivative(series.coefficients(torch.cat((moments.unsqueeze(1), weighted), dim=1)))
        slopes = torch.bmm(both, series.slopes(basis))
        return torch.addcmul(slopes[:, 1], weight, slopes[:, 0])

    return density.log(), vjp_of_series


def log_density(
    points: Tensor, centres: Tensor, scale: float, workspace: Workspace | None = None
) -> tuple[Tensor, Vjp]:
    """log phi at other points: (R, n) for points: (R, n) and centres: (R, N); the vjp gives both gradients."""
    if not uses_series(scale, points.shape[1], centres.shape[1], points.dtype):
        return pairwise_log_density(points, centres, scale)
    series = _series(scale, points.dtype)
    at_centres = series.basis(centres, workspace, "centres")
    at_points = series.basis(points, workspace, "points")
    coefficients = series.coefficients(series.values(at_centres).mean(dim=-1))
    density = series.density(coefficients, at_points)
    value = density.clamp_min(SAFE_DENSITY).log_()
    network, point = torch.nonzero(density < SAFE_DENSITY, as_tuple=True)
    exact, exact_vjp = pairwise_log_density(points[network, point].unsqueeze(1), centres[network], scale)
    value[network, point] = exact.squeeze(1)

    def vjp(gradient: Tensor) -> tuple[Tensor, Tensor]:
        weight = gradient / density
        weight[network, point] = 0.0
        slope = torch.bmm(series.derivative(coefficients).unsqueeze(1), series.slopes(at_points)).squeeze(1)
        moments = torch.bmm(weight.unsqueeze(1), series.values(at_points).transpose(1, 2))
        of_moments = series.derivative(series.coefficients(moments)) / centres.shape[1]
        to_points = weight * slope
        to_centres = torch.bmm(of_moments, series.slopes(at_centres)).squeeze(1)
        exact_to_point, exact_to_centres = exact_vjp(gradient[network, point].unsqueeze(1))
        to_points[network, point] = exact_to_point.squeeze(1)
        return to_points, to_centres.index_add_(0, network, exact_to_centres)

    return value, vjp


def log_density_value(points: Tensor, centres: Tensor, scale: float) -> Tensor:
    """log phi at other points without a gradient, in bounded memory: (R, n) for points: (R, n), centres: (R, N)."""
    if not uses_series(scale, points.shape[1], centres.shape[1], points.dtype):
        return pairwise_log_density(points, centres, scale)[0]
    series = _series(scale, points.dtype)
    together = networks_at_once(scale, min(_POINTS_AT_ONCE, centres.shape[1]), points.dtype)
    density = torch.empty_like(points)
    for rows, x, z in zip(density.split(together), points.split(together), centres.split(together), strict=True):
        sums = [series.values(series.basis(part)).sum(dim=-1) for part in z.split(_POINTS_AT_ONCE, dim=1)]
        coefficients = series.coefficients(torch.stack(sums).sum(dim=0) / z.shape[1])
        for row, part in zip(rows.split(_POINTS_AT_ONCE, 1), x.split(_POINTS_AT_ONCE, 1), strict=True):
            row.copy_(series.density(coefficients, series.basis(part)))
    value = density.clamp_min(SAFE_DENSITY).log_()
    tiny = torch.nonzero(density < SAFE_DENSITY)
    for network, point in (some.unbind(dim=1) for some in tiny.split(_TINY_AT_ONCE)):
        exact, _ = pairwise_log_density(points[network, point].unsqueeze(1), centres[network], scale)
        value[network, point] = exact.squeeze(1)
    return value


def pairwise_log_density(points: Tensor, centres: Tensor, scale: float) -> tuple[Tensor, Vjp]:
    """log phi by the formula: (R, n) for points: (R, n) and centres: (R, N), and its vjp."""
    images = torch.cat([centres, -centres, 2 - centres], dim=-1)
    offset = (points.unsqueeze(-1) - images.unsqueeze(-2)) / scale
    distance = offset.abs()
    nearest = distance.amin(dim=-1, keepdim=True)
    # The logistic density is e / (s (1 + e)^2) with e = exp(-distance), here relative to the nearest image's.
    relative = torch.exp(nearest - distance)
    decay = relative * torch.exp(-nearest)
    kernel = relative / (1 + decay).square()
    total = kernel.sum(dim=-1, keepdim=True)
    value = (total.log() - nearest).squeeze(-1) - math.log(scale * centres.shape[-1])

    def vjp(gradient: Tensor) -> tuple[Tensor, Tensor]:
        # d log k(t) / dt = -sign(t) (1 - e) / (1 + e) / s
        slope = offset.sign() * (decay - 1) / ((1 + decay) * scale)
        flow = kernel * slope * (gradient.unsqueeze(-1) / total)
        straight, at_zero, at_one = flow.sum(dim=-2).tensor_split(3, dim=-1)
        return flow.sum(dim=-1), at_zero + at_one - straight

    return value, vjp


@dataclass(frozen=True, eq=False)
class _Series:
    """The series for one kernel scale. The basis has T rows of cosines, then T rows of sines.

    With P = 2 (`crossed` is None) only the cosines carry phi and only the sines its derivative.
    """

    terms: int
    turns: (
        Tensor  # (block + blocks, 1) float64: turns per unit of x of the rows 1..block, then of 0, block, 2 block, ...
    )
    block: int
    constant: float
    straight: Tensor  # (T,) or (2T,)
    crossed: Tensor | None  # (2T,): coefficients = straight * moments + crossed * (moments, halves exchanged)
    angular: Tensor  # (T,) or (2T,)

    def basis(self, x: Tensor, workspace: Workspace | None = None, name: str = "") -> Tensor:
        """cos(w_k x), then sin(w_k x): (R, 2T, n) for x: (R, n)."""
        networks, points = x.shape
        shape = (networks, 2 * self.terms, points)
        rows = workspace.tensor(f"basis {name}", shape, x.dtype) if workspace else x.new_empty(shape)
        # Angles in float64, less their whole turns: a float32 angle of many turns would lose its last digits.
        turns = x.unsqueeze(1) * self.turns
        angles = turns.sub_(turns.round()).mul_(2 * math.pi).to(x.dtype)
        cosine, sine = angles.cos(), angles.sin()
        # k = lo + hi: two short lists of angles and the angle-sum formulas give all rows at a third of the cost.
        c_lo, s_lo = cosine[:, None, : self.block], sine[:, None, : self.block]
        c_hi, s_hi = cosine[:, self.block :, None], sine[:, self.block :, None]
        cosines, sines = rows.view(networks, 2, -1, self.block, points).unbind(dim=1)
        torch.mul(c_hi, c_lo, out=cosines).addcmul_(s_hi, s_lo, value=-1)
        torch.mul(s_hi, c_lo, out=sines).addcmul_(c_hi, s_lo)
        return rows

    def values(self, basis: Tensor) -> Tensor:
        """The rows of the basis that phi is a combination of: (R, T or 2T, n)."""
        return basis[:, : self.terms] if self.crossed is None else basis

    def slopes(self, basis: Tensor) -> Tensor:
        """The rows of the basis that the derivative of phi is a combination of: (R, T or 2T, n)."""
        return basis[:, self.terms :] if self.crossed is None else basis

    def coefficients(self, moments: Tensor) -> Tensor:
        """Coefficients of phi, given the mean of `values` over the centres: the same shape (..., T or 2T)."""
        if self.crossed is None:
            return self.straight * moments
        return self.straight * moments + self.crossed * moments.roll(self.terms, dims=-1)

    def derivative(self, coefficients: Tensor) -> Tensor:
        """Coefficients of the derivative of phi, given those of phi: the same shape (..., T or 2T)."""
        if self.crossed is None:
            return self.angular * coefficients
        return self.angular * coefficients.roll(self.terms, dims=-1)

    def density(self, coefficients: Tensor, basis: Tensor) -> Tensor:
        """phi: (R, n) for the coefficients of phi and basis: (R, 2T, n)."""
        return torch.bmm(coefficients.unsqueeze(1), self.values(basis)).squeeze(1).add_(self.constant)


@lru_cache(maxsize=256)
def _series(scale: float, dtype: torch.dtype) -> _Series:
    """The series for a kernel of this scale, with as many terms and as long a period as the dtype deserves."""
    precision = _PRECISION[dtype]
    reflected_for_ever = 2 * math.exp(-1 / scale) / scale < precision
    # The three terms of phi have arguments up to 2, so that the next image of a centre is at least P - 2 away.
    period = 2.0 if reflected_for_ever else 2.0 - scale * math.log(precision * scale)
    step = 2 * math.pi**2 * scale / period  # a of the first frequency, where K = a / sinh(a) at a = pi s w
    reach = -math.log(precision)
    for _ in range(20):  # a with 2 a exp(-a) = precision
        reach = math.log(2 * reach / precision)
    block = math.ceil(math.sqrt(reach / step))
    blocks = math.ceil(reach / step / block)
    k = torch.arange(1, block * blocks + 1, dtype=torch.float64)
    characteristic = step * k / torch.sinh(step * k)
    frequency = 2 * math.pi / period * k
    if reflected_for_ever:
        constant, straight, crossed, angular = 1.0, 2 * characteristic, None, -frequency
    else:
        # cos w(x - z) + cos w(x + z) + cos w(2 - x - z), sorted by cos wx and sin wx, cos wz and sin wz
        constant = 3 / period
        height = 2 / period * characteristic
        straight = torch.cat([height * (2 + torch.cos(2 * frequency)), -height * torch.cos(2 * frequency)])
        crossed = (height * torch.sin(2 * frequency)).repeat(2).to(dtype)
        angular = torch.cat([frequency, -frequency])
    first_rows, offsets = k[:block], block * torch.arange(blocks, dtype=torch.float64)
    return _Series(
        terms=len(k),
        turns=torch.cat([first_rows, offsets]).unsqueeze(1) / period,
        block=block,
        constant=constant,
        straight=straight.to(dtype),
        crossed=crossed,
        angular=angular.to(dtype),
    )
