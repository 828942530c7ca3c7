"""Train one family of networks on one dataset and split, and write their outputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qrt_study.plan.family import Family


def run(
    dataset: str,
    split: int,
    *,
    seed: int,
    data: Path,
    family: Family,
    training: Mapping[str, int],
    out: Path,
    attempt: int,
    asked: str,
    log: Path,
) -> None:
    """Train on the prepared `data`, or leave rows that say why not.

    `attempt` is the number of this attempt, `asked` the memory and time that it may take, in words; attempts are noted
    beside `log`.
    """
    from qrt_study.data.record import read_record
    from qrt_study.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt_study.training.networks_file import NetworkResult, write_networks

    def write_failed(status: str, reason: str) -> None:
        write_networks(out, [NetworkResult(network, status, reason) for network in family.networks])

    record = read_record(data / "record.json")
    if record["status"] != "available":
        write_failed(record["status"], record["reason"])
        return
    if reason := reason_to_give_up(notes_beside(log), attempt):
        print(reason, flush=True)
        write_failed("failed", reason)
        return
    with noted_attempt(notes_beside(log), attempt, asked):
        from qrt_study.training.family_job import train_family

        networks = train_family(data, split, seed, family, training, log=lambda line: print(line, flush=True))
        write_networks(out, networks)
