"""How far a study is: training jobs done, running and left, CPU-hours spent, and an estimate of the time left.

Told from the files that jobs leave and from the cost formula (docs/cluster.md), so it works beside a running study, on
any executor, and after it was interrupted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from qrt.config import StudyConfig
from qrt.cost import training_seconds
from qrt.experiments import plan_study

FRESH = 1.05  # how much longer than estimated counts as right, before anything is known


@dataclass(frozen=True)
class Job:
    """One training job: its results, its log, and what the formula says it takes."""

    runs: Path
    log: Path
    estimate: float  # seconds on one core


@dataclass(frozen=True)
class Status:
    """Training jobs of a study, and seconds of one core."""

    done: int
    started: int  # a log, but no results: running, or failed
    waiting: int
    spent: float
    left: float

    def lines(self, cores: int, *, running: bool) -> list[str]:
        """The status for people."""
        jobs = self.done + self.started + self.waiting
        share = self.done / jobs if jobs else 1.0
        words = [f"{self.done} of {jobs} jobs done ({share:.0%})"]
        if self.started:
            words.append(f"{self.started} {'running' if running else 'failed or interrupted'}")
        lines = [f"Training: {', '.join([*words, f'{self.waiting} waiting'])}"]
        lines.append(f"Spent: {_hours(self.spent)} of one core in finished jobs")
        if self.left:
            lines.append(f"Left: about {_hours(self.left)} of one core, {_hours(self.left / cores)} on {cores} cores")
        return lines


def training_jobs(study: StudyConfig, folder: Path) -> list[Job]:
    """Every training job of a study whose results are under `folder`."""
    return [
        Job(
            folder / f"results/networks/{dataset}/split{split}/{name}.runs.parquet",
            folder / f"logs/train/{dataset}/split{split}/{name}.log",
            training_seconds(dataset, family, study.training["max_epochs"]),
        )
        for name, family in plan_study(study).families.items()
        for dataset in study.datasets
        for split in study.splits
    ]


def status(jobs: list[Job]) -> Status:
    """Count the jobs; what is left is the formula's estimate, scaled by what finished jobs took."""
    done = [job for job in jobs if job.runs.exists()]
    open_jobs = [job for job in jobs if not job.runs.exists()]
    started = sum(job.log.exists() for job in open_jobs)
    spent = sum(_seconds(job.runs) for job in done)
    expected = sum(job.estimate for job in done)
    scale = spent / expected if spent else FRESH
    left = scale * sum(job.estimate for job in open_jobs)
    return Status(len(done), started, len(open_jobs) - started, spent, left)


def is_running(folder: Path) -> bool:
    """Whether a Snakemake call holds the lock of the folder."""
    return any((folder / ".snakemake/locks").glob("*.lock"))


def _seconds(runs: Path) -> float:
    """Seconds that a job's networks trained; every reading of a network repeats its time."""
    table = pq.read_table(runs, columns=["variant", "train_seconds"]).to_pandas()
    return float(table.drop_duplicates("variant")["train_seconds"].sum())


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
