"""The lock file: which bytes every dataset was, the first time it was downloaded."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from qrt.atomic import write_json
from qrt.errors import UserError
from qrt_study.data.download import Received, TransferSettings, TryAgain, digest_of_file, download
from qrt_study.data.raw_table import SourceUnavailable

LOCK_FILE = Path("datasets.lock.json")
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a dataset can be fetched, and what its source says about it before the data are fetched."""

    source: str  # openml, openml_parquet, uci
    address: str
    openml_id: int | None = None
    openml_version: int | None = None
    openml_name: str | None = None
    md5: str | None = None  # as OpenML publishes it


@dataclass(frozen=True, kw_only=True)
class LockEntry(Origin):
    """An origin together with the bytes that came from it."""

    sha256: str
    size: int


class SourceLock:
    """The lock file at `path`: one entry for each dataset, written once and checked ever after."""

    def __init__(self, path: Path = LOCK_FILE) -> None:
        self.path = path

    def entry(self, dataset: str) -> LockEntry | None:
        """What the lock file says about `dataset`, or None."""
        return self._read().get(dataset)

    def check(self, dataset: str, received: LockEntry) -> None:
        """Raise `SourceUnavailable` when the lock file knows `dataset` and says something else."""
        expected = self.entry(dataset)
        if expected is not None:
            self._compare(dataset, expected, received)

    def record(self, dataset: str, received: LockEntry) -> None:
        """Write the entry of `dataset` if there is none, else check it; safe among processes."""
        with self._alone():
            entries = self._read()
            if dataset in entries:
                self._compare(dataset, entries[dataset], received)
                return
            entries[dataset] = received
            content = {name: _without_none(asdict(entry)) for name, entry in entries.items()}
            write_json(self.path, {"datasets": content})

    def _compare(self, dataset: str, expected: LockEntry, received: LockEntry) -> None:
        # The same bytes from another address are the same dataset.
        compared = [field.name for field in fields(LockEntry) if field.name != "address"]
        wrong = [name for name in compared if getattr(expected, name) != getattr(received, name)]
        if wrong:
            says = ", ".join(f"{name} {getattr(expected, name)}" for name in wrong)
            came = ", ".join(f"{name} {getattr(received, name)}" for name in wrong)
            raise SourceUnavailable(
                f"{dataset}: {self.path} expects {says}, but from {received.address} came {came}; "
                f'to accept the new version, delete the entry "{dataset}" from {self.path} and run again.'
            )

    def _read(self) -> dict[str, LockEntry]:
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
            return {name: _entry(fields_) for name, fields_ in content["datasets"].items()}
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror}).") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UserError(
                f"{self.path}: the lock file is damaged ({error}); restore it from a copy, "
                "or delete it to accept whatever the sources send next."
            ) from error

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        # The lock file itself is replaced at every write, so the lock is held on a file beside it that stays.
        guard = self.path.with_name(f".{self.path.name}.guard")
        try:
            guard.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(guard, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
            except OSError:
                os.close(handle)
                raise
        except OSError as error:
            raise UserError(
                f"{guard}: cannot be made or locked ({error.strerror}); {self.path} must be in a writable directory."
            ) from error
        try:
            yield
        finally:
            os.close(handle)


@contextlib.contextmanager
def locked_file(
    dataset: str,
    path: Path,
    *,
    origin: Origin,
    lock: SourceLock,
    slots: Path,
    settings: TransferSettings,
    sha256: str = "",
) -> Iterator[LockEntry]:
    """Have the bytes of `origin` at `path` while the caller parses them; record them when that went well.

    `sha256` is what they are known to have; empty: nothing is known.
    A file that is already there is used if it is what the lock file says. When the checksum is wrong nothing
    is kept; when the caller finds that it is not the data (`SourceUnavailable`), it is removed, not recorded.
    """
    entry = _cached(dataset, path, origin, lock)
    if entry is None or sha256 not in ("", entry.sha256):
        entry = _fetched(dataset, path, origin=origin, lock=lock, slots=slots, settings=settings, sha256=sha256)
    try:
        lock.check(dataset, entry)
        yield entry
        lock.record(dataset, entry)
    except SourceUnavailable:
        path.unlink(missing_ok=True)
        raise


def _cached(dataset: str, path: Path, origin: Origin, lock: SourceLock) -> LockEntry | None:
    expected = lock.entry(dataset)
    if expected is None or not path.exists():
        return None
    here = _with_bytes(origin, digest_of_file(path))
    return here if here.sha256 == expected.sha256 else None


def _fetched(
    dataset: str, path: Path, *, origin: Origin, lock: SourceLock, slots: Path, settings: TransferSettings, sha256: str
) -> LockEntry:
    path.unlink(missing_ok=True)  # what is there is not what the lock file says, or nobody vouches for it
    wrong: list[Received] = []

    def check(received: Received) -> None:
        reason = ""
        if origin.md5 is not None and received.md5 != origin.md5.lower():
            reason = f"OpenML publishes md5 {origin.md5} and the received file has {received.md5}"
        elif sha256 not in ("", received.sha256):
            reason = f"the sheet of datasets has sha256 {sha256} and the received file has {received.sha256}"
        if reason and received not in wrong:  # the same bytes will come again
            wrong.append(received)
            raise TryAgain(f"the checksum is wrong, {reason}")
        if reason:
            raise SourceUnavailable(f"{origin.address}: the checksum is wrong, {reason}.")
        lock.check(dataset, _with_bytes(origin, received))

    return _with_bytes(origin, download(origin.address, path, slots, settings, check))


def _with_bytes(origin: Origin, received: Received) -> LockEntry:
    return LockEntry(**asdict(origin), sha256=received.sha256, size=received.size)


def _entry(content: dict[str, Any]) -> LockEntry:
    entry = LockEntry(**content)
    if not _SHA256.fullmatch(entry.sha256):
        raise ValueError(f"{entry.sha256!r} is not a sha256")
    return entry


def _without_none(content: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}
