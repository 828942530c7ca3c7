"""Tables of people as they are: read exactly, or refused with the line and what would be right."""

from __future__ import annotations

import csv
import gzip
import io
import tracemalloc
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrt.errors import UserError
from qrt.estimator.text_table import read_csv_table, read_own_table
from support.hostile_words import quick


def csv_file(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_byte_order_mark_does_not_stick_to_the_first_name(tmp_path: Path) -> None:
    assert list(read_csv_table(csv_file(tmp_path, b"\xef\xbb\xbfa,y\n1,2\n")).columns) == ["a", "y"]


def test_only_an_empty_field_is_missing(tmp_path: Path) -> None:
    table = read_csv_table(csv_file(tmp_path, "a,b\nNone,1\n,2\nNA,3\n"))
    assert table["a"].tolist()[::2] == ["None", "NA"]
    assert table["a"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ("a,b,a\n1,2,3\n", "'a' occur more than once"),
        ("", "empty"),
        ("a,b\n1,2\n1,2,3,4\n", "line 3 has 4 field(s), but the first line has 2"),
        ("a,b\n1,2,3\n4,5,6\n", "line 2 has 3 field(s), but the first line has 2"),
        ("a,b\n1,2,\n4,5,\n", "line 2 has 3 field(s), but the first line has 2"),
        ("a,b\n1,2\n\n3\n", "line 4 has 1 field(s), but the first line has 2"),
        ('a,b\n1,"2\n3,4\n', "not a readable CSV"),
        ("a,b\n1,2\x003\n", "null characters"),
        (b"a,b\n\xff\xfe,2\n", "UTF-8"),
    ],
)
def test_unreadable_csv_is_refused_with_its_name(tmp_path: Path, content: str | bytes, part: str) -> None:
    with pytest.raises(UserError, match=r"mine\.csv.*") as caught:
        read_csv_table(csv_file(tmp_path, content))
    assert part in str(caught.value)


def test_rows_are_those_of_the_file_without_its_blank_lines(tmp_path: Path) -> None:
    assert read_csv_table(csv_file(tmp_path, "a,b\n1,2\n\n  \n3,4\n\n")).to_numpy().tolist() == [[1, 2], [3, 4]]
    assert read_csv_table(csv_file(tmp_path, "a\n1\n\n3\n"))["a"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_a_row_after_a_blank_line_keeps_its_empty_first_field(tmp_path: Path, end: str, blank: str) -> None:
    table = read_csv_table(csv_file(tmp_path, end.join(["x,y", blank, ",2", "3,4", blank, blank, ",5", ""])))
    assert table["y"].tolist() == [2, 4, 5]
    assert table["x"].isna().tolist() == [True, False, True]


def test_line_ends_of_all_kinds_may_be_mixed_and_those_in_quotes_stay(tmp_path: Path) -> None:
    table = read_csv_table(csv_file(tmp_path, 'x,y\n\r,2\r\n\r\r"a\r\r,\nb",4\n\r\n,5'))
    assert table["x"].fillna("").tolist() == ["", "a\r\r,\nb", ""]
    assert table["y"].tolist() == [2, 4, 5]


fields = st.sampled_from(["1", "-2.5", "", "a", "a,b", 'a"b', "a\nb", "a\rb", "\r", " ", "  a", "é", "?", "nan"])
ends = st.sampled_from(["\n", "\r\n", "\r"])


@quick
@given(st.lists(st.lists(fields, min_size=2, max_size=4) | st.just([]), min_size=1, max_size=5), ends, ends)
def test_a_table_is_read_as_python_reads_it_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], end: str, other: str
) -> None:
    lines = [csv_line(row) for row in [["a", "b", "c"], *rows]]
    text = "".join(line + (end, other)[number % 2] for number, line in enumerate(lines))
    path = csv_file(tmp_path_factory.getbasetemp(), text)
    if all(len(row) in (0, 3) for row in rows):
        cells = read_csv_table(path).astype(object)
        numbers = [[_float_or_text(field) for field in row] for row in rows if row]
        assert [[_float_or_text(cell) for cell in row] for row in cells.to_numpy()] == numbers
    else:
        with pytest.raises(UserError, match=r"field\(s\), but the first line has 3"):
            read_csv_table(path)


def csv_line(row: list[str]) -> str:
    """A row without the end of its line, in quotes where it needs them with any end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue().removesuffix("\r\n")


def _float_or_text(cell: object) -> float | str:
    if pd.isna(cell):
        return ""
    try:
        return float(str(cell)) if str(cell).strip() != "nan" else "nan"
    except ValueError:
        return str(cell)


def test_a_small_file_with_an_endless_line_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv.gz"
    with gzip.open(path, "wb") as content:
        for part in (b"a,y\n", *[b"1" * 2**20] * 64):
            content.write(part)
    tracemalloc.start()
    with pytest.raises(UserError, match="a line is longer"):
        read_csv_table(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**26  # bytes; the line alone has as many


def test_damaged_gzip_and_parquet_are_refused(tmp_path: Path) -> None:
    for name in ("mine.csv.gz", "mine.parquet"):
        path = tmp_path / name
        path.write_bytes(b"this is neither")
        with pytest.raises(UserError, match="not a readable"):
            read_own_table(path)


def test_parquet_with_texts_that_are_no_utf_8_is_refused(tmp_path: Path) -> None:
    no_text = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"a": no_text, "y": [1, 2]}), tmp_path / "mine.parquet")
    with pytest.raises(UserError, match="not a readable Parquet file"):
        read_own_table(tmp_path / "mine.parquet")


def test_numbers_are_read_exactly(tmp_path: Path) -> None:
    assert read_csv_table(csv_file(tmp_path, "a\n0.1234567890123456789\n"))["a"][0] == 0.1234567890123456789
