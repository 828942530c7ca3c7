"""The commands that the rules of the workflow call: `python -m qrt COMMAND ...`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from qrt.errors import UserError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; a user's mistake becomes one message and status 2."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m qrt", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_data_commands(commands)
    _add_study_commands(commands)
    return parser


def _add_data_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    fetch = commands.add_parser("fetch", help="get one dataset from the first source that has it")
    fetch.add_argument("dataset")
    fetch.add_argument("--table", type=Path, required=True, help="Parquet file to write")
    fetch.add_argument("--record", type=Path, required=True, help="JSON record to write")
    fetch.add_argument("--attempt", type=int, default=1)
    fetch.add_argument("--sources", default=os.environ.get("QRT_SOURCES", "mirror,openml,uci"))
    fetch.add_argument("--mirror", type=Path, default=_environment_path("QRT_MIRROR"))
    fetch.add_argument("--own", type=json.loads, default=None, help="JSON with path, target and categorical")
    fetch.add_argument("--cache", type=Path, default=Path("data/cache"))
    fetch.add_argument("--lock", type=Path, default=Path("datasets.lock.json"))
    fetch.set_defaults(run=_fetch)

    prepare = commands.add_parser("prepare", help="turn a fetched table into numbers")
    prepare.add_argument("dataset")
    prepare.add_argument("--table", type=Path, required=True)
    prepare.add_argument("--record", type=Path, required=True)
    prepare.add_argument("--out", type=Path, required=True, help="folder to write x.npy, y.npy and record.json to")
    prepare.set_defaults(run=_prepare)

    table3 = commands.add_parser("dataset-table", help="draw Table 3 from the records of the prepared datasets")
    table3.add_argument("records", type=Path, nargs="+")
    table3.add_argument("--csv", type=Path, required=True)
    table3.add_argument("--tex", type=Path, required=True)
    table3.add_argument("--markdown", type=Path, required=True)
    table3.set_defaults(run=_dataset_table)


def _add_study_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    train.set_defaults(run=_train)

    collect = commands.add_parser("collect", help="join result files of one kind, in the given order")
    collect.add_argument("kind", choices=("runs", "methods", "curves", "predictions", "times"))
    collect.add_argument("sources", type=Path, nargs="+")
    collect.add_argument("--out", type=Path, required=True)
    collect.set_defaults(run=_collect)

    tune = commands.add_parser("tune", help="tune the methods of one experiment")
    tune.add_argument("--experiment", required=True, help="the experiment as JSON")
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
    clock.set_defaults(run=_time)


def _environment_path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None


def _fetch(options: argparse.Namespace) -> None:
    from qrt.data.fetch import fetch

    record = fetch(
        options.dataset,
        options.table,
        options.record,
        attempt=options.attempt,
        sources=options.sources.split(","),
        mirror=options.mirror,
        own=options.own,
        cache=options.cache,
        lock=options.lock,
    )
    _tell(record)


def _prepare(options: argparse.Namespace) -> None:
    from qrt.data.prepared_store import prepare_dataset

    _tell(prepare_dataset(options.dataset, options.table, options.record, options.out))


def _tell(record: dict[str, object]) -> None:
    reason = f": {record['reason']}" if record["reason"] else f" ({record.get('rows', '?')} rows)"
    print(f"{record['dataset']}: {record['status']}{reason}")


def _say(line: str) -> None:
    print(line, flush=True)


def _train(options: argparse.Namespace) -> None:
    from qrt.data.raw_store import read_record
    from qrt.family import Family
    from qrt.result_tables import CURVES, PREDICTIONS, RUNS, write_rows

    family = Family.from_json(options.family)
    record = read_record(options.data / "record.json")
    if record["status"] == "available":
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
        rows = (result.runs, result.curves, result.predictions)
    else:
        from qrt.family import failed_runs

        rows = (failed_runs(options.dataset, options.split, family, record["status"], record["reason"]), [], [])
    write_rows(options.runs, rows[0], RUNS)
    write_rows(options.curves, rows[1], CURVES)
    write_rows(options.predictions, rows[2], PREDICTIONS)


def _collect(options: argparse.Namespace) -> None:
    from qrt.result_tables import TABLES, concatenate

    rows = concatenate(options.sources, options.out, TABLES[options.kind][1])
    print(f"{options.out}: {rows} rows of {len(options.sources)} files")


def _tune(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt.experiments import Experiment
    from qrt.protocol import Protocol
    from qrt.result_tables import METHODS, read_frame, write_rows
    from qrt.tuning import left_out, tuned_methods

    files = [
        options.networks / dataset / f"split{split}" / f"{family}.runs.parquet"
        for dataset in options.datasets
        for split in options.splits
        for family in options.families
    ]
    runs = pd.concat([read_frame(path) for path in files], ignore_index=True)
    methods = tuned_methods(runs, Experiment.from_json(options.experiment), Protocol.from_dict(options.protocol))
    write_rows(options.out, methods.astype(object).where(methods.notna(), None).to_dict("records"), METHODS)
    for line in left_out(methods):
        print(line)


def _time(options: argparse.Namespace) -> None:
    import pandas as pd

    from qrt.result_tables import TIMES, read_frame, write_rows
    from qrt.timing_job import time_methods

    methods = pd.concat([read_frame(path) for path in options.methods], ignore_index=True)
    rows = time_methods(options.dataset, options.data, options.split, methods, options.training, log=_say)
    write_rows(options.out, rows, TIMES)


def _dataset_table(options: argparse.Namespace) -> None:
    from qrt.atomic import write_text
    from qrt.data.raw_store import read_record
    from qrt.data.sheet import paper_datasets
    from qrt.tables.dataset_table import dataset_table, for_reading, status_summary
    from qrt.tables.formats import to_latex, to_markdown

    table = dataset_table([read_record(path) for path in options.records], paper_datasets())
    summary = status_summary(table)
    caption = f"Datasets, the published value in brackets. {len(table)} datasets: {summary}."
    write_text(options.csv, table.to_csv(index=False, float_format="%.4f"))
    write_text(options.tex, to_latex(for_reading(table), caption, "table:datasets"))
    write_text(options.markdown, to_markdown(for_reading(table), caption))
    print(f"Table 3: {summary}")


if __name__ == "__main__":
    sys.exit(main())
