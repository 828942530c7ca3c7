"""Write Table 2 from the table of times."""

from __future__ import annotations

import argparse
from pathlib import Path

from qrt.commands.arguments import add_table_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("times", nargs="+", type=Path)
    parser.add_argument("--per-epoch", choices=("trained", "selected"), required=True)
    add_table_files(parser)


def run(options: argparse.Namespace) -> None:
    """Write the table."""
    from qrt import published
    from qrt.results.tables import read_frames
    from qrt.statistics.times import times_statistics
    from qrt.tables.table_files import write_table
    from qrt.tables.times_table import caption, times_table

    statistics = times_statistics(read_frames(options.times, "times"), published.table2(), options.per_epoch)
    shown, words = times_table(statistics), caption(options.per_epoch)
    write_table(statistics, shown, words, "table:times", csv=options.csv, tex=options.tex, markdown=options.markdown)
