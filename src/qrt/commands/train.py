"""Train one family of networks on one dataset and split, and write what they say."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from qrt.commands.arguments import add_attempt


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("dataset")
    parser.add_argument("split", type=int)
    parser.add_argument("--seed", type=int, default=0, help="number of the random start within the split")
    parser.add_argument("--data", type=Path, required=True, help="folder of the prepared dataset")
    parser.add_argument("--family", required=True, help="the family as JSON")
    parser.add_argument("--training", type=json.loads, required=True, help="JSON with max_epochs and patience")
    parser.add_argument("--code", default="", help="fingerprint of the code, to be noted")
    parser.add_argument("--out", type=Path, required=True)
    add_attempt(parser)


def run(options: argparse.Namespace) -> None:
    """Train, or leave rows that say why not."""
    from qrt.data.record import read_record
    from qrt.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt.study.family import Family
    from qrt.training.networks_file import NetworkResult, write_networks

    family = Family.from_json(options.family)

    def write_failed(status: str, reason: str) -> None:
        write_networks(options.out, [NetworkResult(network, status, reason) for network in family.networks])

    record = read_record(options.data / "record.json")
    if record["status"] != "available":
        write_failed(record["status"], record["reason"])
        return
    if reason := reason_to_give_up(notes_beside(options.log), options.attempt):
        print(reason, flush=True)
        write_failed("failed", reason)
        return
    with noted_attempt(notes_beside(options.log), options.attempt, options.asked):
        from qrt.training.family_job import train_family

        networks = train_family(
            options.data,
            options.split,
            options.seed,
            family,
            options.training,
            code=options.code,
            log=lambda line: print(line, flush=True),
        )
        write_networks(options.out, networks)
