"""What became of the attempts of a job, so that one that never gets enough memory or time ends as a row with a reason.

A job that the kernel or a cluster kills has no last word. So each attempt notes that it was killed before it begins,
and takes the note back when it comes to its end. Only the attempts of one call of Snakemake count: the first starts
anew.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from qrt.atomic import write_json

_KILLED = "killed, for want of memory or time"
_OUT_OF_MEMORY = "out of memory"


@contextlib.contextmanager
def noted_attempt(notes: Path, number: int, asked: str) -> Iterator[None]:
    """Keep in the file `notes` how attempt `number` (from 1) of a job ended, which had `asked` for memory and time."""
    before = _read(notes) if number > 1 else []
    write_json(notes, [*before, {"asked": asked, "end": _KILLED}])
    try:
        yield
    except Exception as error:
        end = _OUT_OF_MEMORY if _is_out_of_memory(error) else f"error: {error}"
        write_json(notes, [*before, {"asked": asked, "end": end}])
        raise
    notes.unlink(missing_ok=True)


def reason_to_give_up(notes: Path) -> str | None:
    """How each attempt ended, if all of them lacked memory or time; None where something else is to be mended."""
    attempts = _read(notes)
    if not attempts or any(attempt["end"] not in (_KILLED, _OUT_OF_MEMORY) for attempt in attempts):
        return None
    told = [f"attempt {number} ({each['asked']}): {each['end']}" for number, each in enumerate(attempts, start=1)]
    return "; ".join(told)


def _read(notes: Path) -> list[dict[str, str]]:
    try:
        attempts: list[dict[str, str]] = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []  # no attempt before, or none that left a readable note
    return attempts


def _is_out_of_memory(error: Exception) -> bool:
    # PyTorch's allocator says it in words only.
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)
