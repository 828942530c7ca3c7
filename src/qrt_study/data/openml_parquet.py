"""OpenML's Parquet files as the tables that its ARFF files are; a column of another type is refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from qrt_study.data.arff_reader import ArffTable


class NotTheTable(Exception):
    """The file is no Parquet file, or its columns are not those of the description; the message says which."""


def read_openml_parquet(path: Path, kinds: Mapping[str, str]) -> ArffTable:
    """The table at `path`, whose columns have the `kinds` (numeric, nominal, string, ...) that OpenML says."""
    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise NotTheTable(f"not a readable Parquet file: {str(error).splitlines()[0][:200]}") from error
    if table.column_names != list(kinds):
        raise NotTheTable(f"its columns {table.column_names} are not those of OpenML's description, {list(kinds)}")
    wrong = [
        f"{field.name} is {kinds[field.name]}, here {field.type}" for field in table.schema if not _fits(field, kinds)
    ]
    if wrong:
        raise NotTheTable(f"its types are not those of OpenML's description: {'; '.join(wrong)}")
    types = [(name, pa.float64() if kind == "numeric" else pa.string()) for name, kind in kinds.items()]
    frame = table.cast(pa.schema(types)).to_pandas(ignore_metadata=True)
    return ArffTable(frame, tuple(name for name, kind in kinds.items() if kind == "nominal"))


def _fits(field: pa.Field, kinds: Mapping[str, str]) -> bool:
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    if pa.types.is_null(kind):  # no value in any row
        return True
    if kinds[field.name] == "numeric":
        return not pa.types.is_dictionary(field.type) and (pa.types.is_integer(kind) or pa.types.is_floating(kind))
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
