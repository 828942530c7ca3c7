"""How far a study is: training jobs done, running, failed and left, CPU-hours spent, and an estimate of the time left.

Told from the files that jobs leave and from the cost formula (docs/cluster.md), so it works beside a running study, on
any executor, and after it was interrupted.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.atomic import write_json
from qrt.running.attempts import notes_beside, read_attempts
from qrt.running.study_files import StudyFiles
from qrt.study.config import StudyConfig
from qrt.study.protocol import describe

_FRESH = 1.05  # how much longer than estimated counts as right, before anything is known
_SECONDS_BETWEEN_LINES = 60.0
_HERE = Path()
_STUDY_NOTE = ".snakemake/qrt_study.json"


@dataclass(frozen=True)
class Job:
    """One training job: its results, the notes of its attempts, and what the formula says it takes."""

    networks: Path
    notes: Path
    estimate: float  # seconds on one core


@dataclass(frozen=True)
class Status:
    """Numbers of training jobs, and seconds of one core."""

    done: int
    given_up: int  # of those done: rows that say that memory or time were not enough
    running: int
    failed: int
    waiting: int
    spent: float
    left: float
    longest: float  # of the jobs that are left

    @property
    def jobs(self) -> int:
        """All training jobs."""
        return self.done + self.running + self.failed + self.waiting

    def time_left(self, parallel: int) -> float:
        """Seconds until the last job is done, with so many at a time."""
        return max(self.left / parallel, self.longest)

    def counts(self, *, study_runs: bool = True) -> str:
        """The numbers of jobs in words."""
        share = self.done / self.jobs if self.jobs else 1.0
        words = [f"{self.done} of {self.jobs} training jobs done ({share:.0%})"]
        if self.given_up:
            words.append(f"{self.given_up} of them gave up (out of memory or time)")
        if self.running:
            words.append(f"{self.running} {'running' if study_runs else 'interrupted'}")
        if self.failed:
            words.append(f"{self.failed} failed")
        return ", ".join([*words, f"{self.waiting} waiting"])

    def lines(self, cores: int, *, study_runs: bool) -> list[str]:
        """The status for people."""
        lines = [self.counts(study_runs=study_runs), f"Spent: {duration(self.spent)} of one core in finished jobs"]
        if self.left:
            on_cores = f"{duration(self.time_left(cores))} on {cores} core{'s' if cores > 1 else ''}"
            lines.append(f"Left: about {duration(self.left)} of one core, {on_cores}")
        return lines


class JobFiles:
    """The training jobs of a study, and what their files say of them; files that were read once are remembered.

    Jobs that are to run `again` are done when their results are others than now.
    """

    def __init__(self, jobs: Iterable[Job], *, again: bool = False) -> None:
        self._open = list(jobs)
        self._outdated = {job: _stamp(job.networks) for job in self._open} if again else {}
        self._expected = self._spent = 0.0
        self._done = self._given_up = 0

    def status(self) -> Status:
        """Count the jobs; what is left is the formula's estimate, scaled by what finished jobs took."""
        finished = [job for job in self._open if _stamp(job.networks) not in (None, self._outdated.get(job))]
        for job in finished:
            seconds, given_up = _outcome(job.networks)
            self._expected += job.estimate
            self._spent += seconds
            self._given_up += given_up
        self._done += len(finished)
        gone = set(finished)
        self._open = [job for job in self._open if job not in gone]
        started = [attempts[-1]["end"] is None for job in self._open if (attempts := read_attempts(job.notes))]
        scale = self._spent / self._expected if self._expected else _FRESH
        return Status(
            done=self._done,
            given_up=self._given_up,
            running=sum(started),
            failed=len(started) - sum(started),
            waiting=len(self._open) - len(started),
            spent=self._spent,
            left=scale * sum(job.estimate for job in self._open),
            longest=scale * max((job.estimate for job in self._open), default=0.0),
        )


def training_jobs(files: StudyFiles, places: Iterable[tuple[str, int | str, int | str, str]]) -> list[Job]:
    """The training jobs of these places (dataset, seed, split, family) of a study."""
    seconds: dict[tuple[str, str], float] = {}
    jobs = []
    for dataset, seed, split, family in places:
        if (dataset, family) not in seconds:
            seconds[dataset, family] = files.training_job(dataset, family).seconds
        place = (dataset, seed, split, family)
        log = files.folder / files.layout.training_log(*place)
        jobs.append(Job(files.folder / files.layout.trained(*place), notes_beside(log), seconds[dataset, family]))
    return jobs


def all_training_jobs(files: StudyFiles) -> list[Job]:
    """Every training job of a study."""
    study = files.study
    return training_jobs(
        files,
        (
            (dataset, seed, split, family)
            for dataset in study.datasets
            for seed in study.seeds
            for split in study.splits
            for family in files.plan.families_on(dataset)
        ),
    )


def tell_progress(jobs: list[Job]) -> None:
    """From now on say every minute in the terminal how far these jobs are, if anything has changed."""
    if jobs:
        threading.Thread(target=_tell_progress, args=(jobs,), daemon=True).start()


def _tell_progress(jobs: list[Job]) -> None:
    files, start, parallel, told = JobFiles(jobs, again=True), time.monotonic(), 0, ""
    while True:
        time.sleep(_SECONDS_BETWEEN_LINES)
        now = files.status()
        parallel = max(parallel, now.running)
        line = progress_line(now, parallel, time.monotonic() - start)
        if line != told and now.done < now.jobs:
            print(line, file=sys.stderr, flush=True)
            told = line


def progress_line(now: Status, parallel: int, seconds: float) -> str:
    """One line about jobs of which up to `parallel` were seen to run at a time in the `seconds` since the start."""
    words = [f"Progress: {now.counts()}", f"{duration(now.spent)} of one core spent"]
    if now.done >= 2 * parallel > 0:
        # The pace so far knows the load of the machine; before the first jobs are done it is too slow.
        pace = now.spent / seconds
        words.append(f"about {duration(max(now.left / pace, now.longest))} left")
    elif parallel:
        words.append(f"about {duration(now.time_left(parallel))} left")
    return "; ".join(words)


def note_study(study: StudyConfig, folder: Path = _HERE) -> None:
    """Note the settings of the study that runs in `folder`, for whoever asks how far it is."""
    write_json(folder / _STUDY_NOTE, study.facts())


def noted_study(folder: Path) -> StudyConfig | None:
    """The settings of the last study that ran in `folder`; None if there was none."""
    try:
        return StudyConfig.from_facts(json.loads((folder / _STUDY_NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):  # none, or one of another version
        return None


def study_in_words(study: StudyConfig) -> str:
    """What is studied, in one line."""
    parts = [
        f"protocol {describe(study.protocol_name, study.protocol)}",
        f"{len(study.datasets)} datasets",
        f"{len(study.splits)} splits",
        *([f"{len(study.seeds)} seeds"] if len(study.seeds) > 1 else []),
        f"at most {study.training['max_epochs']} epochs",
    ]
    return ", ".join(parts)


def is_running(folder: Path) -> bool:
    """Whether a Snakemake call holds the lock of the folder."""
    return any((folder / ".snakemake/locks").glob("*.lock"))


def _stamp(path: Path) -> int | None:
    """When a file was written; None if it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None


def _outcome(networks: Path) -> tuple[float, bool]:
    """Seconds of CPU that a job took, and whether it gave up."""
    try:
        table = pq.read_table(networks, columns=["job_seconds", "status"])
    except (OSError, pa.ArrowException):
        return 0.0, False  # damaged, or removed just now: the jobs that need it say so
    seconds = sum(value or 0.0 for value in table["job_seconds"].to_pylist())
    return seconds, "failed" in table["status"].to_pylist()


def duration(seconds: float) -> str:
    """Seconds as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
