"""Run the steps of the replication one after the other: `python replication/run_steps.py` (replication/README.md).

Every step is a call of Snakemake for a group of datasets, small ones first, so that whatever is finished when the time
is over is complete in datasets. Finished work is kept: the same command continues.
"""

from __future__ import annotations

import argparse
import csv
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from qrt.data.sheet import paper_datasets

STEPS = Path(__file__).with_name("steps.yaml")
# Training rows up to which datasets share a call of Snakemake. Larger ones share it by twos, so that no core waits.
GROUPS = (700, 2_000, 5_000)


def dataset_groups(up_to: int, available: set[str]) -> list[list[str]]:
    """The datasets with so many training rows at most by size, in groups that share a call."""
    rows = {name: row.published.train_rows for name, row in paper_datasets().items() if name in available}
    names = sorted((name for name in rows if rows[name] <= up_to), key=lambda name: rows[name])
    groups: list[list[str]] = []
    for low, high in zip((0, *GROUPS), GROUPS, strict=False):
        groups.append([name for name in names if low < rows[name] <= high])
    large = [name for name in names if rows[name] > GROUPS[-1]]
    groups += [large[first : first + 2] for first in range(0, len(large), 2)]
    return [group for group in groups if group]


def planned(numbers: list[str], up_to: int) -> Iterator[tuple[str, dict[str, Any], int]]:
    """Name, settings and most training rows of each step in the order of steps.yaml; all steps without `numbers`."""
    plan = yaml.safe_load(STEPS.read_text(encoding="utf-8"))
    for line in plan["order"]:
        for number in map(str, line["steps"]):
            for name, step in plan["steps"].items():
                if name.split()[0] == number and (not numbers or number in numbers):
                    yield name, step, min(line["up_to"], up_to)


def call(step: dict[str, Any], datasets: list[str], mirror: str, cores: int, until: float) -> bool:
    """One call of Snakemake; False if time is over or it failed."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(step["config"] | {"datasets": datasets, "mirror": mirror, "sources": ["mirror"]}, file)
        file.flush()
        command = [
            sys.executable,
            "-m",
            "qrt.running.warm_snakemake",
            "--cores",
            str(cores),
            "--configfile",
            file.name,
            "--quiet",
            "all",
        ]
        study = subprocess.Popen([*command, "--", *step.get("targets", ["networks"])])
        try:
            while study.poll() is None and time.time() < until:
                time.sleep(2)
        finally:
            if study.poll() is None:  # Snakemake ends its jobs and keeps what is done
                study.terminate()
        return study.wait() == 0


def main() -> int:
    """Run the steps."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mirror", default="../shared/datasets", help="folder with the datasets")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--steps", nargs="*", default=[], help="numbers of steps, for example 1 2; else all")
    parser.add_argument("--up-to", type=int, default=10**9, help="only datasets with so many training rows at most")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after so many")
    options = parser.parse_args()
    until = time.time() + 60 * options.minutes
    with Path(options.mirror, "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        available = {row["name"] for row in csv.DictReader(manifest) if row["file"]}
    finished: set[tuple[str, str]] = set()
    for name, step, up_to in planned(options.steps, options.up_to):
        wanted = available & set(step.get("datasets", available))
        left = {dataset for dataset in wanted if (name, dataset) not in finished}
        for datasets in dataset_groups(up_to, left):
            start = time.time()
            done = call(step, datasets, options.mirror, options.cores, until)
            if done:
                finished |= {(name, dataset) for dataset in datasets}
            words = f"{'finished' if done else 'not finished'} in {(time.time() - start) / 60:.1f} min"
            print(f"step {name}: {', '.join(datasets)}: {words}", flush=True)
            if time.time() > until:
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
