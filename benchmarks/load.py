"""What Snakemake bears, and what the largest jobs take.

    python benchmarks/load.py             a study of 5,000 tiny training jobs on 2 cores
    python benchmarks/load.py --shapes    the largest datasets of the paper: peak memory of each job

Starting Python and PyTorch takes a tiny job most of its time, so 5,000 ordinary ones take hours. A few hundred of them
show what users get; all 5,000 run with a Python that starts at once (`qrt.running.warm_python`), which loads
Snakemake more than any real study can. Prints tables and saves them in benchmarks/results/load.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from measuring import PROJECT, Cost, OwnCpu, children_cpu, jobs_environment, machine, print_costs, snakemake, watched
from qrt.atomic import write_json
from qrt.running.study_files import StudyFiles
from qrt.running.warm_python import warm_python
from qrt.study.config import load_config, read_schema
from shapes import measure_shapes

RESULTS = PROJECT / "benchmarks/results/load.json"
SPLITS = 5
ROWS = 120
# Every family of the MLPs, with as few networks as it can have.
TINY: dict[str, Any] = {
    "datasets": [],
    "sources": ["mirror"],
    "splits": list(range(SPLITS)),
    "base_models": ["MLP-3", "MLP-1", "MLP-10"],
    "switches": {"bandwidth_grid": [0.1], "lambda_grid": [0, 0.05]},
    "grids": {"bandwidth_study": [0.5], "alpha_study": [0, 2], "map_sizes": [8]},
    "training": {"max_epochs": 2, "patience": 1},
}
# What the commands of the study import when they run.
IMPORTS = (
    "qrt.data.fetch",
    "qrt.data.prepared_store",
    "qrt.results.evaluation_job",
    "qrt.results.trained_data",
    "qrt.results.tuning",
    "qrt.running.attempts",
    "qrt.training.family_job",
)
PARTS = 4  # in which the processor time of Snakemake per job is told: does it grow?


@dataclass(frozen=True)
class Load:
    """What a study cost. Snakemake's own milliseconds per training job are told for each quarter of them."""

    python: str
    training_jobs: int
    jobs: int
    run: Cost
    jobs_per_second: float
    jobs_cpu_seconds: float  # of one job, on average, its shell included
    own_milliseconds: list[float]


class TinyStudy:
    """A study of tiny training jobs in a folder of its own."""

    def __init__(self, folder: Path, training_jobs: int, limit_seconds: float) -> None:
        self.folder, self.limit_seconds = folder, limit_seconds
        schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
        self.files = StudyFiles(load_config(TINY, schema, PROJECT), folder)
        self.jobs_of_dataset = SPLITS * len(self.files.plan.families)
        self.datasets = [f"tiny{number:04}" for number in range(math.ceil(training_jobs / self.jobs_of_dataset))]
        self.training_jobs = len(self.datasets) * self.jobs_of_dataset
        (folder / "tables").mkdir(parents=True)
        (folder / "tmp").mkdir()
        own = {name: {"path": str(self._table(name, seed)), "target": "y"} for seed, name in enumerate(self.datasets)}
        (folder / "study.yaml").write_text(yaml.safe_dump(TINY | {"own_datasets": own}))
        self.targets = [self.files.layout.table(kind) for kind in ("runs", "methods")]

    def _table(self, name: str, seed: int) -> Path:
        path = self.folder / f"tables/{name}.csv"
        values = np.random.default_rng(seed).standard_normal((ROWS, 3))
        pd.DataFrame(values, columns=["a", "b", "y"]).to_csv(path, index=False)
        return path

    def _snakemake(self, call: str, *options: str, programs: Path | None = None, own_cpu: OwnCpu | None = None) -> Cost:
        environment = jobs_environment() | {"TMPDIR": str(self.folder / "tmp")}
        if programs is not None:
            environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
        place = ["--cores", "2", "--directory", str(self.folder), "--configfile", str(self.folder / "study.yaml")]
        return snakemake(
            call,
            *(*place, *options, "--", *self.targets),
            environment=environment,
            limit_seconds=self.limit_seconds,
            own_cpu=own_cpu,
        )

    def dry_run(self) -> Cost:
        """Plan everything."""
        return self._snakemake(f"dry run, {self.training_jobs} training jobs", "--dry-run", "--quiet")

    def run(self, *, warm: bool) -> Load:
        """Run everything, with a warm Python or the ordinary one."""
        kind = "warm" if warm else "ordinary"
        own_cpu = OwnCpu()
        before = children_cpu()
        environment = jobs_environment() | {"PYTHONPATH": str(PROJECT / "src"), "OMP_NUM_THREADS": "1"}
        with warm_python(self.folder / "bin", IMPORTS, environment) if warm else nullcontext() as programs:
            call = f"run, {self.training_jobs} {kind} training jobs"
            cost = self._snakemake(call, programs=programs, own_cpu=own_cpu)
        cost = replace(cost, all_cpu_seconds=children_cpu() - before)  # warm jobs are children of the server
        jobs = sum(1 for _ in (self.folder / "logs").rglob("*.log"))
        trained = self.folder.glob(self.files.layout.trained("*", "*", "*", "*"))
        finished = sorted(file.stat().st_mtime for file in trained)
        assert len(finished) == self.training_jobs
        borders = [len(finished) * part // PARTS for part in range(PARTS + 1)]
        spent = [own_cpu.at(finished[max(0, border - 1)]) for border in borders]
        return Load(
            python=kind,
            training_jobs=self.training_jobs,
            jobs=jobs,
            run=cost,
            jobs_per_second=jobs / cost.seconds,
            jobs_cpu_seconds=(cost.all_cpu_seconds - cost.own_cpu_seconds) / jobs,
            own_milliseconds=[
                1000 * (spent[part + 1] - spent[part]) / (borders[part + 1] - borders[part]) for part in range(PARTS)
            ],
        )

    def results(self, datasets: list[str]) -> dict[str, pd.DataFrame]:
        """What the jobs on these datasets found, by file; times aside."""
        networks = self.folder / self.files.study.networks
        files = [file for name in datasets for file in sorted((networks / name).rglob("*.parquet"))]
        frames = {str(file.relative_to(networks)): pd.read_parquet(file) for file in files}
        return {
            name: frame.drop(columns=["train_seconds", "job_seconds", "evaluation_seconds"], errors="ignore")
            for name, frame in frames.items()
        }


def measure_studies(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Both studies, and a check that the kind of Python makes no difference to results."""
    limit = 60.0 * options.minutes
    start = watched("import", [sys.executable, "-c", "import qrt.training.family_job"])
    ordinary = TinyStudy(folder / "ordinary", options.ordinary, limit)
    warm = TinyStudy(folder / "warm", options.jobs, limit)
    planning = warm.dry_run()
    print_costs([start, planning])
    loads = [ordinary.run(warm=False), warm.run(warm=True)]
    print_costs([load.run for load in loads])
    both = [name for name in ordinary.datasets if name in warm.datasets]
    expected, found = ordinary.results(both), warm.results(both)
    differing = [name for name, frame in expected.items() if not frame.equals(found[name])]
    if differing:
        raise SystemExit(f"warm results differ from ordinary ones: {', '.join(differing)}")
    print_loads(loads)
    print(f"{len(expected)} result files of warm jobs equal those of ordinary ones")
    return {
        "start_of_python": asdict(start),
        "dry_run": asdict(planning),
        "studies": [asdict(load) for load in loads],
        "equal_result_files": len(expected),
    }


def print_loads(loads: list[Load]) -> None:
    """One line for each study."""
    print(
        f"{'python':10} {'jobs':>6} {'jobs/s':>7} {'CPU s/job':>10}  Snakemake's own ms per training job, by quarters"
    )
    for load in loads:
        quarters = " ".join(f"{value:6.1f}" for value in load.own_milliseconds)
        print(f"{load.python:10} {load.jobs:6} {load.jobs_per_second:7.2f} {load.jobs_cpu_seconds:10.2f}  {quarters}")


def main() -> None:
    """Measure, print, and keep what was measured beside what the other part of the benchmark has found before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=5000, help="training jobs with a warm Python")
    parser.add_argument("--ordinary", type=int, default=200, help="training jobs with the ordinary Python")
    parser.add_argument("--minutes", type=float, default=120, help="limit of each run")
    parser.add_argument("--shapes", action="store_true", help="memory of jobs on the largest datasets instead")
    options = parser.parse_args()
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    load_before = os.getloadavg()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # by way of the cleaning up
    with tempfile.TemporaryDirectory(prefix="qrt-load-") as name:
        if options.shapes:
            jobs = measure_shapes(Path(name))
            part, content = "shapes", {"jobs": [asdict(job) for job in jobs]}
        else:
            part, content = "studies", measure_studies(options, Path(name))
    surroundings = {"machine": machine(), "load_averages": {"before": load_before, "after": os.getloadavg()}}
    write_json(RESULTS, found | {part: surroundings | content})


if __name__ == "__main__":
    main()
