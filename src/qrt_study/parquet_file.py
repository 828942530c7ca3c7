"""Parquet files with documented columns and a checksum of their content: whole, or set aside as damaged. No pandas."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.atomic import set_aside, unreadable, whole_file
from qrt.errors import UserError

Column = tuple[pa.DataType, str]  # type and meaning
TEXT, NUMBER, COUNT, BYTES = pa.string(), pa.float64(), pa.int64(), pa.large_binary()
_CHECKSUM = b"qrt.checksum"  # of the content, in the metadata of the file


def as_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column]) -> pa.Table:
    """Rows as an Arrow table with exactly these columns; what a row lacks is missing."""
    unknown = {name for row in rows for name in row} - set(columns)
    if unknown:
        raise KeyError(f"undocumented columns: {sorted(unknown)}")
    return pa.Table.from_pylist([dict(row) for row in rows], schema=_schema(columns))


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]], columns: Mapping[str, Column]) -> None:
    """Write rows as Parquet, whole or not at all."""
    write_table(path, as_table(rows, columns))


def write_table(path: Path, table: pa.Table) -> None:
    """Write an Arrow table as Parquet, whole or not at all."""
    # Bytes are numbers of networks, which do not compress. Their statistics would be whole values, the least and the
    # largest, and their dictionary all of them.
    plain = [field.name for field in table.schema if field.type != BYTES]
    compression = {name: "snappy" if name in plain else "none" for name in table.schema.names}
    with whole_file(path) as partial:
        pq.write_table(
            table.replace_schema_metadata({_CHECKSUM: content_checksum(table)}),
            partial,
            compression=compression,
            write_statistics=plain,
            use_dictionary=plain,
        )


def read_tables(paths: Sequence[Path], columns: Mapping[str, Column]) -> pa.Table:
    """The rows of all files in their order, if they are whole and have these columns.

    All damaged files are set aside and named at once.
    """
    schema, tables, problems, other = _schema(columns), [], [], []
    for path in paths:
        try:
            table = _read(path)
        except UserError as error:
            problems.append(str(error))
            continue
        if table.schema.names != schema.names:
            other.append(str(path))
        tables.append(table)
    if problems:
        raise UserError("\n".join(problems))
    if other:
        raise UserError(f"{', '.join(other)}: the columns are not those of this version; delete and run again")
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])


def _schema(columns: Mapping[str, Column]) -> pa.Schema:
    return pa.schema([(name, kind) for name, (kind, _) in columns.items()])


def _read(path: Path) -> pa.Table:
    try:
        content = path.read_bytes()
    except OSError as error:  # the file system's, which says nothing about the content
        raise unreadable(path, error) from error
    try:
        table = pq.read_table(pa.BufferReader(content))
        recorded = (table.schema.metadata or {}).get(_CHECKSUM)
        if recorded != content_checksum(table):
            raise set_aside(path, "its content does not have its checksum")
    except MemoryError:  # which says nothing about it either
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise set_aside(path, str(error).splitlines()[0][:200] if str(error) else "unreadable") from error
    return table.replace_schema_metadata(None)


def content_checksum(table: pa.Table) -> bytes:
    """Of names, types and values.

    The checksums of Parquet's pages leave out its footer: one of 40 flipped bits would change a column unseen.
    """
    digest = hashlib.sha256()
    for name, column in zip(table.column_names, table.columns, strict=True):
        present = column.drop_null()
        if pa.types.is_string(column.type):
            values = "\0".join(present.to_pylist()).encode()
        elif pa.types.is_large_binary(column.type):
            values = b"".join(hashlib.sha256(value).digest() for value in present.to_pylist())
        else:
            values = present.to_numpy().tobytes()
        digest.update(f"{name} {column.type} ".encode() + column.is_null().to_numpy().tobytes() + values)
    return digest.hexdigest().encode()
