"""The estimators of this package as skpro's: `pip install '.[skpro]'`.

skpro is a toolbox of probabilistic regressors with one interface. `QRTProbaRegressor` makes `QRTRegressor` one of them,
and `RecalibratedProbaRegressor` recalibrates any of them. What they predict has density, distribution function,
quantiles, mean, variance and energy without sampling.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from skpro.distributions.base import BaseDistribution
from skpro.distributions.normal import Normal
from skpro.regression.base import BaseProbaRegressor
from skpro.regression.residual import ResidualDouble

from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt.estimator.recalibrator import QuantileRecalibrator
from qrt.estimator.regressor import QRTRegressor

FloatArray = npt.NDArray[np.float64]

_EXACT = ["pdf", "log_pdf", "cdf", "ppf", "mean", "var", "energy"]
_BEYOND = 9.0  # standard deviations: the mass of a Gaussian beyond is nothing in float64


class _RowsOfDistributions(BaseDistribution):
    """One column of distributions of this package, or a single one (shape ()), in skpro's interface."""

    _tags = {  # noqa: RUF012
        "capabilities:approx": ["pdfnorm"],
        "capabilities:exact": _EXACT,
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
    }

    @cached_property
    def _rows(self) -> PredictedDistribution | RecalibratedDistribution:
        """The distributions, one for each row."""
        raise NotImplementedError

    def _of_rows(self, rows: Any) -> dict[str, Any]:
        """The constructor's parameters for rows by number (an array), or one row (an integer), without the labels."""
        raise NotImplementedError

    def _half_mean_difference(self) -> FloatArray:
        """E|X - Y| / 2 of two independent values: (rows,)."""
        raise NotImplementedError

    def _in_shape(self, values: FloatArray) -> Any:
        return values.reshape(self.shape) if self.ndim else values.reshape(-1)[0]

    def _column(self, values: Any) -> FloatArray:
        return np.asarray(values, dtype=np.float64).reshape(-1, 1)

    def _pdf(self, x: Any) -> Any:
        return self._in_shape(self._rows.pdf(self._column(x)))

    def _log_pdf(self, x: Any) -> Any:
        return self._in_shape(self._rows.logpdf(self._column(x)))

    def _cdf(self, x: Any) -> Any:
        return self._in_shape(self._rows.cdf(self._column(x)))

    def _ppf(self, p: Any) -> Any:
        return self._in_shape(self._rows.ppf(self._column(p)))

    def _mean(self) -> Any:
        return self._in_shape(self._rows.mean())

    def _var(self) -> Any:
        return self._in_shape(self._rows.var())

    def _energy_self(self) -> Any:
        return self._row_values(2 * self._half_mean_difference())

    def _energy_x(self, x: Any) -> Any:
        # CRPS(y) = E|X - y| - E|X - Y| / 2.
        return self._row_values(self._rows.crps(self._column(x)).reshape(-1) + self._half_mean_difference())

    def _row_values(self, values: FloatArray) -> Any:
        return values if self.ndim else values[0]

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> Self:
        if np.isscalar(rowidx) and np.isscalar(colidx):
            return self._iat(rowidx, colidx)
        rows = np.arange(len(self)) if rowidx is None else np.atleast_1d(np.asarray(rowidx))
        columns = self.columns if colidx is None else self.columns.take(np.atleast_1d(np.asarray(colidx)))
        return type(self)(**self._of_rows(rows), index=self.index.take(rows), columns=columns)

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> Self:
        if rowidx is None or colidx is None:
            raise ValueError("iat needs both a row and a column")
        return type(self)(**self._of_rows(rowidx))


class QRTDistribution(_RowsOfDistributions):
    """Distributions that `QRTRegressor` predicts, in skpro's interface.

    Parameters
    ----------
    predicted : PredictedDistribution
        One distribution for each row.
    index : pd.Index, optional, default = RangeIndex; for a single row without index and columns, a scalar distribution
    columns : pd.Index, optional, default = RangeIndex, of length 1

    Examples
    --------
    >>> from qrt.estimator.skpro_adapter import QRTDistribution
    >>> distribution = QRTDistribution.create_test_instance()
    >>> distribution.cdf(0.0).shape
    (4, 1)
    """

    def __init__(
        self, predicted: PredictedDistribution, index: pd.Index | None = None, columns: pd.Index | None = None
    ) -> None:
        self.predicted = predicted
        super().__init__(*_labels(len(predicted), index, columns))

    @cached_property
    def _rows(self) -> PredictedDistribution:
        return self.predicted

    def _of_rows(self, rows: Any) -> dict[str, Any]:
        return {"predicted": self.predicted[rows]}

    def _half_mean_difference(self) -> FloatArray:
        # Seen from a point y below all of the mass, E|X - y| is E X - y, so that CRPS(y) = E X - y - E|X - Y| / 2.
        mixture = self.predicted.predictive.mixture
        below = (mixture.means - _BEYOND * mixture.scales).amin(dim=1).numpy()
        return self.predicted.mean() - below - self.predicted.crps(below)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for skpro's tests: four rows with a map, and a single distribution without one."""
        means = torch.tensor([[0.0, 1.0], [2.0, -1.0], [5.0, 5.5], [0.0, 0.0]], dtype=torch.float64)
        mixture = GaussianMixture(means, means.abs() * 0.2 + 0.5, torch.full_like(means, 0.5).log())
        maps = (_some_map(),)
        some = PredictedDistribution(PredictiveDistribution(mixture, maps))
        one = PredictedDistribution(PredictiveDistribution(mixture))[0]
        return [
            {"predicted": some, "index": pd.Index([2, 3, 5, 7]), "columns": pd.Index(["y"])},
            {"predicted": some},
            {"predicted": one},
        ]


class SkproRecalibrated(_RowsOfDistributions):
    """A distribution of skpro, recalibrated: F' = Phi o F.

    Parameters
    ----------
    distribution : BaseDistribution
        One column of distributions, or a scalar one, with pdf or log_pdf, cdf and ppf.
    calibration_map : CalibrationMap
        Phi, as in `QuantileRecalibrator.map_`.
    index : pd.Index, optional, default = that of the distribution
    columns : pd.Index, optional, default = those of the distribution

    Examples
    --------
    >>> from qrt.estimator.skpro_adapter import SkproRecalibrated
    >>> recalibrated = SkproRecalibrated.create_test_instance()
    >>> recalibrated.ppf(0.5).shape
    (3, 1)
    """

    def __init__(
        self,
        distribution: BaseDistribution,
        calibration_map: CalibrationMap,
        index: pd.Index | None = None,
        columns: pd.Index | None = None,
    ) -> None:
        self.distribution = distribution
        self.calibration_map = calibration_map
        index = distribution.index if index is None else index
        columns = distribution.columns if columns is None else columns
        super().__init__(index, columns)

    @cached_property
    def _rows(self) -> RecalibratedDistribution:
        return RecalibratedDistribution(AnyDistribution(self.distribution), (self.calibration_map,))

    def _of_rows(self, rows: Any) -> dict[str, Any]:
        inner = self.distribution.iat[rows, 0] if np.isscalar(rows) else self.distribution.iloc[rows]
        return {"distribution": inner, "calibration_map": self.calibration_map}

    def _half_mean_difference(self) -> FloatArray:
        return 0.5 * self._rows.mean_difference().reshape(-1)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for skpro's tests: three rows, and a single distribution."""
        rows = Normal(mu=[[0.0], [1.0], [3.0]], sigma=2.0, columns=pd.Index(["y"]))
        return [
            {"distribution": rows, "calibration_map": _some_map()},
            {"distribution": Normal(mu=1.0, sigma=2.0), "calibration_map": _some_map()},
        ]


class QRTProbaRegressor(BaseProbaRegressor):
    """`QRTRegressor` as a probabilistic regressor of skpro.

    Parameters
    ----------
    regressor : QRTRegressor or None, default None
        With all parameters of training; None is `QRTRegressor()`. It is cloned, not changed.

    Attributes
    ----------
    regressor_ : QRTRegressor
        The fitted clone.

    Examples
    --------
    >>> from qrt import QRTRegressor
    >>> from qrt.estimator.skpro_adapter import QRTProbaRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = QRTProbaRegressor(QRTRegressor(max_epochs=4, random_state=0)).fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 1)
    """

    _tags = {  # noqa: RUF012
        "capability:multioutput": False,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(self, regressor: QRTRegressor | None = None) -> None:
        self.regressor = regressor
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Self:  # noqa: N803
        self._columns = y.columns
        self.regressor_ = QRTRegressor() if self.regressor is None else clone(self.regressor)
        self.regressor_.fit(_with_names(X), y.iloc[:, 0])
        return self

    def _predict_proba(self, X: pd.DataFrame) -> QRTDistribution:  # noqa: N803
        predicted = self.regressor_.predict_distribution(_with_names(X))
        return QRTDistribution(predicted, index=X.index, columns=self._columns)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for skpro's tests: small and quick networks."""
        return [
            {"regressor": QRTRegressor(bandwidth=0.1, max_epochs=4, random_state=0)},
            {"regressor": QRTRegressor(method="QRC", components=1, max_epochs=2, random_state=1)},
        ]


class RecalibratedProbaRegressor(BaseProbaRegressor):
    """Any probabilistic regressor of skpro, recalibrated on rows that are set aside.

    Parameters
    ----------
    regressor : BaseProbaRegressor
        Cloned, and fitted to the rows that are left. Its distributions need cdf, ppf, and pdf or log_pdf.
    map : {"REFL", "TRUNC", "KDE", "EMP", "DCP"}, default="REFL"
    bandwidth : float, default=0.1
        As in `QuantileRecalibrator`.
    calibration_fraction : float, default=0.25
        Share of the rows of `fit` to which the map is fitted; at least ten rows.
    random_state : int or None, default None
        Which rows these are.

    Attributes
    ----------
    regressor_ : BaseProbaRegressor
        The fitted clone.
    recalibrator_ : QuantileRecalibrator
        The fitted map.

    Examples
    --------
    >>> from qrt.estimator.skpro_adapter import RecalibratedProbaRegressor
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from skpro.regression.residual import ResidualDouble
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = RecalibratedProbaRegressor(ResidualDouble(LinearRegression()), random_state=0).fit(X, y)
    >>> model.predict_proba(X[:3]).shape
    (3, 1)
    """

    _tags = {  # noqa: RUF012
        "capability:multioutput": False,
        "capability:missing": True,
        "X_inner_mtype": "pd_DataFrame_Table",
        "y_inner_mtype": "pd_DataFrame_Table",
    }

    def __init__(
        self,
        regressor: BaseProbaRegressor,
        map: str = "REFL",
        bandwidth: float = 0.1,
        calibration_fraction: float = 0.25,
        random_state: int | None = None,
    ) -> None:
        self.regressor = regressor
        self.map = map
        self.bandwidth = bandwidth
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state
        super().__init__()

    def _fit(self, X: pd.DataFrame, y: pd.DataFrame) -> Self:  # noqa: N803
        # Rows by number: labels of an index may occur more than once.
        rest, aside = train_test_split(
            np.arange(len(X)), test_size=self.calibration_fraction, random_state=self.random_state
        )
        self.regressor_ = self.regressor.clone().fit(X.iloc[rest], y.iloc[rest])
        predicted = self.regressor_.predict_proba(X.iloc[aside])
        self.recalibrator_ = QuantileRecalibrator(self.map, self.bandwidth)
        self.recalibrator_.fit_distribution(predicted, y.iloc[aside].to_numpy())
        return self

    def _predict_proba(self, X: pd.DataFrame) -> SkproRecalibrated:  # noqa: N803
        return SkproRecalibrated(self.regressor_.predict_proba(X), self.recalibrator_.map_)

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:
        """Parameters for skpro's tests: a regressor of skpro's, and one of ours."""
        from sklearn.linear_model import LinearRegression

        quick = QRTRegressor(method="BASE", components=1, max_epochs=2, random_state=0)
        return [
            {"regressor": ResidualDouble(LinearRegression()), "calibration_fraction": 0.4, "random_state": 0},
            {"regressor": QRTProbaRegressor(quick), "bandwidth": 0.2, "calibration_fraction": 0.4},
        ]


def _with_names(X: pd.DataFrame) -> pd.DataFrame:  # noqa: N803
    """X with text as names of columns if they are a mixture of text and numbers, which scikit-learn refuses."""
    kinds = {isinstance(name, str) for name in X.columns}
    return X.set_axis([str(name) for name in X.columns], axis=1) if len(kinds) > 1 else X


def _labels(rows: int, index: pd.Index | None, columns: pd.Index | None) -> tuple[pd.Index | None, pd.Index | None]:
    """Index and columns of a distribution; none for a single one without labels, which is a scalar."""
    if index is None and columns is None and rows == 1:
        return None, None
    return (
        pd.RangeIndex(rows) if index is None else index,
        pd.RangeIndex(1) if columns is None else columns,
    )


def _some_map() -> CalibrationMap:
    """A map for tests: that of PITs of a model that is too wide."""
    return fit_map("REFL", torch.linspace(0.1, 0.8, 50, dtype=torch.float64), 0.2)
