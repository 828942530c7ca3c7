"""Get one dataset from the first source that has it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("--table", type=Path, required=True, help="Parquet file to write")
    parser.add_argument("--record", type=Path, required=True, help="JSON record to write")
    parser.add_argument("--attempt", type=int, default=1)
    parser.add_argument("--sources", default=os.environ.get("QRT_SOURCES", "mirror,openml,uci"))
    parser.add_argument("--mirror", type=Path, default=_environment_path("QRT_MIRROR"))
    parser.add_argument("--own", type=json.loads, default=None, help="the entry of own_datasets as JSON")
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    parser.add_argument("--lock", type=Path, default=Path("datasets.lock.json"))


def run(options: argparse.Namespace) -> None:
    """Fetch, and say what came."""
    from qrt.data.fetch import fetch
    from qrt.data.record import record_in_words

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
    print(record_in_words(record))


def _environment_path(variable: str) -> Path | None:
    value = os.environ.get(variable)
    return Path(value) if value else None
