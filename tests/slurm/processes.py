"""The processes of this test, found by a mark in their environment, and ended by pid."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

MARK = "QRT_SLURM_TEST"


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Mark all that is started inside as belonging to `folder`, and kill what is left of it in the end."""
    os.environ[MARK] = str(folder)
    try:
        yield
    finally:
        for _ in range(40):
            left = [int(process.name) for process in own_processes()]
            if not left:
                break
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.25)
        else:
            raise RuntimeError(f"these processes do not end: {left}")


def own_processes() -> list[Path]:
    """The processes that inherited the mark, or run a program of its folder (a daemon with a title loses the mark)."""
    folder = os.environ[MARK]
    mark = f"{MARK}={folder}".encode()
    return [
        process
        for process in all_processes()
        if process.name != str(os.getpid())
        and (program(process).is_relative_to(folder) or mark in environment(process))
    ]


def all_processes() -> Iterator[Path]:
    """Folders of all processes."""
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdigit())


def program(process: Path) -> Path:
    """What a process runs; an empty path if it has ended."""
    try:
        return Path(os.readlink(process / "exe"))
    except OSError:
        return Path()


def command_line(process: Path) -> str:
    """Command line of a process; nothing if it has ended."""
    return _read(process / "cmdline").replace(b"\0", b" ").decode(errors="replace")


def environment(process: Path) -> list[bytes]:
    """Environment of a process as NAME=value; nothing if it has ended."""
    return _read(process / "environ").split(b"\0")


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
