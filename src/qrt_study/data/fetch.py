"""Where a dataset comes from: the sources in order, and a record of what each of them said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from qrt.errors import UserError
from qrt.estimator.text_table import read_own_table
from qrt_study.data.embedded import EMBEDDED
from qrt_study.data.mirror import fetch_mirror
from qrt_study.data.raw_store import write_raw
from qrt_study.data.raw_table import OWN_SOURCE, RawTable, SourceUnavailable
from qrt_study.data.record import file_sha256
from qrt_study.data.sheet import SheetRow, paper_datasets


def fetch(
    name: str,
    table_path: Path,
    record_path: Path,
    *,
    sources: Sequence[str],
    mirror: Path | None,
    own: dict[str, Any] | None,
    cache: Path,
    lock: Path,
) -> dict[str, Any]:
    """Get one dataset from the first source that has it; store its table and record, and return the record."""
    record: dict[str, Any] = {"dataset": name, "status": "available", "reason": ""}
    table: RawTable | None = None
    try:
        if own is not None:
            table = _own_table(own)
        elif name in EMBEDDED:
            table = EMBEDDED[name].table()
        else:
            table = _from_sources(name, sources, _Places(mirror, cache, lock))
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


class _Places(NamedTuple):
    """Where data and what is known of it lie."""

    mirror: Path | None
    cache: Path
    lock: Path


def _from_mirror(row: SheetRow, places: _Places) -> RawTable | None:
    return None if places.mirror is None else fetch_mirror(row.name, places.mirror)


def _from_openml(row: SheetRow, places: _Places, *, parquet: bool = False) -> RawTable | None:
    if row.openml_id is None:
        return None
    from qrt_study.data.openml_source import fetch_openml
    from qrt_study.data.source_lock import SourceLock

    return fetch_openml(row, places.cache, SourceLock(places.lock), parquet=parquet)


def _from_uci(row: SheetRow, places: _Places) -> RawTable | None:
    if not row.uci_address:
        return None
    from qrt_study.data.source_lock import SourceLock
    from qrt_study.data.uci_source import fetch_uci

    return fetch_uci(row, places.cache, SourceLock(places.lock))


# By their names in the configuration; None: the source is not asked for this dataset.
SOURCES: dict[str, Callable[[SheetRow, _Places], RawTable | None]] = {
    "mirror": _from_mirror,
    "openml": _from_openml,
    "openml_parquet": partial(_from_openml, parquet=True),
    "uci": _from_uci,
}


def _from_sources(name: str, sources: Sequence[str], places: _Places) -> RawTable:
    """The table from the first source that has it; SourceUnavailable tells what each of them said."""
    row = paper_datasets().get(name)
    if row is None:
        raise UserError(f"there is no dataset {name!r} in the paper; data of your own goes under own_datasets")
    said = []
    for source in sources:
        try:
            table = SOURCES[source](row, places)
        except SourceUnavailable as error:
            said.append(str(error))
        else:
            if table is not None:
                return table
    raise SourceUnavailable("; ".join(said) or "no source is set; give a mirror, or allow openml and uci in sources")
