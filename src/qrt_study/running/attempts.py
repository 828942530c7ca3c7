"""What became of the attempts of a job, so that one that never gets enough memory or time ends as rows with a reason.

A job that the kernel or a cluster kills has no last word. So each attempt notes itself before it begins and takes the
note back when it succeeds; a note without an end is that of an attempt that was killed. Only the attempts of one call
of Snakemake count: the first begins from nothing. Snakemake asks for more memory and time with each attempt.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from qrt.atomic import write_json
from qrt.errors import UserError

MOST_ATTEMPTS = 3  # that may be killed; the next one gives up, if `retries` of Snakemake allows for it
_OUT_OF_MEMORY = "out of memory"


class Attempt(TypedDict):
    """One attempt: what it had asked for, and its end in words; None while it runs, and for ever if it was killed."""

    asked: str
    end: str | None


def notes_beside(log: Path) -> Path:
    """The file for the attempts of the job with this log; not a log itself, since Snakemake removes those."""
    return log.with_name(f"{log.stem}.attempts.json")


@contextlib.contextmanager
def noted_attempt(notes: Path, number: int, asked: str) -> Iterator[None]:
    """Keep in the file `notes` how attempt `number` (from 1) of a job ended, which had `asked` for memory and time."""
    before = read_attempts(notes) if number > 1 else []
    if before and (end := before[-1]["end"]) not in (None, _OUT_OF_MEMORY):
        raise UserError(f"not tried again, since more memory or time would not help. Previous attempt: {end}")
    write_json(notes, [*before, Attempt(asked=asked, end=None)])
    try:
        yield
    except Exception as error:
        if isinstance(error, UserError):  # files, for the most part: worth another attempt
            notes.unlink(missing_ok=True)
        else:
            end = _OUT_OF_MEMORY if _is_out_of_memory(error) else f"{type(error).__name__}: {error}"
            write_json(notes, [*before, Attempt(asked=asked, end=end)])
        raise
    notes.unlink(missing_ok=True)


def reason_to_give_up(notes: Path, number: int) -> str | None:
    """Why attempt `number` would be in vain: as many as allowed lacked memory or time. None if it is worth it."""
    attempts = read_attempts(notes)
    if number <= MOST_ATTEMPTS or len(attempts) < MOST_ATTEMPTS:
        return None
    told = [f"{attempt['end'] or 'killed'} with {attempt['asked']}" for attempt in attempts]
    return f"not enough memory or time in {len(attempts)} attempts: {'; '.join(told)}"


def given_up(logs: Path) -> str:
    """What a user is told about the jobs that gave up, by the notes they left among the logs; empty if none did."""
    found = [path for path in sorted(logs.rglob("*.attempts.json")) if len(read_attempts(path)) >= MOST_ATTEMPTS]
    if not found:
        return ""
    lines = [f"{len(found)} job(s) gave up (out of memory or time), as their rows say. To try again, add: --forcerun"]
    # Notes lie beside the log: logs/train/FOLDER/..., logs/RESULTS/times/...
    for path in found:
        parts = path.relative_to(logs).with_name(path.name.removesuffix(".attempts.json")).parts
        trained = parts[0] == "train"
        lines.append(f"  {'/'.join(parts[trained:])}{'.networks' if trained else ''}.parquet")
    return "\n".join(lines)


def read_attempts(notes: Path) -> list[Attempt]:
    """The attempts that have not succeeded so far."""
    try:
        attempts: list[Attempt] = json.loads(notes.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []  # no attempt before, or none that left a readable note
    return attempts


def _is_out_of_memory(error: Exception) -> bool:
    # PyTorch's allocator says it in words only.
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)
