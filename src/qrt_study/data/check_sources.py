"""Whether the servers still have what the sheet names: descriptions and beginnings of files, no downloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from qrt.errors import UserError
from qrt.text.terminal import printable
from qrt_study.data.download import TransferSettings, beginning
from qrt_study.data.openml_source import descriptions
from qrt_study.data.raw_table import SourceUnavailable
from qrt_study.data.sheet import SheetRow, paper_datasets
from qrt_study.data.source_lock import Origin, SourceLock
from qrt_study.data.uci_source import uci_origin

# A question that a person waits for: what is slow now may be asked again.
_SETTINGS = TransferSettings(connect_seconds=5.0, read_seconds=15.0, attempts=2, longest_retry_after_seconds=15.0)
_THREADS = 6  # with three requests at most to each server


class Checked(NamedTuple):
    """What is wrong with the source of a dataset, and what is odd about it; empty: nothing."""

    name: str
    problem: str
    note: str


def check_sources(
    rows: Iterable[SheetRow], cache: Path, lock: SourceLock, settings: TransferSettings = _SETTINGS
) -> Iterator[Checked]:
    """Ask for the source of each dataset, of several at once."""
    with descriptions(cache, settings) as describe, ThreadPoolExecutor(_THREADS) as pool:

        def check(row: SheetRow) -> Checked:
            try:
                found, status = (uci_origin(row), "active") if row.openml_id is None else describe(row)
                _check_pins(row, found, lock)
                beginning(found.address, cache / "slots", settings)
            except SourceUnavailable as problem:
                return Checked(row.name, str(problem), "")
            return Checked(row.name, "", "" if status == "active" else f"OpenML's status of it is {status!r}")

        yield from pool.map(check, rows)


def _check_pins(row: SheetRow, found: Origin, lock: SourceLock) -> None:
    """Compare what a source says with the lock file, which has what was downloaded once."""
    pinned = lock.entry(row.name)
    if pinned is None or pinned.source != found.source:
        return
    names = [name for name in ("openml_id", "openml_version", "md5") if getattr(pinned, name) != getattr(found, name)]
    if names:
        told = ", ".join(f"{name} {getattr(pinned, name)}, now {getattr(found, name)}" for name in names)
        raise SourceUnavailable(f"{found.address}: {lock.path} has {told}.")


def tell_sources(*, cache: Path = Path("data/cache"), lock: Path = Path("datasets.lock.json")) -> None:
    """Ask OpenML and UCI whether they still have every dataset of the sheet; nothing is downloaded.

    One line for each dataset, which names OpenML's status of it unless that is `active`. An error if a source has
    changed or is gone.
    """
    rows = paper_datasets().values()
    wrong = 0
    for name, problem, note in check_sources(rows, cache, SourceLock(lock)):
        wrong += bool(problem)
        print(printable(f"{name}: {problem or ', but '.join(filter(None, ['as in the sheet', note]))}"), flush=True)
    if wrong:
        raise UserError(f"{wrong} of {len(rows)} sources are not as in the sheet")
