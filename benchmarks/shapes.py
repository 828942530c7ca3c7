"""The largest datasets of the paper: what each job on them takes in memory, beside what its rule asks for.

The data is generated in the published shape. Part of `benchmarks/load.py`.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from measuring import PROJECT, watched
from qrt.engine.split import MAX_ROWS, part_sizes
from qrt.engine.version import TRAINING_VERSION
from qrt_study.plan.config import load_study
from qrt_study.plan.cost import PREPARING_MB
from qrt_study.running.study_files import StudyFiles

LARGEST = ("Allstate_Claims_Severity", "Santander_transaction_value")  # by rows, by features
FAMILIES = (
    # The main comparison.
    "mlp-3.plain",
    "mlp-3.qrt.variance.same_pass",
    "mlp-3.qreg.variance.nll.same_pass",
    # The ResNet, where memory matters most; its regularised networks are the largest job of the study.
    "resnet-3.plain.batchnorm_relu",
    "resnet-3.qrt.variance.batchnorm_relu.same_pass",
    "resnet-3.qreg.variance.batchnorm_relu.nll.same_pass",
)
_TRAINING = {"max_epochs": 3, "patience": 3}
_LIMIT_SECONDS = 3600.0


@dataclass(frozen=True)
class JobMemory:
    """Peak memory of one job beside what its rule asks for at the first attempt; fetching asks for nothing."""

    dataset: str
    rows: int  # for training
    features: int
    job: str
    networks: int
    cpu_seconds: float
    peak_megabytes: float
    requested_megabytes: int


def measure_shapes(folder: Path) -> list[JobMemory]:
    """Fetch, prepare and train for three epochs on data in the shape of the largest datasets, one process for each job.

    Prints a line for each.
    """
    print(
        f"{'rows x features':>16} {'job':52} {'networks':>8} {'CPU s':>7} {'peak MB':>8} {'asked MB':>8} {'ratio':>6}",
        flush=True,
    )
    return [job for dataset in LARGEST for job in _measure_dataset(dataset, folder / dataset)]


def _measure_dataset(dataset: str, folder: Path) -> list[JobMemory]:
    study = _study_of(dataset)
    rows, features = study.shape(dataset)
    folder.mkdir(parents=True)
    source = folder / "source.parquet"
    _generate(source, _rows_in_all(rows), features)
    table, record, prepared = folder / "raw.parquet", folder / "raw.json", folder / "prepared"
    own = json.dumps({"path": str(source), "target": "y", "categorical": []})
    written = ["--table", str(table), "--record", str(record)]
    jobs = []

    def measure(job: str, networks: int, requested: int, *arguments: str) -> None:
        command = [sys.executable, "-m", "qrt_study", *arguments]
        cost = watched(f"{job} on {dataset}", command, folder=folder, limit_seconds=_LIMIT_SECONDS)
        measured = JobMemory(
            dataset, rows, features, job, networks, cost.all_cpu_seconds, cost.peak_megabytes, requested
        )
        jobs.append(measured)
        print(_line(measured), flush=True)

    measure("fetch", 0, 0, "fetch", dataset, *written, "--own", own)
    measure("prepare", 0, PREPARING_MB, "prepare", dataset, *written, "--out", str(prepared))
    for name in FAMILIES:
        family = study.family(dataset, name)
        options = ["--seed", "0", "--code", str(TRAINING_VERSION), "--data", str(prepared)]
        options += ["--family", family.json, "--training", json.dumps(_TRAINING)]
        requested = study.training_job(dataset, name).memory(attempt=1)
        attempt = ["--attempt", "1", "--asked", f"{requested} MB", "--log", f"{name}.log"]
        out = ["--out", f"{name}.networks.parquet"]
        measure(name, len(family.networks), requested, "train", dataset, "0", *options, *out, *attempt)
    return jobs


def _study_of(dataset: str) -> StudyFiles:
    """The full study on one dataset."""
    return StudyFiles(load_study({"datasets": [dataset]}, PROJECT))


def _rows_in_all(train_rows: int) -> int:
    """The smallest table with so many training rows."""
    return next(rows for rows in range(train_rows, MAX_ROWS + 1) if part_sizes(rows)[0] == train_rows)


def _generate(path: Path, rows: int, features: int) -> None:
    generator = np.random.default_rng(7)
    x = generator.standard_normal((rows, features))
    frame = pd.DataFrame(x, columns=[f"x{number}" for number in range(features)])
    frame["y"] = x[:, :5].sum(axis=1) + generator.standard_normal(rows)
    frame.to_parquet(path, index=False)


def _line(job: JobMemory) -> str:
    shape = f"{job.rows} x {job.features}"
    ratio = job.requested_megabytes / job.peak_megabytes
    return (
        f"{shape:>16} {job.job:52} {job.networks:8} {job.cpu_seconds:7.1f} {job.peak_megabytes:8.0f} "
        f"{job.requested_megabytes:8} {ratio:6.2f}"
    )
