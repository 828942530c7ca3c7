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
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy import sparse
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
from qrt.estimator.chosen_method import ENSEMBLE, ChosenMethod, chosen_method
from qrt.estimator.columns import FloatArray, Table, TableColumns, learned_columns
from qrt.estimator.diagnosis import Diagnosis, diagnose
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.fit_sets import Rows, drawn_sets, whole_set
from qrt.estimator.fitted_model import fit_model
from qrt.estimator.interruption import stopped_by_ctrl_c
from qrt.estimator.stored_model import StoredModel, load_model, save_model
from qrt.estimator.threads import one_thread
from qrt.estimator.training_range import FarValue, warn_of_far_rows
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import WeightedTable, with_weight

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from qrt.engine.registry import BaseModel, PostHoc
    from qrt.estimator.fitted_model import FittedModel

Result = TypeVar("Result")
Own = tuple[Any, Any] | tuple[Any, Any, Any]  # X, y and perhaps weights of a set of the user's
MOST_DENSE_BYTES = 2**32  # of a table that was sparse
# Rows that are encoded and computed together; a multiple of what the network takes at once, so that a table gives the
# same numbers whether it is predicted in one call or not.
_ROWS_AT_ONCE = 8192
# Parameters that older model files do not have, with the values that their models were fitted with.
_SINCE_ADDED: dict[str, Any] = {"members": None, "cv": None, "history": False}


class QRTRegressor(RegressorMixin, BaseEstimator):
    """Distributional regression by neural networks that are trained to be calibrated (quantile recalibration training).

    Networks predict a mixture of Gaussians for each row. They are trained with a calibration map in their objective,
    from different starts, and pooled; maps that are fitted to rows set aside recalibrate the pool. The paper's methods
    are there by name. Everything is standardised inside: X and y need no scaling.

    Parameters
    ----------
    method : str, default "ensemble"
        "ensemble": networks of QRT, pooled and recalibrated, which beat single networks on nearly all data
        (docs/ensembles.md). Or a method by its name in the paper, with the paper's settings: "QRTC" (a map in training
        and one after it), "QRT" (in training only), "QRC" (after training only), "BASE" (none; trains on the
        calibration rows as well), "BASE-TRAIN" (none), "QREGC" and "QREG" (regularised), "QRIC", "QRGC", "QRLC"
        (ablations), "QRTC-KDE", "QRTC-TRUNC" (other maps), "QRTC-8", ..., "QRTC-2048" (the map of training from so many
        rows).
    base_model : {"mlp", "resnet"}, default "mlp"
        Three hidden layers of 128 units, or a residual network of 18 layers.
    components : int, default 3
        Gaussian components of the mixture.
    members : int or None, default None
        Networks that are pooled, each with initial weights, batches and dropout masks of its own. None is 1
        for the paper's methods; for "ensemble" 8 up to 2,000 training rows, where they take seconds, and 2 above. More
        are a little better, and cost in proportion.
    alpha : float or None, default None
        Weight of the map in the training objective; None is that of the method (1 for QRT and QRTC).
    bandwidth : float, sequence of float or None, default None
        Bandwidth of the map in training. Of several, the one with the lowest NLL on the validation rows is taken; their
        networks train together. None is 0.2 for "ensemble" and (0.01, 0.05, 0.1, 0.2), the paper's grid, for all
        others. No matter for methods without a map in training.
    posthoc_map : {None, "none", "REFL", "KDE", "TRUNC", "EMP", "DCP"}, default None
        The map that is fitted to the calibration rows; None is that of the method. EMP and DCP have no density.
    posthoc_bandwidth : float, sequence of float or None, default None
        Bandwidth of that map; of several, each is that of one more map, fitted on top of those before. None is
        (0.2, 0.1) for "ensemble", and for all others that of training, or 0.1 without a map in training.
    validation_fraction, calibration_fraction : float, default 0.1 and 0.15
        Shares of the rows of `fit` that are set aside, unless it gets sets of its own. Validation rows tell when to
        stop and which bandwidth to take; the post-hoc map is fitted to calibration rows (2048 at most).
    cv : int or None, default None
        Instead of setting rows aside: so many folds, such as 5. Each has networks of its own that train on the other
        folds (at least one for each), and its rows tell them when to stop and calibrate the pool of all. Every row
        trains, which is more accurate on small data and costs more; intervals cover a little too much.
    categorical : sequence of column names or positions, or None, default None
        Columns of numbers that are categories. Texts and pandas categories are recognised.
    max_epochs, patience : int, default 5000 and 15
        Training stops after `patience` validations (one every two epochs) without improvement.
    batch_size, learning_rate, weight_decay, dropout : default 512, 0.001, 0.01, 0.2
        Of the training by AdamW.
    random_state : int, RandomState or None, default None
        Which rows are set aside, initial weights, order of the rows, dropout. A number gives the same model each time.
    history : bool, default False
        Keep the curves of training as `history_`, for about a quarter more time.
    verbose : int, default 0
        1: lines of progress on standard error, with the time that is left.

    Attributes
    ----------
    n_features_in_, feature_names_in_ : columns of X (names if X was a pandas table)
    bandwidth_, alpha_ : what was chosen; `bandwidth_` is None without a map in training
    n_iter_ : epochs of the chosen network, of a pool the one that trained longest; `selected_epoch_` is the one whose
        weights were kept
    validation_metrics_ : metrics of the chosen model on the validation rows, by the study's names
    history_ : with `history`, a DataFrame of all networks' curves: `alpha`, `bandwidth`, `member`, `epoch`, `part`
        (train or validation), `nll` (with the map of training), `nll_base`, `pce`, `selected_epoch`; not kept in model
        files
    seed_ : the number that all random choices came from

    Notes
    -----
    X can be a NumPy array of numbers, a sparse matrix, a pandas DataFrame, or what has `to_pandas`, as polars. Of a
    pandas DataFrame, quantiles and intervals are DataFrames with its index; `predict` gives arrays, as scikit-learn's
    own regressors do. A missing number is taken as the mean, a missing category as none of the others, and a feature
    of their own tells the network so; infinite values and dates are refused with the name of their column. About 40
    rows are the least that make sense.
    """

    def __init__(
        self,
        *,
        method: str = ENSEMBLE,
        base_model: BaseModel = "mlp",
        components: int = 3,
        members: int | None = None,
        alpha: float | None = None,
        bandwidth: float | Sequence[float] | None = None,
        posthoc_map: PostHoc | None = None,
        posthoc_bandwidth: float | Sequence[float] | None = None,
        validation_fraction: float = 0.1,
        calibration_fraction: float = 0.15,
        cv: int | None = None,
        categorical: Sequence[Hashable] | None = None,
        max_epochs: int = 5000,
        patience: int = 15,
        batch_size: int = 512,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.01,
        dropout: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        history: bool = False,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.base_model = base_model
        self.components = components
        self.members = members
        self.alpha = alpha
        self.bandwidth = bandwidth
        self.posthoc_map = posthoc_map
        self.posthoc_bandwidth = posthoc_bandwidth
        self.validation_fraction = validation_fraction
        self.calibration_fraction = calibration_fraction
        self.cv = cv
        self.categorical = categorical
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.dropout = dropout
        self.random_state = random_state
        self.history = history
        self.verbose = verbose

    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        *,
        validation: Own | None = None,
        calibration: Own | None = None,
    ) -> Self:
        """Fit to X: (rows, columns) and y: (rows,).

        `sample_weight`: (rows,) are weights of the rows, in training, early stopping, calibration and metrics: a row of
        weight 2 counts like two rows, one of weight 0 like none, and the scale of all weights is no matter.
        `validation` and `calibration` are sets (X, y) or (X, y, weights) of the user's own; without them, shares of the
        rows are drawn.
        """
        start = time.perf_counter()
        chosen, settings = self.checked_parameters()
        given = with_weight(self._table(X, reset=True), y, sample_weight)
        columns = learned_columns(given.table, self.categorical)
        _check_memory(given.table, columns)
        rows, seed = _rows(columns, given, "y"), _seed(self.random_state)
        if self.cv is None:
            sets = drawn_sets(
                rows,
                self._own_or_share(columns, "validation", validation),
                self._own_or_share(columns, "calibration", calibration),
                seed,
                needs_calibration=chosen.method.posthoc != "none",
            )
        else:
            self._check_cross_fitting(chosen, validation, calibration)
            sets = whole_set(rows, self.cv)
        data, columns = sets.standardised(columns)
        log = self._log()
        sizes = ", ".join(f"{data.sizes[part]} {part}" for part in ("train", "validation", "calibration"))
        networks = len(chosen.method.networks) * chosen.members_for(data.sizes["train"])
        log(f"{self.method}: {networks} network(s), rows: {sizes}; {len(columns.features)} feature(s)")
        with _refused_as_unusable(), stopped_by_ctrl_c() as stop:
            fit = fit_model(data, chosen, settings, seed, cv=self.cv, log=log, stop=stop)
        self.seed_ = seed
        self.columns_ = columns
        self._take_over(fit.model, fit.validation_metrics)
        if fit.history is not None:
            self.history_ = fit.history
        elif hasattr(self, "history_"):  # of an earlier fit
            del self.history_
        if stop():
            warnings.warn(
                f"training was interrupted (Ctrl-C) after {self.n_iter_} epochs: the model is the best until then, of "
                f"epoch {self.selected_epoch_}",
                UserWarning,
                stacklevel=2,
            )
        bandwidth = "" if self.bandwidth_ is None else f"bandwidth {self.bandwidth_:g}, "
        log(
            f"{self.method}: {bandwidth}{self.n_iter_} epochs, validation NLL {self.validation_metrics_['nll']:.4f}, "
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
        quantiles: Sequence[float] | npt.NDArray[Any] = (0.05, 0.5, 0.95),
    ) -> FloatArray | pd.DataFrame:
        """Quantiles at these levels: (rows, levels); of a DataFrame a DataFrame with its index and the levels."""
        chosen = np.atleast_1d(np.asarray(quantiles, dtype=np.float64))
        if chosen.ndim != 1:
            raise UnusableInput(f"quantiles have the shape {chosen.shape}: give one level, or a list of levels")
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

    def diagnose(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Diagnosis:  # noqa: N803
        """How well the predictions fit rows that were not fitted, by their weights: metrics, PITs, coverage, a plot."""
        distribution = self.predict_distribution(X)
        return diagnose(distribution, _target(y, len(distribution), "y"), sample_weight)

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
        parameters = _SINCE_ADDED | stored.parameters
        unknown = set(parameters) ^ set(cls().get_params())
        if unknown:
            raise UnusableInput(f"{path}: its parameters are not those of this version: {', '.join(sorted(unknown))}")
        regressor = cls(**_with_tuples(parameters))
        regressor.n_features_in_ = len(stored.columns.labels)
        if stored.feature_names is not None:
            regressor.feature_names_in_ = np.array(stored.feature_names, dtype=object)
        regressor.seed_ = stored.seed
        regressor.columns_ = stored.columns
        regressor._take_over(stored.model, stored.validation_metrics)
        return regressor

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def _take_over(self, model: FittedModel, validation_metrics: dict[str, float]) -> None:
        """Take a fitted model as one's own."""
        self.model_ = model
        self.bandwidth_ = model.variant.bandwidth
        self.alpha_ = model.variant.alpha
        self.n_iter_ = model.longest.epochs
        self.selected_epoch_ = model.longest.selected_epoch
        self.validation_metrics_ = validation_metrics

    def _check_cross_fitting(self, chosen: ChosenMethod, validation: Own | None, calibration: Own | None) -> None:
        if chosen.method.posthoc == "none":
            raise UnusableInput(f"cv is {self.cv}, but {self.method} has no post-hoc map to calibrate: use cv=None")
        if validation is not None or calibration is not None:
            raise UnusableInput(
                f"cv is {self.cv}: the folds validate and calibrate each other, so give no sets of your own, or cv=None"
            )

    def checked_parameters(self) -> tuple[ChosenMethod, TrainingSettings]:
        """What the parameters ask for; `UnusableInput` if a fit would refuse them, whatever the data."""
        with _refused_as_unusable():
            chosen = chosen_method(
                self.method,
                base_model=self.base_model,
                components=self.components,
                members=self.members,
                alpha=self.alpha,
                bandwidth=self.bandwidth,
                posthoc_map=self.posthoc_map,
                posthoc_bandwidth=self.posthoc_bandwidth,
            )
            return chosen, self._settings()

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(
            max_epochs=_whole(self.max_epochs),
            patience=_whole(self.patience),
            batch_size=_whole(self.batch_size),
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            dropout=self.dropout,
            record_curves=bool(self.history),
        )

    def _log(self) -> Callable[[str], None]:
        if not self.verbose:
            return lambda line: None
        return lambda line: print(line, file=sys.stderr, flush=True)

    def _table(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        """X as a DataFrame or as an array of numbers, with the columns of the fit unless it is the fit."""
        if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):  # polars, Arrow, ...
            X = X.to_pandas()  # noqa: N806
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

    def _array(self, X: Any, *, reset: bool) -> Table:  # noqa: N803
        try:
            array: Table = validate_data(self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False)
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
        if not isinstance(own, tuple | list) or len(own) not in (2, 3):
            raise UnusableInput(f"{name} must be a pair (X, y) of a table and its targets, or (X, y, weights)")
        x, y, weights = (*own, None)[:3]
        given = with_weight(self._table(x, reset=False), y, weights, f"weights of {name}")
        return _rows(columns, given, f"y of {name}")

    def _of_parts(self, X: Any, function: Callable[[PredictedDistribution], Result]) -> list[Result]:  # noqa: N803
        """`function` of the distributions of the rows of X, part by part, so that memory is bounded."""
        check_is_fitted(self)
        table = self._table(X, reset=False)
        results, far = [], list[FarValue]()
        with one_thread():
            for start in range(0, table.shape[0], _ROWS_AT_ONCE):
                block = slice(start, start + _ROWS_AT_ONCE)
                part = table.iloc[block] if isinstance(table, pd.DataFrame) else table[block]
                x = self.columns_.standardised(self.columns_.encoded(part, start), start)
                far += self._far_outside(x, start)
                results.append(function(PredictedDistribution(self.model_.predictive(x))))
        warn_of_far_rows(far)
        return results

    def _far_outside(self, x: npt.NDArray[np.float32], first_row: int) -> list[FarValue]:
        """The rows of standardised x: (n, features) that are far from the training rows, each with its first value."""
        limits, columns = self.model_.training_range, self.columns_
        if limits is None:
            return []
        far = limits.far_outside(x)
        found = []
        for row in np.flatnonzero(far.any(axis=1)):
            feature = int(far[row].argmax())
            standardised = (x[row, feature], limits.lows[feature], limits.highs[feature])
            scale = float(columns.scales[feature])
            value, low, high = (float(one * scale + columns.means[feature]) for one in standardised)
            found.append(FarValue(first_row + int(row), columns.features[feature], value, low, high, scale))
        return found


@contextmanager
def _refused_as_unusable() -> Iterator[None]:
    """What the engine refuses is a `ValueError`, as scikit-learn's tools expect."""
    try:
        yield
    except UnusableInput:
        raise
    except UserError as error:
        raise UnusableInput(str(error)) from error


def _rows(columns: TableColumns, given: WeightedTable, name: str) -> Rows:
    return Rows(columns.encoded(given.table), _target(given.y, given.table.shape[0], name), given.weights)


def _check_memory(table: Table, columns: TableColumns) -> None:
    """Refuse a sparse table that would not fit into memory as the networks take it."""
    size = table.shape[0] * len(columns.features) * np.dtype(np.float32).itemsize
    if sparse.issparse(table) and size > MOST_DENSE_BYTES:
        raise UnusableInput(
            f"X is sparse with {table.shape[0]} rows and {table.shape[1]} columns, but networks take it dense, which "
            f"would be {size / 1e9:.3g} GB: reduce its columns, for example with sklearn.decomposition.TruncatedSVD"
        )


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
