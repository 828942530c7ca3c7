"""ARFF files as tables: quick where the file allows it, by the book where it does not."""

from __future__ import annotations

import codecs
import csv
import mmap
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import arff  # type: ignore[import-untyped]
import pandas as pd
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

_DATA_LINE = re.compile(rb"^[ \t]*@data[ \t\r]*$", re.I | re.M)
# Blanks around a value belong to the value for a CSV reader and to nobody for ARFF.
_PADDING = re.compile(rb",[ \t]|[ \t][,\r\n]|\n[ \t]")
_ROWS_AT_A_TIME = 50_000
Attributes = list[tuple[str, str | list[str]]]  # name and type, or name and the values of a nominal one
_NUMBERS = ("NUMERIC", "REAL", "INTEGER")


class NotArff(Exception):
    """The file is not an ARFF file, or not a whole one; the message says where."""


@dataclass(frozen=True)
class ArffTable:
    """The table of an ARFF file: numeric attributes as float64, all others as text, missing as NaN / None."""

    frame: pd.DataFrame
    nominal: tuple[str, ...]


def read_arff(path: Path) -> ArffTable:
    """Read the ARFF file at `path`.

    The header is read by liac-arff. So are the rows, where they need it (escapes, both kinds of quotes,
    blanks around text, sparse rows); all others go through Arrow's CSV reader, since ten million rows as
    Python objects would need tens of gigabytes.
    """
    encoding = _encoding(path)
    try:
        attributes = _attributes(path, encoding)
        table = _rows_by_arrow(path, encoding, attributes)
        if table is None:
            table = _rows_by_the_book(path, encoding, attributes)
    except (arff.ArffException, csv.Error, ValueError, ArithmeticError, RecursionError) as error:
        raise NotArff(f"not a readable ARFF file: {_reason(error)}") from error
    nominal = tuple(name for name, kind in attributes if isinstance(kind, list))
    return ArffTable(table.to_pandas(split_blocks=True, self_destruct=True), nominal)


def _encoding(path: Path) -> str:
    """UTF-8 if the file is valid UTF-8, else Latin-1, which old files on OpenML are written in."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as source:
            while chunk := source.read(1 << 20):
                decoder.decode(chunk)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _attributes(path: Path, encoding: str) -> Attributes:
    with path.open(encoding=encoding) as lines:
        # A generator leaves the rows unread.
        return list(arff.load(_without_nulls(lines), return_type=arff.DENSE_GEN)["attributes"])


def _without_nulls(lines: Iterable[str]) -> Iterator[str]:
    """The lines without the null characters that some files end with."""
    return (line.rstrip("\0") for line in lines)


def _rows_by_arrow(path: Path, encoding: str, attributes: Attributes) -> pa.Table | None:
    """The rows as Arrow reads them, or None where Arrow's CSV and ARFF could mean different things."""
    text = any(kind not in _NUMBERS for _, kind in attributes)
    with path.open("rb") as source, mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_READ) as content:
        data_line = _DATA_LINE.search(content)
        if data_line is None:
            return None
        start = data_line.end()
        quotes = [quote for quote in ("'", '"') if content.find(quote.encode(), start) >= 0]
        padded = text and _PADDING.search(content, start) is not None
        if len(quotes) > 1 or padded or any(content.find(sign, start) >= 0 for sign in (b"\\", b"{")):
            return None
        end = len(content)
        while content[end - 1] == 0:  # some files end with null characters
            end -= 1
    with pa.memory_map(str(path)) as whole:
        rows = whole.read_buffer(end)[start:]
        return _arrow_table(pa.BufferReader(rows), encoding, attributes, quotes)


def _arrow_table(rows: pa.BufferReader, encoding: str, attributes: Attributes, quotes: list[str]) -> pa.Table | None:
    schema = _schema(attributes)
    try:
        table = pa.csv.read_csv(
            rows,
            pa.csv.ReadOptions(
                column_names=schema.names,
                encoding="utf8" if encoding.startswith("utf") else encoding,
                use_threads=False,
                block_size=1 << 24,  # a row has to fit: some tables have thousands of columns
            ),
            pa.csv.ParseOptions(
                quote_char=quotes[0] if quotes else False,
                double_quote=False,
                invalid_row_handler=lambda row: "skip" if row.text.lstrip().startswith("%") else "error",
            ),
            # As in ARFF, ? without quotes is missing and '?' in quotes is a text.
            pa.csv.ConvertOptions(
                column_types=schema,
                null_values=["?", ""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
    except pa.ArrowInvalid:
        return None
    for name, kind in attributes:
        if isinstance(kind, list):
            values = set(pa.compute.unique(table[name]).drop_null().to_pylist())
            if not values <= set(kind):
                return None
    return table


def _rows_by_the_book(path: Path, encoding: str, attributes: Attributes) -> pa.Table:
    schema = _schema(attributes)
    parts = [schema.empty_table()]
    with path.open(encoding=encoding) as lines:
        rows = iter(arff.load(_without_nulls(lines), return_type=arff.DENSE_GEN)["data"])
        while part := list(islice(rows, _ROWS_AT_A_TIME)):
            columns = [_values(values, field) for values, field in zip(zip(*part, strict=True), schema, strict=True)]
            parts.append(pa.table(columns, schema=schema))
    return pa.concat_tables(parts)


def _values(values: tuple[str | float | None, ...], field: pa.Field) -> pa.Array:
    convert = float if field.type == pa.float64() else str
    return pa.array([None if value is None else convert(value) for value in values], field.type)


def _schema(attributes: Attributes) -> pa.Schema:
    return pa.schema([(name, pa.float64() if kind in _NUMBERS else pa.string()) for name, kind in attributes])


def _reason(error: Exception) -> str:
    try:
        return str(error).splitlines()[0][:300]
    except (
        TypeError,
        ValueError,
        IndexError,
    ):  # liac-arff formats messages that hold the row, per cent signs and all
        return type(error).__name__
