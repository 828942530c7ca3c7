"""Targets that a user asks for by name: a mistyped one gets a suggestion."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from typing import NoReturn


def what_was_meant(target: str, known: Collection[str]) -> NoReturn:
    """End the call, saying which of the known targets was probably meant; Snakemake would show a traceback."""
    padded = re.sub(r"^fig(\d)$", r"fig0\1", target)
    close = [padded] if padded in known else difflib.get_close_matches(target, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "snakemake --list-target-rules shows all."
    raise SystemExit(f"error: there is no target {target!r}; {hint}")
