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
    parser.add_argument("--results", type=Path, default=Path("results"), help="where trained networks would be")


def run(options: argparse.Namespace) -> None:
    """Prepare, and say what came of it."""
    from qrt.data.own_data_words import is_own, own_data_sentences
    from qrt.data.prepared_store import prepare_dataset
    from qrt.data.record import record_in_words
    from qrt.results.trained_data import refuse_other_data

    def accept(checksum: str) -> None:
        refuse_other_data(options.dataset, checksum, options.results)

    record = prepare_dataset(options.dataset, options.table, options.record, options.out, accept)
    print(record_in_words(record))
    if is_own(record):
        print("\n".join(f"  {sentence}" for sentence in own_data_sentences(record)))
