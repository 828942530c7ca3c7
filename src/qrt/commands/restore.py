"""Unpack published results, so that figures are drawn and the study goes on from there."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--archive", type=Path, default=Path("replication/results"))
    parser.add_argument("--folder", type=Path, default=Path(), help="where the study runs, or will run")
    few = min(os.cpu_count() or 1, 4)  # of more the disk gains nothing
    parser.add_argument("--processes", type=int, default=few, help="how many unpack at a time")


def run(options: argparse.Namespace) -> None:
    """Unpack, leaving alone what is there."""
    from qrt.results.archive import unpack
    from qrt.results.layout import PUBLISHED_LAYOUTS

    count = unpack(options.archive, options.folder, PUBLISHED_LAYOUTS, options.processes)
    print(f"{count} files of results restored from {options.archive}; those that were there are as they were")
