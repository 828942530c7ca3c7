"""QRT beside NGBoost, CatBoost, crepes and MAPIE, on six of the study's datasets with its splits: `make comparison`.

Measures what benchmarks/comparison.csv does not have yet, adds it there, and writes docs/comparison.md from it. Data
come from the folder QRT_MIRROR, or from OpenML and UCI, and are kept nowhere. `--page` only writes the page, which
needs none of the packages.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

import qrt
from comparison_page import DATASETS, TABLE, page
from qrt.atomic import write_text
from qrt.engine.split import SplitData
from qrt.errors import UserError
from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.data.split_store import load_split

Key = tuple[str, int, str]  # dataset, split and contender

PAGE = Path(__file__).resolve().parent.parent / "docs/comparison.md"


@dataclass(frozen=True)
class SplitParts:
    """A split of the study, with x standardised and y in its own units."""

    data: SplitData

    def rows(self, *parts: str) -> tuple[np.ndarray, np.ndarray]:
        """x and y of some parts, one after the other."""
        x, y = (np.concatenate(arrays) for arrays in zip(*map(self.data.part, parts), strict=True))
        return x.astype(np.float64), y.astype(np.float64) * self.data.y_scale + self.data.y_mean


def prepared_dataset(name: str, folder: Path) -> Path:
    """The dataset, fetched and prepared by the study's own code into `folder`."""
    mirror = os.environ.get("QRT_MIRROR")
    table, record, out = folder / f"{name}.parquet", folder / f"{name}.json", folder / name
    fetch(
        name,
        table,
        record,
        sources=["mirror", "openml", "uci"],
        mirror=Path(mirror) if mirror else None,
        own=None,
        cache=folder / "cache",
        lock=folder / "lock.json",
    )
    prepared = prepare_dataset(name, table, record, out)
    if prepared["status"] != "available":
        raise UserError(f"{name}: {prepared['status']} ({prepared['reason']})")
    return out


def measured(name: str, split: int, folder: Path, known: set[Key]) -> Iterator[dict[str, object]]:
    """A row for each contender whose result is not known yet."""
    from contenders import CONTENDERS

    missing = [one for one in CONTENDERS if (name, split, one.name) not in known]
    if missing and not (folder / name).is_dir():
        prepared_dataset(name, folder)
    for one in missing:
        parts = SplitParts(load_split(folder / name, split))
        begin = time.process_time()
        scored = one.fit(parts, split)
        seconds = time.process_time() - begin
        row = {"dataset": name, "split": split, "method": one.name, "package": one.package}
        row |= {"version": qrt.__version__ if one.package == "qrt" else version(one.package), "settings": one.settings}
        yield row | scored(*parts.rows("test")) | {"fit_cpu_seconds": round(seconds, 1)}


def main() -> None:
    """Measure what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=3, help="splits 0, 1, ... of the study (default: 3)")
    parser.add_argument("--page", action="store_true", help="measure nothing, write docs/comparison.md")
    parser.add_argument("--out", type=Path, default=PAGE, help="where to write the page")
    options = parser.parse_args()
    table = pd.read_csv(TABLE) if TABLE.is_file() else pd.DataFrame(columns=["dataset", "split", "method"])
    if not options.page:
        warnings.simplefilter("ignore")  # of the packages, about their own dependencies
        known = set(table[["dataset", "split", "method"]].itertuples(index=False, name=None))
        with tempfile.TemporaryDirectory() as folder:
            for split, name in itertools.product(range(options.splits), DATASETS):
                for row in measured(name, split, Path(folder), known):
                    print(name, split, row["method"], row["fit_cpu_seconds"], file=sys.stderr, flush=True)
                    table = pd.concat([table, pd.DataFrame([row])], ignore_index=True)
                    write_text(TABLE, table.to_csv(index=False, float_format="%.6g"))
    write_text(options.out, page(table))


if __name__ == "__main__":
    main()
