"""Tune the methods of experiments."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("runs", type=Path, nargs="*", help="evaluated networks")
    parser.add_argument("--experiments", nargs="+", required=True, help="each experiment as JSON")
    parser.add_argument("--splits", type=int, nargs="+", required=True, help="the study's; files may have others too")
    parser.add_argument("--protocol", type=json.loads, required=True, help="the protocol's switches as JSON")
    parser.add_argument("--out", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Write the tuned methods, and say what has no result."""
    import pandas as pd

    from qrt.results.evaluated_splits import refuse_missing_splits
    from qrt.results.tables import METHODS, read_frames, write_rows
    from qrt.results.tuning import left_out, tuned_methods
    from qrt.study.experiments import Experiment
    from qrt.study.protocol import Protocol

    runs = read_frames(options.runs, "runs", options.splits)
    refuse_missing_splits(options.runs, options.splits)
    experiments = [Experiment.from_json(text) for text in options.experiments]
    protocol = Protocol.from_dict(options.protocol)
    methods = pd.concat([tuned_methods(runs, one, protocol) for one in experiments], ignore_index=True)
    write_rows(options.out, methods.astype(object).where(methods.notna(), None).to_dict("records"), METHODS)
    for line in left_out(methods):
        print(line)
