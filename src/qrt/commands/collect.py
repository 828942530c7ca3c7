"""Join result files of one kind, in the given order."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("kind", choices=("runs", "methods", "curves", "predictions", "times"))
    parser.add_argument("sources", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Join, and say how many rows there are."""
    from qrt.results.tables import TABLES, concatenate

    rows = concatenate(options.sources, options.out, TABLES[options.kind][1])
    print(f"{options.out}: {rows} rows of {len(options.sources)} files")
