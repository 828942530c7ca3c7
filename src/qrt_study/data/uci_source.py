"""Datasets from the UCI archive: zip archives with data files and spreadsheets."""

from __future__ import annotations

import csv
import io
import os
import re
import warnings
import zipfile
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import pandas as pd

from qrt.errors import UserError
from qrt.estimator.text_table import csv_records, sound_records, text_of
from qrt_study.data.archive_member import member_bytes, refuse_large_archive
from qrt_study.data.download import TransferSettings
from qrt_study.data.raw_table import RawTable, SourceUnavailable
from qrt_study.data.sheet import SheetRow
from qrt_study.data.source_lock import Origin, SourceLock, locked_file

SERVER_VARIABLE = "QRT_UCI_SERVER"
_SEPARATORS = {"comma": ",", "semicolon": ";", "whitespace": " "}
_MISSING = ("?", "")
_BLANKS = re.compile(r'("[^"]*")|\s+')


def fetch_uci(row: SheetRow, cache: Path, lock: SourceLock, settings: TransferSettings | None = None) -> RawTable:
    """The table of `row` from the UCI archive, its bytes checked against the sheet and the lock file.

    The archive is kept below `cache / "uci"`. The environment variable QRT_UCI_SERVER replaces scheme and
    host of the address. Raises `SourceUnavailable` when the archive is unavailable or is not the data.
    """
    origin = uci_origin(row)
    path = cache / "uci" / row.name / unquote(PurePosixPath(urlsplit(origin.address).path).name)
    with locked_file(
        row.name,
        path,
        origin=origin,
        lock=lock,
        slots=cache / "slots",
        settings=settings or TransferSettings(),
        sha256=row.uci_sha256,
    ) as entry:
        content = member_bytes(path.read_bytes(), row.uci_member, origin.address)
        frame = _table(content, row, origin.address)
        target = _target(frame, row, origin.address)
    return RawTable(
        frame=frame,
        target=target,
        rules="uci",
        missing_column_threshold=row.missing_column_threshold,
        provenance={
            "source": entry.source,
            "address": entry.address,
            "member": row.uci_member,
            "sha256": entry.sha256,
            "size": entry.size,
        },
    )


def uci_origin(row: SheetRow) -> Origin:
    """Where the archive of a dataset is."""
    if not row.uci_address:
        raise SourceUnavailable(f"{row.name}: is not in the UCI archive.")
    return Origin(source="uci", address=_address(row.uci_address))


def _address(address: str) -> str:
    server = os.environ.get(SERVER_VARIABLE)
    if not server:
        return address
    replaced = urlsplit(server)
    return urlunsplit(urlsplit(address)._replace(scheme=replaced.scheme, netloc=replaced.netloc))


def _table(content: bytes, row: SheetRow, origin: str) -> pd.DataFrame:
    try:
        if row.uci_reader == "excel":
            cells = _spreadsheet_cells(content, origin)
        else:
            cells = _text_cells(content, _SEPARATORS[row.uci_reader])
    except (UserError, ValueError, csv.Error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _not_the_data(row, origin, f"it cannot be read as {row.uci_reader} ({reason})") from error
    columns, cells = _column_names(cells, row, origin)
    if cells.empty:
        raise _not_the_data(row, origin, "it has no rows")
    frame = pd.DataFrame({name: _typed(cells[place]) for place, name in zip(cells, columns, strict=True)})
    return frame.reset_index(drop=True)


def _text_cells(content: bytes, separator: str) -> pd.DataFrame:
    """All fields as text, missing ones as None, without a header; pandas would fill up rows that are too short."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    lines = io.StringIO(text, newline="")
    simple = lines if separator != " " else map(_with_single_blanks, lines)
    records = csv_records(simple, delimiter=separator, skipinitialspace=True)
    first = next((record for record in records if "".join(record.fields).strip()), None)
    if first is None:
        raise ValueError("it is empty")
    table, rows = text_of(chain([first], sound_records("the file", records, len(first.fields))))
    cells = pd.read_csv(
        table,
        sep=separator,
        header=None,
        dtype=str,
        na_values=list(_MISSING),
        keep_default_na=False,
        skipinitialspace=True,
        skip_blank_lines=False,
        index_col=False,
    )
    if cells.shape != (rows, len(first.fields)):
        raise ValueError(f"its quotes can be read in two ways, as {rows} or as {len(cells)} rows")
    return cells


def _with_single_blanks(line: str) -> str:
    """The line with one blank between its fields; quotes keep theirs."""
    return _BLANKS.sub(lambda found: found[1] or " ", line).strip() + "\n"


def _spreadsheet_cells(content: bytes, origin: str) -> pd.DataFrame:
    """The cells of the first sheet as they are, without the empty rows and columns that trail them."""
    try:
        rows = _xlsx_rows(content, origin) if content[:2] == b"PK" else _xls_rows(content)
    except SourceUnavailable:
        raise
    except Exception as error:  # whatever their readers make of damaged ones
        raise ValueError(f"{type(error).__name__}: {error}") from error
    present = [[None if value in _MISSING else value for value in row] for row in rows]
    cells = pd.DataFrame(present, dtype=object)
    return cells.dropna(axis="index", how="all").dropna(axis="columns", how="all")


def _xlsx_rows(content: bytes, origin: str) -> list[tuple[Any, ...]]:
    import openpyxl

    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        refuse_large_archive(archive, origin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # styles and extensions that openpyxl does not know
        book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        return list(book.worksheets[0].iter_rows(values_only=True))


def _xls_rows(content: bytes) -> list[list[Any]]:
    import xlrd

    sheet = xlrd.open_workbook(file_contents=content, logfile=io.StringIO()).sheet_by_index(0)
    return [sheet.row_values(number) for number in range(sheet.nrows)]


def _column_names(cells: pd.DataFrame, row: SheetRow, origin: str) -> tuple[list[str], pd.DataFrame]:
    if row.uci_columns == "numbered":
        return [f"c{number}" for number in range(cells.shape[1])], cells
    if row.uci_columns == "first line":
        if cells.empty:
            raise _not_the_data(row, origin, "it has no rows")
        names, cells = [str(name) for name in cells.iloc[0]], cells.iloc[1:]
    else:
        names = row.uci_columns.split(";")
    if len(names) != cells.shape[1] or len(set(names)) != len(names):
        raise _not_the_data(row, origin, f"it has {cells.shape[1]} columns, and {len(set(names))} names for them")
    return names, cells


def _typed(column: pd.Series) -> pd.Series:
    """The column as numbers if all its values are numbers, else as text."""
    present = column.dropna()
    try:
        numbers = [_number(value) for value in present]
    except (TypeError, ValueError):
        texts = [None if missing else str(value) for value, missing in zip(column, column.isna(), strict=True)]
        return pd.Series(texts, index=column.index)
    return pd.Series(numbers, index=present.index, dtype="float64").reindex(column.index)


def _number(value: Any) -> float:
    # float() reads every digit and takes no words like True, but it would take 1_2 for 12.
    if isinstance(value, str) and "_" in value:
        raise ValueError(value)
    return float(value)


def _target(frame: pd.DataFrame, row: SheetRow, origin: str) -> str:
    """The target's name in the file, where a stray blank more or less does not matter."""
    if row.target in frame.columns:
        return row.target
    alike = [name for name in frame.columns if name.split() == row.target.split()]
    if len(alike) != 1:
        raise _not_the_data(row, origin, f"it has no column {row.target!r}")
    return str(alike[0])


def _not_the_data(row: SheetRow, origin: str, reason: str) -> SourceUnavailable:
    return SourceUnavailable(f"{origin}: does not look like the data of {row.name}, {reason}.")
