"""How far a call of Snakemake is, told from its log events alone, and kept in a file for `python -m qrt_study status`.

Nothing heavy is imported: every call of Snakemake that finds the plugin loads this module.
"""

from __future__ import annotations

import json
import os
import platform
import signal
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qrt_study.running.attempts import notes_beside

PROGRESS_FILE = ".snakemake/qrt_progress.json"
STUDY_FILE = ".snakemake/qrt_study.json"  # written by the workflow: its facts, and what its training jobs cost
_SECONDS_BETWEEN_ESTIMATES = 10.0
_ENDED_TOGETHER = 10.0  # seconds between the end of a job and Snakemake's message that the call is to end
_NEARLY_ALL = 0.9  # of the jobs that may still come are planned: their mean cost is that of the planned ones
_ENOUGH = 0.25  # of the jobs are done, where their costs are unknown: long ones come first


@dataclass(frozen=True)
class Job:
    """A job by its rule and wildcards, with the files that it writes."""

    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    output: tuple[str, ...] = ()
    log: tuple[str, ...] = ()
    is_local: bool = True  # one that is submitted to a cluster may wait before it begins

    @property
    def words(self) -> str:
        """The job as people say it: "train Yacht, split 0, mlp-3.plain"."""
        named = {name: value for name, value in self.wildcards.items() if (name, value) != ("seed", "0")}
        parts = [f"{name} {value}" if value.isdigit() else value for name, value in named.items()]
        return f"{self.rule} {', '.join(parts)}".strip()

    @property
    def is_training(self) -> bool:
        """Whether it trains networks."""
        return _is_training(self.rule)

    @property
    def place(self) -> tuple[str, str]:
        """What the cost of a training job depends on: dataset and family."""
        return self.wildcards.get("dataset", ""), self.wildcards.get("family", "")


@dataclass(frozen=True)
class TrainingCosts:
    """Estimated seconds of a training job for each dataset and family, and how many such jobs a study has."""

    seconds: Mapping[tuple[str, str], float]
    repeats: int  # splits times seeds

    @classmethod
    def read(cls, folder: Path) -> TrainingCosts:
        """Those of the study that runs in `folder`; none if it has left none."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads((folder / STUDY_FILE).read_text(encoding="utf-8"))["training"]
            return cls({(dataset, family): seconds for dataset, family, seconds in found["jobs"]}, found["repeats"])
        return cls({}, 0)

    def of_unseen(self, seen: Iterable[Job], number: int) -> tuple[float, float] | None:
        """Sum and maximum over the `number` jobs that are planned beside those `seen`; None if it cannot be told.

        Snakemake tells how many jobs are planned, not which. If they are nearly all jobs that the families seen so far
        can still have, or all families, it does not matter which.
        """
        started = Counter(job.place for job in seen)
        if not started.keys() <= self.seconds.keys():
            return None
        if number == 0:
            return 0.0, 0.0
        for families in ({family for _, family in started}, {family for _, family in self.seconds}):
            left = {place: self.repeats - started[place] for place in self.seconds if place[1] in families}
            jobs = sum(left.values())
            if _NEARLY_ALL * jobs <= number <= jobs:
                mean = sum(count * self.seconds[place] for place, count in left.items()) / jobs
                return number * mean, max(self.seconds[place] for place, count in left.items() if count)
        return None


@dataclass
class Progress:
    """One call of Snakemake: what it has planned, what of it is done, and how it ended."""

    command: str
    folder: Path
    started: float = field(default_factory=time.time)
    ended: float | None = None
    state: str = "running"  # then perhaps ending; at last finished, failed or interrupted
    planned: dict[str, int] = field(default_factory=dict)  # jobs by rule
    jobs: dict[int, Job] = field(default_factory=dict)  # all that have begun, by number
    running: dict[int, float] = field(default_factory=dict)  # since when
    done: dict[str, int] = field(default_factory=Counter)  # jobs by rule
    failed: dict[int, float] = field(default_factory=dict)  # when
    gave_up: set[int] = field(default_factory=set)  # done, with rows that say that memory or time were not enough
    parallel: int = 0  # most training jobs seen at a time
    training_began: float | None = None
    spent: float = 0.0  # seconds of finished training jobs that ran on this machine
    seconds_left: float | None = None  # as estimated last
    _estimated: float = 0.0
    _costs: TrainingCosts | None = None

    def begin(self, number: int, job: Job) -> None:
        """A job begins or is submitted to a cluster, perhaps once more."""
        now = time.time()
        self.jobs[number] = job
        self.running[number] = now
        self.failed.pop(number, None)
        if job.is_training:
            self.training_began = self.training_began or now
            self.parallel = max(self.parallel, self.number_of_trainings(self.running))

    def finish(self, number: int) -> None:
        """A job has succeeded."""
        now, job = time.time(), self.jobs.get(number, Job("unknown"))
        began = self.running.pop(number, now)
        self.failed.pop(number, None)
        self.done[job.rule] += 1
        if job.is_training and job.is_local:
            self.spent += now - began
        if any(notes_beside(self.folder / log).exists() for log in job.log):
            self.gave_up.add(number)
        if now - self._estimated > _SECONDS_BETWEEN_ESTIMATES:
            self._estimated, self.seconds_left = now, self.estimate(now)

    def fail(self, number: int) -> None:
        """A job has failed; another attempt may follow."""
        self.running.pop(number, None)
        self.failed[number] = time.time()

    def end(self) -> None:
        """The user ends the call; jobs that have just failed were ended with it."""
        self.state = "ending"
        self.failed = {number: when for number, when in self.failed.items() if time.time() - when > _ENDED_TOGETHER}

    def words(self, number: int) -> str:
        """A job by its number, in words."""
        return self.jobs[number].words if number in self.jobs else f"job {number}"

    @property
    def left(self) -> dict[str, int]:
        """Planned jobs that are not done, by rule."""
        return {rule: count - self.done[rule] for rule, count in self.planned.items() if count > self.done[rule]}

    def number_of_trainings(self, numbers: Iterable[int]) -> int:
        """How many of these jobs train networks."""
        return sum(self.jobs[number].is_training for number in numbers if number in self.jobs)

    def estimate(self, now: float) -> float | None:
        """Seconds until the last training job is done, by the pace so far; None if too little is known."""
        seen = {number: job for number, job in self.jobs.items() if job.is_training}
        done = [job for number, job in seen.items() if number not in self.running and number not in self.failed]
        if self.training_began is None or len(done) < max(2, self.parallel):
            return None
        planned = sum(count for rule, count in self.planned.items() if _is_training(rule))
        number = max(planned - len(seen), 0)
        self._costs = self._costs or TrainingCosts.read(self.folder)
        costs, unseen = self._costs.seconds, self._costs.of_unseen(seen.values(), number)
        if unseen is None:
            if len(done) < _ENOUGH * planned:
                return None
            costs, unseen = dict.fromkeys({job.place for job in seen.values()}, 1.0), (number, 1.0)
        to_do, longest = unseen
        to_do += sum(costs[seen[other].place] for other in self.running if other in seen) / 2  # half of each is left
        pace = sum(costs[job.place] for job in done) / (now - self.training_began)
        return max(to_do, self.parallel * longest) / pace

    def line(self) -> str:
        """How far training is, for the terminal; empty where nothing is trained."""
        planned, done = (
            sum(count for rule, count in jobs.items() if _is_training(rule)) for jobs in (self.planned, self.done)
        )
        parts = [f"{done} of {planned} training jobs done"]
        for what, numbers in {"running": self.running, "failed": self.failed, "gave up": self.gave_up}.items():
            if count := self.number_of_trainings(numbers):
                parts.append(f"{count} {what}")
        if self.seconds_left is not None:
            parts.append(f"about {duration(self.seconds_left)} left")
        return f"Progress: {', '.join(parts)}" if planned else ""

    def write(self) -> None:
        """Keep what is known in the folder of the call; a full disk there is no reason to end it."""
        path = self.folder / PROGRESS_FILE
        partial = path.with_suffix(f".{os.getpid()}.partial")
        with suppress(OSError):
            partial.write_text(json.dumps(self.summary(), indent=2) + "\n", encoding="utf-8")
            partial.replace(path)

    def summary(self) -> dict[str, Any]:
        """What the file says."""
        finished = self.state == "finished"  # with `--quiet progress`, Snakemake does not tell which jobs are
        lists = {"running": self.running, "failed": self.failed, "gave_up": self.gave_up}
        return {
            "command": self.command,
            "process": os.getpid(),
            "stop": stop_command(),
            "host": platform.node(),
            "state": self.state,
            "started": self.started,
            "written": time.time(),
            "ended": self.ended,
            "planned": self.planned,
            "done": self.planned if finished else self.done,
            "left": {} if finished else self.left,
            **{name: [self.words(number) for number in sorted(numbers)] for name, numbers in lists.items()},
            "training_seconds": self.spent,
            "seconds_left": self.seconds_left,
        }


def _is_training(rule: str) -> bool:
    return rule.startswith("train")


def stop_command() -> str:
    """What ends this call with its jobs, as Ctrl-C does; one that a script has put into the background ignores that."""
    is_deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return f"kill -{'TERM' if is_deaf else 'INT'} -- -{os.getpgrp()}"


def duration(seconds: float) -> str:
    """Seconds as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
