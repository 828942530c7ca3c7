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
    return parser


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
