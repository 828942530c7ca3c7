"""What Snakemake itself costs: `make bench`.

A dry run of the full study, a second call with all result tables there, and Snakemake's share of the smoke study.
Prints a table and saves it as benchmarks/results/workflow.json.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import yaml

from measuring import PROJECT, machine, print_costs, snakemake
from qrt.atomic import write_json
from qrt.running.study_files import TUNED_FOR_ONE, StudyFiles
from qrt.study.config import load_config, read_schema

RESULTS = PROJECT / "benchmarks/results/workflow.json"
COLLECTED = ("runs", "curves", "predictions")


def full_study() -> StudyFiles:
    """The files of the study as config.yaml has it."""
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    return StudyFiles(load_config(yaml.safe_load((PROJECT / "config.yaml").read_text()), schema, PROJECT))


def tables(files: StudyFiles) -> list[str]:
    """The tables for which everything is trained."""
    return [files.layout.table(kind) for kind in (*COLLECTED, "methods", "times")]


def pretend_everything_is_done(files: StudyFiles, folder: Path) -> None:
    """Empty files in place of all results behind the tables of a study, oldest first."""
    for dataset in files.study.datasets:
        write_json(folder / files.layout.raw(dataset, "json"), {"status": "available", "attempt": 1, "reason": ""})
        write_json(folder / files.layout.prepared(dataset), {"status": "available", "reason": ""})
    for path in _empty_files(files):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).touch()


def _empty_files(files: StudyFiles) -> Iterator[str]:
    study, layout = files.study, files.layout
    for dataset in study.datasets:
        yield layout.raw(dataset, "parquet")
        yield from (layout.prepared(dataset, file) for file in ("x.npy", "y.npy"))
        for seed in study.seeds:
            for family in files.plan.families_on(dataset):
                if study.keep_outputs:
                    yield from files.trained(dataset, seed, family)
                yield from (layout.evaluated(dataset, seed, family, kind) for kind in COLLECTED)
        yield from (layout.collected(dataset, kind) for kind in COLLECTED)
        yield from (layout.tuned_for_one(purpose, dataset) for purpose in TUNED_FOR_ONE)
    yield from files.times()
    for seed in study.seeds:
        yield from files.tuned(files.plan.experiments, seed)
    yield from tables(files)


def main() -> None:
    costs = []
    files = full_study()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = ["--cores", "2", "--directory", str(folder)]
        costs.append(snakemake("dry run of the full study", *place, "--dry-run", "--quiet"))
        pretend_everything_is_done(files, folder)
        snakemake("touching", *place, "--touch", "--quiet", "--", *tables(files))
        costs.append(snakemake("second call of the full study, all done", *place, "--", *tables(files)))
        smoke = ["--profile", "workflow/profiles/smoke", "--directory", str(folder / "smoke")]
        costs.append(snakemake("smoke study", *smoke))
    write_json(RESULTS, {"machine": machine(), "costs": [asdict(cost) for cost in costs]})
    print_costs(costs)


if __name__ == "__main__":
    main()
