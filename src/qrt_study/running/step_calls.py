"""The steps of the replication as calls of Snakemake, one after the other."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from qrt_study.running.steps import Step, Steps

LONGEST_SHARED = 0.25  # hours: small datasets share a call of Snakemake up to this length


@dataclass(frozen=True)
class Task:
    """A step on some datasets: one call of Snakemake."""

    step: Step
    datasets: tuple[str, ...]
    targets: tuple[str, ...]
    hours: float  # by the cost formula, on the cores of the call

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"step {self.step.name}: {', '.join(self.datasets)}"


def run_steps(
    *, minutes: float = math.inf, steps: list[str] | None = None, cores: int | None = None, plan: bool = False
) -> None:
    """Continue the replication: train what is not published yet, in the order of replication/steps.yaml.

    Nothing is begun that would not be finished in so many `minutes` by the cost formula. `steps` are steps by number
    (9a) or by name ("9a paper"), all without; `plan` only says what would be done. Finished work is kept: the same
    command continues.
    """
    cores = cores or os.cpu_count() or 1
    waiting = tasks(Steps(Path()).in_order(), cores, set(steps or ()))
    if plan:
        print("\n".join(f"{task.words}: {60 * task.hours:.1f} min on {cores} cores" for task in waiting))
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:  # SIGHUP is ignored under nohup
            signal.signal(number, lambda number, frame: sys.exit(128 + number))  # and end Snakemake, too
    until = time.time() + 60 * minutes
    do(waiting, lambda task: call_snakemake(task, cores, until), until)


def tasks(order: Iterable[tuple[Step, str]], cores: int, names: set[str]) -> Iterator[Task]:
    """What is left, as calls of Snakemake; of all steps without `names`, which are names of steps or their numbers."""
    planned: set[str] = set()
    group: Task | None = None
    for step, dataset in order:
        if names and names.isdisjoint((step.name, step.number)):
            continue
        left = step.left(dataset) if step.can_begin(dataset) else {}
        missing = {path: hours for path, hours in left.items() if path not in planned and not Path(path).exists()}
        if not missing:
            continue
        planned |= missing.keys()
        hours = sum(missing.values()) / min(cores, len(step.files.study.splits) * len(missing))
        if group and (group.step is not step or group.hours + hours > LONGEST_SHARED):
            yield group
            group = None
        before = group or Task(step, (), (), 0.0)
        group = Task(step, (*before.datasets, dataset), (*before.targets, *missing), before.hours + hours)
    if group:
        yield group


def do(waiting: Iterable[Task], call: Callable[[Task], bool], until: float) -> None:
    """Do the tasks that end before `until`, one after the other.

    A step keeps its order, so that it has no larger datasets without the smaller ones that verdicts need beside them.
    """
    too_long = set[str]()
    for task in waiting:
        if task.step.name in too_long or time.time() + 3600 * task.hours > until:
            too_long.add(task.step.name)
            continue
        start = time.time()
        end = "finished" if call(task) else "not finished"
        print(f"{task.words}: {end} in {(time.time() - start) / 60:.1f} min", flush=True)


def call_snakemake(task: Task, cores: int, until: float) -> bool:
    """Whether all of it is done. When time is over Snakemake finishes the jobs that run, and begins no other."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        yaml.safe_dump({**task.step.config, "datasets": list(task.datasets)}, config)
        config.flush()
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--configfile", config.name]
        with subprocess.Popen([*command, "--", *task.targets]) as snakemake:  # noqa: S603
            try:
                return snakemake.wait(until - time.time()) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                snakemake.terminate()
