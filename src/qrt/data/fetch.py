"""Where a dataset comes from: the sources in order, and a record of what each of them said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qrt.data.embedded import EMBEDDED
from qrt.data.mirror import fetch_mirror
from qrt.data.raw_store import write_raw
from qrt.data.raw_table import OWN_SOURCE, RawTable, SourceUnavailable
from qrt.data.record import file_sha256, is_available, parsed_record
from qrt.data.sheet import paper_datasets
from qrt.data.text_table import read_own_table
from qrt.errors import UserError


def next_attempt(record_path: Path, prepared: Path | None = None) -> int:
    """Number of the attempt that would make the record at `record_path` now.

    Snakemake has it as a parameter of the job: it grows while a dataset is unavailable, so that every call tries
    again, and stands still once the dataset is there. So it does for data of the user's that turned out to be unusable:
    `prepared` is the record that says so. A damaged record is attempt 0, unlike any before it: the dataset is fetched
    again.
    """
    if not record_path.is_file():
        return 1
    record = parsed_record(record_path.read_bytes())
    if record is None:
        return 0
    is_unusable = prepared is not None and prepared.is_file() and not is_available(prepared)
    return int(record["attempt"]) + (record["status"] != "available" or is_unusable)


def fetch(
    name: str,
    table_path: Path,
    record_path: Path,
    *,
    attempt: int,
    sources: Sequence[str],
    mirror: Path | None,
    own: dict[str, Any] | None,
    cache: Path,
    lock: Path,
) -> dict[str, Any]:
    """Get one dataset from the first source that has it; store its table and record, and return the record."""
    record: dict[str, Any] = {"dataset": name, "attempt": attempt, "status": "available", "reason": ""}
    table: RawTable | None = None
    try:
        if own is not None:
            table = _own_table(own)
        elif name in EMBEDDED:
            table = EMBEDDED[name].table()
        else:
            table = _from_sources(name, sources, mirror, cache, lock)
    except (SourceUnavailable, _OwnFileUnusable) as error:
        record |= {"status": "unavailable", "reason": str(error)}
    return write_raw(table, record, table_path, record_path)


class _OwnFileUnusable(Exception):
    """The user's file cannot be read; the message says why."""


def _own_table(own: dict[str, Any]) -> RawTable:
    path = Path(own["path"])
    try:
        frame = read_own_table(path)
        provenance: dict[str, str | int] = {
            "source": OWN_SOURCE,
            "address": str(path),
            "sha256": file_sha256(path),
        }
    except UserError as error:
        raise _OwnFileUnusable(str(error)) from error
    return RawTable(
        frame=frame,
        target=own["target"],
        categorical=tuple(own["categorical"]),
        unwanted=tuple(own.get("drop", ())),
        rules="openml" if own.get("drop_few_valued") else "own",
        target_transform=own.get("target_transform", "none"),
        provenance=provenance,
    )


def _from_sources(name: str, sources: Sequence[str], mirror: Path | None, cache: Path, lock_path: Path) -> RawTable:
    """The table from the first source that has it; SourceUnavailable tells what each of them said."""
    row = paper_datasets().get(name)
    if row is None:
        raise UserError(f"there is no dataset {name!r} in the paper; data of your own goes under own_datasets")
    said = []
    for source in sources:
        try:
            if source == "mirror" and mirror is not None:
                return fetch_mirror(name, mirror)
            if source == "openml" and (row.openml_suite or row.openml_id):
                from qrt.data.openml_source import fetch_openml
                from qrt.data.source_lock import SourceLock

                return fetch_openml(row, cache, SourceLock(lock_path))
            if source == "uci" and row.uci_address:
                from qrt.data.source_lock import SourceLock
                from qrt.data.uci_source import fetch_uci

                return fetch_uci(row, cache, SourceLock(lock_path))
        except SourceUnavailable as error:
            said.append(str(error))
    raise SourceUnavailable("; ".join(said) or "no source is set; give a mirror, or allow openml and uci in sources")
