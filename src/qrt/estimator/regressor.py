"""A scikit-learn regressor that predicts calibrated distributions: the methods of the paper for data of one's own.

from qrt import QRTRegressor

model = QRTRegressor().fit(X, y)
model.predict(X_new)                               # (rows,), the mean
model.predict_quantiles(X_new, [0.05, 0.5, 0.95])  # (rows, 3)
model.predict_interval(X_new, coverage=0.9)        # (rows, 2)
model.predict_distribution(X_new)                  # pdf, cdf, ppf, sample, crps, ... of each row
model.diagnose(X_test, y_test).plot()              # is it calibrated?
model.save("model.qrt")
QRTRegressor.load("model.qrt")
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.trainer import TrainingSettings
from qrt.errors import UserError
from qrt.estimator.chosen_method import chosen_method
from qrt.estimator.columns import FloatArray, Table, TableColumns, learned_columns
from qrt.estimator.diagnosis import Diagnosis, diagnose
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.fit_sets import Rows, drawn_sets
from qrt.estimator.fitted_model import fit_model, one_thread
from qrt.estimator.stored_model import StoredModel, load_model, save_model
from qrt.estimator.unusable_input import UnusableInput
from qrt.methods import BANDWIDTHS

if TYPE_CHECKING:
    from qrt.engine.registry import BaseModel, PostHoc
    from qrt.estimator.fitted_model import FittedModel

Result = TypeVar("Result")
Own = tuple[Any, Any]  # X and y of a set of the user's
# Rows that are encoded and computed together; a multiple of what the network takes at once, so that a table gives the
# same numbers whether it is predicted in one call or not.
_ROWS_AT_ONCE = 8192


class QRTRegressor(RegressorMixin, BaseEstimator):
    """Distributional regression by neural networks that are trained to be calibrated (quantile recalibration training).

    A network predicts a mixture of Gaussians for each row; it is trained with a calibration map in its objective, and a
    map that is fitted to rows set aside recalibrates it. Defaults are those of the paper. Everything is standardised
    inside: X and y need no scaling.

    Parameters
    ----------
    method : str, default "QRTC"
        A method by its name in the paper: "QRTC" (a map in training and one after it), "QRT" (in training only), "QRC"
        (after training only), "BASE" (none; trains on the calibration rows as well), "BASE-TRAIN" (none), "QREGC" and
        "QREG" (regularised), "QRIC", "QRGC", "QRLC" (ablations), "QRTC-KDE", "QRTC-TRUNC" (other maps), "QRTC-8", ...,
        "QRTC-2048" (the map of training from so many rows).
    base_model : {"mlp", "resnet"}, default "mlp"
        Three hidden layers of 128 units, or a residual network of 18 layers.
    components : int, default 3
        Gaussian components of the mixture.
    alpha : float or None, default None
        Weight of the map in the training objective; None is that of the method (1 for QRT and QRTC).
    bandwidth : float or sequence of float, default (0.01, 0.05, 0.1, 0.2)
        Bandwidth of the map in training. Of several, the one with the lowest NLL on the validation rows is taken; their
        networks train together. No matter for methods without a map in training.
    posthoc_map : {None, "none", "REFL", "KDE", "TRUNC", "EMP", "DCP"}, default None
        The map that is fitted to the calibration rows; None is that of the method. EMP and DCP have no density.
    posthoc_bandwidth : float or None, default None
        Bandwidth of that map; None is that of training, and 0.1 for methods without a map in training.
    validation_fraction, calibration_fraction : float, default 0.1 and 0.15
        Shares of the rows of `fit` that are set aside, unless it gets sets of its own. Validation rows tell when to
        stop and which bandwidth to take; the post-hoc map is fitted to calibration rows (2048 at most).
    categorical : sequence of column names or positions, or None, default None
        Columns of numbers that are categories. Texts and pandas categories are recognised.
    max_epochs, patience : int, default 5000 and 15
        Training stops after `patience` validations (one every two epochs) without improvement.
    batch_size, learning_rate, weight_decay, dropout : default 512, 0.001, 0.01, 0.2
        Of the training by AdamW.
    random_state : int, RandomState or None, default None
        Which rows are set aside, initial weights, order of the rows, dropout. A number gives the same model each time.
    verbose : int, default 0
        1: lines of progress on standard error, with the time that is left.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : columns of X (names if X was a pandas table)
    bandwidth_, alpha_ : what was chosen; `bandwidth_` is None without a map in training
    n_iter_ : epochs of the chosen network; `selected_epoch_` is the one whose weights were kept
    validation_metrics_ : metrics of the chosen model on the validation rows, by the study's names
    history_ : DataFrame of all networks' curves: `alpha`, `bandwidth`, `epoch`, `part` (train or validation), `nll` (of
        the recalibrated distribution), `nll_base`, `pce`, `selected_epoch`; not kept in model files
    seed_ : the number that all random choices came from

    Notes
    -----
    Missing and infinite values are refused with the name of their column. X can be a NumPy array of numbers or a pandas
    DataFrame; quantiles and intervals of a DataFrame are DataFrames with its index, and `predict` gives arrays, as
    scikit-learn's own regressors do. About 40 rows are the least that make sense.
    """

    def __init__(
        self,
        *,
        method: str = "QRTC",
        base_model: BaseModel = "mlp",
        components: int = 3,
        alpha: float | None = None,
        bandwidth: float | Sequence[float] = BANDWIDTHS,
        posthoc_map: PostHoc | None = None,
        posthoc_bandwidth: float | None = None,
        validation_fraction: float = 0.1,
        calibration_fraction: float = 0.15,
        categorical: Sequence[Hashable] | None = None,
        max_epochs: int = 5000,
        patience: int = 15,
        batch_size: int = 512,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.01,
        dropout: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.base_model = base_model
        self.components = components
        self.alpha = alpha
        self.bandwidth = bandwidth
        self.posthoc_map = posthoc_map
        self.posthoc_bandwidth = posthoc_bandwidth
        self.validation_fraction = validation_fraction
        self.calibration_fraction = calibration_fraction
        self.categorical = categorical
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, validation: Own | None = None, calibration: Own | None = None) -> Self:  # noqa: N803
        """Fit to X: (rows, columns) and y: (rows,).

        `validation` and `calibration` are sets (X, y) of the user's own; without them, shares of the rows are drawn.
        """
        start = time.perf_counter()
        with _refused_as_unusable():
            method = chosen_method(
                self.method,
                base_model=self.base_model,
                components=self.components,
                alpha=self.alpha,
                bandwidth=self.bandwidth,
                posthoc_map=self.posthoc_map,
            )
            settings = self._settings()
        table = self._table(X, reset=True)
        columns = learned_columns(table, self.categorical)
        sets = drawn_sets(
            _rows(columns, table, y, "y"),
            self._own_or_share(columns, "validation", validation),
            self._own_or_share(columns, "calibration", calibration),
            seed := _seed(self.random_state),
            needs_calibration=method.posthoc != "none",
        )
        data, columns = sets.standardised(columns)
        log = self._log()
        sizes = ", ".join(f"{data.sizes[part]} {part}" for part in ("train", "validation", "calibration"))
        log(f"{self.method}: {len(method.networks)} network(s), rows: {sizes}; {len(columns.features)} feature(s)")
        with _refused_as_unusable():
            fit = fit_model(data, method, settings, seed, posthoc_bandwidth=self.posthoc_bandwidth, log=log)
        self.seed_ = seed
        self.columns_ = columns
        self._take_over(fit.model, fit.validation_metrics)
        self.history_ = fit.history
        chosen = "" if self.bandwidth_ is None else f"bandwidth {self.bandwidth_:g}, "
        log(
            f"{self.method}: {chosen}{self.n_iter_} epochs, validation NLL {self.validation_metrics_['nll']:.4f}, "
            f"{time.perf_counter() - start:.1f} s"
        )
        return self

    def predict(self, X: Any, statistic: Literal["mean", "median"] = "mean") -> FloatArray:  # noqa: N803
        """The mean, or the median, of each row's distribution: (rows,)."""
        if statistic not in ("mean", "median"):
            raise UnusableInput(f"statistic is {statistic!r}: use 'mean' or 'median'")
        return np.concatenate(self._of_parts(X, lambda part: getattr(part, statistic)()))

    def predict_quantiles(
        self,
        X: Any,  # noqa: N803
        levels: Sequence[float] | npt.NDArray[Any] = (0.05, 0.5, 0.95),
    ) -> FloatArray | pd.DataFrame:
        """Quantiles at these levels: (rows, levels); of a DataFrame a DataFrame with its index and the levels."""
        chosen = np.atleast_1d(np.asarray(levels, dtype=np.float64))
        if chosen.ndim != 1:
            raise UnusableInput(f"levels have the shape {chosen.shape}: give one level, or a list of levels")
        values = np.concatenate(self._of_parts(X, lambda part: part.ppf(chosen)))
        return _like(X, values, chosen.tolist())

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray | pd.DataFrame:  # noqa: N803
        """Central intervals with this probability: (rows, 2); of a DataFrame with the columns `lower`, `upper`."""
        values = np.concatenate(self._of_parts(X, lambda part: part.interval(coverage)))
        return _like(X, values, ["lower", "upper"])

    def predict_distribution(self, X: Any) -> PredictedDistribution:  # noqa: N803
        """The distribution of each row: density, distribution function, quantiles, samples, scores."""
        mixtures = self._of_parts(X, lambda part: part.predictive.mixture)
        mixture = GaussianMixture(*(torch.cat(tensors) for tensors in zip(*mixtures, strict=True)))
        index = X.index if isinstance(X, pd.DataFrame) else None
        return PredictedDistribution(PredictiveDistribution(mixture, self.model_.maps), index)

    def diagnose(self, X: Any, y: Any) -> Diagnosis:  # noqa: N803
        """How well the predictions fit rows that were not fitted: metrics, PITs, coverage, and a plot."""
        distribution = self.predict_distribution(X)
        return diagnose(distribution, _target(y, len(distribution), "y"))

    def save(self, path: str | Path) -> None:
        """Write the fitted model to a file that `load` reads; without pickle."""
        check_is_fitted(self)
        save_model(
            Path(path),
            StoredModel(
                parameters=_storable(self.get_params(), self.seed_),
                feature_names=tuple(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None,
                seed=self.seed_,
                columns=self.columns_,
                model=self.model_,
                validation_metrics=self.validation_metrics_,
            ),
        )

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The model of a file that `save` has written. Other, damaged or harmful files are refused with a reason."""
        stored = load_model(Path(path))
        unknown = set(stored.parameters) ^ set(cls().get_params())
        if unknown:
            raise UnusableInput(f"{path}: its parameters are not those of this version: {', '.join(sorted(unknown))}")
        regressor = cls(**_with_tuples(stored.parameters))
        regressor.n_features_in_ = len(stored.columns.labels)
        if stored.feature_names is not None:
            regressor.feature_names_in_ = np.array(stored.feature_names, dtype=object)
        regressor.seed_ = stored.seed
        regressor.columns_ = stored.columns
        regressor._take_over(stored.model, stored.validation_metrics)
        return regressor

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _take_over(self, model: FittedModel, validation_metrics: dict[str, float]) -> None:
        """Take a fitted model as one's own."""
        self.model_ = model
        self.bandwidth_ = model.network.variant.bandwidth
        self.alpha_ = model.network.variant.alpha
        self.n_iter_ = model.network.epochs
        self.selected_epoch_ = model.network.selected_epoch
        self.validation_metrics_ = validation_metrics

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(
            max_epochs=_whole(self.max_epochs),
            patience=_whole(self.patience),
            batch_size=_whole(self.batch_size),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            record_curves=True,
        )

    def _log(self) -> Callable[[str], None]:
        if not self.verbose:
            return lambda line: None
        return lambda line: print(line, file=sys.stderr, flush=True)

    def _table(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        """X as a DataFrame or as an array of numbers, with the columns of the fit unless it is the fit."""
        if isinstance(X, pd.Series):
            raise UnusableInput(
                "X is a pandas Series, but must be a table: of a single row write X.iloc[[0]] with two brackets, of a "
                "single column X[['name']]"
            )
        if not isinstance(X, pd.DataFrame):
            return self._array(X, reset=reset)
        if not X.columns.is_unique:
            twice = X.columns[X.columns.duplicated()][0]
            raise UnusableInput(f"column name {twice!r} occurs more than once in X; rename one of them")
        validate_data(self, X, reset=reset, skip_check_array=True)
        for size, what in zip(X.shape, ("sample", "feature"), strict=True):
            if size == 0:
                raise UnusableInput(f"Found array with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is required.")
        return X

    def _array(self, X: Any, *, reset: bool) -> npt.NDArray[Any]:  # noqa: N803
        try:
            array: npt.NDArray[Any] = validate_data(self, X, reset=reset, ensure_all_finite=False)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise UnusableInput(
                f"X is an array with text in it ({error}); columns of text are categories in a pandas DataFrame"
            ) from error
        return array

    def _own_or_share(self, columns: TableColumns, name: str, own: Own | None) -> Rows | float:
        """The rows of a set of the user's, or the share of the rows that is to be drawn for it."""
        if own is None:
            share = getattr(self, f"{name}_fraction")
            if not isinstance(share, Real):
                raise UnusableInput(f"{name}_fraction is {share!r}: it must be a number, for example 0.1")
            return float(share)
        try:
            x, y = own
        except (TypeError, ValueError) as error:
            raise UnusableInput(f"{name} must be a pair (X, y) of a table and its targets") from error
        return _rows(columns, self._table(x, reset=False), y, f"y of {name}")

    def _of_parts(self, X: Any, function: Callable[[PredictedDistribution], Result]) -> list[Result]:  # noqa: N803
        """`function` of the distributions of the rows of X, part by part, so that memory is bounded."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        results = []
        with one_thread():
            for start in range(0, len(table), _ROWS_AT_ONCE):
                block = slice(start, start + _ROWS_AT_ONCE)
                part = table.iloc[block] if isinstance(table, pd.DataFrame) else table[block]
                x = self.columns_.standardised(self.columns_.encoded(part, start), start)
                results.append(function(PredictedDistribution(self.model_.predictive(x))))
        return results


@contextmanager
def _refused_as_unusable() -> Iterator[None]:
    """What the engine refuses is a `ValueError`, as scikit-learn's tools expect."""
    try:
        yield
    except UnusableInput:
        raise
    except UserError as error:
        raise UnusableInput(str(error)) from error


def _rows(columns: TableColumns, table: Table, y: Any, name: str) -> Rows:
    return columns.encoded(table), _target(y, len(table), name)


def _target(y: Any, rows: int, name: str) -> FloatArray:
    """The targets as numbers: (rows,)."""
    if y is None:
        raise UnusableInput(f"QRTRegressor requires y to be passed, but the target {name} is None")
    values = column_or_1d(y, warn=True)
    check_consistent_length(np.empty(rows), values)
    if values.dtype.kind in "mM":
        raise UnusableInput(
            f"{name} must be numbers, but has the type {values.dtype}; turn it into numbers, for example of days"
        )
    try:
        numbers = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnusableInput(f"{name} must be numbers, but has the type {np.asarray(values).dtype} ({error})") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise UnusableInput(
            f"{name} is missing (NaN) or infinite (inf) in {len(bad)} of {rows} rows: {numbers[bad[0]]} in row "
            f"{bad[0]} (counted from 0); remove these rows"
        )
    return numbers


def _seed(random_state: int | np.random.RandomState | None) -> int:
    """The number that all random choices of a fit come from: a whole number itself, else one that is drawn."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0:
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _whole(value: Any) -> Any:
    """A whole number of NumPy's as one of Python's; anything else as it is, to be refused."""
    return int(value) if isinstance(value, np.integer) else value


def _like(X: Any, values: FloatArray, columns: list[Any]) -> FloatArray | pd.DataFrame:  # noqa: N803
    """The values as a DataFrame with the index of X if X is one."""
    return pd.DataFrame(values, index=X.index, columns=columns) if isinstance(X, pd.DataFrame) else values


def _storable(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """The parameters of the constructor as JSON has them."""
    stored: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, np.random.RandomState):
            stored[name] = seed
        elif isinstance(value, np.ndarray | np.generic):
            stored[name] = value.tolist()
        elif isinstance(value, tuple | list | set | pd.Index):
            stored[name] = [one.item() if isinstance(one, np.generic) else one for one in value]
        else:
            stored[name] = value
        try:
            json.dumps(stored[name], allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UnusableInput(f"parameter {name} is {value!r}, which a model file cannot hold") from error
    return stored


def _with_tuples(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}
