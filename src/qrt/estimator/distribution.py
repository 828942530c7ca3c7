"""Predicted distributions of many rows, in the units of the target: what `QRTRegressor.predict_distribution` gives.

Everything is computed from the distribution function by the study's own formulas, in float64 and not by sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.quadrature import CrpsAndMoments, crps_and_moments
from qrt.engine.root_finding import increasing_root
from qrt.estimator.asked_values import central_levels, number_of_draws, quantile_levels
from qrt.estimator.threads import one_thread
from qrt.estimator.unusable_input import UnusableInput

if TYPE_CHECKING:
    import pandas as pd

FloatArray = npt.NDArray[np.float64]

# Pairs of a row and a value that are computed together: a few dozen megabytes.
_PAIRS_AT_ONCE = 2**16


class PredictedDistribution:
    """One distribution for each of `rows` rows: F' = Phi o F, a mixture of Gaussians F and calibration maps on top.

    Values `y` are one number for all rows, (rows,) with one for each row, or (rows, m) with m for each row; results
    have the same shape ((rows,) for one number). Levels `p` are one number, which gives (rows,), m levels (m,) for all
    rows, which give (rows, m), or levels (rows, m) of each row's own, which give (rows, m). Results are NumPy arrays of
    float64, and what a row gives does not depend on the other rows.

    `distribution[rows]` is the distribution of some of the rows: a number (also negative), a slice, numbers or a mask.
    `index` is the index of the pandas table that was predicted, or None.

    EMP and DCP maps are step functions and have no density: `pdf`, `logpdf` and `log_score` are then NaN. KDE and DCP
    maps leave some mass at -inf and +inf; `cdf` and `ppf` have it as it is, while `mean`, `var`, `std` and `crps` are
    those on condition that the value is finite.
    """

    def __init__(self, predictive: PredictiveDistribution, index: pd.Index | None = None) -> None:
        self.predictive = predictive
        self.index = index

    def __len__(self) -> int:
        return len(self.predictive.mixture.means)

    def __repr__(self) -> str:
        mixture, maps = self.predictive.mixture, self.predictive.maps
        on_top = "".join(f", {one.name} map" for one in maps)
        return f"<{type(self).__name__}: {len(self)} rows, mixtures of {mixture.means.shape[1]} Gaussian(s){on_top}>"

    def __getitem__(self, rows: Any) -> PredictedDistribution:
        # NumPy knows every kind of index, and its errors name what is wrong.
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        index = None if self.index is None else self.index[chosen]
        return PredictedDistribution(self._of_rows(torch.from_numpy(chosen)), index)

    def __iter__(self) -> Iterator[PredictedDistribution]:
        return (self[row] for row in range(len(self)))

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """F'(y): the probability of a value of at most `y`."""
        return self._at_values(y, lambda distribution, values: distribution.pit(values))

    def logpdf(self, y: npt.ArrayLike) -> FloatArray:
        """log f'(y), finite however far in the tails `y` is."""
        return self._at_values(y, lambda distribution, values: distribution.log_density_and_pit(values)[0])

    def pdf(self, y: npt.ArrayLike) -> FloatArray:
        """f'(y), the density."""
        return np.exp(self.logpdf(y))

    def log_score(self, y: npt.ArrayLike) -> FloatArray:
        """-log f'(y), the negative log-likelihood of `y`; lower is better."""
        return -self.logpdf(y)

    def crps(self, y: npt.ArrayLike) -> FloatArray:
        """The continuous ranked probability score of `y`, in the units of y; lower is better.

        By the quadrature of the study, whose error is about 1e-5 standard deviations of a row at most.
        """
        return self._at_values(y, lambda distribution, values: _integrals(distribution, values).crps)

    @one_thread()
    def ppf(self, p: npt.ArrayLike) -> FloatArray:
        """Quantiles: the value that F' reaches at level `p`. Level 0 is -inf, level 1 is +inf."""
        levels = torch.from_numpy(quantile_levels(p, len(self)))
        if levels.dim() <= 1:
            common = self._common_quantiles(levels.reshape(-1)).numpy()
            return common if levels.dim() else common[:, 0]
        parts = [_own_quantiles(*pairs) for pairs in self._pairs(levels)]
        return _as_array(parts, tuple(levels.shape))

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """`n` independent draws for each row: (rows, n). The same seed gives the same draws."""
        generator = np.random.default_rng(random_state)
        return self.ppf(generator.uniform(size=(len(self), number_of_draws(n))))

    def mean(self) -> FloatArray:
        """The expected value of each row: (rows,)."""
        return self._moments()[0]

    def var(self) -> FloatArray:
        """The variance of each row: (rows,)."""
        return np.square(self.std())

    def std(self) -> FloatArray:
        """The standard deviation of each row: (rows,)."""
        return self._moments()[1]

    def median(self) -> FloatArray:
        """The median of each row: (rows,)."""
        return self.ppf(0.5)

    def interval(self, coverage: float = 0.9) -> FloatArray:
        """The central interval with this probability: (rows, 2), its lower and its upper end."""
        return self.ppf(central_levels(coverage))

    def _of_rows(self, rows: Tensor) -> PredictiveDistribution:
        mixture = GaussianMixture(*(values[rows] for values in self.predictive.mixture))
        return PredictiveDistribution(mixture, self.predictive.maps)

    @one_thread()
    def _at_values(self, y: npt.ArrayLike, function: Callable[[PredictiveDistribution, Tensor], Tensor]) -> FloatArray:
        """`function` of the rows' distributions at values `y`, in parts of bounded memory."""
        values = torch.from_numpy(np.array(y, dtype=np.float64))
        if values.dim() == 0:
            values = values.expand(len(self))
        if values.dim() > 2 or len(values) != len(self):
            raise UnusableInput(
                f"y has the shape {tuple(values.shape)}: give one number, ({len(self)},) numbers, one for each row, or "
                f"({len(self)}, m), m for each row"
            )
        if bool(values.isnan().any()):
            raise UnusableInput(f"y is not a number (NaN) in {int(values.isnan().sum())} places; remove them")
        parts = [function(*pairs) for pairs in self._pairs(values)]
        return _as_array(parts, tuple(values.shape))

    def _pairs(self, values: Tensor) -> list[tuple[PredictiveDistribution, Tensor]]:
        """Each row with each of its values (rows,) or (rows, m), in parts: the row's distribution, and the value."""
        flat = values.reshape(-1)
        of_row = torch.arange(len(self)).repeat_interleave(len(flat) // max(1, len(self)))
        return [
            (self._of_rows(rows), some)
            for rows, some in zip(of_row.split(_PAIRS_AT_ONCE), flat.split(_PAIRS_AT_ONCE), strict=True)
            if len(some)
        ]

    def _common_quantiles(self, levels: Tensor) -> Tensor:
        """Quantiles (rows, m) at the same levels (m,) of all rows."""
        result = torch.where(levels > 0.5, torch.inf, -torch.inf).double().repeat(len(self), 1)
        inner = (levels > 0) & (levels < 1)
        if bool(inner.any()) and len(self):
            result[:, inner] = self.predictive.quantile(levels[inner])
        return result

    @one_thread()
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and standard deviation of each row, each (rows,)."""
        mixture, maps = self.predictive.mixture, self.predictive.maps
        if not maps:
            return gaussian.mean(mixture).numpy(), gaussian.standard_deviation(mixture).numpy()
        # The value that a CRPS would be for is no matter here; the mean of the mixture is in the midst of its mass.
        parts = [_integrals(*pairs) for pairs in self._pairs(gaussian.mean(mixture))]
        means, deviations = [one.mean for one in parts], [one.standard_deviation for one in parts]
        return _as_array(means, (len(self),)), _as_array(deviations, (len(self),))


def _integrals(distribution: PredictiveDistribution, values: Tensor) -> CrpsAndMoments:
    return crps_and_moments(distribution.mixture, [distribution.maps], values)[0]


def _own_quantiles(distribution: PredictiveDistribution, levels: Tensor) -> Tensor:
    """Quantiles (n,) of n rows at levels (n,), one for each row."""
    for calibration_map in reversed(distribution.maps):
        levels = calibration_map.inverse(levels)
    # The upper half is solved as the lower half of the mixture of -Y: there, F keeps its digits next to 0.
    upper = levels > 0.5
    side = torch.where(upper, -1.0, 1.0).double()
    means = distribution.mixture.means * side.unsqueeze(1)
    mixture = GaussianMixture(means, *distribution.mixture[1:])
    levels = torch.where(upper, 1 - levels, levels)
    inner = (levels > 0).nonzero().flatten()
    # The mixture's quantile lies between the smallest and the largest of its components' own.
    ends = mixture.means + mixture.scales * torch.special.ndtri(levels).unsqueeze(1)

    def gap(x: Tensor, which: Tensor) -> tuple[Tensor, Tensor]:
        some = GaussianMixture(*(values[inner[which]] for values in mixture))
        return gaussian.cdf(some, x) - levels[inner[which]], gaussian.log_density(some, x).exp()

    result = torch.full_like(levels, -torch.inf)
    result[inner] = increasing_root(gap, ends.amin(dim=1)[inner], ends.amax(dim=1)[inner])
    return result * side


def _as_array(parts: list[Tensor], shape: tuple[int, ...]) -> FloatArray:
    """The parts one after the other, in this shape."""
    values = torch.cat(parts) if parts else torch.empty(0, dtype=torch.float64)
    return values.reshape(shape).numpy()
