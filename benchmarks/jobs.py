"""Processor seconds of whole jobs by part, on data in the shape of three datasets: `make bench`.

Each job runs in a process of its own: the networks of QRT with per-epoch records, trained as one stack, then evaluated
under every chain of maps; in turns with the code before November 19 2026, where the clone has that commit. Prints a
table, the goals beside it, and saves both as benchmarks/results/jobs.json.
"""

from __future__ import annotations

import os
import time

os.environ["OMP_NUM_THREADS"] = "1"

import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from engine import Ratio, generated, machine
from qrt.atomic import write_json
from qrt.engine import trainer
from qrt.engine.calibration_map import CalibrationMap, fit_map, fit_maps
from qrt.engine.evaluation import evaluate_chains, evaluate_many_rows
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.registry import MapName
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, Variant, map_rows, train_stack
from qrt.engine.training_step import TrainingStep
from qrt.engine.validation import Validation

RESULTS = Path(__file__).parent / "results" / "jobs.json"
# Training rows, features, rows of validation, calibration and test.
SHAPES = {"Yacht": (200, 6, 31), "Airfoil": (977, 5, 150), "Kin8nm": (5324, 8, 819)}
MOST_SECONDS = {"Yacht": 5.5, "Kin8nm": 22.0}  # of a whole job
MOST_RECORDS, MOST_MAPS = 0.07, 0.05  # shares of a job
LEAST_GAIN = 1.5  # of evaluation
PROJECT = Path(__file__).resolve().parent.parent
OLD = "238ed0d"  # the last commit before records, evaluation and fits became faster
MAPS = "maps on training rows"  # a part of `evaluation`
PARTS = ("start", "steps", "validation", "records", "evaluation", "other")
BANDWIDTHS = (0.01, 0.05, 0.1, 0.2)
POSTHOC: tuple[MapName, ...] = ("REFL", "KDE", "TRUNC")


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(run_job(*SHAPES[sys.argv[1]])))
        return
    print(f"{'CPU seconds of a job, 4 networks':34}" + "".join(f"{part:>12}" for part in ("total", *PARTS)))
    jobs: dict[str, dict[str, float]] = {}
    before: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        has_old = extract_old(Path(folder))
        for name in SHAPES:
            jobs[name] = job_of(PROJECT, name)
            total = sum(jobs[name][part] for part in PARTS)
            shares = "".join(f"{jobs[name][part]:6.2f} {jobs[name][part] / total:4.0%} " for part in PARTS)
            print(f"{name:34}{total:12.2f}{shares}", flush=True)
            if has_old:
                before[name] = job_of(Path(folder), name)
    goals = [*_goals(jobs), *_gains(before, jobs), _pandas_in_training()]
    for goal in goals:
        print(goal.line)
    saved = [asdict(goal) | {"reached": goal.reached} for goal in goals]
    write_json(RESULTS, {"machine": machine(), "jobs": jobs, "before": before, "goals": saved})


def extract_old(folder: Path) -> bool:
    """Put the code of the commit OLD into a folder; whether the clone has it."""
    command = ["git", "-C", str(PROJECT), "archive", OLD, "src", "benchmarks"]
    found = subprocess.run(command, capture_output=True, check=False)
    if found.returncode == 0:
        with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return found.returncode == 0


def job_of(project: Path, name: str) -> dict[str, float]:
    """Seconds of the parts of a job with the code in a folder."""
    environment = os.environ | {"PYTHONPATH": str(project / "src")}
    command = [sys.executable, str(project / "benchmarks/jobs.py"), name]
    child = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(child.stdout)
    return found


def _goals(jobs: Mapping[str, Mapping[str, float]]) -> Iterator[Ratio]:
    for name, seconds in jobs.items():
        total = sum(seconds[part] for part in PARTS)
        if name in MOST_SECONDS:
            yield Ratio(f"job on the shape of {name}, CPU seconds", total, "at most", MOST_SECONDS[name], "4 networks")
        yield Ratio(f"records / job, {name}", seconds["records"] / total, "at most", MOST_RECORDS, "")
        yield Ratio(f"{MAPS} / job, {name}", seconds[MAPS] / total, "at most", MOST_MAPS, "")


def _gains(before: Mapping[str, Mapping[str, float]], jobs: Mapping[str, Mapping[str, float]]) -> Iterator[Ratio]:
    for name, old in before.items():
        seconds, others = old["evaluation"], f"records: {old['records'] / jobs[name]['records']:.1f} times"
        yield Ratio(
            f"evaluation, {OLD} / now, {name}", seconds / jobs[name]["evaluation"], "at least", LEAST_GAIN, others
        )


def _pandas_in_training() -> Ratio:
    check = "import sys, qrt_study.training.family_job; print(int('pandas' in sys.modules))"
    child = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True)
    return Ratio("pandas imported by a training job", float(child.stdout), "at most", 0, "1: yes, 0: no")


def run_job(rows: int, features: int, others: int) -> dict[str, float]:
    """Processor seconds of each part of one job in this process, its imports included."""
    torch.set_num_threads(1)
    seconds = dict.fromkeys((*PARTS, MAPS), 0.0) | {"start": time.process_time()}

    def timed(part: str, owner: Any, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def call(*arguments: Any, **named: Any) -> Any:
            begin = time.process_time()
            result = function(*arguments, **named)
            seconds[part] += time.process_time() - begin
            return result

        setattr(owner, name, call)

    timed("steps", TrainingStep, "__call__")
    timed("validation", Validation, "values")
    timed("records", trainer, "curve_records")
    timed("evaluation", sys.modules[__name__], "evaluate_network")
    timed(MAPS, sys.modules[__name__], "evaluate_many_rows")
    data = generated(rows, features, validation=others, others=others)
    variants = [Variant(alpha=1.0, bandwidth=bandwidth) for bandwidth in BANDWIDTHS]
    for network in train_stack(data, variants, replace(TrainingSettings(), record_curves=True), 0):
        evaluate_network(network, data)
    seconds["other"] = time.process_time() - sum(seconds[part] for part in PARTS)
    return seconds


def evaluate_network(network: TrainedNetwork, data: Any) -> None:
    """Every metric of a network without and with its training map and post-hoc maps on both."""
    parts = {
        part: (predictive_from_outputs(network.outputs(x)).mixture, torch.from_numpy(y).double())
        for part, (x, y) in ((part, data.part(part)) for part in ("train", "validation", "calibration", "test"))
    }
    mixture, y = parts["train"]
    sample = map_rows(len(y), 0)
    assert network.variant.bandwidth is not None
    training_map = fit_map("REFL", PredictiveDistribution(mixture).pit(y)[sample], network.variant.bandwidth)
    chains: list[tuple[CalibrationMap, ...]] = []
    for below in ((), (training_map,)):
        chains.append(below)
        pits = PredictiveDistribution(parts["calibration"][0], below).pit(parts["calibration"][1])
        for bandwidth in sorted({0.1, network.variant.bandwidth}):
            chains += [(*below, one) for one in fit_maps(POSTHOC, pits, bandwidth, "variance").values()]
    for part in ("validation", "test"):
        evaluate_chains(parts[part][0], chains, parts[part][1])
    evaluate_many_rows(mixture, chains, y)


if __name__ == "__main__":
    main()
