"""A logger plugin of Snakemake for the study: jobs in words, the time left, and a file that tells how far a call is.

`logger: [qrt]` in `workflow/profiles` turns it on. Snakemake finds it by the name of this package and runs it in the
process of the call itself, never in those of jobs. What it does not know it leaves to Snakemake's own words.
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_qrt.progress import Job, Progress, stop_command

_SECONDS_BETWEEN_LINES = 60.0
_LINES_OF_A_LOG = 30
_MOST_FAILED = 10  # told once more at the end
_FIRST = {"own_data": 0, "scorecard": 1}  # pages to look at first
_COLOURS = {logging.WARNING: "\033[33m", logging.ERROR: "\033[31m", logging.CRITICAL: "\033[31m"}
# What Snakemake says of its own work; its log file has it all.
_ABOUT_ITSELF = re.compile(
    r"Select jobs to execute|Job rate limit reached|Using shell: |Group jobs: inactive|Conda environments: ignored"
    r"|Singularity containers: ignored|Removing temporary output |Assuming unrestricted shared filesystem"
)
_AT_ONCE, _AFTER_RUNNING_JOBS = "Terminating processes on user request", "Will exit after finishing currently running"
_HOW_TO_ASK = (
    "Figures, tables and pages are asked for with --config 'draw=[fig03]', or by the path of their file; "
    "snakemake --list-target-rules shows the other targets."
)
_NO_PAIR = re.compile(r"Config entries have to be defined as name=value pairs\. \(Unparsable value: (.+)\)")
_FILES = re.compile(r": [^;]*")  # in the reason for a job
_NOTHING_TO_DO = "Nothing to be done"
_AGAIN = re.compile(r"Trying to restart job (\S+)\.")


class LogHandler(LogHandlerBase):
    """Tells people what Snakemake's events mean for the study."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True  # `quiet` must not hide from it what it counts
    has_formatter = False  # Snakemake's own words for everything else
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self._stream = sys.stdout if self.common_settings.stdout else sys.stderr
        self._coloured = not self.common_settings.nocolor and self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._quiet = {_name(kind) for kind in self.common_settings.quiet or ()}
        self._progress = Progress(shlex.join(["snakemake", *sys.argv[1:]]), Path.cwd())
        self._keeps_file = False
        self._last_error: str | None = None
        self._last_line = time.monotonic()
        self._words_for = {
            LogEvent.WORKFLOW_STARTED: self._workflow_started,
            LogEvent.RUN_INFO: self._run_info,
            LogEvent.JOB_INFO: self._job_info,
            LogEvent.JOB_FINISHED: self._job_finished,
            LogEvent.JOB_ERROR: self._job_error,
            LogEvent.GROUP_ERROR: self.format,
            LogEvent.ERROR: self._error,
            LogEvent.SHELLCMD: self.format if self.common_settings.printshellcmds else _nothing,
            LogEvent.DEBUG_DAG: self.format if self.common_settings.debug_dag else _nothing,
            None: self._message,
        }

    def emit(self, record: logging.LogRecord) -> None:
        """Count what a record tells, and say what of it people need."""
        try:
            words = self._words_for.get(getattr(record, "event", None), _nothing)(record)
            if self.common_settings.verbose:
                words = self.format(record)
            if record.levelno < logging.ERROR:
                self._last_error = None
            self._say(words, record.levelno)
        except Exception:  # a message must never end a run
            self.handleError(record)

    def close(self) -> None:
        """The call has ended: note how, and say what it leaves behind."""
        if self._keeps_file:
            self._keeps_file = False
            progress = self._progress
            words = self._last_words()
            end = "interrupted" if progress.state == "ending" and progress.left else "finished"
            progress.state = "failed" if self._last_error and end == "finished" else end
            progress.ended, progress.running = time.time(), {}
            progress.write()
            self._say(words, logging.INFO)
        super().close()

    def _workflow_started(self, _: Any) -> str:
        self._progress.folder = Path.cwd()  # that of --directory
        return ""

    def _run_info(self, record: Any) -> str:
        if self.common_settings.dryrun:  # told at the beginning and, after the jobs, at the end
            return self.format(record) if self._progress.jobs or "progress" in self._quiet else ""
        self._progress.planned = planned = {rule: count for rule, count in record.stats.items() if rule != "total"}
        self._keep_file()
        counts = ", ".join(f"{count} {rule}" for rule, count in planned.items())
        return "" if "progress" in self._quiet else f"Planned jobs: {sum(planned.values())} ({counts})"

    def _job_info(self, record: Any) -> str:
        files = tuple(record.output), tuple(record.log)
        job = Job(record.rule_name, dict(record.wildcards), *files, is_local=getattr(record, "local", True))
        self._progress.begin(record.jobid, job)
        if not self.common_settings.dryrun:
            self._keep_file()
            return ""
        reason = "" if "reason" in self._quiet else f" ({_FILES.sub('', record.reason)})"
        return "" if "rules" in self._quiet else f"  {job.words}{reason}"

    def _job_finished(self, record: Any) -> str:
        progress, number = self._progress, record.job_id
        progress.finish(number)
        self._keep_file()
        end = "Gave up (out of memory or time):" if number in progress.gave_up else "Finished"
        counts = f"{sum(progress.done.values())} of {sum(progress.planned.values())}"
        words = f"[{counts}] {end} {progress.words(number)}"
        if time.monotonic() - self._last_line > _SECONDS_BETWEEN_LINES and (line := progress.line()):
            self._last_line = time.monotonic()
            words += f"\n{line}"
        return words

    def _job_error(self, record: Any) -> str:
        if self._progress.state == "ending":
            return ""  # it was ended with the call
        self._progress.fail(record.jobid)
        self._keep_file()
        if record.indent:
            return ""  # of a group, whose own error names all of its jobs
        words = [self._failure(record.jobid)]
        if self.common_settings.show_failed_logs:
            words += [textwrap.indent(_end_of(Path(log)), "    ") for log in record.log]
        return "\n".join(words)

    def _failure(self, number: int) -> str:
        job = self._progress.jobs.get(number)
        return f"Failed: {self._progress.words(number)}; log: {', '.join(job.log if job else ()) or 'none'}"

    def _error(self, record: Any) -> str:
        words = self.format(record)
        if "CalledProcessError" in words:
            return ""  # of a job, whose own error says more
        if no_pair := _NO_PAIR.search(words):  # in place of a traceback
            words = (
                f"--config takes all words after it as NAME=VALUE, and {no_pair[1]} has no '='. If it is a target, put "
                "it before --config, or at the end after --"
            )
        if "No rule to produce" in words:
            words += f"\n{_HOW_TO_ASK}"
        self._last_error = words
        return words

    def _message(self, record: Any) -> str:
        words, is_ending = self.format(record), self._progress.state == "ending"
        if _ABOUT_ITSELF.match(words) or _name(getattr(record, "quietness", "")) in self._quiet:
            return ""
        if again := _AGAIN.fullmatch(words):  # of a call that is ending, the next one does it
            job = self._progress.words(int(again[1])) if again[1].isdigit() else "a group of jobs"
            return "" if is_ending else f"Trying again: {job}"
        if words.startswith((_AT_ONCE, _AFTER_RUNNING_JOBS)):  # the latter in every round until the last has ended
            self._progress.end()
            if words.startswith(_AFTER_RUNNING_JOBS):
                words += f"\nTo end these, too: {stop_command()}"
            return "" if is_ending else words
        if words.startswith(_NOTHING_TO_DO) and not self.common_settings.dryrun:
            self._keep_file()
        return words

    def _keep_file(self) -> None:
        """Write the file, from the moment on when this call has the lock of its folder."""
        self._keeps_file = True
        self._progress.write()

    def _last_words(self) -> str:
        """What to look at, and what has failed: after thousands of lines its own message is far away."""
        progress = self._progress
        not_done = progress.running.keys() | progress.failed.keys()
        made = [file for number, job in progress.jobs.items() if number not in not_done for file in job.output]
        shown = [progress.folder / file for file in made if file.endswith((".html", ".png"))]
        shown.sort(key=lambda file: (file.suffix != ".html", _FIRST.get(file.stem, len(_FIRST)), file))
        words = [f"Figures and pages: {folder}" for folder in dict.fromkeys(file.parent for file in shown)]
        words += [f"Look first at {file.as_uri()}" for file in shown[:1]]
        words += [self._failure(number) for number in sorted(progress.failed)][:_MOST_FAILED]
        if (more := len(progress.failed) - _MOST_FAILED) > 0:
            words.append(f"... and {more} more: python -m qrt_study status")
        return "\n".join(words)

    def _say(self, words: str, level: int) -> None:
        if not words or words == "None" or ("all" in self._quiet and not self.common_settings.dryrun):
            return
        if self._coloured and level in _COLOURS:
            words = f"{_COLOURS[level]}{words}\033[0m"
        with suppress(OSError):  # a closed terminal, `| head`
            print(words, file=self._stream, flush=True)


def _nothing(_: Any) -> str:
    """The words for an event that nobody needs to hear of."""
    return ""


def _name(quietness: Any) -> str:
    """A kind of quietness as on the command line."""
    return str(getattr(quietness, "name", quietness)).lower()


def _end_of(log: Path) -> str:
    """The last lines of a log."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        return f"{log}: {error.strerror}"
    return "\n".join(lines[-_LINES_OF_A_LOG:])
