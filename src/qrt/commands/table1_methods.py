"""Write Table 1 from the experiments, each as JSON."""

from __future__ import annotations

import argparse

from qrt.commands.arguments import add_table_files


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("experiments", nargs="+")
    add_table_files(parser)


def run(options: argparse.Namespace) -> None:
    """Write the table."""
    from qrt.study.experiments import Experiment
    from qrt.tables.method_table import CAPTION, for_people, method_table
    from qrt.tables.table_files import write_table

    experiments = [Experiment.from_json(text) for text in options.experiments]
    table = method_table({experiment.name: experiment for experiment in experiments})
    write_table(
        table, for_people(table), CAPTION, "table:methods", csv=options.csv, tex=options.tex, markdown=options.markdown
    )
