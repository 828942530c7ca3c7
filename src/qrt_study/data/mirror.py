"""Datasets from a mirror: a folder with `manifest.csv` and gzip CSV files (docs/data.md has the layout)."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

from qrt.errors import UserError
from qrt.estimator.preparation import Rules
from qrt.estimator.text_table import csv_records, read_csv_table, sound_records
from qrt_study.data.raw_table import RawTable, SourceUnavailable, TargetTransform
from qrt_study.inside import path_inside

_NEEDED = ("group", "name", "file", "sha256", "target")
_TRANSFORMS: dict[str, TargetTransform] = {"": "none", "none": "none", "log1p": "log1p"}


def fetch_mirror(name: str, mirror: Path) -> RawTable:
    """Read dataset `name` from the mirror, with its checksum verified."""
    row = _manifest_row(name, mirror)
    try:
        path = path_inside(mirror, row["file"])
        content = path.read_bytes()
    except UserError as error:
        raise SourceUnavailable(f"mirror: {error}") from error
    except (OSError, ValueError) as error:
        raise SourceUnavailable(f"mirror: {row['file']!r} is in the manifest but cannot be read ({error})") from error
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 != row["sha256"]:
        raise SourceUnavailable(
            f"mirror: {row['file']} has checksum {sha256}, its manifest says {row['sha256']}; copy the file again"
        )
    try:
        frame = read_csv_table(path)
    except UserError as error:
        raise SourceUnavailable(f"mirror: {error}") from error
    rules: Rules = "uci" if row["group"] == "uci" else "openml"
    transform = row.get("target_transform", "")
    if transform not in _TRANSFORMS:
        raise SourceUnavailable(
            f"mirror: target_transform of {name} is {transform!r}; known are {', '.join(filter(None, _TRANSFORMS))}"
        )
    dropped = _listed(row.get("drop_columns", ""))
    if unknown := [column for column in dropped if column not in frame.columns]:
        raise SourceUnavailable(
            f"mirror: drop_columns of {name} names {unknown[0]!r}, which {row['file']} does not have"
        )
    return RawTable(
        frame=frame.drop(columns=list(dropped)),
        target=row["target"],
        categorical=_listed(row.get("categorical_columns", "")),
        rules=rules,
        target_transform=_TRANSFORMS[transform],
        missing_column_threshold=_threshold(row.get("missing_column_threshold") or "0.2", name),
        provenance={"source": "mirror", "address": row["file"], "sha256": sha256},
    )


def _manifest_row(name: str, mirror: Path) -> dict[str, str]:
    manifest = mirror / "manifest.csv"
    try:
        with manifest.open(encoding="utf-8-sig", newline="") as lines:
            records = csv_records(lines)
            first = next(records, None)
            names = first.fields if first else []
            found = [record.fields for record in sound_records(manifest, records, len(names))]
    except FileNotFoundError as error:
        raise SourceUnavailable("mirror: there is no manifest.csv") from error
    except (OSError, UnicodeDecodeError, csv.Error, UserError) as error:
        raise SourceUnavailable(f"mirror: {manifest} is not a readable CSV file in UTF-8 ({error})") from error
    missing = [column for column in _NEEDED if column not in names]
    if missing:
        raise SourceUnavailable(f"mirror: {manifest} lacks the column(s) {', '.join(missing)}; docs/data.md lists all")
    rows = [dict(zip(names, fields, strict=True)) for fields in found if name in fields]
    rows = [row for row in rows if row["name"] == name]
    if len(rows) > 1:
        raise SourceUnavailable(f"mirror: {name} is {len(rows)} times in its manifest")
    if not rows or not rows[0]["file"]:
        raise SourceUnavailable(f"mirror: {name} is not in its manifest")
    return rows[0]


def _threshold(text: str, name: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise SourceUnavailable(f"mirror: missing_column_threshold of {name} is {text!r}; it should be from 0 to 1")
    return share


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(";") if part)
