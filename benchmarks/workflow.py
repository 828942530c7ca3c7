"""What Snakemake itself costs: `make bench`.

A dry run of the full study, a second call with everything done, and Snakemake's share of the smoke study. Prints a
table and saves it as benchmarks/results/workflow.json.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml

from qrt.atomic import write_json
from qrt.config import load_config, read_schema
from qrt.experiments import plan_study
from qrt.machine import processor

PROJECT = Path(__file__).resolve().parent.parent
RESULTS = PROJECT / "benchmarks/results/workflow.json"
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """Seconds and memory of one call, and the processor time of Snakemake itself beside that of all its jobs."""

    call: str
    seconds: float
    peak_megabytes: float
    own_cpu_seconds: float
    all_cpu_seconds: float


def measured(call: str, *arguments: str) -> Cost:
    """Run Snakemake and watch it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=PROJECT,
        env=os.environ | {"PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    own = peak = 0.0
    while process.poll() is None:
        try:
            fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        own = (int(fields[11]) + int(fields[12])) / TICKS
        for line in status.splitlines():
            if line.startswith("VmHWM"):
                peak = int(line.split()[1]) / 1024
        time.sleep(0.05)
    _, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{call} failed:\n{errors.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Cost(call, time.perf_counter() - start, peak, own, spent)


def pretend_everything_is_done(folder: Path) -> None:
    """Empty files in place of all results of the full study, oldest first."""
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    study = load_config(yaml.safe_load((PROJECT / "config.yaml").read_text()), schema, PROJECT)
    plan = plan_study(study)
    for name in study.datasets:
        write_json(folder / f"data/raw/{name}.json", {"status": "available", "attempt": 1, "reason": ""})
        (folder / f"data/raw/{name}.parquet").touch()
        prepared = folder / "data/prepared" / name
        prepared.mkdir(parents=True)
        for file in ("x.npy", "y.npy"):
            (prepared / file).touch()
        write_json(prepared / "record.json", {"status": "available", "reason": ""})
        for split in study.splits:
            networks = folder / f"results/networks/{name}/split{split}"
            networks.mkdir(parents=True)
            for family in plan.families:
                for kind in ("runs", "curves", "predictions"):
                    (networks / f"{family}.{kind}.parquet").touch()
            (folder / f"results/times/{name}").mkdir(parents=True, exist_ok=True)
            (folder / f"results/times/{name}/split{split}.parquet").touch()
        (folder / "results/collected").mkdir(exist_ok=True)
        for kind in ("runs", "curves", "predictions"):
            (folder / f"results/collected/{name}.{kind}.parquet").touch()
    (folder / "results/methods").mkdir()
    for experiment in plan.experiments:
        (folder / f"results/methods/{experiment}.parquet").touch()
    for table in ("runs", "methods", "curves", "predictions", "times"):
        (folder / f"results/{table}.parquet").touch()
    (folder / "paper_figures").mkdir()
    for ending in ("csv", "tex", "md"):
        (folder / f"paper_figures/table3_datasets.{ending}").touch()


def main() -> None:
    costs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = ["--cores", "2", "--directory", str(folder)]
        costs.append(measured("dry run of the full study", *place, "--dry-run", "--quiet"))
        pretend_everything_is_done(folder)
        measured("touching", *place, "--touch", "--quiet")
        costs.append(measured("second call of the full study, all done", *place))
        smoke = ["--profile", "workflow/profiles/smoke", "--directory", str(folder / "smoke")]
        costs.append(measured("smoke study", *smoke))
    machine = {
        "processor": processor(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    write_json(RESULTS, {"machine": machine, "costs": [asdict(cost) for cost in costs]})
    print(f"{'call':42} {'seconds':>8} {'peak MB':>8} {'own CPU s':>10} {'all CPU s':>10} {'share':>7}")
    for cost in costs:
        share = cost.own_cpu_seconds / cost.all_cpu_seconds
        print(
            f"{cost.call:42} {cost.seconds:8.1f} {cost.peak_megabytes:8.0f} {cost.own_cpu_seconds:10.1f} "
            f"{cost.all_cpu_seconds:10.1f} {share:7.1%}"
        )


if __name__ == "__main__":
    main()
