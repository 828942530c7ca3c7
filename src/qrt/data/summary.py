"""What the user is told at the end: which datasets are left out, and why."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from qrt.data.record import read_record
from qrt.errors import UserError
from qrt.text.words import counted


def left_out(folder: Path, datasets: Iterable[str]) -> str:
    """One line per dataset of `datasets` that has no data in `folder`, or an empty text where all have."""
    lines = [f"  {name}: {reason}" for name, reason in reasons(folder, datasets).items()]
    if not lines:
        return ""
    return "\n".join([f"{counted(len(lines), 'dataset')} left out; the next call tries again:", *lines])


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
    return found
