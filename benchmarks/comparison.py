"""QRT beside other packages, untuned, on the study's smaller datasets with its splits: `make comparison`.

Measures what benchmarks/comparison.csv does not have yet, adds it there, and writes docs/comparison.md and
docs/comparison_datasets.md from it. An interrupted measurement is continued: each dataset and split has a file in
benchmarks/results/comparison until all is added. Data come from the folder QRT_MIRROR, or from OpenML and UCI, and are
kept nowhere. `--whole` measures our own methods on all rows of the datasets of which the comparison takes some, into
benchmarks/whole.csv; with more `--splits`, also on those of the smaller datasets that the comparison does not have.
`--page` only writes the pages, which needs none of the packages.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd

import qrt
from comparison_page import DATASETS, MOST_ROWS, OWN, TABLE, WHOLE, complete, diagrams, pages
from qrt.atomic import write_text
from qrt.engine.split import SplitData
from qrt.errors import UserError
from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.data.split_store import load_split

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs"
RESULTS = PROJECT / "benchmarks/results/comparison"


@dataclass(frozen=True)
class SplitParts:
    """A split of the study, with x standardised and y in its own units; of large parts the first rows, by `most`."""

    data: SplitData
    most: Mapping[str, int]

    def rows(self, *parts: str) -> tuple[np.ndarray, np.ndarray]:
        """x and y of some parts, one after the other."""
        capped = ([array[: self.most.get(part)] for array in self.data.part(part)] for part in parts)
        x, y = (np.concatenate(arrays) for arrays in zip(*capped, strict=True))
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


def measured(name: str, split: int, folder: Path, known: pd.DataFrame, *, whole: bool) -> Iterator[dict[str, object]]:
    """A row for each contender whose result is not known yet, or was measured with other settings."""
    from contenders import CONTENDERS

    have = set(known.loc[(known["dataset"] == name) & (known["split"] == split), "settings"])
    asked = [one for one in CONTENDERS if one.name in OWN] if whole else CONTENDERS
    missing = [one for one in asked if one.settings not in have and DATASETS[name] <= one.most_rows]
    if missing and not (folder / name).is_dir():
        prepared_dataset(name, folder)
    for one in missing:
        parts = SplitParts(load_split(folder / name, split, "unit"), {} if whole else MOST_ROWS)
        started = time.process_time()
        model = one.fit(parts, split)
        fitted = time.process_time()
        x, y = parts.rows("test")
        predicted = model(x)
        seconds = {"fit_seconds": fitted - started, "predict_seconds": time.process_time() - fitted}
        row = {"dataset": name, "split": split, "method": one.name, "package": one.package}
        row |= {"version": qrt.__version__ if one.package == "qrt" else version(one.package), "settings": one.settings}
        yield row | predicted.scored(y) | seconds


def main() -> None:
    """Measure what is missing, and write the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5, help="splits 0, 1, ... of the study (default: 5)")
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS), help="some of the datasets")
    parser.add_argument("--whole", action="store_true", help="our own methods, on all rows and all splits asked for")
    parser.add_argument("--page", action="store_true", help="measure nothing, write the pages")
    parser.add_argument("--measure-only", action="store_true", help="write no pages, which need the study's packages")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder to write the pages to")
    options = parser.parse_args()
    if not options.page:
        warnings.simplefilter("ignore")  # of the packages, about their own dependencies
        with tempfile.TemporaryDirectory() as folder:
            for split, name in itertools.product(range(options.splits), options.datasets):
                _measure(name, split, Path(folder), whole=options.whole)
        _write_table(whole=options.whole)
    if options.measure_only:
        return
    table = pd.read_csv(TABLE)
    for file, text in pages(table, pd.read_csv(WHOLE)).items():
        write_text(options.out / file, text)
    diagrams(complete(table), options.out / "comparison.png")


def _measure(name: str, split: int, folder: Path, *, whole: bool) -> None:
    """Measure what is missing of a dataset and split, row by row into its file."""
    file = _folder(whole) / f"{name}.{split}.csv"
    own = _read(file)
    in_comparison = [_read(TABLE)] if DATASETS[name] <= MOST_ROWS["train"] else []
    for row in measured(name, split, folder, pd.concat([_read(_table(whole)), *in_comparison, own]), whole=whole):
        print(name, split, row["method"], f"{row['fit_seconds']:.1f} s", file=sys.stderr, flush=True)
        own = pd.concat([own, pd.DataFrame([row])], ignore_index=True)
        write_text(file, own.to_csv(index=False, float_format="%.6g"))


def _folder(whole: bool) -> Path:
    return RESULTS / "whole" if whole else RESULTS


def _table(whole: bool) -> Path:
    return WHOLE if whole else TABLE


def _write_table(*, whole: bool) -> None:
    """Add all new rows to the table: of each dataset, split and method the last one, of methods that are compared."""
    from contenders import CONTENDERS

    place = {one.name: number for number, one in enumerate(CONTENDERS)}
    rows = pd.concat([_read(_table(whole)), *map(_read, sorted(_folder(whole).glob("*.csv")))])
    rows = rows[rows["method"].isin(place)].drop_duplicates(["dataset", "split", "method"], keep="last")
    keys = [rows["dataset"].map(list(DATASETS).index), rows["split"], rows["method"].map(place)]
    rows = rows.iloc[np.lexsort(keys[::-1])]
    write_text(_table(whole), rows.to_csv(index=False, float_format="%.6g"))


def _read(table: Path) -> pd.DataFrame:
    return pd.read_csv(table) if table.is_file() else pd.DataFrame(columns=["dataset", "split", "method", "settings"])


if __name__ == "__main__":
    main()
