"""The processes of this test, found by a mark in their environment, and ended by pid."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MARK = "QRT_SLURM_TEST"


@contextmanager
def nothing_left(folder: Path) -> Iterator[None]:
    """Mark all that is started inside as belonging to `folder`, and kill what is left of it in the end."""
    os.environ[MARK] = str(folder)
    try:
        yield
    finally:
        del os.environ[MARK]
        for _ in range(40):
            left = list(own_processes(folder))
            for process in left:
                try:
                    os.kill(int(process.name), signal.SIGKILL)
                except ProcessLookupError:
                    continue
            if not left:
                break
            time.sleep(0.25)
        else:
            raise RuntimeError(f"these processes do not end: {', '.join(process.name for process in left)}")


def own_processes(folder: Path) -> Iterator[Path]:
    """The processes that run a program of `folder` or inherited its mark: daemons that change their title lose it."""
    mark = f"{MARK}={folder}".encode()
    for process in all_processes():
        if process.name != str(os.getpid()):
            if program(process).is_relative_to(folder) or mark in environment(process):
                yield process


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
