"""Datasets without data: which ones, and why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from qrt.errors import UserError
from qrt.text.terminal import printable
from qrt.text.words import counted
from qrt_study.data.record import read_record


def left_out(folder: Path, datasets: Iterable[str]) -> str:
    """One line per dataset of `datasets` that has no data in `folder`, or an empty text where all have."""
    found = reasons(folder, datasets)
    if not found:
        return ""
    lines = [f"  {name}: {reason}" for name, reason in found.items()]
    again = " ".join(str(folder / "raw" / f"{name}.json") for name in found)
    return "\n".join([f"{counted(len(lines), 'dataset')} left out:", *lines, f"To try again, add: --forcerun {again}"])


def reasons(folder: Path, datasets: Iterable[str]) -> dict[str, str]:
    """Those of `datasets` that have no data in `folder`, each with the reason; what was not tried yet has none."""
    found = {}
    for name in datasets:
        prepared, raw = folder / "prepared" / name / "record.json", folder / "raw" / f"{name}.json"
        path = prepared if prepared.is_file() else raw
        if not path.is_file():
            continue
        try:
            record = read_record(path)
        except UserError as error:
            found[name] = str(error)
        else:
            if record["status"] != "available":
                found[name] = f"{record['status']}: {record['reason']}"
    return {name: printable(reason) for name, reason in found.items()}
