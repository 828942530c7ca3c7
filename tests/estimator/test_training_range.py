"""Values beyond the range of the training rows: drawn back, and named in a warning and a diagnosis."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from qrt import QRTRegressor
from qrt.estimator.training_range import TrainingRange
from support.generated_splits import heteroscedastic

LIMITS = TrainingRange(np.array([-1.0, 0.5], np.float32), np.array([2.0, 0.5], np.float32))


def squashed(first: float, second: float = 0.5) -> np.ndarray:
    return LIMITS.squashed(np.array([[first, second]], np.float32))[0]


def test_rows_within_the_range_are_not_touched() -> None:
    x = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    assert TrainingRange.of(x).squashed(x) is x


def test_values_outside_come_back_smoothly_to_within_one_standard_deviation() -> None:
    values = np.linspace(-50, 50, 2001)
    found = np.array([squashed(value)[0] for value in values])
    assert (np.diff(found) >= 0).all()
    assert np.diff(found).max() <= 0.05 + 1e-5  # as fast as the values at most: no jump at the ends of the range
    assert found.min() == -2
    assert found.max() == 3
    assert squashed(2.01)[0] == pytest.approx(2.01, abs=1e-4)


def test_constant_column_stays_at_its_constant() -> None:
    assert squashed(0.0, 50.0)[1] == 0.5
    rows = np.array([[0.0, 50.0], [0.0, 0.5]], np.float32)
    assert LIMITS.far_outside(rows).tolist() == [
        [False, True],
        [False, False],
    ]


def test_rows_far_outside_are_named_with_their_value_and_the_range() -> None:
    x, y, _ = heteroscedastic(80)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model = QRTRegressor(max_epochs=4, random_state=0).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)
    frame.loc[7, "b"] = 1000.0
    with pytest.warns(
        UserWarning, match=r"1 row has values far outside .* row 7: 'b' is 1000, in training -?[0-9.]+ to"
    ):
        model.predict(frame)


def test_typing_error_in_one_value_moves_a_prediction_no_farther_than_the_edge_does() -> None:
    x, y, _ = heteroscedastic(300)
    model = QRTRegressor(max_epochs=30, members=2, random_state=0).fit(x, y)
    with pytest.warns(UserWarning, match="far outside"):
        far, farther = (model.predict_interval(np.array([[0, value, 0]])) for value in (1e3, 1e6))
    np.testing.assert_array_equal(far, farther)


def test_diagnosis_names_the_rows_that_carry_the_nll() -> None:
    x, y, _ = heteroscedastic(200)
    model = QRTRegressor(max_epochs=20, members=2, random_state=0).fit(x[:100], y[:100])
    new, targets = x[100:], y[100:].copy()
    assert "without row" not in repr(model.diagnose(new, targets))
    targets[[17, 60]] += [1e4, 100]
    diagnosis = model.diagnose(new, targets)
    worst = diagnosis.worst(2)
    assert worst["row"].tolist() == [17, 60]
    assert worst["target"].tolist() == targets[[17, 60]].tolist()
    scores = model.predict_distribution(new).log_score(targets)
    assert diagnosis.nll == pytest.approx(scores.mean())
    assert worst["nll_without"].iloc[1] == pytest.approx(np.delete(scores, [17, 60]).mean())
    assert "without rows 17, 60" in repr(diagnosis)
