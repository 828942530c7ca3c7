"""Whether the servers still have what the sheet names: descriptions and beginnings of files, no downloads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from qrt.errors import UserError
from qrt.text.terminal import printable
from qrt_study.data.download import TransferSettings, beginning
from qrt_study.data.openml_source import origins
from qrt_study.data.raw_table import SourceUnavailable
from qrt_study.data.sheet import SheetRow, paper_datasets
from qrt_study.data.source_lock import Origin, SourceLock
from qrt_study.data.uci_source import uci_origin


def check_sources(
    rows: Iterable[SheetRow], cache: Path, lock: SourceLock, settings: TransferSettings | None = None
) -> Iterator[tuple[str, str]]:
    """For each dataset its name and what is wrong with its source; empty: nothing."""
    settings = settings or TransferSettings()
    wanted = list(rows)
    described = origins([row for row in wanted if row.openml_id is not None], cache, settings)
    for row in wanted:
        try:
            found = described[row.name] if row.openml_id is not None else uci_origin(row)
            if isinstance(found, SourceUnavailable):
                raise found
            _check_pins(row, found, lock)
            beginning(found.address, cache / "slots", settings)
        except SourceUnavailable as problem:
            yield row.name, str(problem)
        else:
            yield row.name, ""


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

    One line for each dataset; an error if a source has changed or is gone.
    """
    rows = paper_datasets().values()
    wrong = 0
    for name, problem in check_sources(rows, cache, SourceLock(lock)):
        wrong += bool(problem)
        print(printable(f"{name}: {problem or 'as in the sheet'}"), flush=True)
    if wrong:
        raise UserError(f"{wrong} of {len(rows)} sources are not as in the sheet")
