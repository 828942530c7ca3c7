"""What Snakemake itself costs: `make bench`.

A dry run of the full study, a second call with all result tables there, Snakemake's share of the smoke study, and the
published results drawn on two cores. Prints a table, with goals beside it and beside the CPU-hours of the published
study by measured jobs, and saves it as benchmarks/results/workflow.json.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import yaml

from measuring import PROJECT, machine, print_costs, snakemake
from qrt.atomic import write_json
from qrt_study.documents.job_costs import GOALS, by_processor, finished_jobs, hours_at_their_pace, whole_study
from qrt_study.plan.config import load_study
from qrt_study.results.layout import prepared_data, raw_data
from qrt_study.running.study_files import StudyFiles

RESULTS = PROJECT / "benchmarks/results/workflow.json"
REDRAWN = "published results drawn on two cores"
MOST_SECONDS, MOST_PLAN_CPU = 180.0, 12.0  # of the published results; of the dry run
KINDS = ("runs", "curves", "predictions")


def full_study() -> StudyFiles:
    """The files of the study as config.yaml has it."""
    return StudyFiles(load_study(yaml.safe_load((PROJECT / "config.yaml").read_text()), PROJECT))


def tables(files: StudyFiles) -> list[str]:
    """The tables for which everything is trained."""
    return [files.layout.table(files.study.scenario, kind) for kind in (*KINDS, "methods", "times")]


def everything(files: StudyFiles) -> Iterator[str]:
    """All files behind the tables of a study, oldest first."""
    for dataset in files.study.datasets:
        yield from (raw_data(dataset, form) for form in ("parquet", "json"))
        yield from (prepared_data(dataset, file) for file in ("x.npy", "y.npy", "record.json"))
    for place in files.places():
        trained = (files.layout.trained(place.dataset, place.seed, split, place.family) for split in files.study.splits)
        yield from trained
    for kind in KINDS:
        yield from files.files(files.places(), kind)
    yield from files.times()
    yield from files.tuned(files.plan.experiments)
    yield from tables(files)


def main() -> None:
    costs = []
    files = full_study()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = ["--cores", "2", "--directory", str(folder)]
        costs.append(snakemake("dry run of the full study", *place, "--dry-run", "--quiet"))
        for path in everything(files):  # empty files in place of all results
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).touch()
        snakemake("touching", *place, "--touch", "--quiet", "--", *tables(files))
        costs.append(snakemake("second call of the full study, all done", *place, "--", *tables(files)))
        smoke = ["--profile", "workflow/profiles/smoke", "--directory", str(folder / "smoke")]
        costs.append(snakemake("smoke study", *smoke))
        published = [
            "--cores",
            "2",
            "--configfile",
            str(PROJECT / "replication/study.yaml"),
            "--set-threads",
            "judge=1",
        ]
        costs.append(snakemake(REDRAWN, *published, "--directory", str(folder / "published")))
    write_json(RESULTS, {"machine": machine(), "costs": [asdict(cost) for cost in costs]})
    print_costs(costs)
    dry_run, *_, redrawn = costs
    print(f"{redrawn.call}: {redrawn.seconds:.0f} s (at most {MOST_SECONDS:.0f})")
    print(f"{dry_run.call}: {dry_run.all_cpu_seconds:.1f} CPU s (at most {MOST_PLAN_CPU:.0f})")
    study, most = whole_study(PROJECT, "paper", "published"), GOALS["published"]
    for name, jobs in by_processor(finished_jobs(PROJECT)):
        if hours := hours_at_their_pace(jobs, study):
            print(
                f"published study at the pace of jobs on {name}: {hours[0]:.0f} CPU-hours of training (at most {most})"
            )


if __name__ == "__main__":
    main()
