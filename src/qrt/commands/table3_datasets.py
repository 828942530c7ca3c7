"""Write Table 3 from the records of the prepared datasets."""

from __future__ import annotations

import argparse
from pathlib import Path

from qrt.commands.arguments import add_table_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("records", nargs="*", type=Path)
    add_table_files(parser)


def run(options: argparse.Namespace) -> None:
    """Write the table, and say how many datasets are as published."""
    from qrt.data.record import read_record
    from qrt.data.sheet import paper_datasets
    from qrt.tables.dataset_table import dataset_table, for_people, status_summary
    from qrt.tables.table_files import write_table
    from qrt.text.words import counted

    table = dataset_table([read_record(path) for path in options.records], paper_datasets())
    summary = status_summary(table)
    words = f"Datasets, the published value in brackets. {counted(len(table), 'dataset')}: {summary}."
    write_table(
        table, for_people(table), words, "table:datasets", csv=options.csv, tex=options.tex, markdown=options.markdown
    )
    print(f"Table 3: {summary}")
