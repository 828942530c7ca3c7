"""Weights of rows in the regressor: in training, early stopping, calibration, diagnosis and model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from qrt import QRTRegressor, QuantileRecalibrator, predict_distribution
from qrt.engine.calibration_map import fit_map
from qrt.engine.registry import MAP_NAMES, MapName, PostHoc
from qrt.estimator.diagnosis import diagnose
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import effective_rows
from qrt.scoring import neg_crps
from support.generated_splits import heteroscedastic

FAST: dict[str, Any] = {"max_epochs": 6, "patience": 2, "bandwidth": 0.1, "random_state": 0}


def weights_of(rows: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 4, rows).astype(float)


@pytest.mark.parametrize("weights", [np.full(90, 7.0), [2] * 90, pd.Series(np.ones(90))])
def test_equal_weights_are_none(weights: Any) -> None:
    x, y, _ = heteroscedastic(90)
    expected = QRTRegressor(**FAST).fit(x, y)
    found = QRTRegressor(**FAST).fit(x, y, sample_weight=weights)
    np.testing.assert_array_equal(found.predict_quantiles(x), expected.predict_quantiles(x))


@pytest.mark.parametrize("method", ["QRTC", "BASE", "QRT"])
def test_rows_of_weight_zero_are_as_if_they_were_not_there(method: str) -> None:
    x, y, _ = heteroscedastic(150)
    weights = np.random.default_rng(0).uniform(0.5, 2, 150)
    weights[::3] = 0.0
    kept = weights > 0
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(word=np.where(kept, "kept", "unseen"))
    expected = QRTRegressor(method=method, **FAST).fit(frame[kept], y[kept], sample_weight=weights[kept])
    wrong = np.where(kept, y, np.nan)  # a target that nobody knows has no weight
    found = QRTRegressor(method=method, **FAST).fit(frame, wrong, sample_weight=weights)
    assert found.columns_.features == expected.columns_.features
    np.testing.assert_array_equal(found.predict_quantiles(frame[kept]), expected.predict_quantiles(frame[kept]))


def test_post_hoc_map_is_that_of_the_weighted_calibration_rows() -> None:
    x, y, _ = heteroscedastic(160)
    weights = weights_of(60)
    fitted = {}
    names: tuple[MapName, ...] = ("REFL", "KDE")
    for name in names:
        model = QRTRegressor(posthoc_map=name, posthoc_bandwidth=0.2, **FAST)
        model.fit(x[:80], y[:80], validation=(x[80:100], y[80:100]), calibration=(x[100:], y[100:], weights))
        fitted[name] = model.model_.maps[-1]
        repeated = np.repeat(np.arange(100, 160), weights.astype(int))
        plain = QRTRegressor(posthoc_map="none", **FAST)
        plain.fit(x[:80], y[:80], validation=(x[80:100], y[80:100]), calibration=(x[100:], y[100:]))
        base = plain.predict_distribution(x[repeated]).predictive
        pits = base.pit(torch.from_numpy(y[repeated]))
        # The kernel is as wide as for the rows that the weights are worth, not for all that they would be repeated to.
        wider = (len(repeated) / effective_rows(weights)) ** 0.2
        expected = fit_map(name, pits, 0.2 * wider)
        points = torch.linspace(0, 1, 50, dtype=torch.float64)
        np.testing.assert_allclose(fitted[name].cdf(points), expected.cdf(points), atol=1e-5)  # targets are float32


def test_weights_of_the_training_rows_decide_between_two_stories() -> None:
    """One half of the rows says 5, the other -5; only weights tell which."""
    x, noise, _ = heteroscedastic(800)
    high = np.arange(800) % 2 == 0
    y = np.where(high, 5.0, -5.0) + 0.1 * noise
    for weight, expected in ((100.0, 5.0), (0.01, -5.0)):
        model = QRTRegressor(bandwidth=0.1, max_epochs=40, random_state=0)
        model.fit(x, y, sample_weight=np.where(high, weight, 1.0))
        assert np.median(model.predict(x, statistic="median")) == pytest.approx(expected, abs=0.5)
        low, top = np.asarray(model.predict_quantiles(x, [0.1, 0.9])).T
        assert (np.median(low) - expected) * (np.median(top) - expected) < 0


def test_validation_metrics_and_history_are_weighted() -> None:
    x, y, _ = heteroscedastic(120)
    weights = weights_of(30)
    sets: dict[str, Any] = {"validation": (x[90:], y[90:], weights), "calibration": (x[60:90], y[60:90])}
    model = QRTRegressor(**FAST).fit(x[:60], y[:60], **sets)
    expected = model.diagnose(x[90:], y[90:], sample_weight=weights)
    for name in ("nll", "crps", "pce_levels", "coverage_90"):
        assert model.validation_metrics_[name] == pytest.approx(expected.metrics[name], abs=1e-5)
    of_f = QRTRegressor(method="BASE-TRAIN", history=True, **FAST).fit(x[:60], y[:60], **sets)
    curve = of_f.history_.query(f"part == 'validation' and epoch == {of_f.selected_epoch_}")
    assert curve["nll"].iloc[0] == pytest.approx(of_f.validation_metrics_["nll"], abs=1e-4)


def test_diagnosis_of_whole_weights_is_that_of_repeated_rows_with_bands_of_fewer() -> None:
    x, y, _ = heteroscedastic(90)
    model = QRTRegressor(**FAST).fit(x, y)
    weights = weights_of(90)
    rows = np.repeat(np.arange(90), weights.astype(int))
    distribution = model.predict_distribution(x)
    found = diagnose(distribution, y, weights)
    expected = diagnose(distribution[rows], y[rows])
    for name, value in found.metrics.items():
        assert value == pytest.approx(expected.metrics[name], rel=1e-9), name
    for table in ("coverage", "reliability", "pit_histogram"):
        one, other = getattr(found, table)(), getattr(expected, table)()
        column = "density" if table == "pit_histogram" else "observed"
        np.testing.assert_allclose(one[column], other[column], rtol=1e-9)
        assert (one["upper"] - one["lower"]).mean() > (other["upper"] - other["lower"]).mean()
    assert effective_rows(weights) < len(rows)
    assert "90 % interval: covers" in str(found)


@pytest.mark.parametrize("name", MAP_NAMES)
def test_recalibrator_takes_weights(name: str) -> None:
    pits = np.random.default_rng(0).beta(1, 1.5, 200)
    weights = weights_of(200)
    found = QuantileRecalibrator(name).fit(pits, sample_weight=weights)
    kept = QuantileRecalibrator(name).fit(pits[weights > 0], sample_weight=5 * weights[weights > 0])
    repeated = np.repeat(pits, weights.astype(int))
    points = np.linspace(0.01, 0.99, 50)

    def at_points(recalibrator: QuantileRecalibrator) -> np.ndarray:
        return recalibrator.transform(stats.uniform()).cdf(points)

    np.testing.assert_allclose(at_points(found), at_points(kept), rtol=1e-9)
    wider = 0.1 * (len(repeated) / effective_rows(weights)) ** 0.2
    expected = QuantileRecalibrator(name, bandwidth=wider).fit(repeated)
    # DCP counts one row more than there are, by what the weights are worth.
    tolerance = 2 / effective_rows(weights) if name == "DCP" else 1e-9
    np.testing.assert_allclose(at_points(found), at_points(expected), rtol=tolerance)
    with pytest.raises(UnusableInput, match="2 PITs are too few"):
        QuantileRecalibrator(name).fit(pits, sample_weight=[1.0, 2.0] + [0.0] * 198)


@pytest.mark.parametrize("posthoc_map", ["REFL", "EMP", "DCP"])
def test_weighted_maps_are_kept_in_model_files(posthoc_map: PostHoc, tmp_path: Path) -> None:
    x, y, _ = heteroscedastic(120)
    weights = np.random.default_rng(0).uniform(0.1, 2, 120)
    model = QRTRegressor(posthoc_map=posthoc_map, **FAST).fit(x, y, sample_weight=weights)
    model.save(tmp_path / "model.qrt")
    loaded = QRTRegressor.load(tmp_path / "model.qrt")
    np.testing.assert_array_equal(loaded.predict_quantiles(x), model.predict_quantiles(x))
    np.testing.assert_array_equal(loaded.predict_distribution(x).cdf(y), model.predict_distribution(x).cdf(y))


def test_searches_and_pipelines_hand_weights_on() -> None:
    x, y, _ = heteroscedastic(120)
    weights = pd.Series(np.random.default_rng(0).uniform(0.1, 2, 120), index=np.arange(120)[::-1])
    expected = QRTRegressor(**FAST).fit(x, y, weights.to_numpy()).predict_interval(x)
    search = GridSearchCV(QRTRegressor(**FAST), {"components": [3]}, scoring=neg_crps, cv=2)
    np.testing.assert_array_equal(predict_distribution(search.fit(x, y, sample_weight=weights), x).interval(), expected)
    pipeline = Pipeline([("model", QRTRegressor(**FAST))]).fit(x, y, model__sample_weight=weights)
    np.testing.assert_array_equal(predict_distribution(pipeline, x).interval(), expected)


def test_unusable_weights_are_refused() -> None:
    x, y, _ = heteroscedastic(60)
    for weights, message in (
        (np.ones(59), r"sample_weight has the shape \(59,\)"),
        (-np.arange(60.0), "sample_weight is -1.0 in row 1"),
        (np.zeros(60), "every sample_weight is zero"),
    ):
        with pytest.raises(UnusableInput, match=message):
            QRTRegressor(**FAST).fit(x, y, sample_weight=weights)
    with pytest.raises(UnusableInput, match=r"weights of validation has the shape \(3,\)"):
        QRTRegressor(**FAST).fit(x, y, validation=(x, y, np.ones(3)))
