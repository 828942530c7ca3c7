"""Data for tests: a small mirror, and datasets fetched and prepared into a folder."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset

MANIFEST = "group,name,file,sha256,target,categorical_columns,drop_columns,target_transform,missing_column_threshold"


def yacht_csv(rows: int = 150) -> bytes:
    generator = np.random.default_rng(0)
    table = pd.DataFrame(generator.normal(size=(rows, 4)), columns=["a", "b", "junk", "c6"])
    return gzip.compress(table.to_csv(index=False).encode(), mtime=0)


def make_mirror(folder: Path, content: bytes, *, sha256: str | None = None, drop: str = "junk") -> Path:
    (folder / "uci").mkdir(parents=True, exist_ok=True)
    (folder / "uci/Yacht.csv.gz").write_bytes(content)
    checksum = sha256 or hashlib.sha256(content).hexdigest()
    lines = [MANIFEST, f"uci,Yacht,uci/Yacht.csv.gz,{checksum},c6,,{drop},none,0.2", "uci,Power,,,,,,,"]
    (folder / "manifest.csv").write_text("\n".join(lines) + "\n")
    return folder


def fetch_into(folder: Path, name: str = "Yacht", **settings: Any) -> dict[str, Any]:
    defaults: dict[str, Any] = {"sources": ["mirror"], "mirror": None, "own": None}
    return fetch(
        name,
        folder / f"raw/{name}.parquet",
        folder / f"raw/{name}.json",
        cache=folder / "cache",
        lock=folder / "datasets.lock.json",
        **(defaults | settings),
    )


def prepare_in(folder: Path, name: str = "Yacht") -> dict[str, Any]:
    raw = folder / "raw" / name
    return prepare_dataset(name, raw.with_suffix(".parquet"), raw.with_suffix(".json"), folder / "prepared" / name)


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
