"""Calibration maps fitted to PITs: EMP, DCP, KDE, TRUNC and REFL (paper, sections 2, 3.1; docs/protocol.md, section 3).

A calibration map is an estimate of the CDF of the PITs Z_1..Z_M; composed with F it recalibrates it. This
module evaluates fitted maps at any points, exactly and in float64. (The reflected density at its own
centres, with gradients, as training needs it, is in `reflected_density`.)

The three kernel maps are one formula. With S(x) = sum_j logistic((x - c_j) / s) over centres c:

    KDE    centres Z             Phi(x) = S(x) / M
    TRUNC  centres Z             Phi(x) = (S(x) - S(0)) / (S(1) - S(0))
    REFL   centres Z, -Z, 2 - Z  Phi(x) = S(x) / M - 1   (the logistic CDF is symmetric: 1 - F(-t) = F(t))

REFL reflects once, as the paper does; what one reflection misses is about exp(-1/s), nothing unless s is
above 0.05.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import torch
from torch import Tensor

from qrt.engine.kernel import KernelWidth, kernel_scale
from qrt.engine.registry import MAP_NAMES, MapName
from qrt.engine.root_finding import increasing_root
from qrt.errors import UserError

# A kernel 40 scales away from the point contributes exp(-40) = 4e-18 of one at the point: nothing in float64.
_REACH = 40.0
# From 5 scales on, nine powers of exp(-distance) are enough for a kernel: the tenth is below 2e-22.
_NEAR = 5.0
_POWERS = torch.arange(1, 10, dtype=torch.float64).unsqueeze(1)
_SIGNS = torch.tensor([1.0, -1.0] * 4 + [1.0], dtype=torch.float64)
_FEW_PAIRS = 2**14  # of points and centres are computed one by one faster than by powers
_CHUNK_POINTS = 128
_CELLS_PER_SCALE = 10
_MAX_CELLS = 2**16
_CUBIC_STEPS = 4  # of Newton's method: the cubic's root is then as good as the cubic
_SAFE_DENSITY = 1e-3  # of a map: below it, interpolation between values of Phi may lose digits of phi


class CalibrationMap(Protocol):
    """A fitted map Phi from [0, 1] to [0, 1]. Points and levels are (n,) tensors, results (n,) float64."""

    @property
    def name(self) -> MapName:
        """EMP, DCP, KDE, TRUNC or REFL."""

    @property
    def resolution(self) -> float:
        """Distance over which the map is smooth: the kernel's scale, 0 for step functions."""

    def cdf(self, points: Tensor) -> Tensor:
        """Phi(x) at `points` in [0, 1]."""

    def log_density(self, points: Tensor) -> Tensor:
        """log phi(x) at `points` in [0, 1]; NaN for step functions, which have no density."""

    def log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Both at once, for less than the cost of one after the other."""

    def inverse(self, levels: Tensor) -> Tensor:
        """Smallest x in [0, 1] with Phi(x) >= level, for levels in [0, 1]; 1 where no x reaches it."""

    def tabulated_cdf(self, points: Tensor) -> Tensor:
        """Phi(x) for very many points (any shape), to about 1e-7."""

    def tabulated_log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Both for very many points: log phi(x) to about 1e-5, Phi(x) to about 1e-7."""


def fit_map(
    name: MapName,
    pits: Tensor,
    bandwidth: float = 0.1,
    width: KernelWidth = "variance",
    weights: Tensor | None = None,
) -> CalibrationMap:
    """The calibration map `name` fitted to pits: (M,). Step maps do not use `bandwidth` and `width`.

    A PIT with the weight 2 counts as two PITs, also in M, which the kernel's width follows. `weights`: (M,) >= 0.
    """
    pits = _checked(pits, "PITs").flatten()
    if weights is not None:
        pits, weights = pits[weights > 0], weights[weights > 0].double()
    centres, weights = _sorted(pits, weights)
    rows = _rows_of(centres, weights)
    if name in ("EMP", "DCP"):
        if len(pits) == 0:
            raise UserError("a calibration map needs at least one PIT, and got none")
        return StepMap(name, centres, rows + (name == "DCP"), weights)
    return kernel_map(name, centres, kernel_scale(bandwidth, rows, width), weights)


def fit_maps(
    names: Iterable[MapName], pits: Tensor, bandwidth: float, width: KernelWidth
) -> dict[MapName, CalibrationMap]:
    """Calibration maps fitted to the same pits: (M,). TRUNC is built on KDE, so that they share most of their work."""
    found = {name: fit_map(name, pits, bandwidth, width) for name in names}
    if "TRUNC" in found and isinstance(plain := found.get("KDE"), KernelMap):
        found["TRUNC"] = truncated(plain)
    return found


def kernel_map(name: MapName, centres: Tensor, scale: float, weights: Tensor | None = None) -> KernelMap:
    """KDE, TRUNC or REFL for sorted PITs, `centres`: (M,), and a kernel `scale` that is already known."""
    if name == "REFL":
        return reflected_map(centres, scale, weights)
    rows = _rows_of(centres, weights)
    plain = KernelMap("KDE", centres, scale, 0.0, float(rows), weights)
    if name == "KDE":
        return plain
    if name == "TRUNC":
        return replace(truncated(plain), plain=None)
    raise UserError(f"calibration map {name!r} is unknown: use one of {', '.join(MAP_NAMES)}")


def truncated(plain: KernelMap) -> KernelMap:
    """TRUNC, which is the `plain` KDE map on condition that its values are in [0, 1], with their work in common."""
    at_zero, at_one = plain.cdf(torch.tensor([0.0, 1.0])).mul(plain.total).tolist()
    return KernelMap("TRUNC", plain.centres, plain.scale, at_zero, at_one - at_zero, plain.weights, plain)


def reflected_map(pits: Tensor, scale: float, weights: Tensor | None = None) -> KernelMap:
    """REFL for pits: (M,) in [0, 1] and a kernel `scale` that is already known."""
    pits = _checked(pits, "PITs")
    rows = float(_rows_of(pits, weights))
    images = torch.cat([pits, -pits, 2 - pits])
    centres, of_images = _sorted(images, None if weights is None else weights.repeat(3))
    return KernelMap("REFL", centres, scale, offset=rows, total=rows, weights=of_images)


def _sorted(centres: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor | None]:
    """Centres in ascending order, and their weights."""
    ordered = centres.sort()
    return ordered.values, None if weights is None else weights[ordered.indices]


def _rows_of(centres: Tensor, weights: Tensor | None) -> int | float:
    """How many rows the centres are, by their weights."""
    return len(centres) if weights is None or not len(weights) else float(weights.cumsum(0)[-1])


def _number_up_to(count: Tensor, weights: Tensor | None) -> Tensor:
    """How many rows the first `count` centres are, by their weights."""
    return count if weights is None else torch.cat([weights.new_zeros(1), weights.cumsum(0)])[count]


def _checked(values: Tensor, what: str) -> Tensor:
    """`values` in float64, all in [0, 1]; else an error that names the first that is not."""
    values = values.detach().double()
    bad = ~((values >= 0) & (values <= 1))
    if bool(bad.any()):
        raise UserError(f"{what} must be numbers in [0, 1], but one is {values[bad].flatten()[0].item()}")
    return values


@dataclass(frozen=True, eq=False)
class StepMap:
    """EMP and DCP: the number of sorted `centres`: (M,) up to x, divided by M (EMP) or M + 1 (DCP).

    With `weights`: (M,), the number of centres and M are those of the weights.
    """

    name: MapName
    centres: Tensor
    divisor: int | float
    weights: Tensor | None = None
    resolution: float = 0.0

    def cdf(self, points: Tensor) -> Tensor:
        """Phi(x) at `points` in [0, 1]."""
        return self.tabulated_cdf(_checked(points, "points of a calibration map"))

    def tabulated_cdf(self, points: Tensor) -> Tensor:
        """Phi(x) for points of any shape; exact here."""
        counts = torch.searchsorted(self.centres, points, right=True)
        return _number_up_to(counts, self.weights).double() / self.divisor

    def log_density(self, points: Tensor) -> Tensor:
        """NaN: a step function has no density, so the NLL of what it recalibrates is not defined."""
        return torch.full_like(points, math.nan, dtype=torch.float64)

    def log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """NaN, and Phi(x) at `points` in [0, 1]."""
        return self.log_density(points), self.cdf(points)

    def tabulated_log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """NaN, and Phi(x); exact here."""
        return self.log_density_and_cdf(points)

    def inverse(self, levels: Tensor) -> Tensor:
        """The smallest PIT that reaches the level; 1 if none does (DCP above M / (M + 1)), 0 for level 0."""
        levels = _checked(levels, "levels")
        # The same quotients as in cdf, so that the two agree at the steps to the last bit.
        reached = _number_up_to(torch.arange(1, len(self.centres) + 1), self.weights).double() / self.divisor
        padded = torch.cat([self.centres, torch.ones(1, dtype=torch.float64)])
        return torch.where(levels == 0, 0.0, padded[torch.searchsorted(reached, levels)])


@dataclass(frozen=True, eq=False)
class KernelMap:
    """KDE, TRUNC and REFL: Phi(x) = (S(x) - offset) / total, with S over sorted `centres`: (C,), by `weights`."""

    name: MapName
    centres: Tensor
    scale: float
    offset: float
    total: float
    weights: Tensor | None = None
    plain: KernelMap | None = None

    @property
    def resolution(self) -> float:
        """The kernel's scale."""
        return self.scale

    def cdf(self, points: Tensor) -> Tensor:
        """Phi(x) at `points` in [0, 1]."""
        return self._log_density_and_cdf(_checked(points, "points of a calibration map"))[1]

    def log_density(self, points: Tensor) -> Tensor:
        """log phi(x) at `points` in [0, 1]; finite however far the next centre is."""
        return self._log_density_and_cdf(_checked(points, "points of a calibration map"))[0]

    def log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Both at once: the kernels' densities and CDFs need the same exponentials."""
        return self._log_density_and_cdf(_checked(points, "points of a calibration map"))

    def inverse(self, levels: Tensor, *, by_table: bool = False) -> Tensor:
        """x in [0, 1] with Phi(x) = level; 0 or 1 where the map does not reach it, as at both ends of KDE."""
        levels = _checked(levels, "levels")
        at_zero, at_one = self._log_density_and_cdf(torch.tensor([0.0, 1.0], dtype=torch.float64))[1]
        inside = (levels > at_zero) & (levels < at_one)
        targets = levels[inside]

        def gap(x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
            log_density, cdf = self._log_density_and_cdf(x)
            return cdf - targets[which], log_density.exp()

        if by_table:
            lower, upper, start = self._cells_around(targets)
        else:
            lower, upper, start = torch.zeros_like(targets), torch.ones_like(targets), None
        result = (levels >= at_one).double()
        result[inside] = increasing_root(gap, lower, upper, start)
        return result

    def _cells_around(self, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Brackets of the points with these Phi: (n,), and about the points themselves, from the table."""
        cells = self._cells
        # Values that are equal but for rounding may descend. The neighbouring cells are for rounding, too.
        reached = self._table[0].cummax(dim=0).values
        cell = (torch.searchsorted(reached, targets) - 1).clamp(0, cells - 1)
        value, first, second, third = self._table[:, cell]
        gap = targets - value
        t = (gap / (first + second + third)).nan_to_num_(0.5).clamp_(0, 1)
        for _ in range(_CUBIC_STEPS):
            slope = first + t * (2 * second + 3 * third * t)
            t = torch.where(slope > 0, t + (gap - t * (first + t * (second + t * third))) / slope, t).clamp_(0, 1)
        return (cell - 1).clamp(min=0) / cells, (cell + 2).clamp(max=cells) / cells, (cell + t) / cells

    def tabulated_cdf(self, points: Tensor) -> Tensor:
        """Phi(x) for points of any shape in [0, 1], interpolated between exact values and slopes at a grid.

        Cubic Hermite interpolation is wrong by at most h^4 / 384 times the fourth derivative of Phi, which
        is below 0.13 / s^4 for a logistic CDF: with cells of s / 10, 3e-8 at worst for KDE (all PITs
        equal), and twice that for TRUNC and REFL. Below s = 2e-4 the number of cells is capped and the
        error grows.
        """
        cell, t = self._place(points.flatten())
        value = torch.index_select(self._table[3], 0, cell)
        for coefficient in (2, 1, 0):
            torch.addcmul(torch.index_select(self._table[coefficient], 0, cell), value, t, out=value)
        # Between values next to 0 or 1 the cubic may leave [0, 1] by rounding.
        return value.clamp_(0, 1).reshape(points.shape)

    def tabulated_log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """log phi(x) and Phi(x) at points: (n,) in [0, 1] from the same table.

        The derivative of the cubic is wrong by at most h^3 / 125 times the fourth derivative of Phi: with cells of s /
        10, by 1e-5 of phi(x). Where phi is so small that the cubic's coefficients have lost its digits, it is computed
        exactly.
        """
        cell, t = self._place(_checked(points, "points of a calibration map"))
        slope = torch.index_select(self._table[3], 0, cell).mul_(3)
        torch.addcmul(torch.index_select(self._table[2], 0, cell), slope, t, value=0.5, out=slope).mul_(2)
        torch.addcmul(torch.index_select(self._table[1], 0, cell), slope, t, out=slope)
        density = slope.mul_(self._table.shape[1] - 1)
        log_density = density.clamp_min(_SAFE_DENSITY).log_()
        tiny = density < _SAFE_DENSITY
        if bool(tiny.any()):
            log_density[tiny] = self._log_density_and_cdf(points.double()[tiny])[0]
        return log_density, self.tabulated_cdf(points.double())

    def from_plain(self, log_density: Tensor, cdf: Tensor) -> tuple[Tensor, Tensor]:
        """log phi and Phi of TRUNC by those of the `plain` map at the same points."""
        assert self.plain is not None
        ratio = self.plain.total / self.total
        return log_density + math.log(ratio), (cdf * ratio).sub_(self.offset / self.total).clamp_(0, 1)

    def _place(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """The cell of each point: (n,), and where in it the point lies, from 0 to 1."""
        position = points * (self._table.shape[1] - 1)
        cell = position.int()
        return cell, position.frac_()

    @property
    def _cells(self) -> int:
        return min(_MAX_CELLS, math.ceil(_CELLS_PER_SCALE / self.scale))

    @cached_property
    def _table(self) -> Tensor:
        """Coefficients (4, cells + 1) of the cubic in each cell of a uniform grid; the last cell is x = 1."""
        if self.plain is not None:
            table = self.plain._table * (self.plain.total / self.total)
            table[0].sub_(self.offset / self.total).clamp_(0, 1)
            return table
        cells = self._cells
        log_density, value = self._log_density_and_cdf(torch.linspace(0, 1, cells + 1, dtype=torch.float64))
        slope = log_density.exp() / cells
        step, left, right = value.diff(), slope[:-1], slope[1:]
        table = torch.zeros(4, cells + 1, dtype=torch.float64)
        table[0] = value
        table[1:, :-1] = torch.stack([left, 3 * step - 2 * left - right, left + right - 2 * step])
        return table

    def _log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        nearest = self._distance_to_nearest(points)
        log_densities, above = torch.empty_like(points), torch.empty_like(points)
        # What fits into one chunk, as all quantile levels do, needs no sorting.
        chunks = [slice(None)] if len(points) <= _CHUNK_POINTS else points.argsort().split(_CHUNK_POINTS)
        for chunk in chunks:
            x, near = points[chunk], nearest[chunk]
            crowded = float(near.max()) <= _NEAR
            log_densities[chunk], above[chunk] = self._sums_in_a_crowd(x) if crowded else self._sums_in_a_gap(x, near)
        counts = _number_up_to(torch.searchsorted(self.centres, points, right=True), self.weights)
        log_density = log_densities - math.log(self.scale * self.total)
        return log_density, ((counts - above - self.offset) / self.total).clamp_(0, 1)

    # Two ways to the sums over the kernels at neighbouring points x: (n,). With e = exp(-distance), in scales, a
    # kernel's density is e / (1 + e)^2, and q = e / (1 + e) is its CDF at points below its centre and 1 - its CDF
    # above. The results: the logarithm of the sum of densities; the sum of q over centres below x less all others.

    def _sums_in_a_gap(self, x: Tensor, nearest: Tensor) -> tuple[Tensor, Tensor]:
        """The sums however far the next centre is: densities are relative to the nearest centre's."""
        near = nearest.unsqueeze(1)
        first, last = self._centres_between(x, float(nearest.max()) + _REACH)
        offset = self._offsets(x, first, last)
        relative = torch.sub(near, offset.abs()).exp_()
        decay = relative * torch.exp(-near)
        rest = decay + 1
        density = self._sum(relative.div_(rest).div_(rest), first, last)
        return density.log_().sub_(nearest), self._sum(decay.div_(rest).copysign_(offset), first, last)

    def _sums_in_a_crowd(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The sums where a centre is near. Centres that are far from all points enter by sums of their powers of e:

        q = e - e^2 + e^3 - .. and the density is e - 2 e^2 + 3 e^3 - .., and e of a point and a centre is that of the
        outermost point and the centre times that of the two points.
        """
        first, last = self._centres_between(x, _REACH)
        first_near, last_near = self._centres_between(x, _NEAR)
        if (first_near - first + last - last_near) * len(x) < _FEW_PAIRS:
            first_near, last_near = first, last
        offset = self._offsets(x, first_near, last_near)
        decay = offset.abs().neg_().exp_()
        rest = decay + 1
        q = decay.div_(rest)
        density = self._sum(q / rest, first_near, last_near)
        above = self._sum(q.copysign_(offset), first_near, last_near)
        for side, end, start, stop in ((1.0, x.min(), first, first_near), (-1.0, x.max(), last_near, last)):
            if start < stop:
                far = self.centres[start:stop]
                sums = self._sum(torch.exp((far - end).mul_(side / self.scale) * _POWERS), start, stop)
                of_points = torch.exp((end - x).mul_(side / self.scale) * _POWERS)
                density += (_POWERS.squeeze(1) * _SIGNS * sums) @ of_points
                above += side * ((_SIGNS * sums) @ of_points)
        return density.log_(), above

    def _sum(self, values: Tensor, first: int, last: int) -> Tensor:
        """The weighted sum (n,) of values (n, centres) of the centres from `first` up to but without `last`."""
        return values.sum(dim=1) if self.weights is None else values @ self.weights[first:last]

    def _offsets(self, x: Tensor, first: int, last: int) -> Tensor:
        """Points less centres from `first` up to but without `last`, in kernel scales: (n, centres)."""
        return (x.unsqueeze(1) - self.centres[first:last]).div_(self.scale)

    def _centres_between(self, x: Tensor, scales: float) -> tuple[int, int]:
        """First and last of the centres that are at most so many scales before the first or after the last point."""
        ends = torch.stack([x.min() - scales * self.scale, x.max() + scales * self.scale])
        first, last = torch.searchsorted(self.centres, ends).tolist()
        return first, last

    def _distance_to_nearest(self, points: Tensor) -> Tensor:
        """Distance of each point: (n,) to the nearest centre, in kernel scales."""
        after = torch.searchsorted(self.centres, points).clamp(max=len(self.centres) - 1)
        before = (after - 1).clamp(min=0)
        distances = torch.stack([points - self.centres[before], points - self.centres[after]]).abs()
        return distances.amin(dim=0) / self.scale
