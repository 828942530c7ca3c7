"""ARFF files read by our reader are what liac-arff makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import arff  # type: ignore[import-untyped]
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qrt_study.data import arff_reader
from qrt_study.data.arff_reader import NotArff, read_arff

ATTRIBUTES = "@ATTRIBUTE x REAL\n@attribute 'a name' {low,'high up',z}\n@attribute s STRING\n"
HEADER = f"% a comment\n@RELATION r\n{ATTRIBUTES}@DATA\n"


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def assert_as_in_the_reference(path: Path, text: str) -> None:
    """The reader gives the values that liac-arff gives, cell by cell."""
    reference = arff.loads(text)
    table = read_arff(written(path, text))
    assert list(table.frame.columns) == [name for name, _ in reference["attributes"]]
    assert len(table.frame) == len(reference["data"])
    for place, (name, kind) in enumerate(reference["attributes"]):
        expected = [row[place] for row in reference["data"]]
        column = table.frame[name]
        if isinstance(kind, str) and kind != "STRING":
            assert column.dtype == np.float64
            np.testing.assert_array_equal(column, np.array(expected, dtype=float))
        else:
            assert [None if pd.isna(value) else value for value in column] == expected
        assert (name in table.nominal) == isinstance(kind, list)


@pytest.mark.parametrize(
    "rows",
    [
        "1.5,low,text\n-2e3,'high up',more\n",
        "?,?,?\n1,z,'?'\n",
        "1,low,\n,,x\n",
        '1,"high up","two words"\n',
        "1,'high up',\"it's\"\n",
        "1,low,'it\\'s'\n2,z,'back\\\\slash'\n",
        " 1 , low , 'a b' \n\t2,\t'high up',c\n",
        "1,low, a\n2,z,'b c'\n",
        "1,low,a \n2,z,b\t\n",
        "% first\n1,low,a\n\n   \n% 1,2,3,4,5\n2,z,b\n",
        "1,low,a\r\n2,z,b\r\n",
        "1,low,a",
        "1,low,'a, b'\n+2,low,'c''d'\n".replace("''", "x"),
        "inf,low,a\nnan,z,b\n0.1,z,c\n123456789.123456789,z,d\n5e-324,z,e\n",
        "{0 1.5, 1 'high up'}\n{2 'x'}\n",
        "1,low,NA\n2,z,nan\n3,z,None\n4,z,null\n",
    ],
)
def test_rows_are_read_as_the_reference_reads_them(tmp_path: Path, rows: str) -> None:
    assert_as_in_the_reference(tmp_path / "table.arff", HEADER + rows)


NUMBERS = st.none() | st.floats(allow_nan=False, allow_infinity=False)
# liac-arff cannot read the braces that it writes.
SIGNS = st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"], exclude_characters="{}")
TEXTS = st.none() | st.text(SIGNS, min_size=1)
LABELS = ["low", "high up", "?", "it's", '"', "a,b", "ü"]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(NUMBERS, st.none() | st.sampled_from(LABELS), TEXTS), min_size=1, max_size=8))
def test_every_table_is_read_as_the_reference_reads_it(tmp_path: Path, rows: list[tuple[Any, ...]]) -> None:
    attributes = [("x", "REAL"), ("label", LABELS), ("text", "STRING")]
    content = {"relation": "r", "attributes": attributes, "data": [list(row) for row in rows]}
    assert_as_in_the_reference(tmp_path / "table.arff", arff.dumps(content))


def test_plain_and_quoted_rows_take_the_quick_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> None:
        raise AssertionError("ten million rows would take for ever")

    monkeypatch.setattr(arff_reader, "_rows_by_the_book", slow)
    plain = read_arff(written(tmp_path / "plain.arff", HEADER + "1,low,a\n?,?,?\n" * 1000)).frame
    assert plain.shape == (2000, 3)
    quoted = read_arff(written(tmp_path / "quoted.arff", HEADER + "1,'high up','a,b'\n" * 1000)).frame
    assert quoted.iloc[-1].tolist() == [1.0, "high up", "a,b"]


def test_both_ways_give_the_same_types(tmp_path: Path) -> None:
    quick = read_arff(written(tmp_path / "quick.arff", HEADER + "1,low,a\n?,?,?\n")).frame
    slow = read_arff(written(tmp_path / "slow.arff", HEADER + "1, low, 'a'\n?, ?, ?\n")).frame
    pd.testing.assert_frame_equal(quick, slow)


def test_a_file_in_latin_1_is_read(tmp_path: Path) -> None:
    for rows in ("1,low,Köln\n", "1, low, Köln\n"):
        path = written(tmp_path / "table.arff", HEADER + rows, "latin-1")
        assert read_arff(path).frame["s"].tolist() == ["Köln"]


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path / "table.arff", HEADER + "1,low,a\n", "utf-8-sig")
    assert read_arff(path).frame.shape == (1, 3)


@pytest.mark.parametrize("rows", ["1,low,a\n2,z,b\n", "1,low, 'a'\n2,z,\"b\"\n", "{0 1, 1 z}\n"])
def test_null_characters_at_the_end_are_no_part_of_the_file(tmp_path: Path, rows: str) -> None:
    table = read_arff(written(tmp_path / "table.arff", HEADER + rows + "\0" * 1000))
    pd.testing.assert_frame_equal(table.frame, read_arff(written(tmp_path / "plain.arff", HEADER + rows)).frame)


def test_a_very_long_field_is_read_or_refused(tmp_path: Path) -> None:
    long = "x" * 140_000
    assert read_arff(written(tmp_path / "plain.arff", f"{HEADER}1,low,{long}\n")).frame["s"][0] == long
    with pytest.raises(NotArff):
        read_arff(written(tmp_path / "padded.arff", f"{HEADER}1, low,a\n1,low,{long}\n"))


def test_a_table_without_rows_has_its_columns(tmp_path: Path) -> None:
    frame = read_arff(written(tmp_path / "table.arff", HEADER)).frame
    assert list(frame.columns) == ["x", "a name", "s"]
    assert frame.empty


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x,y\n1,2\n",
        HEADER.replace("@DATA\n", ""),
        HEADER + "1,low\n",
        HEADER + "1,low,a,b\n",
        HEADER + "1,unheard-of,100 % a\n",
        HEADER + "word,low,a\n",
        HEADER + "1,low,a\n2,lo",
        HEADER.replace("'a name'", "x") + "1,low,a\n",
        HEADER + "1,low,'100 % sure',9\n",
    ],
    ids=[
        "empty file",
        "csv",
        "no data line",
        "too few values",
        "too many values",
        "unknown label",
        "word for a number",
        "cut off",
        "two columns of a name",
        "per cent sign in the message",
    ],
)
def test_what_is_not_arff_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotArff, match=r"not a readable ARFF file: .") as caught:
        read_arff(written(tmp_path / "table.arff", text))
    assert "\n" not in str(caught.value)
