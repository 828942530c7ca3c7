"""Table 3: the datasets, what we have beside what the paper says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from qrt_study.data.sheet import SheetRow

# Our column, the paper's beside it, the heading of both.
PAIRS = {
    "train_rows": "Training rows",
    "features": "Features",
    "top10": "Top-10 share",
    "duplicates": "Duplicates",
}
COUNTS = ("train_rows", "features")


def dataset_table(records: Iterable[Mapping[str, Any]], sheet: Mapping[str, SheetRow]) -> pd.DataFrame:
    """One row per prepared dataset: ours, `published_*` and a status.

    `verified`: rows and features are the paper's and both shares are to two decimals. `differs`: not so.
    `unavailable`: there is no data (the column `reason` says why). `not in the paper`: nothing to compare with.
    """
    table = pd.DataFrame([_row(record, sheet.get(record["dataset"])) for record in records])
    counts = [column for name in COUNTS for column in (name, f"published_{name}")]
    return table.astype(dict.fromkeys(counts, "Int64"))


def _row(record: Mapping[str, Any], published: SheetRow | None) -> dict[str, Any]:
    available = record["status"] == "available"
    provenance = record.get("provenance", {})
    row: dict[str, Any] = {
        "group": published.group if published else provenance.get("source", "own"),
        "dataset": record["dataset"],
        "abbreviation": published.abbreviation if published else "",
    }
    for name in PAIRS:
        row[name] = record[name] if available else None
        row[f"published_{name}"] = getattr(published.published, name) if published else None
    row |= {
        "status": _status(record, published),
        "source": provenance.get("source", ""),
        "reason": record["reason"],
    }
    return row


def _status(record: Mapping[str, Any], published: SheetRow | None) -> str:
    if record["status"] != "available":
        return "unavailable"
    if published is None:
        return "not in the paper"
    same = all(
        record[name] == getattr(published.published, name)
        if name in COUNTS
        else f"{record[name]:.2f}" == f"{getattr(published.published, name):.2f}"
        for name in PAIRS
    )
    return "verified" if same else "differs"


def status_summary(table: pd.DataFrame) -> str:
    """One line: how many datasets have which status."""
    counts = table["status"].value_counts()
    known = ("verified", "differs", "unavailable", "not in the paper")
    return ", ".join(f"{counts[status]} {status}" for status in known if status in counts)


def for_people(table: pd.DataFrame) -> pd.DataFrame:
    """The table as text for people: the paper's value in brackets behind ours, empty where there is none."""
    shown = table[["group", "dataset", "abbreviation"]].rename(columns=str.capitalize)
    for name, heading in PAIRS.items():
        digits = 0 if name in COUNTS else 2
        shown[heading] = [
            _pair(ours, theirs, digits) for ours, theirs in zip(table[name], table[f"published_{name}"], strict=True)
        ]
    shown["Status"] = table["status"]
    return shown


def _pair(ours: Any, theirs: Any, digits: int) -> str:
    mine = "–" if pd.isna(ours) else f"{ours:.{digits}f}"
    return mine if pd.isna(theirs) else f"{mine} ({theirs:.{digits}f})"
