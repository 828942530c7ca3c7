"""Train the tuned networks of the main comparison alone, and take the time."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from qrt.commands.arguments import add_attempt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("split", type=int)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--methods", type=Path, nargs="+", required=True, help="tuned methods of the main comparison")
    parser.add_argument("--training", type=json.loads, required=True)
    parser.add_argument("--out", type=Path, required=True)
    add_attempt(parser)


def run(options: argparse.Namespace) -> None:
    """Write the times, or rows that say why there are none."""
    from qrt.results.tables import TIMES, read_frames, write_rows
    from qrt.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt.training.timing import time_methods, untimed

    methods = read_frames(options.methods, "methods")
    place = (options.dataset, options.split, methods)
    if reason := reason_to_give_up(notes_beside(options.log), options.attempt):
        print(reason, flush=True)
        write_rows(options.out, untimed(*place, reason), TIMES)
        return
    with noted_attempt(notes_beside(options.log), options.attempt, options.asked):
        rows = time_methods(*place, options.data, options.training, log=lambda line: print(line, flush=True))
        write_rows(options.out, rows, TIMES)
