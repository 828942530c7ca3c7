"""Raw datasets on disk: a Parquet table with a small JSON record beside it.

A dataset that is unavailable has a record with a reason, and an empty table: one missing dataset never stops the
others and never vanishes without a word.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from qrt.atomic import whole_file
from qrt_study.data.raw_table import RawTable
from qrt_study.data.record import check_sha256, file_sha256, write_record

# Raised by one when a source's table is read or stored differently, so that fetched data is fetched again. Not the
# fingerprint of the code: mending one source's client must not fetch, and so retrain, everything.
RAW_FORMAT = 1


def write_raw(table: RawTable | None, record: dict[str, Any], table_path: Path, record_path: Path) -> dict[str, Any]:
    """Store a source's table, or an empty one where there is none, and its record; return the whole record."""
    frame = table.frame if table is not None else pd.DataFrame()
    with whole_file(table_path) as partial:
        frame.to_parquet(partial, engine="pyarrow", index=False)
    description: dict[str, Any] = {}
    if table is not None:
        description = {
            "target": table.target,
            "categorical": list(table.categorical),
            "unwanted": list(table.unwanted),
            "rules": table.rules,
            "target_transform": table.target_transform,
            "missing_column_threshold": table.missing_column_threshold,
            "provenance": table.provenance,
            "rows": len(frame),
            "columns": len(frame.columns),
            "table_sha256": file_sha256(table_path),
        }
    write_record(record_path, record | description)
    return record | description


def read_raw(path: Path, record: dict[str, Any]) -> RawTable:
    """The table that `write_raw` stored, checked against the checksum of its record."""
    check_sha256(path, record["table_sha256"])
    return RawTable(
        frame=pd.read_parquet(path, engine="pyarrow"),
        target=record["target"],
        categorical=tuple(record["categorical"]),
        unwanted=tuple(record.get("unwanted", ())),  # tables that were fetched before there was this key have none
        rules=record["rules"],
        target_transform=record["target_transform"],
        missing_column_threshold=record["missing_column_threshold"],
        provenance=record["provenance"],
    )
