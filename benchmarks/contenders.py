"""What benchmarks/comparison.py compares: each package as its documentation shows it, untuned.

Every contender gets the same rows. What is trained step by step (QRT, NGBoost, CatBoost, RealMLP) takes the validation
rows to know when to stop, what calibrates takes the calibration rows for it, and rows that a contender has no other use
for are rows to train on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from qrt import QRTRegressor, distribution_from_quantiles
from qrt.engine.calibration_error import pce_levels
from qrt.engine.scores import LEVELS
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution

FloatArray = npt.NDArray[np.float64]
Rows = tuple[FloatArray, FloatArray]  # x: (n, features) and y: (n,)
Scores = dict[str, float]

COVERAGES = (0.5, 0.8, 0.9, 0.95)
LOWER = [(1 - coverage) / 2 for coverage in COVERAGES]
UPPER = [(1 + coverage) / 2 for coverage in COVERAGES]
# 0.05, 0.1, ..., 0.95 and the ends of the 95 % interval.
QUANTILE_LEVELS = [0.025, *LEVELS.tolist(), 0.975]


class Parts(Protocol):
    """The rows of one split."""

    def rows(self, *parts: str) -> Rows:
        """x and y of some of train, validation, calibration and test, in this order."""


@dataclass(frozen=True)
class Predicted:
    """Predictions for N rows: the ends (N, 2) of the intervals of COVERAGES, and the scores that targets give."""

    intervals: list[FloatArray]
    scores: Callable[[FloatArray], Scores] = lambda y: {}

    def scored(self, y: FloatArray) -> Scores:
        """All scores there are of targets y: (N,)."""
        found = self.scores(y)
        for coverage, ends in zip(COVERAGES, self.intervals, strict=True):
            low, high = ends.T
            inside = ((low <= y) & (y <= high)).mean() if np.isfinite(ends).all() else np.nan
            found[f"coverage_{100 * coverage:g}"] = float(inside)
            found[f"length_{100 * coverage:g}"] = float((high - low).mean())
        return found


Model = Callable[[FloatArray], Predicted]  # predictions for x: (N, features)


@dataclass(frozen=True)
class Contender:
    """One way to predict; `fit(parts, seed)` gives the fitted model. Those that take long have a limit of rows."""

    name: str
    package: str
    settings: str
    fit: Callable[[Parts, int], Model]
    most_rows: float = np.inf  # of training


def of_distribution(distribution: Any, *, density: bool = True) -> Predicted:
    """Predictions that are distributions with cdf, pdf and ppf."""
    if not hasattr(distribution, "crps"):
        distribution = RecalibratedDistribution(AnyDistribution(distribution), ())

    def scores(y: FloatArray) -> Scores:
        nll = {"nll": float(distribution.log_score(y).mean())} if density else {}
        pce = float(pce_levels(torch.from_numpy(distribution.cdf(y))))
        return nll | {"crps": float(distribution.crps(y).mean()), "pce": pce}

    return Predicted(_pairs(distribution.ppf([*LOWER, *UPPER])), scores)


def _pairs(ends: FloatArray) -> list[FloatArray]:
    """Intervals from all lower and then all upper ends: (N, 2 len(COVERAGES))."""
    return [ends[:, [number, number + len(COVERAGES)]] for number in range(len(COVERAGES))]


def _of_quantiles(values: npt.ArrayLike) -> Predicted:
    """Predictions that are quantiles at QUANTILE_LEVELS; between them a distribution of ours, without a density."""
    return of_distribution(distribution_from_quantiles(QUANTILE_LEVELS, values), density=False)


def _qrt(**parameters: Any) -> Callable[[Parts, int], Model]:
    def fit(parts: Parts, seed: int) -> Model:
        model = QRTRegressor(random_state=seed, **parameters)
        model.fit(*parts.rows("train"), validation=parts.rows("validation"), calibration=parts.rows("calibration"))
        return lambda x: of_distribution(model.predict_distribution(x))

    return fit


def _qrt_folds(parts: Parts, seed: int) -> Model:
    model = QRTRegressor(cv=5, random_state=seed).fit(*parts.rows("train", "validation", "calibration"))
    return lambda x: of_distribution(model.predict_distribution(x))


def _ngboost(parts: Parts, seed: int) -> Model:
    from ngboost import NGBRegressor

    model = NGBRegressor(random_state=seed, verbose=False)
    model.fit(*parts.rows("train", "calibration"), *parts.rows("validation"))

    def predict(x: FloatArray) -> Predicted:
        predicted = model.pred_dist(x, max_iter=model.best_val_loss_itr)
        return of_distribution(stats.norm(predicted.params["loc"], predicted.params["scale"]))

    return predict


def _catboost(loss: str, parts: Parts, seed: int) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function=loss, random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
    )
    return model.fit(*parts.rows("train", "calibration"), eval_set=parts.rows("validation"))


def _catboost_normal(parts: Parts, seed: int) -> Model:
    model = _catboost("RMSEWithUncertainty", parts, seed)

    def predict(x: FloatArray) -> Predicted:
        mean, variance = model.predict(x).T
        return of_distribution(stats.norm(mean, np.sqrt(variance)))

    return predict


def _catboost_quantiles(parts: Parts, seed: int) -> Model:
    levels = ",".join(f"{level:.3f}" for level in QUANTILE_LEVELS)
    model = _catboost(f"MultiQuantile:alpha={levels}", parts, seed)
    return lambda x: _of_quantiles(model.predict(x))


def _hist_gradient_boosting(parts: Parts, seed: int) -> Model:
    rows = parts.rows("train", "validation", "calibration")
    models = [
        HistGradientBoostingRegressor(loss="quantile", quantile=level, random_state=seed).fit(*rows)
        for level in QUANTILE_LEVELS
    ]
    return lambda x: _of_quantiles(np.stack([model.predict(x) for model in models], axis=1))


def _quantile_forest(parts: Parts, seed: int) -> Model:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=seed).fit(*parts.rows("train", "validation", "calibration"))
    return lambda x: _of_quantiles(model.predict(x, quantiles=QUANTILE_LEVELS))


def _realmlp(parts: Parts, seed: int) -> Model:
    from pytabkit import RealMLP_TD_Regressor

    loss = f"multi_pinball({','.join(f'{level:g}' for level in QUANTILE_LEVELS)})"
    model = RealMLP_TD_Regressor(
        device="cpu", random_state=seed, n_threads=1, train_metric_name=loss, val_metric_name=loss
    )
    model.fit(*parts.rows("train", "calibration"), *parts.rows("validation"))
    return lambda x: _of_quantiles(model.predict(x))


def _crepes(parts: Parts, seed: int) -> Model:
    from crepes import WrapRegressor

    system = WrapRegressor(RandomForestRegressor(random_state=seed))
    system.fit(*parts.rows("train", "validation"))
    system.calibrate(*parts.rows("calibration"), cps=True, seed=seed)

    def predict(x: FloatArray) -> Predicted:
        low, high = ([100 * level for level in levels] for levels in (LOWER, UPPER))
        ends = system.predict_cps(x, lower_percentiles=low, higher_percentiles=high, seed=seed)

        def scores(y: FloatArray) -> Scores:
            pits = np.asarray(system.predict_cps(x, y=y, seed=seed), dtype=np.float64)
            values = np.sort(system.predict_cpds(x, seed=seed), axis=1)
            return {"crps": float(_crps_of_steps(values, y).mean()), "pce": float(pce_levels(torch.from_numpy(pits)))}

        return Predicted(_pairs(ends), scores)

    return predict


def _crps_of_steps(values: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS of equally likely sorted values: (N, M), by E|X - y| - E|X - X'| / 2."""
    count = values.shape[1]
    weights = (2 * np.arange(1, count + 1) - count - 1) / count**2
    distance: FloatArray = np.abs(values - y[:, np.newaxis]).mean(axis=1)
    return distance - (values * weights).sum(axis=1)


def _mapie_split(parts: Parts, seed: int) -> Model:
    from mapie.regression import SplitConformalRegressor

    forest = RandomForestRegressor(random_state=seed)
    model = SplitConformalRegressor(forest, confidence_level=list(COVERAGES), prefit=False)
    model.fit(*parts.rows("train", "validation")).conformalize(*parts.rows("calibration"))

    def predict(x: FloatArray) -> Predicted:
        ends = model.predict_interval(x)[1]
        return Predicted([ends[:, :, number] for number in range(len(COVERAGES))])

    return predict


def _mapie_quantile(parts: Parts, seed: int) -> Model:
    from mapie.regression import ConformalizedQuantileRegressor

    # It refuses coverages that so few calibration rows cannot show.
    possible = [coverage for coverage in COVERAGES if len(parts.rows("calibration")[1]) > 2 / (1 - coverage)]
    models = {}
    for coverage in possible:
        trees = HistGradientBoostingRegressor(loss="quantile", random_state=seed)
        model = ConformalizedQuantileRegressor(trees, confidence_level=coverage, prefit=False)
        models[coverage] = model.fit(*parts.rows("train", "validation")).conformalize(*parts.rows("calibration"))

    def predict(x: FloatArray) -> Predicted:
        nothing = np.full((len(x), 2), np.nan)
        return Predicted(
            [
                models[coverage].predict_interval(x)[1][:, :, 0] if coverage in models else nothing
                for coverage in COVERAGES
            ]
        )

    return predict


CONTENDERS = (
    Contender("QRT", "qrt", "`QRTRegressor()`: an ensemble, with two maps on its pool", _qrt()),
    Contender("QRT, cv = 5", "qrt", "`QRTRegressor(cv=5)`: an ensemble of all rows", _qrt_folds),
    Contender("QRTC", "qrt", '`QRTRegressor(method="QRTC")`: as the paper\'s text has it', _qrt(method="QRTC")),
    Contender("QRC", "qrt", '`QRTRegressor(method="QRC")`: a plain network, recalibrated', _qrt(method="QRC")),
    Contender("NGBoost", "ngboost", "`NGBRegressor()`: normal distributions, best of at most 500 steps", _ngboost),
    Contender(
        "CatBoost",
        "catboost",
        '`CatBoostRegressor(loss_function="RMSEWithUncertainty")`: normal distributions, best of at most 1000 steps',
        _catboost_normal,
    ),
    Contender(
        "CatBoost quantiles",
        "catboost",
        '`CatBoostRegressor(loss_function="MultiQuantile:alpha=0.025,0.05,0.1,...,0.95,0.975")`, best of at most 1000 '
        "steps",
        _catboost_quantiles,
    ),
    Contender(
        "HGB quantiles",
        "scikit-learn",
        '`HistGradientBoostingRegressor(loss="quantile")` for each of the same 21 levels',
        _hist_gradient_boosting,
    ),
    Contender(
        "Quantile forest", "quantile-forest", "`RandomForestQuantileRegressor()`, the same 21 levels", _quantile_forest
    ),
    Contender(
        "RealMLP quantiles",
        "pytabkit",
        '`RealMLP_TD_Regressor(train_metric_name="multi_pinball(0.025,0.05,0.1,...)")`, datasets of at most 1,000 '
        "training rows",
        _realmlp,
        most_rows=1000,
    ),
    Contender(
        "crepes",
        "crepes",
        "`WrapRegressor(RandomForestRegressor())`, `calibrate(..., cps=True)`: a conformal predictive system",
        _crepes,
    ),
    Contender(
        "MAPIE, split", "mapie", "`SplitConformalRegressor(RandomForestRegressor(), prefit=False)`", _mapie_split
    ),
    Contender(
        "MAPIE, quantile",
        "mapie",
        '`ConformalizedQuantileRegressor(HistGradientBoostingRegressor(loss="quantile"), prefit=False)`, once for each '
        "coverage",
        _mapie_quantile,
    ),
)
