"""Turn a fetched table into numbers."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder to write x.npy, y.npy and record.json to")


def run(options: argparse.Namespace) -> None:
    """Prepare, and say what came of it."""
    from qrt.data.prepared_store import prepare_dataset
    from qrt.data.record import record_in_words

    print(record_in_words(prepare_dataset(options.dataset, options.table, options.record, options.out)))
