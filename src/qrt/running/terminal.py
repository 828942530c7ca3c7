"""What a study says in the terminal: which jobs are finished, by dataset, split and family, and what went wrong.

Snakemake announces each round of its scheduler and names jobs by number; its own log keeps all of that.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping

_OF_THE_SCHEDULER = re.compile(r"Select jobs to execute\.\.\.|Execute \d+ jobs\.\.\.")
_FINISHED = re.compile(r"(\[.*\]\n)?Finished jobid: (\d+) \(Rule: \w+\)")


def quieten(handlers: list[logging.Handler], job_in_words: Callable[[int], str]) -> None:
    """From now on terminal handlers leave the scheduler's rounds out and tell finished jobs in words."""
    for handler in handlers:
        if isinstance(handler, logging.StreamHandler) and not isinstance(handler, logging.FileHandler):
            handler.setFormatter(_InWords(handler.formatter, job_in_words))
            handler.addFilter(_WithoutRounds())


def job_words(rule: str, wildcards: Mapping[str, str]) -> str:
    """A job by its rule and what it is about."""
    plain = ("dataset", "family", "experiment")
    parts = [value if name in plain else f"{name} {value}" for name, value in wildcards.items()]
    return f"{rule}: {', '.join(parts)}" if parts else rule


class _WithoutRounds(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record says more than that the scheduler was at work."""
        is_progress = str(getattr(record, "event", "")).endswith("progress")  # our own line tells the time left, too
        return not is_progress and not _OF_THE_SCHEDULER.fullmatch(record.getMessage().strip())


class _InWords(logging.Formatter):
    def __init__(self, formatter: logging.Formatter | None, job_in_words: Callable[[int], str]) -> None:
        super().__init__()
        self._formatter = formatter or logging.Formatter()
        self._job_in_words = job_in_words

    def format(self, record: logging.LogRecord) -> str:
        """The text of Snakemake, with finished jobs in words."""
        text = self._formatter.format(record)
        return _FINISHED.sub(lambda found: f"Finished {self._job_in_words(int(found[2]))}", text)
