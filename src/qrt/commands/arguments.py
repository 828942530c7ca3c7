"""Arguments that several commands share."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_table_files(parser: argparse.ArgumentParser) -> None:
    """The files of a table of the paper."""
    for form in ("csv", "tex", "markdown"):
        parser.add_argument(f"--{form}", type=Path, required=True)


def add_attempt(parser: argparse.ArgumentParser) -> None:
    """The options of a command that may run out of memory or time: it is tried again with more, then gives up."""
    parser.add_argument("--attempt", type=int, required=True, help="number of this attempt, from 1")
    parser.add_argument("--asked", required=True, help="the memory and time that this attempt may take, in words")
    parser.add_argument("--log", type=Path, required=True, help="its attempts are noted beside this file")
