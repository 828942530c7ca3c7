"""Train and evaluate one family of networks on one dataset and split."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from qrt.commands.arguments import add_attempt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("split", type=int)
    parser.add_argument("--data", type=Path, required=True, help="folder of the prepared dataset")
    parser.add_argument("--family", required=True, help="the family as JSON")
    parser.add_argument("--training", type=json.loads, required=True, help="JSON with max_epochs and patience")
    parser.add_argument("--examples", action="store_true", help="keep predictive densities of some test rows")
    parser.add_argument("--runs", type=Path, required=True)
    parser.add_argument("--curves", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    add_attempt(parser)


def run(options: argparse.Namespace) -> None:
    """Train, or leave rows that say why not."""
    from qrt.data.raw_store import read_record
    from qrt.results.tables import CURVES, PREDICTIONS, RUNS, write_rows
    from qrt.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt.study.family import Family, failed_runs

    family = Family.from_json(options.family)

    def write(runs: list[dict[str, Any]], curves: list[dict[str, Any]], predictions: list[dict[str, Any]]) -> None:
        write_rows(options.runs, runs, RUNS)
        write_rows(options.curves, curves, CURVES)
        write_rows(options.predictions, predictions, PREDICTIONS)

    record = read_record(options.data / "record.json")
    if record["status"] != "available":
        write(failed_runs(options.dataset, options.split, family, record["status"], record["reason"]), [], [])
        return
    if reason := reason_to_give_up(notes_beside(options.log), options.attempt):
        print(reason, flush=True)
        write(failed_runs(options.dataset, options.split, family, "failed", reason), [], [])
        return
    with noted_attempt(notes_beside(options.log), options.attempt, options.asked):
        from qrt.training.family_job import train_family

        result = train_family(
            options.dataset,
            options.data,
            options.split,
            family,
            options.training,
            examples=options.examples,
            log=lambda line: print(line, flush=True),
        )
        write(result.runs, result.curves, result.predictions)
