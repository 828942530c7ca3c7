"""The small JSON record beside a dataset's files: status, reason, and what else is known of it; no pandas."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from qrt.atomic import set_aside, unreadable, write_json
from qrt.text.terminal import printable

_SHA256_DIGITS = 64


def file_sha256(path: Path) -> str:
    """Checksum of a file."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def check_sha256(path: Path, recorded: str) -> None:
    """Set the file aside if it does not have the recorded checksum, so that the next call rebuilds it (UserError)."""
    try:
        found = file_sha256(path)
    except OSError as error:
        raise unreadable(path, error) from error
    if found != recorded:
        raise set_aside(path, "its checksum is not the recorded one")


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record, with a checksum of it inside."""
    write_json(path, with_checksum(record))


def with_checksum(record: Mapping[str, Any]) -> dict[str, Any]:
    """The record and a checksum of it, for `parsed_record`."""
    return dict(record) | {"record_sha256": _record_sha256(record)}


def read_record(path: Path) -> dict[str, Any]:
    """A record written by this module; a damaged one is set aside, so that the next call rebuilds it (UserError)."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    record = parsed_record(content)
    if record is None:
        raise set_aside(path, "it is not a whole record")
    return record


def parsed_record(content: bytes, needed: Set[str] = frozenset({"status", "reason"})) -> dict[str, Any] | None:
    """The record in the bytes of its file, or None where they are not those that were written, or lack a key."""
    try:
        record = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not needed <= record.keys():
        return None
    checksum = record.pop("record_sha256", None)
    if checksum is None:  # from before records had one, unless it is there by a damaged name
        damaged = (name for name, value in record.items() if isinstance(value, str) and len(value) == _SHA256_DIGITS)
        return None if any(_record_sha256(_without(record, name)) == record[name] for name in damaged) else record
    return record if checksum == _record_sha256(record) else None


def data_checksum(record: dict[str, Any]) -> str:
    """What tells the prepared data of a record from any other: a checksum of x and y."""
    return f"{record['x_sha256'][:16]}{record['y_sha256'][:16]}"


def record_in_words(record: dict[str, Any]) -> str:
    """What became of a dataset, in one line."""
    reason = f": {record['reason']}" if record["reason"] else f" ({record.get('rows', '?')} rows)"
    return printable(f"{record['dataset']}: {record['status']}{reason}")


def _without(record: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key != name}


def _record_sha256(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(dict(record), sort_keys=True).encode()).hexdigest()
