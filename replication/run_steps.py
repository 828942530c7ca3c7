"""Run the steps of the replication one after the other: `python replication/run_steps.py` (replication/README.md).

Every step is a call of Snakemake for a dataset, or for a group of small ones, on one core. As many run at a time as
there are cores, each on datasets of its own, so that no core waits for the last job of another call. Smaller datasets
come first: whatever is finished when the time is over is complete in datasets. With `--minutes` nothing is begun that
would not be finished by then, as far as the cost formula can tell; a later step that would be takes its place. Finished
work is kept: the same command continues.
"""

from __future__ import annotations

import argparse
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from qrt.data.sheet import paper_datasets
from qrt.documentation.progress import steps

PROJECT = Path(__file__).parents[1]
STEPS = PROJECT / "replication/steps.yaml"
# Training rows up to which datasets share a call of Snakemake, if that is short. Larger ones have calls of their own.
GROUPS = (700, 2_000, 5_000)
LONGEST_SHARED = 0.5  # CPU-hours: what a longer call has begun on many datasets could be lost when time is over
PAUSE = 1.0  # seconds between looks at what is running


@dataclass(frozen=True)
class Task:
    """A step on some datasets."""

    step: str
    settings: dict[str, Any]  # of the step, in steps.yaml
    datasets: tuple[str, ...]
    hours: float = 0.0  # on one core, by the cost formula

    @property
    def words(self) -> str:
        """What it is, for people."""
        return f"step {self.step}: {', '.join(self.datasets)}"


@dataclass(frozen=True)
class Running:
    """A task that is being done."""

    task: Task
    snakemake: subprocess.Popen[bytes]
    config: Any  # its temporary file, which is removed with it
    start: float

    @classmethod
    def begin(cls, task: Task, mirror: str) -> Running:
        """Start a call of Snakemake, which locks nothing: no other call has the same datasets."""
        facts = task.settings["config"] | {"datasets": list(task.datasets), "mirror": mirror, "sources": ["mirror"]}
        config = tempfile.NamedTemporaryFile("w", suffix=".yaml")  # noqa: SIM115 - closed when the call has ended
        yaml.safe_dump(facts, config)
        config.flush()
        command = [sys.executable, "-m", "qrt.running.warm_command"]
        command += ["python", "-m", "snakemake", "--cores", "1", "--nolock"]
        command += ["--configfile", config.name, "--quiet", "all", "--", *task.settings.get("targets", ["networks"])]
        return cls(task, subprocess.Popen(command), config, time.time())

    def end(self) -> None:
        """Wait for it and say how it went."""
        done = self.snakemake.wait() == 0
        self.config.close()
        words = f"{'finished' if done else 'not finished'} in {(time.time() - self.start) / 60:.1f} min"
        print(f"{self.task.words}: {words}", flush=True)


def tasks(numbers: list[str], up_to: int, available: set[str]) -> Iterator[Task]:
    """What is left to do, in the order of steps.yaml; of all steps without `numbers`."""
    plan = yaml.safe_load(STEPS.read_text(encoding="utf-8"))
    progress = list(steps(PROJECT))
    finished = {(step.name, dataset) for step in progress for dataset in step.finished}
    hours = {(step.name, dataset): left for step in progress for dataset, left in step.left.items()}
    for line in plan["order"]:
        for number in map(str, line["steps"]):
            for name, step in plan["steps"].items():
                if name.split()[0] != number or (numbers and number not in numbers):
                    continue
                wanted = available & set(step.get("datasets", available))
                left = {dataset for dataset in wanted if (name, dataset) not in finished}
                finished |= {(name, dataset) for dataset in left if _rows(dataset) <= line["up_to"]}
                for datasets in dataset_groups(min(line["up_to"], up_to), left):
                    cost = [hours.get((name, dataset), 0.0) for dataset in datasets]
                    if sum(cost) <= LONGEST_SHARED:
                        yield Task(name, step, datasets, sum(cost))
                    else:
                        yield from (Task(name, step, (one,), its) for one, its in zip(datasets, cost, strict=True))


def dataset_groups(up_to: int, names: set[str]) -> list[tuple[str, ...]]:
    """The datasets with so many training rows at most by size, in groups that share a call."""
    by_size = sorted((name for name in names if _rows(name) <= up_to), key=lambda name: (_rows(name), name))
    groups = [
        tuple(name for name in by_size if low < _rows(name) <= high)
        for low, high in zip((0, *GROUPS), GROUPS, strict=False)
    ]
    return [group for group in groups if group] + [(name,) for name in by_size if _rows(name) > GROUPS[-1]]


def _rows(dataset: str) -> int:
    return paper_datasets()[dataset].published.train_rows


def run(waiting: list[Task], begin: Callable[[Task], Running], cores: int, until: float) -> None:
    """Do the tasks in their order, as many at a time as there are cores, each if there is time left for it.

    One waits while its datasets are in use.
    """
    running: list[Running] = []
    try:
        while (waiting or running) and time.time() < until:
            for one in [one for one in running if one.snakemake.poll() is not None]:
                one.end()
                running.remove(one)
            in_use = {dataset for one in running for dataset in one.task.datasets}
            possible = list(_possible(waiting, until - time.time()))
            if not possible and not running:
                return
            free = (task for task in possible if in_use.isdisjoint(task.datasets))
            following = next(free, None) if len(running) < cores else None
            if following is None:
                time.sleep(PAUSE)
                continue
            waiting.remove(following)
            running.append(begin(following))
    finally:
        for one in running:
            one.snakemake.terminate()  # Snakemake ends its jobs and keeps what is done
        for one in running:
            one.end()


def _possible(waiting: list[Task], seconds: float) -> Iterator[Task]:
    """The tasks that so many seconds are enough for, up to the first of each step that they are not enough for.

    A step keeps its order, so that it has no larger datasets without the smaller ones that verdicts need beside them.
    """
    too_long = set[str]()
    for task in waiting:
        if 3600 * task.hours >= seconds:
            too_long.add(task.step)
        if task.step not in too_long:
            yield task


def main() -> int:
    """Run the steps."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", default="../shared/datasets", help="folder with the datasets")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--steps", nargs="*", default=[], help="numbers of steps, for example 1 2; else all")
    parser.add_argument("--up-to", type=int, default=10**9, help="only datasets with so many training rows at most")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--plan", action="store_true", help="only say what would be done, in its order")
    options = parser.parse_args()
    with Path(options.mirror, "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        available = {row["name"] for row in csv.DictReader(manifest) if row["file"]}
    waiting = list(tasks(options.steps, options.up_to, available))
    if options.plan:
        lines = (f"{task.words}: {task.hours:.2f} CPU-hours by the formula" for task in waiting)
        print("\n".join(lines))  # at once: who reads only the first lines (`| head`) must not end it with an error
        return 0
    run(waiting, partial(Running.begin, mirror=options.mirror), options.cores, time.time() + 60 * options.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main())
