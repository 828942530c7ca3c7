"""Figures 23 to 28: predictive densities of BASE, QRC and QRTC for a few test rows (paper, Appendix M)."""

from __future__ import annotations

from typing import Any

import pandas as pd

from qrt_study.statistics.columns import DENSITIES
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut

METHODS = ("BASE", "QRC", "QRTC")
ROWS = 5  # as many as training keeps
# What names a network of a dataset and split, and the reading of it, in both result tables.
_READING = ("variant", "kernel_width", "posthoc_map", "posthoc_on", "posthoc_bandwidth")


def density_statistics(predictions: pd.DataFrame, methods: pd.DataFrame, dataset: str) -> FigureStatistics:
    """The tables `densities` and `instances` of the first test rows of one dataset, in the smallest split present.

    `predictions` and `methods` are result tables; the rows of the experiment `main` in `methods` say which network
    and which reading of it a method is, after tuning.
    """
    tuned = methods[(methods["experiment"] == "main") & (methods["dataset"] == dataset)]
    kept = predictions[predictions["dataset"] == dataset]
    if kept.empty:
        return _nothing(dataset, _reason(tuned))
    split = kept["split"].min()
    kept, tuned = kept[kept["split"] == split], tuned[tuned["split"] == split]
    shown = sorted(kept["row"].unique())[:ROWS]
    parts, left_out = [], []
    for method in METHODS:
        of_method = tuned[tuned["method"] == method]
        found = _matching(kept, of_method)
        if found.empty:
            left_out.append(LeftOut(f"{method} on {dataset}", 1, _reason(of_method)))
        parts.append(found[found["row"].isin(shown)].assign(method=method))
    drawn = pd.concat(parts, ignore_index=True)
    if drawn.empty:
        return _nothing(dataset, left_out[0].reason)
    tables = {
        "densities": drawn[list(DENSITIES["densities"])],
        "instances": drawn[list(DENSITIES["instances"])].drop_duplicates(["row", "method"], ignore_index=True),
    }
    return FigureStatistics(
        tables,
        (dataset,),
        asked=1,
        splits=1,
        left_out=tuple(left_out),
        notes=tuple(f"{entry.what}: {entry.reason}" for entry in left_out),
    )


def _matching(predictions: pd.DataFrame, method: pd.DataFrame) -> pd.DataFrame:
    """The predictions of the network and reading that the only row of `method` names; none without such a row."""
    if method.empty:
        return predictions.iloc[:0]
    chosen: dict[str, Any] = method.iloc[0].to_dict()
    same = pd.Series(True, index=predictions.index)
    for name in _READING:
        # Missing is a value of its own here: BASE has no post-hoc bandwidth and no kernel.
        column, value = predictions[name], chosen[name]
        same &= column.isna() if pd.isna(value) else (column == value).fillna(False).astype(bool)
    return predictions[same]


def _reason(method: pd.DataFrame) -> str:
    """Why there are no predictions of a method, as far as its tuned runs tell."""
    failed = method[method["status"] != "ok"]
    if method.empty:
        return NOT_RUN_YET
    if failed.empty:
        return "no predictive densities were kept"
    return f"{failed['status'].iloc[0]}: {failed['reason'].iloc[0]}"


def _nothing(dataset: str, reason: str) -> FigureStatistics:
    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in DENSITIES.items()}
    return FigureStatistics(empty, asked=1, left_out=(LeftOut(dataset, 1, reason),), notes=(f"{dataset}: {reason}",))
