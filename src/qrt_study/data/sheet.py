"""The dataset sheet: one row for each dataset of the paper (`datasets.csv` beside this file)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True)
class Published:
    """What Table 3 of the paper says about a dataset."""

    train_rows: int
    features: int
    top10: float
    duplicates: float


@dataclass(frozen=True)
class SheetRow:
    """One dataset of the paper: what it is called and where it can be fetched."""

    group: str  # uci, or the OpenML suite that the paper takes it from: oml_297, oml_299, oml_269
    name: str
    abbreviation: str
    openml_id: int | None
    uci_address: str
    uci_sha256: str  # of the archive; empty where it is not known
    uci_member: str  # file inside the archive
    uci_reader: str  # comma, semicolon, whitespace, excel
    uci_columns: str  # "first line" (header), "numbered" (c0, c1, ...), or the names separated by semicolons
    target: str  # name in the UCI file; empty where OpenML names it
    missing_column_threshold: float
    licence: str
    x_scale_matters: bool  # row 13 of docs/protocol.md; True where the data was never seen
    published: Published


@cache
def paper_datasets() -> dict[str, SheetRow]:
    """The 57 datasets by name, in the order of Table 3."""
    lines = resources.files("qrt_study.data").joinpath("datasets.csv").read_text(encoding="utf-8").splitlines()
    return {row["name"]: _sheet_row(row) for row in csv.DictReader(lines)}


def _sheet_row(row: dict[str, str]) -> SheetRow:
    return SheetRow(
        group=row["group"],
        name=row["name"],
        abbreviation=row["abbreviation"],
        openml_id=int(row["openml_id"]) if row["openml_id"] else None,
        uci_address=row["uci_address"],
        uci_sha256=row["uci_sha256"],
        uci_member=row["uci_member"],
        uci_reader=row["uci_reader"],
        uci_columns=row["uci_columns"],
        target=row["target"],
        missing_column_threshold=float(row["missing_column_threshold"]),
        licence=row["licence"],
        x_scale_matters=row["x_scale_matters"] != "no",
        published=Published(
            train_rows=int(row["published_train_rows"]),
            features=int(row["published_features"]),
            top10=float(row["published_top10"]),
            duplicates=float(row["published_duplicates"]),
        ),
    )
