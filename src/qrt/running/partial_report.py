"""Snakemake's report of a study that need not be finished: it takes what is there and says what is missing.

Snakemake itself ends with an error at the first file that is not there, and warns of every file that no job of this
folder has made, such as restored results.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from qrt.running.targets import targets_in_words

_REMEDY = "To make it, give the same command with --cores N instead of --report FILE"
AutoReport = Callable[..., Coroutine[Any, Any, None]]  # `snakemake.report.auto_report`


def of_what_is_there(auto_report: AutoReport, logger: logging.Logger) -> AutoReport:
    """Snakemake's function without what is missing; where nothing is there at all, it ends the call."""

    async def report(dag: Any, *arguments: Any, **named: Any) -> None:
        missing = leave_out_missing(dag)
        if not any(True for _ in _reported(dag)):
            # Snakemake would show a traceback of any other error.
            raise SystemExit(
                f"There is nothing to report yet. {_REMEDY}; make replication draws the published results."
            )
        if missing:
            logger.warning(f"Not in the report, since not there yet: {targets_in_words(missing)}.\n{_REMEDY}.")
        with_records = _WithoutMissingRecords()
        logger.addFilter(with_records)
        try:
            await auto_report(dag, *arguments, **named)
        finally:
            logger.removeFilter(with_records)

    return report


def leave_out_missing(dag: Any) -> list[str]:
    """Take the mark `report` from files that lack themselves or their caption; return the rules that make them."""
    missing: dict[str, None] = {}
    for rule, file in list(_reported(dag)):
        caption = file.flags["report"].caption
        if not Path(file).exists() or (caption is not None and not _is_there(caption)):
            del file.flags["report"]
            missing[rule] = None
    return list(missing)


def _reported(dag: Any) -> Iterator[tuple[str, Any]]:
    """The rule and the file of everything that is marked for the report."""
    seen: set[int] = set()
    jobs = list(dag.jobs)
    outputs = [(job, file) for job in jobs for file in job.output]
    # Targets by name have the files of other rules as inputs, with their marks.
    inputs = [(job, file) for job in jobs for file in job.input]
    for job, file in (*outputs, *inputs):
        if file.flags.get("report") and id(file.flags) not in seen:
            seen.add(id(file.flags))
            yield job.rule.name, file


def _is_there(caption: Any) -> bool:
    place = caption.get_path_or_uri(secret_free=True)
    return "://" in place or Path(place).exists()


class _WithoutMissingRecords(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is about more than a file that no job of this folder has made."""
        return not record.getMessage().startswith("Missing metadata for file ")
