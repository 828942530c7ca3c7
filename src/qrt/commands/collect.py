"""Join result files of one kind into one table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("kind", choices=("runs", "methods", "curves", "predictions", "times"))
    parser.add_argument("--sources", type=Path, nargs="*", help="the files, in their order")
    parser.add_argument("--study", type=json.loads, help="the study's facts as JSON: all its evaluated networks")
    parser.add_argument("--splits", type=int, nargs="+", required=True, help="the study's; files may have others too")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Join, and say how many rows there are."""
    from qrt.results.study_networks import StudyNetworks
    from qrt.results.tables import concatenate
    from qrt.study.config import StudyConfig

    sources = options.sources
    if options.study is not None:
        sources = [Path(path) for path in StudyNetworks(StudyConfig.from_facts(options.study)).evaluated(options.kind)]
    rows = concatenate(sources or [], options.out, options.kind, options.splits)
    print(f"{options.out}: {rows} rows of {len(sources or [])} files")
