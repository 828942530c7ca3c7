"""Commands about the data: fetch, prepare."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the parser."""
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
