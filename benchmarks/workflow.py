"""What Snakemake itself costs: `make bench`.

A dry run of the full study, a second call with everything done, and Snakemake's share of the smoke study. Prints a
table and saves it as benchmarks/results/workflow.json.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path

import yaml

from measuring import PROJECT, machine, print_costs, snakemake
from qrt.atomic import write_json
from qrt.study.config import load_config, read_schema
from qrt.study.experiments import plan_study

RESULTS = PROJECT / "benchmarks/results/workflow.json"


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
        costs.append(snakemake("dry run of the full study", *place, "--dry-run", "--quiet"))
        pretend_everything_is_done(folder)
        snakemake("touching", *place, "--touch", "--quiet")
        costs.append(snakemake("second call of the full study, all done", *place))
        smoke = ["--profile", "workflow/profiles/smoke", "--directory", str(folder / "smoke")]
        costs.append(snakemake("smoke study", *smoke))
    write_json(RESULTS, {"machine": machine(), "costs": [asdict(cost) for cost in costs]})
    print_costs(costs)


if __name__ == "__main__":
    main()
