"""Reading CSV and Parquet tables without guessing: one rule for missing values, exact numbers, clear errors."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import pandas as pd

from qrt.errors import UserError

_LONGEST_LINE = 2**24  # characters: a hundred thousand columns with more than a hundred characters each


def read_csv_table(path: Path) -> pd.DataFrame:
    """Read a CSV (or .csv.gz) with a header line; an empty field, and nothing else, is a missing value.

    Columns that read as numbers become numbers, all others stay text. Every row has a field for each name: pandas
    would take what is too much for an index, and move every name by one.
    """
    try:
        names, rows, content = _names_and_rows(path)
        frame = pd.read_csv(
            content,
            index_col=False,
            keep_default_na=False,
            na_values=[""],
            skip_blank_lines=False,
            low_memory=False,
        )
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    except OSError as error:
        if not isinstance(error, gzip.BadGzipFile):
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
        raise UserError(f"{path}: not a readable CSV file ({error})") from error
    except (ValueError, csv.Error, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not a readable CSV file ({error})") from error
    if frame.shape != (rows, len(names)):
        raise UserError(f"{path}: its quotes can be read in two ways, as {rows} or as {len(frame)} rows; correct them")
    # Whole numbers beyond 64 bits come as Python's, which no file format has.
    if any(_has_python_integers(frame[name]) for name in frame.columns[frame.dtypes == "object"]):
        return retyped(frame, lambda column: column.map(_as_float) if _has_python_integers(column) else column)
    return frame


class Record(NamedTuple):
    """A record of a CSV: the line that it ends in, its fields, and its text, which ends with a line feed."""

    line: int
    fields: list[str]
    text: str


def csv_records(lines: Iterable[str], **dialect: Any) -> Iterator[Record]:
    """The records of a CSV as Python's reader finds them, whatever its lines end with."""
    read: list[str] = []

    def noted() -> Iterator[str]:
        for line in lines:
            read.append(line)
            yield line

    reader = csv.reader(noted(), **dialect)
    for fields in reader:
        yield Record(reader.line_num, fields, "".join(read).rstrip("\r\n") + "\n")
        read.clear()


def sound_records(where: Path | str, records: Iterable[Record], number: int) -> Iterator[Record]:
    """These records, if all have this `number` of fields; UserError for the first one that has another.

    Blank lines are none, unless there is one column, in which they are a missing value. They are left out here, since
    pandas takes fields for blank after a blank line that ends with a carriage return alone.
    """
    for record in records:
        fields = record.fields
        if number > 1 and len(fields) <= 1 and not "".join(fields).strip(" \t"):
            continue
        if len(fields or [""]) != number:
            raise UserError(
                f"{where}: the row that ends in line {record.line} has {len(fields)} field(s), but the first line has "
                f"{number}; give each row a field for each column, and quote fields with a separator"
            )
        yield record


def text_of(records: Iterable[Record]) -> tuple[io.BytesIO, int]:
    """The text of records in UTF-8, for pandas, and how many there are."""
    content, count = io.BytesIO(), 0
    for record in records:
        content.write(record.text.encode())
        count += 1
    content.seek(0)
    return content, count


def retyped(frame: pd.DataFrame, change: Callable[[pd.Series], pd.Series]) -> pd.DataFrame:
    """The table with each column changed, made at once: a column at a time takes minutes if there are 100,000."""
    return pd.DataFrame({name: change(frame[name]) for name in frame.columns}, index=frame.index, columns=frame.columns)


def _names_and_rows(path: Path) -> tuple[list[str], int, io.BytesIO]:
    """The names of the columns, each there once, the number of rows, which all have a field for each, and the text."""
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as text:
        records = csv_records(_lines(path, text))
        first = next(records, None)
        if first is None or not first.fields:
            raise UserError(f"{path}: the file is empty; the first line should name the columns")
        names = first.fields
        _check_names(path, names)
        content, number = text_of(chain([first], sound_records(path, records, len(names))))
        return names, number - 1, content


def _lines(path: Path, text: TextIO) -> Iterator[str]:
    """The lines of a file: not whatever is in it, for a megabyte of gzip may be a line of a gigabyte."""
    while line := text.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            raise UserError(f"{path}: a line is longer than {_LONGEST_LINE:,} characters; this is no table")
        if "\0" in line:
            raise UserError(f"{path}: holds null characters; save the file as text in UTF-8")
        yield line


def _has_python_integers(column: pd.Series) -> bool:
    return column.dtype == "object" and any(type(value) is int for value in column)


def _as_float(value: object) -> float:
    return float(str(value))


def read_own_table(path: Path) -> pd.DataFrame:
    """Read a table of the user's, CSV or Parquet by the file's ending."""
    if path.name.endswith(".parquet"):
        return _read_parquet_table(path)
    return read_csv_table(path)


def _read_parquet_table(path: Path) -> pd.DataFrame:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise UserError(f"{path}: Parquet needs pyarrow: install it (pip install pyarrow), or give a CSV") from error
    types = pa.types
    try:
        table = pq.ParquetFile(path).read()
        _check_names(path, table.column_names)
        for field in table.schema:
            kind = field.type
            is_bytes = types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)
            if types.is_nested(kind) or is_bytes:
                raise UserError(f"{path}: the column {field.name!r} has the type {kind}; numbers and texts are needed")
        table.validate(full=True)  # texts that are no UTF-8 would be noticed by whoever looks at them
        return table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{path}: not a readable Parquet file ({error})") from error


def _check_names(path: Path, names: list[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UserError(f"{path}: column name(s) {', '.join(map(repr, twice))} occur more than once; rename them")
