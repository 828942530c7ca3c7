"""What Snakemake bears, and what the largest jobs take.

    python benchmarks/load.py             the plan of a study of 5,000 tiny training jobs, and a run of 200 on 2 cores
    python benchmarks/load.py --shapes    the largest datasets of the paper: peak memory of each job

Prints tables and saves them in benchmarks/results/load.json.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from measuring import PROJECT, Cost, OwnCpu, jobs_environment, machine, print_costs, snakemake, watched
from qrt.atomic import write_json
from qrt_study.plan.config import load_study
from qrt_study.running.study_files import StudyFiles
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
    "grids": {
        "bandwidth_grid": [0.1],
        "lambda_grid": [0, 0.05],
        "bandwidth_study": [0.5],
        "alpha_study": [0, 2],
        "map_sizes": [8],
    },
    "training": {"max_epochs": 2, "patience": 1},
}
PARTS = 4  # in which the processor time of Snakemake per job is told: does it grow?


@dataclass(frozen=True)
class Load:
    """What a study cost. Snakemake's own milliseconds per training job are told for each quarter of them."""

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
        self.files = StudyFiles(load_study(TINY, PROJECT))
        self.jobs_of_dataset = SPLITS * len(self.files.plan.families)
        self.datasets = [f"tiny{number:04}" for number in range(math.ceil(training_jobs / self.jobs_of_dataset))]
        self.training_jobs = len(self.datasets) * self.jobs_of_dataset
        (folder / "tables").mkdir(parents=True)
        (folder / "tmp").mkdir()
        own = {name: {"path": str(self._table(name, seed)), "target": "y"} for seed, name in enumerate(self.datasets)}
        (folder / "study.yaml").write_text(yaml.safe_dump(TINY | {"own_datasets": own}))
        self.targets = [self.files.layout.table(self.files.study.scenario, kind) for kind in ("runs", "methods")]

    def _table(self, name: str, seed: int) -> Path:
        path = self.folder / f"tables/{name}.csv"
        values = np.random.default_rng(seed).standard_normal((ROWS, 3))
        pd.DataFrame(values, columns=["a", "b", "y"]).to_csv(path, index=False)
        return path

    def _snakemake(self, call: str, *options: str, own_cpu: OwnCpu | None = None) -> Cost:
        environment = jobs_environment() | {"TMPDIR": str(self.folder / "tmp")}
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

    def run(self) -> Load:
        """Run everything."""
        own_cpu = OwnCpu()
        cost = self._snakemake(f"run, {self.training_jobs} training jobs", own_cpu=own_cpu)
        jobs = sum(1 for _ in (self.folder / "logs").rglob("*.log"))
        trained = self.folder.glob(self.files.layout.trained("*", "*", "*", "*"))
        finished = sorted(file.stat().st_mtime for file in trained)
        assert len(finished) == self.training_jobs
        borders = [len(finished) * part // PARTS for part in range(PARTS + 1)]
        spent = [own_cpu.at(finished[max(0, border - 1)]) for border in borders]
        return Load(
            training_jobs=self.training_jobs,
            jobs=jobs,
            run=cost,
            jobs_per_second=jobs / cost.seconds,
            jobs_cpu_seconds=(cost.all_cpu_seconds - cost.own_cpu_seconds) / jobs,
            own_milliseconds=[
                1000 * (spent[part + 1] - spent[part]) / (borders[part + 1] - borders[part]) for part in range(PARTS)
            ],
        )


def measure_studies(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The plan of a large study, and a run of a smaller one."""
    limit = 60.0 * options.minutes
    start = watched("import", [sys.executable, "-c", "import qrt_study.training.family_job"])
    planning = TinyStudy(folder / "planned", options.planned, limit).dry_run()
    print_costs([start, planning])
    load = TinyStudy(folder / "run", options.jobs, limit).run()
    print_costs([load.run])
    quarters = " ".join(f"{value:.1f}" for value in load.own_milliseconds)
    print(f"{load.jobs} jobs, {load.jobs_per_second:.2f} a second, {load.jobs_cpu_seconds:.2f} CPU seconds each")
    print(f"Snakemake's own milliseconds per training job, by quarters of the run: {quarters}")
    return {"start_of_python": asdict(start), "dry_run": asdict(planning), "study": asdict(load)}


def main() -> None:
    """Measure, print, and keep what was measured beside what the other part of the benchmark has found before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--planned", type=int, default=5000, help="training jobs to plan")
    parser.add_argument("--jobs", type=int, default=200, help="training jobs to run")
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
