"""Every number of one figure or comparison, as tables that can be saved, looked up and drawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from qrt.atomic import write_json, write_text
from qrt_study.statistics.columns import TEXT_COLUMNS, Columns

NOT_RUN_YET = "not run yet"  # the reason for which a method or dataset is left out that has no results at all
SUMMARY = "summary.json"


@dataclass(frozen=True)
class LeftOut:
    """Something that a figure leaves out, and why."""

    what: str  # "QREGC on Yacht", "QREGC", "fifa"
    count: int  # of runs, or of datasets where a whole dataset is missing
    reason: str


@dataclass(frozen=True, eq=False)
class FigureStatistics:
    """The tables behind one figure (columns: `qrt_study.statistics.columns`), and what they are based on.

    A figure draws from `tables` alone; what it cannot draw for lack of data it says with the words of `notes`. Equal to
    itself alone (tables are not compared), so that what is looked up in it can be remembered.
    """

    tables: Mapping[str, pd.DataFrame]
    datasets: Sequence[str] = ()  # those that entered, in the order of the study
    asked: int = 0  # how many datasets could have entered
    splits: int = 0  # largest number of splits of a dataset
    left_out: Sequence[LeftOut] = ()
    notes: Sequence[str] = ()

    def write(self, folder: Path, columns: Mapping[str, Columns], described: Mapping[str, Any]) -> None:
        """Write each table with its columns as CSV, and all else with what is `described` besides as summary.json."""
        for name, of_table in columns.items():
            write_text(folder / f"{name}.csv", self.tables[name][list(of_table)].to_csv(index=False))
        facts = {
            "datasets": list(self.datasets),
            "datasets_asked": self.asked,
            "splits": self.splits,
            "left_out": [asdict(entry) for entry in self.left_out],
            "notes": list(self.notes),
        }
        write_json(folder / SUMMARY, {**described, **facts})

    @classmethod
    def read(cls, folder: Path, columns: Mapping[str, Columns]) -> Self:
        """The statistics that were written to a folder, of these tables, to the last bit."""
        facts = read_summary(folder)
        return cls(
            {name: _read_table(folder / f"{name}.csv", of_table) for name, of_table in columns.items()},
            datasets=tuple(facts["datasets"]),
            asked=facts["datasets_asked"],
            splits=facts["splits"],
            left_out=tuple(LeftOut(**entry) for entry in facts["left_out"]),
            notes=tuple(facts["notes"]),
        )


def read_summary(folder: Path) -> dict[str, Any]:
    """All that is known of statistics besides their tables: what they are based on, and what describes them."""
    content: dict[str, Any] = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    return content


def _read_table(path: Path, columns: Columns) -> pd.DataFrame:
    """A table as it was written. Names stay names: a dataset may be called "1" or "NA".

    Numbers have their last bit from pandas 3.1 on, which the lock has; before they may differ there.
    """
    names = [name for name in columns if name in TEXT_COLUMNS]
    return pd.read_csv(
        path,
        dtype=dict.fromkeys(names, "str"),
        keep_default_na=False,
        na_values={name: [""] for name in columns if name not in names},
    )
