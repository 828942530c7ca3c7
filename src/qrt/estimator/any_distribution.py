"""One interface to the predictive distributions of other packages: scipy, skpro, and whatever has the same methods.

Packages disagree on shapes. A frozen distribution of scipy broadcasts its parameters, (N,) or (N, 1), against the
points; one of skpro has N rows and one column, and takes and gives tables of its own shape only; those of this package
take matrices with N rows. All agree on one thing: points of a certain shape, which has N elements, are matched element
by element. So a matrix of points is evaluated column by column, or in blocks of columns where NumPy's broadcasting is
found to work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.unusable_input import UnusableInput

Array = npt.NDArray[np.float64]

_BLOCK = 2**18  # points that are evaluated together
_QUANTILES = ("ppf", "icdf")  # scipy's new distributions have the second
_LOG_DENSITIES = ("logpdf", "log_pdf")  # scipy's name and skpro's


class AnyDistribution:
    """N predictive distributions, or a single one, evaluated at matrices of points.

    `shape` is (N,), or () for a single distribution; the matrices have N rows, or one. `kink_levels` are probabilities
    where the CDF is not smooth, for a wrapped distribution that names them; integrals put break points there.
    """

    shape: tuple[int, ...]
    kink_levels: Sequence[float]
    _common_quantiles: Callable[[Array], Array] | None = None

    def __init__(self, distribution: Any) -> None:
        self._cdf = _method(distribution, ("cdf",))
        self._quantile = _method(distribution, _QUANTILES)
        self._density = _method(distribution, (*_LOG_DENSITIES, "pdf"))
        self._density_is_log = any(hasattr(distribution, name) for name in _LOG_DENSITIES)
        self._own_shape = np.shape(np.asarray(self._quantile(0.5)))
        if len(self._own_shape) > 2 or (len(self._own_shape) == 2 and self._own_shape[1] != 1):
            raise UnusableInput(
                f"the distribution has shape {self._own_shape}, but N predictive distributions have shape (N,) or "
                "(N, 1), and a single one has shape ()"
            )
        self.shape = self._own_shape[:1]
        if isinstance(distribution, PredictedDistribution):
            self._own_shape = (*self.shape, 1)
            self._common_quantiles = distribution.ppf
        self.kink_levels = getattr(distribution, "kink_levels", ())
        self._broadcasts = self._can_broadcast()

    @property
    def rows(self) -> int:
        """N, or 1 for a single distribution."""
        return self.shape[0] if self.shape else 1

    def cdf(self, points: Array) -> Array:
        """F at points: (N, M), in [0, 1]."""
        return np.clip(self._evaluate(self._cdf, points), 0.0, 1.0)

    def logpdf(self, points: Array) -> Array:
        """log f at points: (N, M)."""
        values = self._evaluate(self._density, points)
        if self._density_is_log:
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)

    def ppf(self, levels: Array) -> Array:
        """Quantiles at levels: (N, M) in [0, 1]."""
        return self._evaluate(self._quantile, levels)

    def quantiles(self, levels: Array) -> Array:
        """Quantiles (N, M) at levels: (M,) that are the same for all rows."""
        if self._common_quantiles is not None:
            return self._common_quantiles(levels)
        return self.ppf(np.broadcast_to(levels, (self.rows, len(levels))))

    def _evaluate(self, method: Callable[[Any], Any], points: Array) -> Array:
        columns = max(1, _BLOCK // self.rows) if self._broadcasts else 1
        result = np.empty(points.shape)
        for start in range(0, points.shape[1], columns):
            block = points[:, start : start + columns].T
            shape = (len(block), *self._own_shape) if self._broadcasts else self._own_shape
            values = np.asarray(method(block.reshape(shape)), dtype=np.float64)
            result[:, start : start + columns] = values.reshape(block.shape).T
        return result

    def _can_broadcast(self) -> bool:
        """Whether points with one more dimension in front give results of that shape, as with scipy."""
        shape = (2, *self._own_shape)
        try:
            return all(np.shape(function(np.full(shape, 0.5))) == shape for function in (self._cdf, self._quantile))
        except Exception:  # every package has its own for shapes that it does not take
            return False


def _method(distribution: Any, names: Sequence[str]) -> Callable[[Any], Any]:
    """The first of these methods that the distribution has."""
    for name in names:
        found: Callable[[Any], Any] | None = getattr(distribution, name, None)
        if callable(found):
            return found
    raise TypeError(
        f"{type(distribution).__name__} has no method {' or '.join(names)}: a distribution needs cdf, ppf, and pdf or "
        "logpdf. distribution_from_quantiles, distribution_from_samples and distribution_from_bars turn arrays into one"
    )
