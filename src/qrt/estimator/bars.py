"""Distributions from the probabilities of bars (bins of the target), as TabPFN and other networks predict them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import erf, erfc, ndtri

from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt.estimator.unusable_input import UnusableInput

FloatArray = npt.NDArray[np.float64]
Bars = npt.NDArray[np.intp]

_SUM_TOLERANCE = 1e-3  # of probabilities that were rounded to float16
_TAIL_WIDTH = float(ndtri(0.75))  # within so many scales is half of a half-normal distribution
_LOG_HALF_NORMAL = 0.5 * np.log(2 / np.pi)


class _BarDistributions:
    """N distributions with constant densities between borders. Values and levels broadcast against (N,), as with scipy.

    With tails, the two outer bars are half-normal distributions that begin at their inner borders.
    """

    def __init__(self, borders: FloatArray, probabilities: FloatArray, *, tails: bool) -> None:
        """Strictly increasing borders: (B + 1,) and probabilities: (N, B), whose rows add up to one."""
        self._borders, self._probabilities, self._tails = borders, probabilities, tails
        self._widths = np.diff(borders)
        zero = np.zeros((len(probabilities), 1))
        # From both ends, so that small probabilities keep their digits in both tails.
        self._below: FloatArray = np.concatenate([zero, probabilities.cumsum(axis=1)], axis=1)
        self._above: FloatArray = np.concatenate([probabilities[:, ::-1].cumsum(axis=1)[:, ::-1], zero], axis=1)
        self._bars = len(self._widths)

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """F(y)."""
        values = self._of_rows(y)
        bar = self._bar_of(values)
        share = np.clip((values - self._borders[bar]) / self._widths[bar], 0.0, 1.0)
        if self._tails:
            low, high = self._in_tails(values)
            share = np.where(bar == 0, erfc(low / np.sqrt(2)), share)
            share = np.where(bar == self._bars - 1, erf(high / np.sqrt(2)), share)
        rows = np.arange(len(self._probabilities))
        found: FloatArray = self._below[rows, bar] + share * self._probabilities[rows, bar]
        return np.minimum(found, 1.0)

    def logpdf(self, y: npt.ArrayLike) -> FloatArray:
        """log f(y), -inf where a bar has no probability, and outside of the borders without tails."""
        values = self._of_rows(y)
        bar = self._bar_of(values)
        with np.errstate(divide="ignore"):
            log_probability = np.log(self._probabilities[np.arange(len(self._probabilities)), bar])
        density = -np.log(self._widths[bar])
        if self._tails:
            for end, place in zip((0, self._bars - 1), self._in_tails(values), strict=True):
                tail = _LOG_HALF_NORMAL - np.log(self._widths[end] / _TAIL_WIDTH) - 0.5 * place**2
                density = np.where(bar == end, tail, density)
        else:
            density = np.where((values < self._borders[0]) | (values > self._borders[-1]), -np.inf, density)
        found: FloatArray = log_probability + density
        return found

    def pdf(self, y: npt.ArrayLike) -> FloatArray:
        """f(y)."""
        return np.exp(self.logpdf(y))

    def ppf(self, p: npt.ArrayLike) -> FloatArray:
        """Quantiles."""
        levels = self._of_rows(p)
        rows = np.arange(len(self._probabilities))
        bar = self._bar_at(levels)
        from_below, from_above = levels - self._below[rows, bar], self._above[rows, bar] - (1 - levels)
        inside = np.where(levels > 0.5, from_above, from_below)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.clip(np.nan_to_num(inside / self._probabilities[rows, bar]), 0.0, 1.0)
        found = self._borders[bar] + share * self._widths[bar]
        if self._tails:
            with np.errstate(divide="ignore", invalid="ignore"):
                rest = np.clip((1 - levels) / self._probabilities[rows, -1], 0.0, 1.0)
            lower = self._borders[1] + self._widths[0] / _TAIL_WIDTH * ndtri(share / 2)
            upper = self._borders[-2] - self._widths[-1] / _TAIL_WIDTH * ndtri(rest / 2)
            found = np.where(bar == 0, lower, np.where(bar == self._bars - 1, upper, found))
        return found

    def _of_rows(self, values: npt.ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        return np.broadcast_to(array, np.broadcast_shapes(array.shape, (len(self._probabilities),)))

    def _bar_of(self, values: FloatArray) -> Bars:
        """The bar of each value; of one outside, the outer bar."""
        return np.clip(np.searchsorted(self._borders, values) - 1, 0, self._bars - 1)

    def _bar_at(self, levels: FloatArray) -> Bars:
        """The first bar, by bisection in each row, whose upper border F reaches the level at."""
        rows = np.arange(len(self._probabilities))
        first = np.zeros(levels.shape, dtype=np.intp)
        last = np.full(levels.shape, self._bars - 1, dtype=np.intp)
        for _ in range(self._bars.bit_length()):
            middle = (first + last) // 2
            reached = np.where(
                levels > 0.5,
                self._above[rows, middle + 1] <= 1 - levels,
                self._below[rows, middle + 1] >= levels,
            )
            first, last = np.where(reached, first, np.minimum(middle + 1, last)), np.where(reached, middle, last)
        return first

    def _in_tails(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far values are in the lower and in the upper tail, in scales of their half-normal distributions."""
        low = np.maximum(self._borders[1] - values, 0.0) * (_TAIL_WIDTH / self._widths[0])
        high = np.maximum(values - self._borders[-2], 0.0) * (_TAIL_WIDTH / self._widths[-1])
        return low, high


def distribution_from_bars(
    borders: npt.ArrayLike, probabilities: npt.ArrayLike, *, half_normal_tails: bool = True
) -> RecalibratedDistribution:
    """N predictive distributions from probabilities: (N, B) of the bars between increasing borders: (B + 1,).

    The density is constant within a bar. With `half_normal_tails`, as TabPFN documents its own (`output_type="full"`),
    the two outer bars are half-normal distributions that begin at their inner borders and have half of their
    probability within the bar, so that every value has a density; without, nothing is outside of the borders. Bars
    without width, as borders that agree after rounding leave them, go to the next one above. A value in a bar of
    probability 0 has the density 0: take probabilities in float64.
    """
    border, probability = (np.asarray(given, dtype=np.float64) for given in (borders, probabilities))
    if border.ndim != 1 or len(border) < 3:
        raise UnusableInput(
            f"borders have the shape {border.shape}, but must be (B + 1,): those of B bars, at least two"
            + ("; the arguments are swapped: borders come first" if border.ndim == 2 and probability.ndim == 1 else "")
        )
    if probability.ndim != 2 or probability.shape[1] != len(border) - 1 or len(probability) == 0:
        raise UnusableInput(
            f"probabilities have the shape {probability.shape}: {len(border)} borders need (N, {len(border) - 1}), a "
            "row for each row"
        )
    if not np.isfinite(border).all() or (np.diff(border) < 0).any():
        raise UnusableInput("borders must be finite numbers in increasing order")
    total = probability.sum(axis=1)
    bad = ~((np.abs(total - 1) <= _SUM_TOLERANCE) & (probability >= 0).all(axis=1))
    if bad.any():
        raise UnusableInput(
            f"probabilities must be at least 0 and add up to 1, but those of row {int(bad.argmax())} do not; of "
            "logits, take the softmax first"
        )
    probability = probability / total[:, np.newaxis]
    starts = np.flatnonzero(np.diff(border, prepend=-np.inf) > 0)  # of the bars, and the last border
    if len(starts) < 3:
        raise UnusableInput("at least two bars must have a width, but the borders agree")
    merged = np.add.reduceat(probability, starts[:-1], axis=1)
    base = _BarDistributions(border[starts], merged, tails=half_normal_tails)
    return RecalibratedDistribution(AnyDistribution(base), ())
