"""Mean, variance, CRPS and mean difference of any distribution function, by one quadrature.

All are integrals of F alone, no density is needed. With a point m in the middle of the distribution,

    E Y - m     = int_m (1 - F) - int^m F
    E (Y - m)^2 = 2 int_m (t - m) (1 - F) + 2 int^m (m - t) F
    CRPS(y)     = int^y F^2 + int_y (1 - F)^2
    E|Y - Y'|   = 2 int F (1 - F)

(`qrt.engine.quadrature` does the same for mixtures of Gaussians, whose components tell it where to look.) Five-point
Gauss-Legendre on panels whose borders are quantiles, out to probabilities of 1e-14, and as many equally spaced values:
a panel has little probability and little width, so that a gap between modes costs no accuracy either. What lies beyond
is left out, which matters for moments that hardly exist: the variance of Student's t with three degrees of freedom is
2e-5 too small.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from qrt.estimator.unusable_input import UnusableInput

Array = npt.NDArray[np.float64]

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_END = 1e-14
_EQUAL_WIDTHS = 64
_CORE_PANELS = (64, 2048)  # least and most: equal shares of the probability


class PanelIntegrals:
    """The integrals of N distribution functions `cdf`: (N, M) points to (N, M) values.

    `quantiles` gives points (N, L) for levels (L,): those of the distribution itself, or of another one that has mass
    in the same places. `resolution` is the share of probability over which `cdf` is smooth as a function of these
    levels, `kink_levels` are those where it is not smooth at all.

    Mass beyond the outermost panels, as a KDE map leaves it at -inf and +inf, is left out, and the rest is scaled to
    one.
    """

    def __init__(
        self,
        cdf: Callable[[Array], Array],
        quantiles: Callable[[Array], Array],
        resolution: float = 1.0,
        kink_levels: Sequence[float] | Array = (),
    ) -> None:
        self._whole_cdf = cdf
        levels = _levels(resolution, kink_levels)
        by_level = quantiles(levels)
        if not np.isfinite(by_level).all():
            raise UnusableInput(f"the distribution has no finite quantiles at the levels {_END} and 1 - {_END}")
        self._middle = by_level[:, [int(np.searchsorted(levels, 0.5))]]
        near_ends = by_level[:, np.searchsorted(levels, [1e-3, 1 - 1e-3])]
        evenly = near_ends[:, :1] + np.linspace(0, 1, _EQUAL_WIDTHS + 1) * (near_ends[:, 1:] - near_ends[:, :1])
        self._borders: Array = np.sort(np.concatenate([by_level, evenly], axis=1), axis=1)
        self._lost = cdf(self._borders[:, :1])
        self._kept = cdf(self._borders[:, -1:]) - self._lost
        self._integrate()

    def _integrate(self) -> None:
        panels = self._borders.shape[1] - 1
        below, above = np.empty((2, len(self._borders), panels))
        first, second, difference = np.zeros((3, len(self._borders)))
        for panel in range(panels):
            left, right = self._borders[:, [panel]], self._borders[:, [panel + 1]]
            t, dt = _nodes(left, right)
            f = self._cdf(t)
            rest = 1 - f
            below[:, panel], above[:, panel] = (f * f * dt).sum(axis=1), (rest * rest * dt).sum(axis=1)
            # The middle is a border, so a panel lies on one side of it.
            tail = np.where(0.5 * (left + right) > self._middle, rest, -f) * dt
            first += tail.sum(axis=1)
            second += 2 * ((t - self._middle) * tail).sum(axis=1)
            difference += 2 * (f * rest * dt).sum(axis=1)
        self.mean: Array = self._middle[:, 0] + first
        self.variance: Array = np.maximum(second - first**2, 0.0)
        self.mean_difference: Array = difference
        zero = np.zeros((len(below), 1))
        self._below: Array = np.concatenate([zero, below.cumsum(axis=1)], axis=1)
        self._above: Array = np.concatenate([above[:, ::-1].cumsum(axis=1)[:, ::-1], zero], axis=1)

    def crps(self, y: Array) -> Array:
        """CRPS (N, M) at y: (N, M): whole panels are known, y's own is integrated on both sides of y."""
        inside = np.clip(y, self._borders[:, :1], self._borders[:, -1:])
        panel = np.empty(y.shape, dtype=np.intp)
        for number, column in enumerate(inside.T):
            panel[:, number] = (self._borders <= column[:, np.newaxis]).sum(axis=1) - 1
        panel = np.clip(panel, 0, self._borders.shape[1] - 2)
        left, right = (np.take_along_axis(self._borders, panel + side, axis=1) for side in (0, 1))
        below = np.take_along_axis(self._below, panel, axis=1) + self._integral(left, inside, lambda f: f * f)
        above = np.take_along_axis(self._above, panel + 1, axis=1)
        above += self._integral(inside, right, lambda f: (1 - f) ** 2)
        return below + above + np.abs(y - inside)

    def _integral(self, left: Array, right: Array, function: Callable[[Array], Array]) -> Array:
        """The integral (N, M) of a function of F between left and right: (N, M)."""
        t, dt = _nodes(left[..., np.newaxis], right[..., np.newaxis])
        values = function(self._cdf(t.reshape(len(t), -1))).reshape(t.shape)
        integral: Array = (values * dt).sum(axis=-1)
        return integral

    def _cdf(self, t: Array) -> Array:
        return np.clip((self._whole_cdf(t) - self._lost) / self._kept, 0.0, 1.0)


def _levels(resolution: float, kink_levels: Sequence[float] | Array) -> Array:
    """Increasing levels of the borders; 0.5 and the levels 1e-3 from both ends are among them."""
    least, most = _CORE_PANELS
    panels = 2 * round(min(max(1 / resolution, least), most) / 2)
    tail = 10.0 ** np.arange(round(np.log10(_END)), -2)
    levels = np.concatenate([np.arange(1, panels) / panels, tail, 1 - tail, np.asarray(kink_levels, dtype=np.float64)])
    return np.unique(levels[(levels >= _END) & (levels <= 1 - _END)])


def _nodes(left: Array, right: Array) -> tuple[Array, Array]:
    """Gauss-Legendre points and weights (..., 5) between left and right: (..., 1)."""
    half = 0.5 * (right - left)
    return left + half * (1 + _POINTS), half * _WEIGHTS
