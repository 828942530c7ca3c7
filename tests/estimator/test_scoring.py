"""Scorers of distributions in scikit-learn's tools, and distributions of models inside of pipelines and searches."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from qrt import QRTRegressor, predict_distribution
from qrt.estimator.unusable_input import UnusableInput
from qrt.scoring import interval_scorer, neg_crps, neg_interval_score, neg_log_score, neg_pce
from support.generated_splits import heteroscedastic

SCORERS = (neg_crps, neg_log_score, neg_pce, neg_interval_score, interval_scorer(0.5))


def fast(**settings: Any) -> QRTRegressor:
    return QRTRegressor(**({"max_epochs": 6, "patience": 2, "bandwidth": 0.1, "random_state": 0} | settings))


@pytest.fixture(scope="module")
def fitted() -> QRTRegressor:
    x, y, _ = heteroscedastic(120)
    return fast().fit(x, y)


def test_scores_are_means_of_the_scores_of_single_rows(fitted: QRTRegressor) -> None:
    x, y, _ = heteroscedastic(80, seed=1)
    distribution, diagnosis = fitted.predict_distribution(x), fitted.diagnose(x, y)
    assert neg_crps(fitted, x, y) == pytest.approx(-distribution.crps(y).mean())
    assert neg_log_score(fitted, x, y) == pytest.approx(-diagnosis.nll)
    assert neg_pce(fitted, x, y) == pytest.approx(-diagnosis.pce)
    for coverage, scorer in ((0.9, neg_interval_score), (0.5, interval_scorer(0.5))):
        low, high = distribution.interval(coverage).T
        off = np.maximum(low - y, 0) + np.maximum(y - high, 0)
        assert scorer(fitted, x, y) == pytest.approx(-(high - low + 2 / (1 - coverage) * off).mean())


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
def test_whole_weights_score_like_repeated_rows_and_their_scale_is_no_matter(fitted: QRTRegressor, scorer: Any) -> None:
    x, y, _ = heteroscedastic(40, seed=2)
    weights = np.random.default_rng(0).integers(0, 4, 40)
    repeated = np.repeat(np.arange(40), weights)
    expected = scorer(fitted, x[repeated], y[repeated])
    assert scorer(fitted, x, y, sample_weight=weights) == pytest.approx(expected, rel=1e-9)
    assert scorer(fitted, x, y, sample_weight=weights / 7) == pytest.approx(expected, rel=1e-9)
    assert scorer(fitted, x, y, sample_weight=np.full(40, 3)) == scorer(fitted, x, y)


@pytest.mark.parametrize("scorer", SCORERS, ids=repr)
@pytest.mark.parametrize("kind", ["Series", "column of a table", "list", "read-only"])
def test_targets_of_any_kind_score_alike(fitted: QRTRegressor, scorer: Any, kind: str) -> None:
    x, y, _ = heteroscedastic(40, seed=2)
    read_only = y.copy()
    read_only.flags.writeable = False  # as pandas 3 gives the values of a column
    frame = pd.DataFrame({"y": y}, index=np.arange(40)[::-1])
    given = {"Series": pd.Series(y), "column of a table": frame["y"], "list": y.tolist(), "read-only": read_only}[kind]
    assert scorer(fitted, x, given) == scorer(fitted, x, y)  # warnings are errors here


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(39), r"shape \(39,\): give one weight for each of the 40"),
        (np.where(np.arange(40) == 3, -1.0, 1.0), "-1.0 in row 3"),
        (np.where(np.arange(40) == 3, np.nan, 1.0), "nan in row 3"),
        (np.zeros(40), "every sample_weight is zero"),
        (["a"] * 40, "must be numbers"),
    ],
)
def test_unusable_weights_are_refused(fitted: QRTRegressor, weights: Any, message: str) -> None:
    x, y, _ = heteroscedastic(40)
    with pytest.raises(UnusableInput, match=message):
        neg_crps(fitted, x, y, sample_weight=weights)


def test_searches_and_cross_validation_take_the_scorers() -> None:
    x, y, _ = heteroscedastic(90)
    grid = {"qrtregressor__method": ["QRC", "QRTC"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), fast()), grid, scoring=neg_crps, cv=2).fit(x, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max() < 0
    assert search.score(x, y) == neg_crps(search, x, y)
    scores = cross_val_score(fast(), x, y, cv=3, scoring=neg_log_score, n_jobs=2)
    by_hand = fast().fit(x[30:], y[30:]).diagnose(x[:30], y[:30]).nll
    assert scores[0] == pytest.approx(-by_hand)
    several = cross_validate(fast(), x, y, cv=2, scoring={"crps": neg_crps, "interval": interval_scorer(0.8)})
    assert (several["test_interval"] < several["test_crps"]).all()
    assert [pickle.loads(pickle.dumps(one)).name for one in SCORERS] == [one.name for one in SCORERS]  # noqa: S301


def test_distribution_comes_out_of_pipelines_and_searches() -> None:
    x, y, _ = heteroscedastic(90)
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(colour=np.where(x[:, 0] > 0, "red", "blue"))
    encoder = make_column_transformer((OneHotEncoder(sparse_output=False), ["colour"]), remainder="passthrough")
    pipeline = make_pipeline(encoder, StandardScaler(), fast()).fit(frame, y)
    by_hand = pipeline[-1].predict_distribution(pipeline[1].transform(pipeline[0].transform(frame)))
    np.testing.assert_array_equal(predict_distribution(pipeline, frame).interval(0.9), by_hand.interval(0.9))
    np.testing.assert_array_equal(predict_distribution(pipeline, frame).mean(), pipeline.predict(frame))
    search = GridSearchCV(Pipeline([("model", fast())]), {"model__method": ["QRC"]}, cv=2).fit(x, y)
    expected = fast(method="QRC").fit(x, y).predict_interval(x)
    np.testing.assert_array_equal(predict_distribution(search, x).interval(), expected)


def test_model_without_distributions_and_map_without_density_are_refused() -> None:
    x, y, _ = heteroscedastic(60)
    with pytest.raises(TypeError, match="DummyRegressor has no method predict_distribution"):
        neg_crps(DummyRegressor().fit(x, y), x, y)
    step = fast(posthoc_map="EMP").fit(x, y)
    assert np.isfinite(neg_crps(step, x, y))
    with pytest.raises(UnusableInput, match="no log score"):
        neg_log_score(step, x, y)
    with pytest.raises(UnusableInput, match="coverage is 90"):
        interval_scorer(90)


def test_interval_score_is_lowest_for_the_true_interval() -> None:
    y = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)

    class Wider:
        def predict_distribution(self, x: np.ndarray) -> Any:
            return stats_interval(float(x[0, 0]), len(x))

    rows = np.ones((4000, 1))
    scores = {width: interval_scorer(0.8)(Wider(), rows * width, y) for width in (0.8, 1.0, 1.25)}
    assert max(scores, key=scores.__getitem__) == 1.0


def stats_interval(width: float, rows: int) -> Any:
    class Fixed:
        def interval(self, coverage: float) -> np.ndarray:
            return np.tile(stats.norm(0, width).interval(coverage), (rows, 1))

    return Fixed()
