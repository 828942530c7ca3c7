from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.errors import UserError
from qrt_study.data.prepare import prepare
from qrt_study.data.raw_table import RawTable

ROWS = 120


def frame(**columns: Any) -> pd.DataFrame:
    numbers = np.arange(ROWS, dtype=float)
    return pd.DataFrame({"a": numbers, "b": numbers**2, "y": np.sin(numbers)} | columns)


def refusal(table: RawTable) -> str:
    with pytest.raises(UserError) as caught:
        prepare(table)
    return str(caught.value)


def test_rules_of_the_paper_drop_what_they_should_and_say_why() -> None:
    table = RawTable(
        frame(
            few=[i % 9 for i in range(ROWS)],
            enough=[i % 10 for i in range(ROWS)],
            many=[f"c{i % 21}" for i in range(ROWS)],
            colour=[["red", "green", "blue"][i % 3] for i in range(ROWS)],
            holes=[None if i % 4 == 0 else float(i) for i in range(ROWS)],
            hole=[None if i == 7 else float(i) for i in range(ROWS)],
        ),
        target="y",
        categorical=("many", "colour"),
    )
    prepared = prepare(table)
    assert prepared.features == ("a", "b", "enough", "hole", "colour_blue", "colour_green", "colour_red")
    assert prepared.dropped_columns == {
        "many": "categorical with 21 distinct values, more than 20",
        "few": "numeric with 9 distinct values, fewer than 10",
        "holes": "25.0% missing, more than 20%",
    }
    assert prepared.dropped_rows == 1
    assert prepared.x.shape == (ROWS - 1, 7)
    assert prepared.x.dtype == prepared.y.dtype == np.float32
    assert np.array_equal(prepared.x[:, 4:].sum(axis=1), np.ones(ROWS - 1))


def test_rows_keep_the_order_of_the_file() -> None:
    assert prepare(RawTable(frame(), "y")).x[:, 0].tolist() == list(range(ROWS))


def test_category_of_incomplete_rows_keeps_its_column() -> None:
    colour = ["odd"] + ["red", "green"] * ((ROWS - 1) // 2) + ["red"]
    table = RawTable(frame(colour=colour, hole=[np.nan, *range(ROWS - 1)]), "y", categorical=("colour",))
    prepared = prepare(table)
    assert prepared.features[-3:] == ("colour_green", "colour_odd", "colour_red")
    assert prepared.x[:, -2].sum() == 0


def test_uci_rules_keep_numeric_columns_only_whatever_their_number_of_values() -> None:
    words = ["32/60", "5"] * (ROWS // 2)
    table = RawTable(frame(two=[0, 1] * (ROWS // 2), words=words), "y", rules="uci")
    prepared = prepare(table)
    assert prepared.features == ("a", "b", "two")
    assert prepared.dropped_columns == {"words": "not numeric"}


def test_rules_for_own_data_keep_numbers_with_few_values_and_leave_out_what_is_constant_or_unwanted() -> None:
    table = RawTable(
        frame(two=[0, 1] * (ROWS // 2), same=[5.0] * ROWS, number=range(ROWS), city=["A", "B", "C"] * (ROWS // 3)),
        "y",
        rules="own",
        unwanted=("number",),
    )
    prepared = prepare(table)
    assert prepared.features == ("a", "b", "two", "city_A", "city_B", "city_C")
    assert prepared.dropped_columns == {"number": "as asked for", "same": "the same value everywhere"}
    assert prepared.encoded_columns == {"city": 3}


def test_unwanted_column_may_be_listed_as_categorical_but_not_as_target() -> None:
    colours = frame(colour=["red", "green"] * (ROWS // 2))
    prepared = prepare(RawTable(colours, "y", categorical=("colour",), unwanted=("colour",)))
    assert prepared.features == ("a", "b")
    assert "the target 'y' is to be dropped" in refusal(RawTable(frame(), "y", unwanted=("y",)))
    assert "no column 'z', which is to be dropped" in refusal(RawTable(frame(), "y", unwanted=("z",)))


def test_log_transform_is_symmetric() -> None:
    y = np.linspace(-5, 5, ROWS)
    prepared = prepare(RawTable(frame(y=y), "y", target_transform="log1p"))
    assert np.allclose(prepared.y, np.sign(y) * np.log(1 + np.abs(y)), rtol=1e-6)


def test_words_are_categories_without_being_told() -> None:
    prepared = prepare(RawTable(frame(colour=["red", "green"] * (ROWS // 2)), "y"))
    assert prepared.features[-2:] == ("colour_green", "colour_red")


def test_numbers_kept_as_text_and_truth_values_are_understood() -> None:
    table = RawTable(frame(text=[str(i) for i in range(ROWS)], flag=[True, False] * (ROWS // 2)), "y")
    prepared = prepare(table)
    assert prepared.features == ("a", "b", "text", "flag_False", "flag_True")


def test_missing_target_column_is_named() -> None:
    assert "no target column 'z'; the columns are 'a', 'b', 'y'" in refusal(RawTable(frame(), "z"))


def test_text_in_a_numeric_column_is_located() -> None:
    values = [str(i) for i in range(ROWS)]
    values[41] = "n/a"
    message = refusal(RawTable(frame(a=values), "y"))
    assert "'a'" in message
    assert "'n/a'" in message
    assert "row 42" in message


def test_text_target_is_refused() -> None:
    assert "'y'" in refusal(RawTable(frame(y=["word"] * ROWS), "y"))


def test_constant_target_is_refused() -> None:
    assert "target is constant (3)" in refusal(RawTable(frame(y=3.0), "y"))


def test_too_few_usable_rows_are_refused() -> None:
    assert "99 rows are left" in refusal(RawTable(frame()[:99], "y"))


def test_table_without_features_is_refused() -> None:
    assert "no feature column" in refusal(RawTable(frame()[["y"]], "y"))


def test_infinite_values_are_refused() -> None:
    assert "infinite" in refusal(RawTable(frame(a=np.where(np.arange(ROWS) == 3, np.inf, np.arange(ROWS))), "y"))


def test_unknown_categorical_column_is_named() -> None:
    assert "no column 'colour'" in refusal(RawTable(frame(), "y", categorical=("colour",)))
