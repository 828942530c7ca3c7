"""Raw datasets on disk: a Parquet table with a small JSON record beside it.

A dataset that could not be had has a record with a reason, and an empty table: one missing dataset never stops the
others and never vanishes without a word.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.atomic import set_aside, unreadable, whole_file, write_json
from qrt.data.raw_table import RawTable

# Raised by one when a source's table is read or stored differently, so that fetched data is fetched again. Not the
# fingerprint of the code: mending one source's client must not fetch, and so retrain, everything.
RAW_FORMAT = 1


def file_sha256(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def check_sha256(path: Path, recorded: str) -> None:
    """Set the file aside if it does not have the recorded checksum, so that the next call makes it anew (UserError)."""
    try:
        found = file_sha256(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if found != recorded:
        raise set_aside(path, "its checksum is not the recorded one")


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


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write the record of a dataset, with a checksum of it inside."""
    write_json(path, record | {"record_sha256": _record_sha256(record)})


def read_record(path: Path) -> dict[str, Any]:
    """A record written by this module; a damaged one is set aside, so that the next call makes it anew (UserError)."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    record = parsed_record(content)
    if record is None:
        raise set_aside(path, "it is not a whole record")
    return record


def parsed_record(content: bytes) -> dict[str, Any] | None:
    """The record in the bytes of its file, or None where they are not those that were written."""
    try:
        record = json.loads(content)
    except ValueError:
        return None
    if not isinstance(record, dict) or not {"status", "reason"} <= record.keys():
        return None
    checksum = record.pop("record_sha256", None)
    return record if checksum in (None, _record_sha256(record)) else None


def _record_sha256(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def read_raw(path: Path, record: dict[str, Any]) -> RawTable:
    """The table that `write_raw` stored, checked against the checksum of its record."""
    check_sha256(path, record["table_sha256"])
    return RawTable(
        frame=pd.read_parquet(path, engine="pyarrow"),
        target=record["target"],
        categorical=tuple(record["categorical"]),
        rules=record["rules"],
        target_transform=record["target_transform"],
        missing_column_threshold=record["missing_column_threshold"],
        provenance=record["provenance"],
    )


def record_in_words(record: dict[str, Any]) -> str:
    """What became of a dataset, in one line."""
    reason = f": {record['reason']}" if record["reason"] else f" ({record.get('rows', '?')} rows)"
    return f"{record['dataset']}: {record['status']}{reason}"
