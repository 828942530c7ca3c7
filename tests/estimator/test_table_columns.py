"""From a user's table to features: categories, scales, and what is refused with the name of its column."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from qrt.estimator.columns import MAX_CATEGORIES, learned_columns
from qrt.estimator.feature_scale import means_and_scales
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
        ([1.0, -np.inf], r"column 't' has values that are infinite \(inf\): -inf in row 11"),
        ([np.nan, np.inf], r"column 't' has values that are infinite \(inf\): inf in row 11"),
    ],
)
def test_infinite_values_are_refused_with_column_and_row(values: Any, message: str) -> None:
    columns = learned_columns(frame_of(t=[1.0, 2.0, np.nan]), None)
    with pytest.raises(UnusableInput, match=message):
        columns.encoded(frame_of(t=values), first_row=10)


MISSING_IN_EVERY_KIND = frame_of(
    a=[1.0, np.nan, 3.0],
    b=pd.Series([1, None, 3], dtype="Int64"),
    c=["x", None, "y"],
    d=pd.Series(["x", pd.NA, "y"], dtype="string"),
    e=pd.Categorical(["x", None, "y"]),
    f=[1.0, 2.0, 3.0],
    g=pd.Series([None, None, None], dtype=object),
    h=pd.Series([True, None, False], dtype="boolean"),
)


def test_missing_values_become_the_mean_or_no_category_and_a_feature_tells_them() -> None:
    columns = learned_columns(MISSING_IN_EVERY_KIND, None)
    words = ("c", "d", "e")
    expected = ["a", "a is missing", "b", "b is missing"]
    expected += [name for word in words for name in (f"{word}=x", f"{word}=y", f"{word} is missing")]
    assert list(columns.features) == [*expected, "f", "g", "g is missing", "h", "h is missing"]
    encoded = columns.encoded(MISSING_IN_EVERY_KIND)
    found = columns.scaled_to(encoded).standardised(encoded)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:, 0], [-1, 0, 1])
    np.testing.assert_allclose(found[:, 2], [-1, 0, 1])
    np.testing.assert_array_equal(encoded[:, 1], [0, 1, 0])
    np.testing.assert_array_equal(encoded[:, 4:7], [[1, 0, 0], [0, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(found[:, -4], 0)  # a column without any value


def test_array_with_missing_values_is_encoded_as_the_table_is() -> None:
    frame = frame_of(a=[1.0, np.nan, 3.0, 2.0], b=[4.0, 5.0, 6.0, 1.0])
    of_frame, of_array = learned_columns(frame, None), learned_columns(frame.to_numpy(), None)
    assert of_array.features == ("0", "0 is missing", "1")
    np.testing.assert_array_equal(of_array.encoded(frame.to_numpy()), of_frame.encoded(frame))


@pytest.mark.parametrize("values", [[1.0, np.nan], ["x", None]])
def test_missing_value_in_a_column_that_had_none_is_told_and_taken_as_the_mean_or_no_category(values: Any) -> None:
    whole = frame_of(t=[1.0, 4.0] if isinstance(values[0], float) else ["x", "y"])
    columns = learned_columns(whole, None)
    columns = columns.scaled_to(columns.encoded(whole))
    with pytest.warns(UserWarning, match=r"column 't' has missing values \(NaN\), but had none"):
        encoded = columns.encoded(frame_of(t=values))
    expected = [0.0] if isinstance(values[0], float) else [-1.0, -1.0]
    np.testing.assert_array_equal(columns.standardised(encoded)[1], expected)


def test_means_and_scales_follow_weights_and_leave_out_missing_values() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal([3, -7, 0.1], [1, 5, 0], size=(40, 3))
    weights = generator.integers(0, 4, 40)
    repeated = np.repeat(x, weights, axis=0)
    means, scales = means_and_scales(x, weights.astype(float))
    np.testing.assert_allclose(means, repeated.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scales, [*repeated.std(axis=0)[:2], 1.0], rtol=1e-12)
    with_missing = np.where(generator.uniform(size=x.shape) < 0.3, np.nan, x)
    means, scales = means_and_scales(with_missing)
    np.testing.assert_allclose(means, np.nanmean(with_missing, axis=0), rtol=1e-12)
    np.testing.assert_allclose(scales[:2], np.nanstd(with_missing, axis=0)[:2], rtol=1e-12)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_are_standardised_as_dense_ones(form: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qrt.estimator.feature_scale._BLOCK_ROWS", 16)  # several blocks
    dense = sparse.random_array((50, 6), density=0.2, rng=0).toarray()
    dense[:, 3] = 0.0
    dense[:, 4] = 0.1
    of_dense, of_sparse = learned_columns(dense, None), learned_columns(form(dense), None)
    of_sparse = of_sparse.scaled_to(of_sparse.encoded(form(dense)))
    of_dense = of_dense.scaled_to(dense)
    np.testing.assert_allclose(of_sparse.scales, of_dense.scales, rtol=1e-12)
    found = of_sparse.standardised(of_sparse.encoded(form(dense)))
    np.testing.assert_allclose(found, of_dense.standardised(dense), rtol=1e-6, atol=1e-7)
    for wrong in (np.nan, np.inf):
        dense[17, 2] = wrong
        with pytest.raises(UnusableInput, match=f"column '2' of a sparse X has {wrong} in row 117"):
            of_sparse.encoded(form(dense), first_row=100)
    with pytest.raises(UnusableInput, match="a sparse X has numbers only"):
        learned_columns(form(dense), [1])


def test_sparse_rows_of_a_model_that_was_fitted_to_dense_ones_have_its_features() -> None:
    dense = np.array([[1.0, 0.0, np.nan], [0.0, 2.0, 3.0], [1.0, 0.0, 0.0]])
    columns = learned_columns(dense, [0])
    rows = dense[1:]
    np.testing.assert_array_equal(columns.encoded(sparse.csr_array(rows)), columns.encoded(rows))


def test_column_that_may_only_name_the_rows_is_told() -> None:
    with pytest.warns(UserWarning, match="column 't' has 21 different categories in 40 rows"):
        learned_columns(frame_of(t=[f"name {number % 21}" for number in range(40)]), None)
    learned_columns(frame_of(t=[f"name {number % 21}" for number in range(400)]), None)  # warnings are errors here


def test_categories_that_are_numbers_are_in_the_order_of_the_numbers() -> None:
    assert learned_columns(frame_of(t=[10, 2, 2]), ["t"]).features == ("t=2", "t=10")
    assert learned_columns(frame_of(t=["10", "2", "2"]), None).features == ("t=10", "t=2")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([datetime.date(2020, 1, 1)] * 2, "dates such as 2020-01-01"),
        ([datetime.datetime(2020, 1, 1), None], "type datetime64"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "type datetime64"),
        (pd.Series([1 + 2j, 3 + 1j]), "complex"),
        ([f"text {number}" for number in range(MAX_CATEGORIES + 1)], f"{MAX_CATEGORIES + 1} different categories"),
    ],
)
def test_columns_that_are_neither_numbers_nor_categories_are_refused(values: Any, message: str) -> None:
    with pytest.raises(UnusableInput, match=f"column 't'.*{message}"):
        learned_columns(frame_of(t=values), None)


@pytest.mark.parametrize(
    "values",
    [
        ["2020-01-31", "2020-02-01", None],
        ["2020-01-31T10:00:00Z", "2020-02-01 11:30"],
        ["31.1.2020", "1.12.2020"],
        ["1/31/2020", "12/1/2020"],
        ["31 Jan 2020", "1 February 2020"],
        ["Jan 31, 2020", "Feb. 1, 2020"],
    ],
)
def test_texts_that_look_like_dates_are_told_how_to_become_numbers(values: list[str]) -> None:
    with pytest.warns(UserWarning, match=rf"'t' .*look like dates, such as '{values[0]}'.*pd.to_datetime\(X\['t'\]\)"):
        columns = learned_columns(frame_of(t=values), None)
    assert len(columns.features) == len(values)
    learned_columns(frame_of(t=values), ["t"])  # asked for: warnings are errors here


def test_texts_of_numbers_names_and_versions_are_no_dates() -> None:
    texts = ["2020", "1-2", "1.2.33", "10-12-14", "room 12", "3 1/2", "2020-13-45", "May", "flat 3, 1990", "12 2020"]
    for text in texts:
        learned_columns(frame_of(t=[text, text]), None)  # warnings are errors here


def test_many_dates_are_refused_with_the_advice_for_dates() -> None:
    days = pd.date_range("2000-01-01", periods=MAX_CATEGORIES + 1).astype(str)
    with pytest.raises(UnusableInput, match=r"different categories.*dates such as '2000-01-01': t = pd.to_datetime"):
        learned_columns(frame_of(t=days), None)


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
