"""Commands about the networks: train, collect, tune, time."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the parser."""
    train = commands.add_parser("train", help="train and evaluate one family of networks on one dataset and split")
    train.add_argument("dataset")
    train.add_argument("split", type=int)
    train.add_argument("--data", type=Path, required=True, help="folder of the prepared dataset")
    train.add_argument("--family", required=True, help="the family as JSON")
    train.add_argument("--training", type=json.loads, required=True, help="JSON with max_epochs and patience")
    train.add_argument("--examples", action="store_true", help="keep predictive densities of some test rows")
    train.add_argument("--runs", type=Path, required=True)
    train.add_argument("--curves", type=Path, required=True)
    train.add_argument("--predictions", type=Path, required=True)
    _add_attempt(train)
    train.set_defaults(run=_train)

    collect = commands.add_parser("collect", help="join result files of one kind, in the given order")
    collect.add_argument("kind", choices=("runs", "methods", "curves", "predictions", "times"))
    collect.add_argument("sources", type=Path, nargs="+")
    collect.add_argument("--out", type=Path, required=True)
    collect.set_defaults(run=_collect)

    tune = commands.add_parser("tune", help="tune the methods of experiments")
    tune.add_argument("--experiments", nargs="+", required=True, help="each experiment as JSON")
    tune.add_argument("--protocol", type=json.loads, required=True, help="the protocol's switches as JSON")
    tune.add_argument("--networks", type=Path, required=True, help="folder of the training jobs' results")
    tune.add_argument("--datasets", nargs="+", required=True)
    tune.add_argument("--splits", nargs="+", required=True)
    tune.add_argument("--families", nargs="+", required=True)
    tune.add_argument("--out", type=Path, required=True)
    tune.set_defaults(run=_tune)

    clock = commands.add_parser("time", help="train the tuned networks of the main comparison alone")
    clock.add_argument("dataset")
    clock.add_argument("split", type=int)
    clock.add_argument("--data", type=Path, required=True)
    clock.add_argument("--methods", type=Path, nargs="+", required=True, help="tuned methods of the main comparison")
    clock.add_argument("--training", type=json.loads, required=True)
    clock.add_argument("--out", type=Path, required=True)
    _add_attempt(clock)
    clock.set_defaults(run=_time)

    progress = commands.add_parser("status", help="tell how far the study in this folder is")
    progress.add_argument("--configfile", type=Path, nargs="+", default=[Path("config.yaml")], help="later ones win")
    progress.add_argument("--folder", type=Path, default=Path(), help="where the study runs")
    progress.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="for the estimate of the time left")
    progress.set_defaults(run=_status)


def _add_attempt(command: argparse.ArgumentParser) -> None:
    """The options of a command that may lack memory or time: it is tried again with more, then gives up."""
    command.add_argument("--attempt", type=int, required=True, help="number of this attempt, from 1")
    command.add_argument("--asked", required=True, help="the memory and time that this attempt may take, in words")
    command.add_argument("--log", type=Path, required=True, help="its attempts are noted beside this file")


def _say(line: str) -> None:
    print(line, flush=True)


def _train(options: argparse.Namespace) -> None:
    from qrt.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt.data.raw_store import read_record
    from qrt.family import Family, failed_runs
    from qrt.result_tables import CURVES, PREDICTIONS, RUNS, write_rows

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
        _say(reason)
        write(failed_runs(options.dataset, options.split, family, "failed", reason), [], [])
        return
    with noted_attempt(notes_beside(options.log), options.attempt, options.asked):
        from qrt.training_job import train_family

        result = train_family(
            options.dataset,
            options.data,
            options.split,
            family,
            options.training,
            examples=options.examples,
            log=_say,
        )
        write(result.runs, result.curves, result.predictions)


def _collect(options: argparse.Namespace) -> None:
    from qrt.result_tables import TABLES, concatenate

    rows = concatenate(options.sources, options.out, TABLES[options.kind][1])
    print(f"{options.out}: {rows} rows of {len(options.sources)} files")


def _tune(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt.experiments import Experiment
    from qrt.protocol import Protocol
    from qrt.result_tables import METHODS, read_frames, write_rows
    from qrt.tuning import left_out, tuned_methods

    files = [
        options.networks / dataset / f"split{split}" / f"{family}.runs.parquet"
        for dataset in options.datasets
        for split in options.splits
        for family in options.families
    ]
    runs = read_frames(files, "runs")
    experiments = [Experiment.from_json(text) for text in options.experiments]
    protocol = Protocol.from_dict(options.protocol)
    methods = pd.concat([tuned_methods(runs, one, protocol) for one in experiments], ignore_index=True)
    write_rows(options.out, methods.astype(object).where(methods.notna(), None).to_dict("records"), METHODS)
    for line in left_out(methods):
        print(line)


def _time(options: argparse.Namespace) -> None:
    from qrt.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt.result_tables import TIMES, read_frames, write_rows
    from qrt.timing_job import time_methods, untimed

    methods = read_frames(options.methods, "methods")
    place = (options.dataset, options.split, methods)
    if reason := reason_to_give_up(notes_beside(options.log), options.attempt):
        _say(reason)
        write_rows(options.out, untimed(*place, reason), TIMES)
        return
    with noted_attempt(notes_beside(options.log), options.attempt, options.asked):
        write_rows(options.out, time_methods(*place, options.data, options.training, log=_say), TIMES)


def _status(options: argparse.Namespace) -> None:
    from itertools import product

    from qrt.config import load_config, read_config, read_schema
    from qrt.experiments import plan_study
    from qrt.status import JobFiles, is_running, training_jobs

    config = read_config(options.configfile)
    study = load_config(config, read_schema(Path("workflow/schemas/config.schema.yaml")), root=Path())
    plan = plan_study(study)
    places = product(study.datasets, study.splits, plan.families)
    found = JobFiles(training_jobs(study, plan, places, options.folder)).status()
    print("\n".join(found.lines(options.cores, study_runs=is_running(options.folder))))
