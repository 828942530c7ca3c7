"""A fingerprint of the code behind a cheap rule.

Snakemake sees only the command line of a rule, not the package behind it. Rules whose work is cheap therefore have as a
parameter a checksum of the rooms that they run; dear ones have a version instead (`qrt_study.versions`).
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_STUDY = Path(__file__).parent
_SUFFIXES = (".py", ".csv", ".css", ".js", ".json", ".yaml")


def code_version(*rooms: str) -> str:
    """Checksum of the source and data files of these rooms.

    A room is a folder of `qrt_study` ("statistics"), one of `qrt` ("qrt/engine"), or a single module
    ("commands/figure").
    """
    return hashlib.sha256("".join(map(_checksum, rooms)).encode()).hexdigest()[:16]


@cache
def _checksum(room: str) -> str:
    place = (_STUDY.parent if room.startswith("qrt/") else _STUDY) / room
    module = place.with_suffix(".py")
    files = [module] if module.is_file() else sorted(path for path in place.rglob("*") if path.suffix in _SUFFIXES)
    if not files:
        raise ValueError(f"there is no room {room!r} in {_STUDY.parent}")
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
