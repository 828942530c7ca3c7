"""The distributions that `QuantileRecalibrator.transform` gives: F' = Phi o F for any predictive distributions F.

Without a map, F' is F with the methods and shapes of this package, as `distribution_from_quantiles` gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap, StepMap
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.asked_values import central_levels, number_of_draws, quantile_levels
from qrt.estimator.panel_integrals import PanelIntegrals
from qrt.estimator.threads import one_thread
from qrt.estimator.unusable_input import UnusableInput

FloatArray = npt.NDArray[np.float64]


class RecalibratedDistribution:
    """One recalibrated distribution for each of `rows` rows, with the methods of `PredictedDistribution`.

    Values `y` are one number for all rows, (rows,) with one for each row, or (rows, m) with m for each row; results
    have the same shape ((rows,) for one number). Levels `p` are one number, which gives (rows,), m levels (m,) for all
    rows, which give (rows, m), or levels (rows, m) of each row's own. A single distribution (`scipy.stats.norm(0, 2)`)
    takes values and levels of any shape and gives results of that shape.

    EMP and DCP maps are step functions and have no density: `pdf`, `logpdf` and `log_score` are then NaN. KDE and DCP
    maps leave some mass at -inf and +inf; `cdf` and `ppf` have it as it is, while `mean`, `var`, `std` and `crps` are
    those on condition that the value is finite. These four are integrals of F' by quadrature, not by sampling
    (`panel_integrals`).
    """

    def __init__(self, base: AnyDistribution, maps: tuple[CalibrationMap, ...]) -> None:
        """The `maps` on top of `base`, the innermost first."""
        self._base = base
        self._maps = maps

    def __len__(self) -> int:
        return self._base.rows

    def __repr__(self) -> str:
        rows = f"{len(self)} rows" if self._base.shape else "one distribution"
        maps = ", ".join(one.name for one in self._maps) or "no"
        return f"<{type(self).__name__}: {rows}, {maps} map>"

    def recalibrated(self, calibration_map: CalibrationMap) -> RecalibratedDistribution:
        """The same with one more map on top."""
        return RecalibratedDistribution(self._base, (*self._maps, calibration_map))

    def cdf(self, y: npt.ArrayLike) -> FloatArray:
        """F'(y): the probability of a value of at most `y`."""
        return self._at_values(y, lambda points: self._log_density_and_pit(points)[1])

    def logpdf(self, y: npt.ArrayLike) -> FloatArray:
        """log f'(y) = log f(y) + log phi(F(y)), by the chain rule (paper, section 3.1, equation f_Z)."""
        return self._at_values(y, lambda points: self._base.logpdf(points) + self._log_density_and_pit(points)[0])

    def pdf(self, y: npt.ArrayLike) -> FloatArray:
        """f'(y), the density."""
        return np.exp(self.logpdf(y))

    def log_score(self, y: npt.ArrayLike) -> FloatArray:
        """-log f'(y), the negative log-likelihood of `y`; lower is better."""
        return -self.logpdf(y)

    def crps(self, y: npt.ArrayLike) -> FloatArray:
        """The continuous ranked probability score of `y`, in the units of y; lower is better."""
        return self._at_values(y, self._integrals.crps)

    @one_thread()
    def ppf(self, p: npt.ArrayLike) -> FloatArray:
        """Quantiles: the value that F' reaches at level `p`."""
        levels = quantile_levels(p, len(self) if self._base.shape else None)
        distinct, where = np.unique(levels, return_inverse=True)
        of_base = _inverse(self._maps, distinct)[where.reshape(levels.shape)]
        if self._base.shape and levels.ndim == 2:
            return self._base.ppf(of_base)
        common = self._base.quantiles(of_base.reshape(-1))
        return common.reshape((*self._base.shape, *levels.shape))

    def sample(self, n: int = 1, random_state: int | np.random.Generator | None = None) -> FloatArray:
        """`n` independent draws for each row: (rows, n), or (n,) of a single distribution."""
        return self.ppf(np.random.default_rng(random_state).uniform(size=(*self._base.shape, number_of_draws(n))))

    def mean(self) -> FloatArray:
        """The expected value of each row: (rows,)."""
        return self._of_rows(self._integrals.mean)

    def var(self) -> FloatArray:
        """The variance of each row: (rows,)."""
        return self._of_rows(self._integrals.variance)

    def std(self) -> FloatArray:
        """The standard deviation of each row: (rows,)."""
        return np.sqrt(self.var())

    def mean_difference(self) -> FloatArray:
        """The expected distance of two independent values, E|Y - Y'|, of each row: (rows,)."""
        return self._of_rows(self._integrals.mean_difference)

    def median(self) -> FloatArray:
        """The median of each row: (rows,)."""
        return self.ppf(0.5)

    def interval(self, coverage: float = 0.9) -> FloatArray:
        """The central interval with this probability: (rows, 2), its lower and its upper end."""
        return self.ppf(central_levels(coverage))

    @cached_property
    @one_thread()
    def _integrals(self) -> PanelIntegrals:
        # Steps of a map, as levels of the base: kinks. Between two of them nothing happens.
        kinks = [
            _inverse(self._maps[:below], one.centres.numpy())
            for below, one in enumerate(self._maps)
            if isinstance(one, StepMap)
        ]
        resolution = min((one.resolution for one in self._maps if not isinstance(one, StepMap)), default=1.0)
        kink_levels = np.concatenate([*kinks, np.asarray(self._base.kink_levels)])
        return PanelIntegrals(self._interpolated_cdf, self._base.quantiles, resolution, kink_levels)

    def _log_density_and_pit(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Sum of the maps' log phi, and F', at points: (rows, m)."""
        pits = _tensor(self._base.cdf(points))
        log_density = torch.zeros_like(pits)
        for one in self._maps:
            log_phi, pits = one.log_density_and_cdf(pits)
            log_density = log_density + log_phi
        return log_density.numpy().reshape(points.shape), pits.numpy().reshape(points.shape)

    def _interpolated_cdf(self, points: FloatArray) -> FloatArray:
        """F' at points: (rows, m), to about 1e-7."""
        pits = _tensor(self._base.cdf(points))
        for one in self._maps:
            pits = one.tabulated_cdf(pits)
        return pits.numpy().reshape(points.shape)

    @one_thread()
    def _at_values(self, y: npt.ArrayLike, function: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """`function` of a matrix (rows, m), at values in any of the shapes that are understood."""
        values = np.asarray(y, dtype=np.float64)
        if np.isnan(values).any():
            raise UnusableInput(f"y is not a number (NaN) in {int(np.isnan(values).sum())} places; remove them")
        if not self._base.shape:
            return function(values.reshape(1, -1)).reshape(values.shape)
        rows = len(self)
        if values.ndim == 0:
            values = np.broadcast_to(values, (rows,))
        if values.ndim > 2 or len(values) != rows:
            raise UnusableInput(
                f"y has the shape {values.shape}: give one number, ({rows},) numbers, one for each row, or "
                f"({rows}, m), m for each row"
            )
        return function(values.reshape(rows, -1)).reshape(values.shape)

    def _of_rows(self, values: FloatArray) -> FloatArray:
        return values.reshape(self._base.shape)


def _tensor(values: FloatArray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values).reshape(-1))


def _inverse(maps: tuple[CalibrationMap, ...], levels: FloatArray) -> FloatArray:
    """The levels (n,) of the base at which its quantiles are those of F' at levels: (n,)."""
    found = _tensor(levels)
    for one in reversed(maps):
        found = one.inverse(found)
    return found.numpy()
