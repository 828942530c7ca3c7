"""Name the figures, tables and pages that are finished, and say which are missing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--figures", type=Path, default=Path("paper_figures"), help="where they would be")


def run(options: argparse.Namespace) -> None:
    """Print the rules of those that there are, for Snakemake's report."""
    from qrt.study.artifacts import ARTIFACTS, FIGURES

    files = {name: f"{name}.{'png' if name in FIGURES else 'csv'}" for name in ARTIFACTS}
    files |= {page: f"{page}.html" for page in ("scorecard", "agreement")}
    finished = [name for name, file in files.items() if (options.figures / file).exists()]
    missing = [name for name in files if name not in finished]
    if (options.figures / "own_data.html").exists():  # not missing in a study without data of the user's
        finished.append("own_data")
    if missing:
        print(f"Not there yet: {', '.join(missing)}", file=sys.stderr)
        print(f"To make them: snakemake --cores N {missing[0]} ..., or all: snakemake --cores N", file=sys.stderr)
    print(*finished)
