"""Distributions from arrays of quantiles or samples, as gradient boosting and ensembles predict them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import ndtr, ndtri

from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt.estimator.unusable_input import UnusableInput

FloatArray = npt.NDArray[np.float64]

# Least distance of neighbouring quantiles, and least width of a kernel, as a share of the mean width of all rows: trees
# predict the same value for several levels, and a density needs some width.
_LEAST_WIDTH = 1e-6
_SHOWN = 20  # numbers in a message
_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)


class _InterpolatedQuantiles:
    """N distributions through given quantiles. Values and levels broadcast against (N,), as with scipy."""

    def __init__(self, levels: FloatArray, values: FloatArray) -> None:
        """Increasing levels: (L,) in (0, 1) and strictly increasing values: (N, L)."""
        self.kink_levels = levels.tolist()
        probits = ndtri(levels)
        slopes = np.diff(values, axis=1) / np.diff(probits)
        # Beyond the outer levels a piece goes on as it is, unless it is narrower than the row as a whole: two outer
        # quantiles that nearly agree say nothing about the tail.
        whole = (values[:, [-1]] - values[:, [0]]) / (probits[-1] - probits[0])
        self._values, self._probits = values, probits
        self._slopes: FloatArray = np.concatenate(
            [np.maximum(slopes[:, [0]], whole), slopes, np.maximum(slopes[:, [-1]], whole)], axis=1
        )

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """F(y)."""
        return ndtr(self._probit_and_slope(y)[0])

    def logpdf(self, y: npt.ArrayLike) -> FloatArray:
        """log f(y)."""
        probit, slope = self._probit_and_slope(y)
        return -0.5 * probit**2 - _LOG_SQRT_2PI - np.log(slope)

    def pdf(self, y: npt.ArrayLike) -> FloatArray:
        """f(y)."""
        return np.exp(self.logpdf(y))

    def ppf(self, p: npt.ArrayLike) -> FloatArray:
        """Quantiles."""
        probit = self._of_rows(ndtri(np.asarray(p, dtype=np.float64)))
        piece = np.searchsorted(self._probits, probit)
        start, slope = self._start_and_slope(piece)
        return start + slope * (probit - self._probits[np.maximum(piece - 1, 0)])

    def _probit_and_slope(self, y: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        y = self._of_rows(np.asarray(y, dtype=np.float64))
        piece = (self._values < y[..., np.newaxis]).sum(axis=-1)
        start, slope = self._start_and_slope(piece)
        return self._probits[np.maximum(piece - 1, 0)] + (y - start) / slope, slope

    def _of_rows(self, values: FloatArray) -> FloatArray:
        return np.broadcast_to(values, np.broadcast_shapes(values.shape, (len(self._values),)))

    def _start_and_slope(self, piece: npt.NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
        """Where each row's piece begins (the lowest one ends there), and its width per unit of the standard normal."""
        rows = np.arange(len(self._values))
        return self._values[rows, np.maximum(piece - 1, 0)], self._slopes[rows, piece]


def distribution_from_quantiles(levels: npt.ArrayLike, values: npt.ArrayLike) -> RecalibratedDistribution:
    """N predictive distributions through quantiles values: (N, L) at increasing levels: (L,) in (0, 1), L at least 2.

    Between two levels, quantiles are linear in the standard normal quantile of the level, and so they go on beyond the
    outer levels: quantiles of a normal distribution give that normal distribution, whatever the levels. Quantiles that
    cross are sorted; of those that agree, each gets a millionth of the mean width of all rows more than the one before.
    """
    level, value = (np.asarray(given, dtype=np.float64) for given in (levels, values))
    if not _are_levels(level):
        raise UnusableInput(
            f"levels must be at least two increasing numbers between 0 and 1, but are {_shown(level)}"
            + ("; the arguments are swapped: levels come first, then values" if _are_levels(value) else "")
        )
    if value.ndim != 2 or value.shape[1] != len(level):
        raise UnusableInput(
            f"quantiles have the shape {value.shape}: {len(level)} levels need (N, {len(level)}), a row for each row"
            + ("; transpose them" if value.ndim == 2 and value.shape[0] == len(level) else "")
        )
    _check_finite(value, "quantiles")
    value = np.sort(value, axis=1)
    gap = _LEAST_WIDTH * _mean_width(value[:, -1] - value[:, 0], "quantiles")
    # The smallest change that leaves gaps this wide: each value is pushed up by those below it, and by nothing else.
    ramp = gap * np.arange(len(level))
    base = _InterpolatedQuantiles(level, np.maximum.accumulate(value - ramp, axis=1) + ramp)
    return RecalibratedDistribution(AnyDistribution(base), ())


def distribution_from_samples(samples: npt.ArrayLike) -> PredictedDistribution:
    """N predictive distributions from samples: (N, M), M at least 2: members of an ensemble, draws from a posterior.

    Each row is a Gaussian kernel estimate with Silverman's bandwidth, 0.9 min(SD, IQR / 1.34) M^(-1/5), hence a mixture
    of M Gaussians. It is wider than the samples, which recalibration mends.
    """
    value = np.asarray(samples, dtype=np.float64)
    if value.ndim != 2 or value.shape[1] < 2:
        raise UnusableInput(
            f"samples have the shape {value.shape}, but must be (N, M) with at least two samples for each row"
        )
    _check_finite(value, "samples")
    deviation = value.std(axis=1, ddof=1)
    low, high = np.quantile(value, [0.25, 0.75], axis=1)
    # Half of the samples may agree without all of them being the same.
    spread = np.where(high > low, np.minimum(deviation, (high - low) / 1.34), deviation)
    least = _LEAST_WIDTH * _mean_width(deviation, "samples")
    scale = np.maximum(0.9 * spread * value.shape[1] ** -0.2, least)
    means = torch.from_numpy(value.copy())
    scales = torch.from_numpy(scale).unsqueeze(1).expand_as(means)
    log_weights = torch.full_like(means, -np.log(value.shape[1]))
    return PredictedDistribution(PredictiveDistribution(GaussianMixture(means, scales, log_weights)))


def _are_levels(given: FloatArray) -> bool:
    """Whether these can be levels: (L,) increasing in (0, 1), two at least."""
    return bool(given.ndim == 1 and len(given) > 1 and ((given > 0) & (given < 1)).all() and (np.diff(given) > 0).all())


def _shown(values: FloatArray) -> str:
    """A few numbers in full, of more the shape."""
    return str(values.tolist()) if values.size <= _SHOWN else f"an array of shape {values.shape}"


def _check_finite(values: FloatArray, what: str) -> None:
    bad = ~np.isfinite(values).all(axis=1)
    if len(values) == 0 or bad.any():
        raise UnusableInput(
            f"{what} must be finite numbers, but those of row {int(bad.argmax())} are not"
            if len(values)
            else f"no {what}"
        )


def _mean_width(widths: FloatArray, what: str) -> float:
    width = float(widths.mean())
    if width == 0:
        raise UnusableInput(f"the {what} of every row agree, so that the rows have no width and no density")
    return width
