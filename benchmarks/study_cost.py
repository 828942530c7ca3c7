"""What the study costs by the formula of src/qrt/study/cost.py: CPU-hours by protocol, scope and base model.

    python benchmarks/study_cost.py
    python benchmarks/study_cost.py --measured .    compare with the jobs that the study in a folder has finished

All 57 datasets, 5 splits. Takes a few seconds and trains nothing.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from measuring import PROJECT
from qrt.running.study_files import StudyFiles
from qrt.study.config import load_config, read_schema
from qrt.study.cost import TrainingJob
from qrt.study.experiments import BASE_MODELS
from qrt.study.protocol import PROTOCOLS

SCOPES = ("main", "published", "everything")
CORES = 40
CLOSE = 1.5  # a factor
_TOOK = re.compile(r"^took ([0-9.]+) s of processor time", re.MULTILINE)


def study(protocol: str, scope: str) -> StudyFiles:
    """The paper's study on all datasets."""
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    return StudyFiles(load_config({"protocol": protocol, "scope": scope}, schema, PROJECT))


def jobs(files: StudyFiles) -> Iterator[tuple[str, TrainingJob]]:
    """The base model and the job of every family on every dataset, to be trained once for each split."""
    models = {model.lower(): model for model in BASE_MODELS}
    for dataset in files.study.datasets:
        for family in files.plan.families_on(dataset):
            yield models[family.split(".")[0]], files.training_job(dataset, family)


def print_costs() -> None:
    """One line for each protocol and scope."""
    columns = ("jobs", "networks", "CPU-hours", *BASE_MODELS, "evaluation", f"on {CORES} cores", "longest job")
    print(f"{'protocol':9} {'scope':11}" + "".join(f"{column:>12}" for column in columns))
    for protocol in PROTOCOLS:
        for scope in SCOPES:
            files = study(protocol, scope)
            splits = len(files.study.splits)
            hours, evaluation, longest, number, networks = dict.fromkeys(BASE_MODELS, 0.0), 0.0, 0.0, 0, 0
            for model, job in jobs(files):
                hours[model] += splits * job.seconds / 3600
                evaluation += job.evaluation_seconds / 3600
                longest = max(longest, job.seconds / 3600)
                number += splits
                networks += splits * len(job.family.networks)
            total = sum(hours.values())
            wall = max((total + evaluation) / CORES, longest)
            numbers = (total, *hours.values(), evaluation, wall, longest)
            counts = "".join(f"{count:12,}" for count in (number, networks))
            print(f"{protocol:9} {scope:11}" + counts + "".join(f"{value:12.1f}" for value in numbers))


@dataclass(frozen=True)
class Finished:
    """A finished training job: processor seconds and epochs beside those expected."""

    name: str
    seconds: float
    expected_seconds: float
    epochs: float
    expected_epochs: float


def finished_jobs(folder: Path) -> Iterator[Finished]:
    """The jobs that the study in `folder` has left: their networks, and their logs with what they took."""
    seen = set()
    for protocol in PROTOCOLS:
        files = study(protocol, "everything")
        for dataset in files.study.datasets:
            for family in files.plan.families_on(dataset):
                job = files.training_job(dataset, family)
                for split in files.study.splits:
                    path = folder / files.layout.trained(dataset, 0, split, family)
                    took = _TOOK.findall(_text(folder / files.layout.training_log(dataset, 0, split, family)))
                    if path in seen or not path.exists() or not took:
                        continue
                    seen.add(path)
                    table = pq.read_table(path, columns=["status", "epochs"])
                    if set(table["status"].to_pylist()) != {"ok"}:
                        continue
                    yield Finished(
                        f"{dataset}, split {split}, {family}",
                        float(took[-1]),
                        job.seconds,
                        float(np.mean(table["epochs"].to_pylist())),
                        float(np.mean([job.epochs_of(network) for network in job.family.networks])),
                    )


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def print_comparison(folder: Path) -> None:
    """Each finished job, how many are close to the formula, and both sums."""
    found = list(finished_jobs(folder))
    if not found:
        raise SystemExit(f"no finished training job with what it took in {folder}")
    seconds = np.array([job.seconds / job.expected_seconds for job in found])
    epochs = np.array([job.epochs / job.expected_epochs for job in found])
    print(f"{'job':80}{'CPU s':>9}{'formula':>9}{'epochs':>8}{'formula':>9}")
    for job in found:
        print(f"{job.name:80}{job.seconds:9.1f}{job.expected_seconds:9.1f}{job.epochs:8.0f}{job.expected_epochs:9.0f}")
    print(f"{len(found)} jobs; processor seconds / formula: median {float(np.median(seconds)):.2f}")
    print(f"within a factor of {CLOSE}: {_close(seconds):.0%}; epochs: {_close(epochs):.0%}")
    hours, expected = sum(job.seconds for job in found) / 3600, sum(job.expected_seconds for job in found) / 3600
    print(f"in all {hours:.2f} CPU-hours, by the formula {expected:.2f}")


def _close(ratios: np.ndarray) -> float:
    return float(np.mean(np.abs(np.log(ratios)) < np.log(CLOSE)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, metavar="FOLDER", help="where a study ran")
    folder = parser.parse_args().measured
    if folder:
        print_comparison(folder)
    else:
        print_costs()


if __name__ == "__main__":
    main()
