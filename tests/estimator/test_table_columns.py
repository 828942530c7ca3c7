"""From a user's table to features: categories, scales, and what is refused with the name of its column."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrt.estimator.columns import MAX_CATEGORIES, learned_columns
from qrt.estimator.unusable_input import UnusableInput


def frame_of(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_numbers_stay_and_texts_become_one_column_for_each_category() -> None:
    frame = frame_of(a=[1.5, 2.5, 3.5], colour=["red", "blue", "red"], b=[True, False, True])
    columns = learned_columns(frame, None)
    assert columns.features == ("a", "colour=blue", "colour=red", "b")
    np.testing.assert_array_equal(columns.encoded(frame), [[1.5, 0, 1, 1], [2.5, 1, 0, 0], [3.5, 0, 1, 1]])


@pytest.mark.parametrize(
    "values",
    [
        pd.Series(["x", "y"]),
        pd.Series(["x", "y"], dtype="string"),
        pd.Series(pd.Categorical(["x", "y"], categories=["z", "y", "x"])),
        pd.Series(["x", "y"], dtype=object),
    ],
)
def test_every_kind_of_text_is_a_category(values: pd.Series) -> None:
    assert learned_columns(frame_of(t=values), None).features == ("t=x", "t=y")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, 2], dtype="Int64"),
        pd.Series([1, 2], dtype="float32"),
        pd.Series([1, 2.0], dtype=object),
        pd.Series([1, 2], dtype="uint8"),
    ],
)
def test_every_kind_of_number_is_a_number(values: pd.Series) -> None:
    columns = learned_columns(frame_of(t=values), None)
    assert columns.features == ("t",)
    np.testing.assert_array_equal(columns.encoded(frame_of(t=values)), [[1.0], [2.0]])


def test_numbers_that_are_listed_become_categories_whatever_their_type() -> None:
    columns = learned_columns(frame_of(zone=[3, 1, 3], a=[0.5, 0.1, 0.2]), ["zone"])
    assert columns.features == ("zone=1", "zone=3", "a")
    later = columns.encoded(frame_of(zone=["1", "3"], a=[0.0, 0.0]))
    np.testing.assert_array_equal(columns.encoded(frame_of(zone=[1.0, 3.0], a=[0.0, 0.0])), later)
    array = np.array([[3.0, 0.5], [1.0, 0.1]])
    assert learned_columns(array, [0]).features == ("0=1", "0=3", "1")


def test_unseen_category_has_none_of_the_known_ones() -> None:
    columns = learned_columns(frame_of(t=["x", "y"]), None)
    with pytest.warns(UserWarning, match="'t' has categories that the model was not fitted with: 'z'"):
        np.testing.assert_array_equal(columns.encoded(frame_of(t=["z", "x"])), [[0, 0], [1, 0]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, np.nan], r"column 't' has missing values \(NaN\), the first in row 11"),
        ([1.0, -np.inf], r"column 't' has values that are infinite \(inf\): -inf in row 11"),
        (["x", None], "column 't' has missing values"),
        (pd.Series([1, None], dtype="Int64"), "column 't' has missing values"),
    ],
)
def test_missing_and_infinite_values_are_refused_with_column_and_row(values: Any, message: str) -> None:
    columns = learned_columns(
        frame_of(t=[1.0, 2.0]) if not isinstance(values[0], str) else frame_of(t=["x", "y"]), None
    )
    with pytest.raises(UnusableInput, match=message):
        columns.encoded(frame_of(t=values), first_row=10)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([datetime.date(2020, 1, 1)] * 2, None),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "type datetime64"),
        (pd.Series([1 + 2j, 3 + 1j]), "complex"),
        ([f"text {number}" for number in range(MAX_CATEGORIES + 1)], f"{MAX_CATEGORIES + 1} different categories"),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories_are_refused(values: Any, message: str | None) -> None:
    if message is None:
        assert learned_columns(frame_of(t=values), None).features == ("t=2020-01-01",)
        return
    with pytest.raises(UnusableInput, match=f"column 't'.*{message}"):
        learned_columns(frame_of(t=values), None)


def test_text_where_numbers_were_is_refused_with_the_text() -> None:
    columns = learned_columns(frame_of(t=[1.0, 2.0]), None)
    with pytest.raises(UnusableInput, match="column 't' has 'n/a' in row 1"):
        columns.encoded(frame_of(t=["1", "n/a"]))


def test_unknown_name_among_the_categorical_columns_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnusableInput, match=r"no column 'c'.*the columns are 'a', 'b'"):
        learned_columns(frame_of(a=[1], b=[2]), ["c"])


def test_training_rows_have_mean_zero_and_deviation_one_afterwards() -> None:
    x = np.random.default_rng(0).normal([1e9, 1e-9, 5], [10, 1e-12, 1], size=(500, 3))
    columns = learned_columns(x, None)
    standardised = columns.scaled_to(columns.encoded(x)).standardised(x)
    np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(standardised.std(axis=0), 1, rtol=1e-5)
    assert standardised.dtype == np.float32


@given(value=st.floats(-1e6, 1e6), rows=st.integers(2, 40))
def test_constant_column_stays_as_it_is_whatever_its_value(value: float, rows: int) -> None:
    columns = learned_columns(np.full((rows, 1), value), None).scaled_to(np.full((rows, 1), value))
    assert columns.scales.tolist() == [1.0]
    assert columns.standardised(np.array([[value], [value + 1]]))[:, 0].tolist() == pytest.approx([0, 1], abs=1e-6)


def test_values_beyond_float32_are_refused_with_their_column() -> None:
    columns = learned_columns(np.zeros((2, 2)), None).scaled_to(np.array([[1.0, 2.0], [2.0, 3.0]]))
    with pytest.raises(UnusableInput, match=r"column '1' has values that are too large .* 1e\+300 in row 0"):
        columns.standardised(np.array([[1.0, 1e300]]))
    with pytest.raises(UnusableInput, match="column '0' has values that are too large"):
        columns.scaled_to(np.array([[1e300, 1.0], [-1e300, 2.0]]))
