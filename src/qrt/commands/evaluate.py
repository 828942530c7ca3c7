"""Evaluate the trained networks of one family on one dataset, split by split."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("--seed", type=int, default=0, help="number of the random start within each split")
    parser.add_argument("--data", type=Path, required=True, help="folder of the prepared dataset")
    parser.add_argument("--networks", type=Path, nargs="+", required=True, help="files of the training jobs")
    parser.add_argument("--splits", type=int, nargs="+", required=True, help="their splits, in the same order")
    parser.add_argument("--family", required=True, help="the family as JSON")
    parser.add_argument("--examples", action="store_true", help="keep predictive densities of some test rows")
    for kind in ("runs", "curves", "predictions"):
        parser.add_argument(f"--{kind}", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Write the rows of every table."""
    from qrt.parquet_file import write_rows
    from qrt.results.evaluation_job import evaluate_family
    from qrt.results.tables import CURVES, PREDICTIONS, RUNS
    from qrt.study.family import Family

    files = dict(zip(options.splits, options.networks, strict=True))
    family = Family.from_json(options.family)
    rows = evaluate_family(options.dataset, options.data, options.seed, family, files, examples=options.examples)
    write_rows(options.runs, rows.runs, RUNS)
    write_rows(options.curves, rows.curves, CURVES)
    write_rows(options.predictions, rows.predictions, PREDICTIONS)
    print(f"{options.dataset}, {family.name}: {len(rows.runs)} rows")
