"""Evaluated networks of a study on disk, without training any: rows with values that a test can recognise."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from qrt_study.data.record import write_record
from qrt_study.parquet_file import write_rows
from qrt_study.results.archive import SPLITS
from qrt_study.results.layout import Layout, prepared_data, splits_word
from qrt_study.results.study_networks import Place
from qrt_study.results.tables import TABLES, TIMES

LAYOUT = Layout("results/networks")
VARIANTS = ("a", "b")  # networks of each family


def write_evaluated(study: Path, place: Place, splits: Sequence[int] = SPLITS, **columns: Any) -> None:
    """Rows of two networks of a family on some splits, as `evaluate` leaves them."""
    common = {"data": "the data", "code": "1", "cpu": "a processor", "status": "ok", "job_seconds": 1.0} | columns
    names = [place._asdict() | {"split": split, "variant": variant} for split in splits for variant in VARIANTS]
    rows = {
        "runs": [name | {"test_nll": 0.1 + name["split"], "bandwidth": 0.1} | common for name in names],
        "curves": [name | {"epoch": epoch, "part": "train"} for name in names for epoch in (2, 4)],
        "predictions": [],
    }
    for kind, found in rows.items():
        path = study / LAYOUT.evaluated(*place[:2], splits_word(splits), place.family, kind)
        write_rows(path, found, TABLES[kind][1])


def write_times(study: Path, scenario: str, dataset: str, splits: Sequence[int] = SPLITS, status: str = "ok") -> None:
    """Training times on a dataset, as `time` leaves them."""
    common = {"dataset": dataset, "seed": 0, "method": "BASE", "status": status, "train_seconds": 3600.0}
    rows = [common | {"split": split, "way": way} for split in splits for way in ("ours", "released")]
    write_rows(study / LAYOUT.times(scenario, dataset), rows, TIMES)


def write_prepared_record(study: Path, dataset: str, status: str = "available", reason: str = "") -> None:
    """The record of a dataset, as `prepare` leaves it."""
    write_record(study / prepared_data(dataset), {"dataset": dataset, "status": status, "reason": reason})
