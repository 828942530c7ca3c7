"""Values beyond the range of the training rows: drawn back, and named in a warning and a diagnosis."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from qrt import QRTRegressor
from qrt.estimator.training_range import FarValue, TrainingRange
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


def test_shown_numbers_have_no_digits_of_rounding() -> None:
    shown = str(FarValue(3, "z", 31.80000019, 3.34857e-08, 6.98000001907, 0.7))
    assert shown == "row 3: 'z' is 31.8, in training 0 to 6.98"
    assert str(FarValue(0, "a", -1e6, -3e-9, 1.0, 0.3)) == "row 0: 'a' is -1000000, in training 0 to 1"
    offset = str(FarValue(0, "a", 1000050.0, 1000000.1234, 1000003.5, 1.0))
    assert offset == "row 0: 'a' is 1000050, in training 1000000.1234 to 1000003.5"
    assert str(FarValue(0, "a", 4e-7, 1e-9, 2.5e-8, 1e-8)).endswith("is 4e-07, in training 1e-09 to 2.5e-08")
    assert str(FarValue(0, "a", 50.0, 0.1, 0.1, 1.0)) == "row 0: 'a' is 50, in training 0.1 to 0.1"


def test_range_that_begins_at_zero_is_shown_so() -> None:
    x, y, _ = heteroscedastic(80)
    x[:, 1] = np.abs(x[:, 1]) * 7
    x[0, 1] = 0.0
    model = QRTRegressor(max_epochs=4, random_state=0).fit(x, y, validation=(x, y), calibration=(x, y))
    with pytest.warns(UserWarning, match=r"row 0: '1' is 31.8, in training 0 to"):
        model.predict([[0, 31.8, 0]])


def test_methods_of_the_paper_warn_and_do_not_draw_values_back() -> None:
    x, y, _ = heteroscedastic(80)
    model = QRTRegressor(method="QRTC", bandwidth=0.1, max_epochs=4, random_state=0).fit(x, y)
    with pytest.warns(UserWarning, match="far outside"):
        far, farther = (model.predict(np.array([[0, value, 0]])) for value in (1e3, 1e4))
    assert far != farther


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
