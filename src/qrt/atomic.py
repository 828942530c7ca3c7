"""Files that appear whole or not at all, and damaged ones that make way for whole ones."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qrt.errors import UserError

_PARTIAL = ".partial"
_AGAIN = "run the same command again, and what is missing is rebuilt."


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it becomes `path`, on any failure it is removed."""
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial, handle = _new_partial(path)
        with os.fdopen(handle):  # which holds its lock
            yield partial
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            # mkstemp makes private files; results are to be read by everyone the umask allows.
            umask = os.umask(0)
            os.umask(umask)
            partial.chmod(0o666 & ~umask)
            os.replace(partial, path)
        _remove_leftovers(path)
    except OSError as error:
        # Arrow has its own words for an error number; those of the system are better known.
        why = os.strerror(error.errno) if error.errno else str(error)
        raise UserError(
            f"{path}: cannot be written ({why}). Nothing was left behind; "
            "free some space or correct the permissions, then run the same command again."
        ) from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def _new_partial(path: Path) -> tuple[Path, int]:
    """A temporary file beside `path` and its open handle, locked: the lock ends with the process, however it ends."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_PARTIAL, dir=path.parent)
        with contextlib.suppress(OSError):  # a file system without locks, on which leftovers stay
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.path.exists(name):  # else another process took it for a leftover before it was locked
            return Path(name), handle
        os.close(handle)


def _remove_leftovers(path: Path) -> None:
    """Remove what writers of the same file left that were killed half-way; those of living ones are locked."""
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{_PARTIAL}"):
        with contextlib.suppress(OSError), leftover.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftover.unlink(missing_ok=True)


def set_aside(path: Path, reason: str) -> UserError:
    """Rename a damaged file to *.damaged and return the error that says so.

    Snakemake sees time stamps, not contents. A file that is gone is rebuilt, with all that depends on it.
    """
    aside = path.with_name(f"{path.name}.damaged")
    try:
        path.replace(aside)
    except FileNotFoundError as error:  # another job was faster
        return unreadable(path, error)
    except OSError as error:
        return UserError(f"{path}: damaged ({reason}). It cannot be renamed ({error.strerror}): delete it, {_AGAIN}")
    return UserError(f"{path}: damaged ({reason}). It is now {aside.name}: {_AGAIN}")


def unreadable(path: Path, error: OSError) -> UserError:
    """The error for a file whose bytes cannot be read; perhaps an earlier attempt of the job has set it aside."""
    aside = path.with_name(f"{path.name}.damaged")
    if isinstance(error, FileNotFoundError) and aside.exists():
        return UserError(f"{path}: was damaged and is now {aside.name}: {_AGAIN}")
    return UserError(f"{path}: cannot be read ({error.strerror or error}): {_AGAIN}")


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all; half a surrogate pair is written as an escape."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path: Path, content: Any) -> None:
    """Write `content` as readable JSON with sorted keys, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
