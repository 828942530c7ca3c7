"""Quantile recalibration of any model's predictive distributions, as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from qrt.engine.calibration_map import fit_map
from qrt.engine.registry import MAP_NAMES
from qrt.errors import UserError
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt.estimator.threads import one_thread
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import checked_weights, effective_rows

FloatArray = npt.NDArray[np.float64]

MIN_PITS = 10
LARGE_DISTANCE = 0.05  # of map and PITs: an interval of 90 % may then cover 80 %


class QuantileRecalibrator(BaseEstimator):
    """Recalibrates predictive distributions of any model with the calibration maps of the paper.

    The PITs Z = F(y | x) of a calibrated model are uniformly distributed. The map Phi is an estimate of their actual
    distribution function on rows that the model was not fitted to; F' = Phi o F is calibrated then, and has a density
    if Phi has one.

    Parameters
    ----------
    map : {"REFL", "TRUNC", "KDE", "EMP", "DCP"}, default="REFL"
        The estimate of the PITs' distribution: kernel estimates that are reflected at 0 and 1 (the paper's), cut off
        there, or neither; or the empirical distribution function, divided by the number of PITs or by one more
        (conformal). The last two give no density.
    bandwidth : float, default=0.1
        Of the kernel: its standard deviation is bandwidth * n ** (-1/5) for n PITs. EMP and DCP do not use it. A kernel
        cannot resolve what is closer to 0 or 1 than its width, where the PITs of a far too narrow model gather:
        `fit` warns then, and a smaller bandwidth, EMP, or a wider model helps.

    Attributes
    ----------
    map_ : CalibrationMap
        The fitted map.
    n_pits_ : int
        How many PITs it was fitted to.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from qrt import QuantileRecalibrator
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> too_wide = norm(0, 2)
    >>> recalibrated = QuantileRecalibrator().fit(too_wide.cdf(y)).transform(too_wide)
    >>> float(too_wide.std()), float(recalibrated.std().round(1))
    (2.0, 1.0)
    """

    def __init__(self, map: str = "REFL", bandwidth: float = 0.1) -> None:
        self.map = map
        self.bandwidth = bandwidth

    def fit(
        self, pit: npt.ArrayLike, y: None = None, sample_weight: npt.ArrayLike | None = None
    ) -> QuantileRecalibrator:
        """Fit the map to PITs F(y | x): (n,) or (n, 1), at least 10, of rows that the model was not fitted to.

        With weights of the rows, the kernel's width is that of Kish's effective number of PITs.
        """
        if self.map not in MAP_NAMES:
            raise UnusableInput(f"map is {self.map!r}: use one of {', '.join(MAP_NAMES)}")
        pits = _checked_pits(pit)
        weights = checked_weights(sample_weight, len(pits))
        if weights is not None:
            pits, weights = pits[weights > 0], weights[weights > 0]
            _check_number(pits)
            weights *= effective_rows(weights) / weights.sum()
        of_pits = None if weights is None else torch.from_numpy(weights)
        with one_thread():
            try:
                self.map_ = fit_map(self.map, torch.from_numpy(pits), float(self.bandwidth), weights=of_pits)
            except UserError as error:
                raise UnusableInput(str(error)) from error
            self.n_pits_ = len(pits)
            self._warn_if_calibration_is_lost(pits, np.ones(len(pits)) if weights is None else weights)
        return self

    def _warn_if_calibration_is_lost(self, pits: FloatArray, weights: FloatArray) -> None:
        """The map is a smooth version of the PITs' empirical distribution; far from it, it does not calibrate."""
        order = pits.argsort()
        ordered = pits[order]
        mapped = self.map_.cdf(torch.from_numpy(ordered)).numpy()
        share = np.concatenate([[0.0], weights[order].cumsum()]) / weights.sum()
        distance = max(np.abs(mapped - share[1:]).max(), np.abs(mapped - share[:-1]).max())
        # Any smooth estimate is away from the steps of few PITs.
        if distance > LARGE_DISTANCE + 0.5 / np.sqrt(weights.sum()):
            worst = ordered[np.abs(mapped - share[1:]).argmax()]
            warnings.warn(
                f"the {self.map} map is {distance:.2f} away from the distribution of the PITs near {worst:.3g}: the "
                f"kernel is too wide for PITs that gather so closely, and the result stays miscalibrated by as much. A "
                f"bandwidth smaller than {self.bandwidth}, map='EMP', or a model that is less overconfident would help",
                UserWarning,
                stacklevel=3,
            )

    def fit_distribution(
        self, distribution: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> QuantileRecalibrator:
        """Fit the map to the PITs of y: (N,) under N predictive distributions, whatever their package's shapes."""
        if hasattr(y, "cdf") and not hasattr(distribution, "cdf"):
            raise UnusableInput("the arguments are swapped: write fit_distribution(distribution, y)")
        if isinstance(distribution, RecalibratedDistribution):
            return self.fit(distribution.cdf(y), sample_weight=sample_weight)
        # Without a map, F' is F, in the shapes of this package.
        pits = RecalibratedDistribution(AnyDistribution(distribution), ()).cdf(np.ravel(y))
        return self.fit(pits, sample_weight=sample_weight)

    def transform(self, distribution: Any) -> RecalibratedDistribution:
        """The recalibrated distribution of `distribution`: anything with cdf, ppf, and pdf or logpdf.

        Frozen distributions of scipy with parameters of shape (), (N,) or (N, 1), distributions of skpro with one
        column, `QRTRegressor.predict_distribution`, `distribution_from_quantiles`, `distribution_from_samples`,
        `distribution_from_bars`, or another recalibrated distribution. It must come from the model whose PITs the map
        was fitted to.
        """
        check_is_fitted(self, "map_")
        if isinstance(distribution, RecalibratedDistribution):
            return distribution.recalibrated(self.map_)
        return RecalibratedDistribution(AnyDistribution(distribution), (self.map_,))


def _checked_pits(pit: npt.ArrayLike) -> FloatArray:
    """PITs as (n,) float64, or an error that says what is wrong with them."""
    try:
        pits = np.asarray(pit, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnusableInput(
            f"PITs must be numbers, but are of the type {type(pit).__name__}: for a distribution and the values that "
            "came, use fit_distribution(distribution, y)"
        ) from error
    if pits.ndim == 2 and pits.shape[1] == 1:
        pits = pits[:, 0]
    if pits.ndim != 1:
        raise UnusableInput(f"PITs have the shape {pits.shape}, but must be (n,): one for each row, F(y | x)")
    if np.isnan(pits).any():
        raise UnusableInput(f"{int(np.isnan(pits).sum())} of {len(pits)} PITs are not a number (NaN); remove them")
    outside = (pits < 0) | (pits > 1)
    if outside.any():
        raise UnusableInput(
            f"{int(outside.sum())} of {len(pits)} PITs are outside [0, 1], for example {pits[outside][0]}: a PIT is "
            "the predictive CDF at the observed value, distribution.cdf(y)"
        )
    _check_number(pits)
    return pits


def _check_number(pits: FloatArray) -> None:
    if len(pits) < MIN_PITS:
        raise UnusableInput(f"{len(pits)} PITs are too few for a calibration map: at least {MIN_PITS} are needed")
