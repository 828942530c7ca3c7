"""Table 2: training times of BASE, QREGC and QRTC (paper, Appendix K)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

METHODS = ("BASE", "QREGC", "QRTC")
# Our column and the one of src/qrt_study/published/table2.csv, before the name of the method.
QUANTITIES = {"train_seconds": "training_time", "epochs": "epochs", "seconds_per_epoch": "time_per_epoch"}
OURS, RELEASED = "ours", "released"  # ways to compute the map in training that are timed
TIMES = ("dataset", "method", "way", "runs", *QUANTITIES, *(f"published_{name}" for name in QUANTITIES))


def times_statistics(
    times: pd.DataFrame, published: pd.DataFrame, per_epoch: Literal["trained", "selected"]
) -> pd.DataFrame:
    """One row per dataset, method and way: means over the runs that are ok, the published values beside.

    `times` is the result table, `published` has the columns of table2.csv. `epochs` is the selected epoch, as
    published. The time per epoch is the mean time divided by the mean number of epochs, as published (a mean of
    quotients would be another number); `per_epoch` says which epochs: all that were trained, or up to the selected one
    (docs/protocol.md, row 10).
    """
    paper = published.set_index("dataset")
    groups = dict(iter(times.groupby(["dataset", "method", "way"], sort=False)))
    divisor = {"trained": "epochs", "selected": "selected_epoch"}[per_epoch]
    rows: list[dict[str, Any]] = []
    for dataset in times["dataset"].unique():
        for method, way in ((method, way) for way in (OURS, RELEASED) for method in METHODS):
            of_method = groups.get((dataset, method, way), times[:0])
            if way == RELEASED and of_method.empty:
                continue
            runs = of_method[of_method["status"] == "ok"]
            row: dict[str, Any] = {
                "dataset": dataset,
                "method": method,
                "way": way,
                "runs": len(runs),
                "train_seconds": runs["train_seconds"].astype(float).mean(),
                "epochs": runs["selected_epoch"].astype(float).mean(),
                "seconds_per_epoch": _quotient(runs["train_seconds"].sum(), runs[divisor].sum()),
            }
            for name, column in QUANTITIES.items():
                row[f"published_{name}"] = paper[f"{column}_{method}"].get(dataset, np.nan)
            rows.append(row)
    return pd.DataFrame(rows, columns=list(TIMES))


def time_ratios(statistics: pd.DataFrame, way: str) -> pd.DataFrame:
    """Time per epoch of QRTC in one way by that of BASE: columns dataset, ratio, published_ratio; NaN where not known.

    Published times per epoch have two decimals, too few for small datasets (0.05 / 0.04), so the published ratio is
    from times and epochs.
    """
    statistics = statistics[statistics["way"] == way]
    per_epoch = pd.DataFrame(
        {
            "dataset": statistics["dataset"],
            "method": statistics["method"],
            "ratio": statistics["seconds_per_epoch"],
            "published_ratio": statistics["published_train_seconds"] / statistics["published_epochs"],
        }
    )
    names = ["ratio", "published_ratio"]
    ours, base = (per_epoch[per_epoch["method"] == method].set_index("dataset")[names] for method in ("QRTC", "BASE"))
    return (ours / base).reindex(statistics["dataset"].unique()).rename_axis("dataset").reset_index()


def _quotient(numerator: float, denominator: float) -> float:
    return float(numerator) / float(denominator) if denominator else np.nan
