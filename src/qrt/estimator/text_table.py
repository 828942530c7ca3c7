"""Reading CSV and Parquet tables without guessing: one rule for missing values, exact numbers, clear errors."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections import Counter
from pathlib import Path

import pandas as pd

from qrt.errors import UserError


def read_csv_table(path: Path) -> pd.DataFrame:
    """Read a CSV (or .csv.gz) with a header line; an empty field, and nothing else, is a missing value.

    Columns that read as numbers become numbers, all others stay text.
    """
    try:
        _check_header(path)
        frame = pd.read_csv(
            path,
            encoding="utf-8-sig",
            keep_default_na=False,
            na_values=[""],
            low_memory=False,
        )
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    except (
        pd.errors.ParserError,
        pd.errors.EmptyDataError,
        csv.Error,
        EOFError,
        zlib.error,
        OSError,
    ) as error:
        if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
            raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
        raise UserError(f"{path}: not a readable CSV file ({error})") from error
    # Whole numbers beyond 64 bits come as Python's, which no file format has.
    beyond = [name for name in frame.columns if any(type(value) is int for value in _objects(frame[name]))]
    return frame.assign(**{name: [float(str(value)) for value in frame[name]] for name in beyond})


def _objects(column: pd.Series) -> pd.Series:
    """The column if it holds Python's objects, else nothing."""
    return column if column.dtype == object else column.iloc[:0]


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
        return table.to_pandas(ignore_metadata=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(f"{path}: not a readable Parquet file ({error})") from error


def _check_header(path: Path) -> None:
    """Refuse duplicate column names, which pandas would rename without a word."""
    opener = gzip.open if path.name.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as lines:
        names = next(csv.reader(lines), [])
    if not names:
        raise UserError(f"{path}: the file is empty; the first line should name the columns")
    _check_names(path, names)


def _check_names(path: Path, names: list[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UserError(f"{path}: column name(s) {', '.join(map(repr, twice))} occur more than once; rename them")
