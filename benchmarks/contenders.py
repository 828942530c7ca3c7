"""What benchmarks/comparison.py compares: each package as its documentation shows it, with its defaults.

Every contender gets the same rows. What is trained step by step (QRT, NGBoost, CatBoost) takes the validation rows to
know when to stop, what calibrates takes the calibration rows for it, and rows that a contender has no other use for are
rows to train on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from scipy import stats
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from qrt import QRTRegressor, QuantileRecalibrator, distribution_from_quantiles
from qrt.engine.calibration_error import pce_levels
from qrt.engine.scores import LEVELS
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution

FloatArray = npt.NDArray[np.float64]
Rows = tuple[FloatArray, FloatArray]  # x: (n, features) and y: (n,)
Scores = dict[str, float]

COVERAGE = 0.9
SMALL, LARGE = (1 - COVERAGE) / 2, (1 + COVERAGE) / 2
QUANTILE_LEVELS = LEVELS.tolist()


class Parts(Protocol):
    """The rows of one split."""

    def rows(self, *parts: str) -> Rows:
        """x and y of some of train, validation, calibration and test, in this order."""


Scored = Callable[[FloatArray, FloatArray], Scores]  # a fitted model's scores for x and y of test rows


@dataclass(frozen=True)
class Contender:
    """One way to predict. `fit(parts, seed)` gives the fitted model's scores as a function of test rows."""

    name: str
    package: str
    settings: str
    fit: Callable[[Parts, int], Scored]


def of_distribution(distribution: Any, y: FloatArray, *, density: bool = True) -> Scores:
    """All scores of N predictive distributions with cdf, pdf and ppf."""
    if not hasattr(distribution, "crps"):
        distribution = RecalibratedDistribution(AnyDistribution(distribution), ())
    scores = of_interval(distribution.ppf([SMALL, LARGE]), y)
    if density:
        scores["nll"] = float(distribution.log_score(y).mean())
    return scores | {
        "crps": float(distribution.crps(y).mean()),
        "pce": float(pce_levels(torch.from_numpy(distribution.cdf(y)))),
    }


def of_interval(ends: FloatArray, y: FloatArray) -> Scores:
    """Coverage and mean length of intervals with these ends: (N, 2)."""
    low, high = ends.T
    return {"coverage_90": float(((low <= y) & (y <= high)).mean()), "length_90": float((high - low).mean())}


def _qrt(**parameters: Any) -> Callable[[Parts, int], Scored]:
    def fit(parts: Parts, seed: int) -> Scored:
        model = QRTRegressor(random_state=seed, **parameters)
        model.fit(*parts.rows("train"), validation=parts.rows("validation"), calibration=parts.rows("calibration"))
        return lambda x, y: of_distribution(model.predict_distribution(x), y)

    return fit


Predictor = Callable[[FloatArray], Any]  # x to predictive distributions
Base = Callable[[Rows, Rows, int], Predictor]  # rows to train on, validation rows and a seed to a fitted model


def _alone(base: Base, *, density: bool = True) -> Callable[[Parts, int], Scored]:
    """A model that trains on the calibration rows, too."""

    def fit(parts: Parts, seed: int) -> Scored:
        predict = base(parts.rows("train", "calibration"), parts.rows("validation"), seed)
        return lambda x, y: of_distribution(predict(x), y, density=density)

    return fit


def _recalibrated(base: Base) -> Callable[[Parts, int], Scored]:
    """A model that is recalibrated on the calibration rows."""

    def fit(parts: Parts, seed: int) -> Scored:
        predict = base(parts.rows("train"), parts.rows("validation"), seed)
        x_calibration, y_calibration = parts.rows("calibration")
        recalibrator = QuantileRecalibrator().fit_distribution(predict(x_calibration), y_calibration)
        return lambda x, y: of_distribution(recalibrator.transform(predict(x)), y)

    return fit


def _ngboost(train: Rows, validation: Rows, seed: int) -> Predictor:
    from ngboost import NGBRegressor

    model = NGBRegressor(random_state=seed, verbose=False).fit(*train, *validation)

    def predict(points: FloatArray) -> Any:
        predicted = model.pred_dist(points, max_iter=model.best_val_loss_itr)
        return stats.norm(predicted.params["loc"], predicted.params["scale"])

    return predict


def _catboost(loss: str, seed: int) -> Any:
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        loss_function=loss, random_seed=seed, verbose=False, allow_writing_files=False, thread_count=1
    )


def _catboost_normal(train: Rows, validation: Rows, seed: int) -> Predictor:
    model = _catboost("RMSEWithUncertainty", seed).fit(*train, eval_set=validation)

    def predict(points: FloatArray) -> Any:
        mean, variance = model.predict(points).T
        return stats.norm(mean, np.sqrt(variance))

    return predict


def _catboost_quantiles(train: Rows, validation: Rows, seed: int) -> Predictor:
    levels = ",".join(f"{level:.2f}" for level in QUANTILE_LEVELS)
    model = _catboost(f"MultiQuantile:alpha={levels}", seed).fit(*train, eval_set=validation)
    return lambda points: distribution_from_quantiles(QUANTILE_LEVELS, model.predict(points))


def _crepes(parts: Parts, seed: int) -> Scored:
    from crepes import WrapRegressor

    system = WrapRegressor(RandomForestRegressor(random_state=seed))
    system.fit(*parts.rows("train", "validation"))
    system.calibrate(*parts.rows("calibration"), cps=True, seed=seed)

    def scored(x: FloatArray, y: FloatArray) -> Scores:
        pits = system.predict_cps(x, y=y, seed=seed)
        ends = system.predict_cps(x, lower_percentiles=100 * SMALL, higher_percentiles=100 * LARGE, seed=seed)
        values = np.sort(system.predict_cpds(x, seed=seed), axis=1)
        return of_interval(ends, y) | {
            "crps": float(_crps_of_steps(values, y).mean()),
            "pce": float(pce_levels(torch.from_numpy(np.asarray(pits, dtype=np.float64)))),
        }

    return scored


def _crps_of_steps(values: FloatArray, y: FloatArray) -> FloatArray:
    """CRPS of equally likely sorted values: (N, M), by E|X - y| - E|X - X'| / 2."""
    count = values.shape[1]
    weights = (2 * np.arange(1, count + 1) - count - 1) / count**2
    distance: FloatArray = np.abs(values - y[:, np.newaxis]).mean(axis=1)
    return distance - (values * weights).sum(axis=1)


def _mapie_split(parts: Parts, seed: int) -> Scored:
    from mapie.regression import SplitConformalRegressor

    model = SplitConformalRegressor(RandomForestRegressor(random_state=seed), confidence_level=COVERAGE, prefit=False)
    model.fit(*parts.rows("train", "validation")).conformalize(*parts.rows("calibration"))
    return lambda x, y: of_interval(model.predict_interval(x)[1][:, :, 0], y)


def _mapie_quantile(parts: Parts, seed: int) -> Scored:
    from mapie.regression import ConformalizedQuantileRegressor

    trees = GradientBoostingRegressor(loss="quantile", random_state=seed)
    model = ConformalizedQuantileRegressor(trees, confidence_level=COVERAGE, prefit=False)
    model.fit(*parts.rows("train", "validation")).conformalize(*parts.rows("calibration"))
    return lambda x, y: of_interval(model.predict_interval(x)[1][:, :, 0], y)


CONTENDERS = (
    Contender("QRT", "qrt", "`QRTRegressor()`: the bandwidth is chosen among four on the validation rows", _qrt()),
    Contender("QRT, b = 0.1", "qrt", "`QRTRegressor(bandwidth=0.1)`: nothing is chosen", _qrt(bandwidth=0.1)),
    Contender(
        "NGBoost", "ngboost", "`NGBRegressor()`: normal distributions, best of at most 500 steps", _alone(_ngboost)
    ),
    Contender("NGBoost, recalibrated", "ngboost", "the same, then `QuantileRecalibrator()`", _recalibrated(_ngboost)),
    Contender(
        "CatBoost",
        "catboost",
        '`CatBoostRegressor(loss_function="RMSEWithUncertainty")`: normal distributions, best of at most 1000 steps',
        _alone(_catboost_normal),
    ),
    Contender(
        "CatBoost, recalibrated", "catboost", "the same, then `QuantileRecalibrator()`", _recalibrated(_catboost_normal)
    ),
    Contender(
        "CatBoost quantiles",
        "catboost",
        '`CatBoostRegressor(loss_function="MultiQuantile:alpha=0.05,0.10,...,0.95")`, best of at most 1000 steps',
        _alone(_catboost_quantiles, density=False),
    ),
    Contender(
        "CatBoost quantiles, recalibrated",
        "catboost",
        "the same, then `distribution_from_quantiles` and `QuantileRecalibrator()`",
        _recalibrated(_catboost_quantiles),
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
        '`ConformalizedQuantileRegressor(GradientBoostingRegressor(loss="quantile"))`',
        _mapie_quantile,
    ),
)
