"""What machine this is."""

from __future__ import annotations

import platform
from pathlib import Path


def processor() -> str:
    """The processor's name; Linux keeps it where Python's `platform` does not look."""
    description = Path("/proc/cpuinfo")
    lines = description.read_text(encoding="utf-8").splitlines() if description.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
