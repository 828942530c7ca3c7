"""Ways in which a file gets damaged."""

from __future__ import annotations

import os
from pathlib import Path


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path, bit: int | None = None) -> None:
    """Flip one bit (of the middle byte, unless told) and keep the time stamp, as a failing disk does."""
    content, times = bytearray(path.read_bytes()), path.stat()
    bit = len(content) * 4 if bit is None else bit
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
