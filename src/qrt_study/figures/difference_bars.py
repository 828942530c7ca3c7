"""Bars of the difference to the baseline, dataset by dataset, with one standard error (Figures 2 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from qrt_study.figures import style

NLL_THRESHOLD = 0.1  # of the published symlog axis
LARGEST_NAME, SMALLEST_NAME = 6.5, 6.0  # points, of names side by side
BARS_SHARE = 0.8  # of a dataset's slot
WIDEST_BAR = 0.3  # inches: a study of one dataset does not get bars as wide as the page


def symlog_threshold(metric: str, differences: pd.Series) -> float:
    """Where the axis stops to be linear: as published for NLL, else the power of ten below the lower quartile of sizes.

    CRPS and SD have the unit of the target, which differs by orders of magnitude between datasets.
    """
    sizes = differences.abs()
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if metric == "NLL" or sizes.empty:
        return NLL_THRESHOLD
    return float(10.0 ** np.floor(np.log10(sizes.quantile(0.25))))


def sorted_datasets(per_dataset: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """Datasets with a difference of one of `methods`, sorted by that of the first; those without it come last."""
    found = per_dataset[per_dataset["method"].isin(methods) & np.isfinite(per_dataset["difference"])]
    wide = found.pivot(index="dataset", columns="method", values="difference")
    wide = wide.reindex(index=found["dataset"].unique(), columns=list(methods))
    return wide.sort_values(list(methods), kind="stable").index.tolist()


def draw_difference_bars(
    axes: Axes,
    per_dataset: pd.DataFrame,
    metric: str,
    methods: Sequence[str],
    *,
    published: pd.DataFrame | None = None,
) -> bool:
    """One bar for each dataset and method, sorted by the first method; `per_dataset` holds one metric only.

    `published` (columns dataset, method, difference, standard_error) are hollow diamonds on the bars of their datasets.
    Returns whether there is any.
    """
    datasets = sorted_datasets(per_dataset, methods)
    ours = per_dataset[["dataset", "method", "difference", "difference_standard_error"]]
    ours = ours.set_axis(["dataset", "method", "difference", "error"], axis=1)
    theirs = ours.iloc[:0]
    if published is not None:
        theirs = published[["dataset", "method", "difference", "standard_error"]].set_axis(ours.columns, axis=1)
    ours, theirs = (_drawn(rows, datasets, methods) for rows in (ours, theirs))

    shade_slots(axes, datasets)
    width = min(BARS_SHARE / len(methods), WIDEST_BAR * len(datasets) / style.panel_inches(axes)[0])
    apart = 0.2 * width if len(theirs) else 0.0  # our error bars to the left, published ones to the right
    for place, method in enumerate(methods):
        shift = (place + 0.5 - len(methods) / 2) * width
        colour, dark = style.colour(method, methods), style.text_colour(method, methods)
        rows = ours[ours["method"] == method]
        axes.bar(rows["slot"] + shift, rows["difference"], width, color=style.light(colour, 0.4), linewidth=0)
        _draw_errors(axes, rows, shift - apart, dark, 0.9)
        rows = theirs[theirs["method"] == method]
        _draw_errors(axes, rows, shift + apart, dark, 0.45)
        axes.scatter(
            rows["slot"] + shift + apart, rows["difference"], s=6, marker="D", facecolors="white", edgecolors=dark,
            linewidths=0.6, zorder=4,
        )  # fmt: skip

    everything = pd.concat([ours, theirs])
    ends = pd.concat([everything["difference"] - everything["error"], everything["difference"] + everything["error"]])
    threshold = symlog_threshold(metric, ours["difference"])
    scale = style.symlog_axis(axes, "y", ends.min(), ends.max(), threshold)
    axes.axhline(0, color=style.INK, linewidth=0.6)
    axes.grid(axis="y")
    baseline = per_dataset["baseline"].iloc[0]
    axes.set_ylabel(f"← better   {metric} − {style.plain(style.method_name(baseline))}\n{scale}")
    name_datasets(axes, datasets)
    return len(theirs) > 0


def _drawn(rows: pd.DataFrame, datasets: Sequence[str], methods: Sequence[str]) -> pd.DataFrame:
    """The rows that are drawn, with the slot of their dataset; an undefined standard error has no length."""
    rows = rows[rows["dataset"].isin(datasets) & rows["method"].isin(methods) & np.isfinite(rows["difference"])]
    slots = {dataset: slot for slot, dataset in enumerate(datasets)}
    return rows.assign(slot=rows["dataset"].map(slots).astype(float), error=rows["error"].fillna(0.0))


def _draw_errors(axes: Axes, rows: pd.DataFrame, shift: float, colour: str, width: float) -> None:
    low, high = rows["difference"] - rows["error"], rows["difference"] + rows["error"]
    axes.vlines(rows["slot"] + shift, low, high, color=colour, linewidth=width, zorder=3)


def name_size(datasets: Sequence[str], inches: float) -> tuple[int, float]:
    """Angle and size (points) of the names below a panel `inches` wide: smaller or turned where they would touch."""
    slot = inches / max(1, len(datasets))
    names = [style.plain(style.short_name(dataset)) for dataset in datasets]
    for size in (LARGEST_NAME, SMALLEST_NAME):
        if all(style.text_inches(name, size) < 0.95 * slot for name in names):
            return 0, size
    return 90, min(LARGEST_NAME, 0.82 * 72 * slot)


def shade_slots(axes: Axes, datasets: Sequence[str]) -> None:
    """Shade every second dataset, to lead the eye from a name to what is drawn above it."""
    for place in range(1, len(datasets), 2):
        axes.axvspan(place - 0.5, place + 0.5, color="#f4f4f4", linewidth=0, zorder=0)


def name_datasets(axes: Axes, datasets: Sequence[str]) -> None:
    """The datasets have the places 0, 1, ... of the x-axis and their names below it."""
    angle, size = name_size(datasets, style.panel_inches(axes)[0])
    names = [style.plain(style.short_name(dataset)) for dataset in datasets]
    axes.set_xticks(range(len(datasets)), names, rotation=angle, size=size)
    axes.set_xlim(-0.5, len(datasets) - 0.5)
    axes.tick_params(axis="x", length=0, pad=2)
    axes.spines["bottom"].set_visible(False)


def add_legend(axes: Axes, methods: Sequence[str], *, with_published: bool) -> None:
    """A legend above the right end of a panel."""
    handles: list[Patch | Line2D] = [
        Patch(color=style.light(style.colour(method, methods), 0.4), label=style.plain(style.method_name(method)))
        for method in methods
    ]
    if with_published:
        marks: dict[str, Any] = {"marker": "D", "markersize": 2.8, "markerfacecolor": "white", "markeredgewidth": 0.6}
        handles.append(Line2D([], [], color=style.INK, linestyle="none", label="published", **marks))
    handles.append(
        Line2D([], [], color=style.INK, linestyle="none", marker="|", markersize=7, label="± one standard error")
    )
    style.legend_above(axes, handles)
