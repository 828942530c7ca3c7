"""The reflected map's log-density (REFL, the paper's equation `refl`) as training needs it, with its gradient.

    phi(x) = (1/N) sum_j [k(x - Z_j) + k(x + Z_j) + k(2 - x - Z_j)],    k the logistic density with scale s

costs 3 N kernels per point. Two ways to compute it are here, and `uses_series` says which is taken.

**Series.** Make the kernel periodic with period P. Its Fourier coefficients are the logistic's characteristic
function, K(t) = pi t / sinh(pi t), which falls like exp(-pi t), so that a few dozen frequencies w_k = 2 pi k / P
carry all of it. With E_k(x) = exp(i w_k x) and the moments M_k = sum_j E_k(Z_j),

    phi(x) = Re sum_{k>=0} c_k E_k(x) [conj(M_k) + M_k + exp(-2 i w_k) M_k],   c_k = 2 K(s w_k) / (P N), c_0 half of it,

one term in the bracket for each term of the formula. If P = 2, the two images of a centre are one, repeated for ever
by the period: the last term is left out, and what remains is the cosine series

    phi(x) = 1 + 2 sum_{k>0} K(s pi k) mean_j[cos(pi k Z_j)] cos(pi k x).

It differs from the paper's map, which is reflected once, by at most about 2 exp(-1/s) / s. Where that is more than
rounding (s above 0.05 in float32), P is made longer, so that no image comes near.

**Pairwise.** The formula itself, as a log-sum-exp. Cheaper when there are few centres or few points, and the only one
that keeps its digits where phi is tiny, because the series has an absolute error of about 1e-6. At its own centres
phi is at least 1 / (4 s N), so that training on a batch's own PITs needs the series only; of other points, those where
the series gives less than SAFE_DENSITY are computed pairwise.

The functions return their value and its gradient as described in `vjp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal, NamedTuple

import torch
from torch import Tensor

SAFE_DENSITY = 0.05
_PRECISION = {torch.float32: 2e-7, torch.float64: 1e-17}
_TINY_AT_ONCE = 64
_FIXED_ROWS = 20
_CELLS_PER_SCALE = 8
_GRID_PER_POINT = 24
_FIXED_GRID = 8192
_LEAST_EXPONENT = -87.0
_MINUS_PI = torch.tensor(-math.pi, dtype=torch.float64)

MapFormula = Literal["fast", "pairwise"]  # whichever is cheaper, or the pairwise formula always
OwnVjp = Callable[[Tensor], Tensor]
Vjp = Callable[[Tensor], tuple[Tensor, Tensor]]


def uses_series(scale: float, points: int, centres: int, dtype: torch.dtype) -> bool:
    """Whether the series is cheaper than the pairwise formula for so many points and centres.

    The series computes exponentials of `rows` frequencies at all points and centres, the pairwise formula 3 kernels
    per pair. Measured, a pair costs as much as two of the exponentials, and what the series costs anyhow as much as 20
    rows of them.
    """
    return (_series(scale, centres, dtype).rows + _FIXED_ROWS) * (points + centres) < 2 * points * centres


def own_log_density(z: Tensor, scale: float, formula: MapFormula = "fast") -> tuple[Tensor, OwnVjp]:
    """log phi at the centres themselves: (R, B) for z: (R, B), and the vjp through both roles of z."""
    if formula == "pairwise" or not uses_series(scale, z.shape[1], z.shape[1], z.dtype):
        value, vjp = pairwise_log_density(z, z, scale)

        def both_roles(gradient: Tensor) -> Tensor:
            as_points, as_centres = vjp(gradient)
            return as_points + as_centres

        return value, both_roles
    series = _series(scale, z.shape[1], z.dtype)
    waves = series.waves(z)
    coefficients = series.coefficients(waves.moments())
    density = waves.sums(coefficients)

    def vjp_of_series(gradient: Tensor) -> Tensor:
        weight = gradient / density
        # Through the moments, phi depends on the centres as it does on x, with the gradient's moments for theirs.
        as_centre = series.coefficients(waves.moments(weight))
        return waves.sums(series.derivative(as_centre), series.derivative(coefficients), weight)

    return density.log(), vjp_of_series


def log_density(points: Tensor, centres: Tensor, scale: float, formula: MapFormula = "fast") -> tuple[Tensor, Vjp]:
    """log phi at other points: (R, n) for points: (R, n) and centres: (R, N); the vjp gives both gradients."""
    if formula == "pairwise" or not uses_series(scale, points.shape[1], centres.shape[1], points.dtype):
        return pairwise_log_density(points, centres, scale)
    series = _series(scale, centres.shape[1], points.dtype)
    at_points, at_centres = series.waves(points), series.waves(centres)
    coefficients = series.coefficients(at_centres.moments())
    density = at_points.sums(coefficients)
    value = density.clamp_min(SAFE_DENSITY).log_()
    network, point = torch.nonzero(density < SAFE_DENSITY, as_tuple=True)
    if len(point):
        exact, exact_vjp = pairwise_log_density(points[network, point].unsqueeze(1), centres[network], scale)
        value[network, point] = exact.squeeze(1)

    def vjp(gradient: Tensor) -> tuple[Tensor, Tensor]:
        weight = gradient / density
        weight[network, point] = 0.0
        to_points = weight * at_points.sums(series.derivative(coefficients))
        to_centres = at_centres.sums(series.derivative(series.coefficients(at_points.moments(weight))))
        if len(point):
            exact_to_point, exact_to_centres = exact_vjp(gradient[network, point].unsqueeze(1))
            to_points[network, point] = exact_to_point.squeeze(1)
            to_centres = to_centres.index_add(0, network, exact_to_centres)
        return to_points, to_centres

    return value, vjp


@dataclass(frozen=True, eq=False)
class ReflectedMaps:
    """R maps with kernels of one `scale` around centres: (R, N), for values at other points without gradients.

    What the series needs of the centres is computed once.
    """

    centres: Tensor
    scale: float

    def log_density(self, points: Tensor) -> Tensor:
        """log phi: (R, n) at points: (R, n)."""
        if not self._uses_series(points):
            return pairwise_log_density(points, self.centres, self.scale)[0]
        density = self._series.waves(points).sums(self._coefficients)
        return _log_of(density, points, self.centres, self.scale)

    def log_density_and_cdf(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """log phi and Phi, its CDF: (R, n) at points: (R, n).

        By the series, whose integral is taken term by term. Of many points, by cubics on a grid on which a Fourier
        transform gives the series. Good to 1e-6 in float32, where phi is not tiny.
        """
        centres, scale = self.centres, self.scale
        if not self._uses_series(points):
            images = torch.cat([centres, -centres, 2 - centres], dim=-1).unsqueeze(-2)
            kernels = (points.unsqueeze(-1) - images).div_(scale).sigmoid_().sum(dim=-1)
            cdf = kernels / centres.shape[1] - 1
            return pairwise_log_density(points, centres, scale)[0], cdf.clamp_(0, 1)
        # Measured: a point of the grid costs a 24th of one in the series, and a grid as much as 8192 points more.
        if self._series.grid_points + _FIXED_GRID <= _GRID_PER_POINT * points.shape[1]:
            density, cdf = self._grid.at(points)
        else:
            waves, coefficients = self._series.waves(points), self._coefficients
            integrated = self._series.integral(coefficients)
            density, cdf = waves.sums(coefficients), waves.sums(integrated)
            cdf.addcmul_(points, coefficients[:, 0, :1].real)
            cdf -= integrated.real.sum(dim=(1, 2)).unsqueeze(1)  # the waves at 0 are 1
        if self._series.images is not None:  # a wide kernel: what the centres' images beyond 1 have below 0
            cdf += torch.sigmoid((centres - 2) / scale).mean(dim=1, keepdim=True)
        return _log_of(density, points, centres, scale), cdf.clamp_(0, 1)

    def _uses_series(self, points: Tensor) -> bool:
        return uses_series(self.scale, points.shape[1], self.centres.shape[1], self.centres.dtype)

    @property
    def _series(self) -> _Series:
        return _series(self.scale, self.centres.shape[1], self.centres.dtype)

    @cached_property
    def _coefficients(self) -> Tensor:
        return self._series.coefficients(self._series.waves(self.centres).moments())

    @cached_property
    def _grid(self) -> _Grid:
        return self._series.on_grid(self._coefficients)


def _log_of(density: Tensor, points: Tensor, centres: Tensor, scale: float) -> Tensor:
    """The logarithm of the series' density at points, computed by the formula where that has lost its digits."""
    value = density.clamp_min(SAFE_DENSITY).log_()
    tiny = torch.nonzero(density < SAFE_DENSITY)
    # A bad network may have many of them, and each is compared with all centres: a few at a time.
    for first in range(0, len(tiny), _TINY_AT_ONCE):
        network, point = tiny[first : first + _TINY_AT_ONCE].unbind(dim=1)
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
    # What is below single precision's normal numbers adds nothing, and its exponential takes ten times as long.
    relative = torch.exp((nearest - distance).clamp_min_(_LEAST_EXPONENT))
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


class _Waves(NamedTuple):
    """E_k at n points for all frequencies, in factors: E_k = high[a] low[b] for k = a l + b.

    The values for all k are never written out: sums over frequencies or points are small matrix products.
    """

    low: Tensor  # (R, l, n) complex
    high: Tensor  # (R, h, n) complex

    def moments(self, weight: Tensor | None = None) -> Tensor:
        """Sum over the points of E_k, times `weight`: (R, n) if given: (R, h, l) complex."""
        high = self.high if weight is None else self.high * weight.unsqueeze(1)
        return torch.bmm(high, self.low.transpose(1, 2))

    def sums(self, coefficients: Tensor, others: Tensor | None = None, weight: Tensor | None = None) -> Tensor:
        """Re sum_k coefficient_k E_k at each point: (R, n) for coefficients: (R, h, l) complex.

        With `others` and `weight`: (R, n), plus the weight times the same sum with the other coefficients.
        """
        if others is None or weight is None:
            inner = torch.bmm(coefficients, self.low)
        else:
            inner = torch.bmm(others, self.low).mul_(weight.unsqueeze(1)).baddbmm_(coefficients, self.low)
        return inner.mul_(self.high).sum(dim=1).real


@dataclass(frozen=True, eq=False)
class _Series:
    """The series for one kernel scale and number of centres."""

    turns: Tensor  # (l + h, 1) float64: turns per unit of x of the frequencies 0..l-1, then of 0, l, 2l, ...
    low: int  # l
    straight: Tensor  # (h, l) complex: factor of conj(M_k); of the real part of M_k in the cosine series
    images: Tensor | None  # (h, l) complex: factor of M_k; None in the cosine series
    angular: Tensor  # (h, l) complex: i w_k
    period: float
    grid_points: int  # so many in a period resolve the kernel

    @property
    def rows(self) -> int:
        """Number of exponentials that are computed at each point."""
        return len(self.turns)

    def waves(self, x: Tensor) -> _Waves:
        """The exponentials at x: (R, n)."""
        # Angles in float64, less their whole turns: a float32 angle of many turns would lose its last digits.
        turns = (x.unsqueeze(1) * self.turns).frac_()
        # Between -pi and pi float32 is finest. Both factors are half a turn off, so that no product is.
        angles = torch.add(_MINUS_PI, turns, alpha=2 * math.pi, out=torch.empty_like(turns, dtype=x.dtype))
        rows = torch.complex(angles.cos(), angles.sin())
        return _Waves(rows[:, : self.low], rows[:, self.low :])

    def coefficients(self, moments: Tensor) -> Tensor:
        """Coefficients of the E_k in phi, given the moments of the centres: (R, h, l) complex, both."""
        if self.images is None:
            return self.straight * moments.real
        return torch.addcmul(self.images * moments, self.straight, moments.conj_physical())

    def derivative(self, coefficients: Tensor) -> Tensor:
        """Coefficients of the derivative by x, given those of a function: (R, h, l) complex, both."""
        return self.angular * coefficients

    def integral(self, coefficients: Tensor) -> Tensor:
        """Coefficients of the integral by x of all but the constant term: (R, h, l) complex, both."""
        result = coefficients / self.angular
        result[:, 0, 0] = 0
        return result

    def on_grid(self, coefficients: Tensor) -> _Grid:
        """phi with its slope at a grid over the period, given phi's coefficients: (R, h, l), as cubics from 0 to 1."""
        spectrum = torch.stack([coefficients, self.derivative(coefficients)]).flatten(2)
        spectrum[..., 1:] /= 2  # the transform adds the negative frequencies
        per_unit = self.grid_points / self.period
        cells = math.ceil(per_unit) + 1  # the last one starts at 1 or beyond
        values = torch.fft.irfft(spectrum, self.grid_points, norm="forward")[..., : cells + 1]
        value, slope = values[0], values[1] / per_unit
        before, left, right, step = value[:, :-1], slope[:, :-1], slope[:, 1:], value.diff()
        area = (value[:, 1:] + before) / 2 + (left - right) / 12
        below = torch.nn.functional.pad((area[:, :-1].double() / per_unit).cumsum(dim=1), (1, 0)).to(value.dtype)
        return _Grid(per_unit, before, left, 3 * step - 2 * left - right, left + right - 2 * step, below)


class _Grid(NamedTuple):
    """phi as cubics in the cells of a grid: coefficients (R, cells), and `below`: (R, cells), Phi where each begins."""

    per_unit: float  # cells
    constant: Tensor
    linear: Tensor
    square: Tensor
    cubic: Tensor
    below: Tensor

    def at(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """phi and Phi: (R, n) at points: (R, n) in [0, 1]; NaN where a point is."""
        position = points.double() * self.per_unit
        cell = position.long().clamp_(0, self.below.shape[1] - 1)
        t = position.frac_().to(points.dtype)
        constant, linear, square, cubic, below = (values.gather(1, cell) for values in self[1:])
        density = torch.addcmul(square, cubic, t)
        density = torch.addcmul(linear, density, t, out=density)
        density = torch.addcmul(constant, density, t, out=density)
        area = square.div_(3).addcmul_(cubic, t, value=0.25)
        area = linear.div_(2).addcmul_(area, t)
        area = constant.addcmul_(area, t)
        return density, below.addcmul_(area, t, value=1 / self.per_unit)


@lru_cache(maxsize=1024)
def _series(scale: float, centres: int, dtype: torch.dtype) -> _Series:
    """The series for a kernel of this scale, with as many terms and as long a period as the dtype deserves."""
    precision = _PRECISION[dtype]
    cosine_series = 2 * math.exp(-1 / scale) / scale < precision
    # The arguments of the three terms go up to 2, so that the next image of a centre is at least P - 2 away.
    period = 2.0 if cosine_series else 2.0 - scale * math.log(precision * scale)
    step = 2 * math.pi**2 * scale / period  # a of the first frequency, where K = a / sinh(a) and a = pi s w
    reach = -math.log(precision)
    for _ in range(20):  # a with 2 a exp(-a) = precision
        reach = math.log(2 * reach / precision)
    terms = 1 + math.ceil(reach / step)
    low = math.ceil(math.sqrt(terms))
    high = math.ceil(terms / low)
    k = torch.arange(low * high, dtype=torch.float64).view(high, low)
    frequency = 2 * math.pi / period * k
    height = 2 / (period * centres) * torch.where(k > 0, step * k / torch.sinh(step * k), 0.5)
    least_grid = _CELLS_PER_SCALE * period / scale
    grid_step = 2 ** max(1, math.ceil(math.log2(least_grid)) - 2)  # sizes without large factors are transformed fastest
    complex_dtype = torch.complex64 if dtype == torch.float32 else torch.complex128
    return _Series(
        turns=torch.cat([k[0], k[:, 0]]).unsqueeze(1) / period,
        low=low,
        straight=(2 * height if cosine_series else height).to(complex_dtype),
        images=None if cosine_series else (height * (1 + torch.exp(-2j * frequency))).to(complex_dtype),
        angular=(1j * frequency).to(complex_dtype),
        period=period,
        grid_points=math.ceil(least_grid / grid_step) * grid_step,
    )
