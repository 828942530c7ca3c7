"""The means of each seed and of all seeds together, dataset by dataset, beside the published values."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from qrt_study.figures import style
from qrt_study.figures.difference_bars import NLL_THRESHOLD, name_datasets, name_size, shade_slots
from qrt_study.statistics.seeds import COMPARISONS, REPORTED_SEED

TITLE = "test NLL: what another random start changes"
METRIC = "NLL"
PUBLISHED = ("dataset", "method", "difference", "standard_error")
SEEDS_SHARE = 0.44  # of a dataset's slot, on its left; all seeds together and the published value are on its right
PLACE_OF_ALL, PLACE_OF_PUBLISHED = 0.18, 0.34
WIDEST_SLOT = 0.5  # inches: the marks of one dataset stay together where there are few
LEFT, RIGHT = 0.1, 0.995
TOP, PANEL, GAP, FOOTER = 0.5, 1.55, 0.14, 0.4  # inches


def draw_seeds(per_dataset: pd.DataFrame, per_seed: pd.DataFrame, published: pd.DataFrame | None = None) -> Figure:
    """One panel per comparison, datasets sorted by the first: dots are seeds, the bar is the mean over them.

    The tables are those of `seed_statistics`; `published` has the columns PUBLISHED, to BASE.
    """
    per_dataset, per_seed = (table[table["metric"] == METRIC] for table in (per_dataset, per_seed))
    drawn = [pair for pair in COMPARISONS if len(_of(per_dataset, *pair))]
    if not drawn:
        return style.message_figure("No dataset has results of two seeds.", TITLE)
    datasets = _sorted(per_dataset, drawn[0])
    bottom = FOOTER + _names_height(datasets)
    height = TOP + bottom + len(drawn) * PANEL + (len(drawn) - 1) * GAP
    figure, grid = plt.subplots(len(drawn), 1, figsize=(style.TWO_COLUMNS, height), squeeze=False)
    figure.subplots_adjust(left=LEFT, right=RIGHT, top=1 - TOP / height, bottom=bottom / height, hspace=GAP / PANEL)
    theirs = pd.DataFrame(columns=list(PUBLISHED)) if published is None else published
    with_published = False
    for axes, (method, baseline) in zip(grid[:, 0], drawn, strict=True):
        shown = theirs[(theirs["method"] == method) & (baseline == "BASE") & theirs["dataset"].isin(datasets)]
        scale = _draw_panel(axes, datasets, _of(per_dataset, method, baseline), _of(per_seed, method, baseline), shown)
        axes.set_ylabel(f"← better   {method} − {baseline}\n{scale}")
        with_published |= len(shown) > 0
        name_datasets(axes, datasets)
        if axes is not grid[-1, 0]:
            axes.tick_params(axis="x", labelbottom=False)
    figure.align_ylabels()
    _add_legend(grid[0, 0], with_published=with_published)
    style.add_title(figure, TITLE)
    return figure


def _of(table: pd.DataFrame, method: str, baseline: str) -> pd.DataFrame:
    return table[(table["method"] == method) & (table["baseline"] == baseline)]


def _sorted(per_dataset: pd.DataFrame, first: tuple[str, str]) -> list[str]:
    """The datasets by the mean of the first comparison, lowest first; those that lack it come last."""
    means = _of(per_dataset, *first).set_index("dataset")["mean"].astype(float)
    return list(means.reindex(per_dataset["dataset"].unique()).sort_values(kind="stable").index)


def _names_height(datasets: Sequence[str]) -> float:
    """Inches that the names below the last panel need."""
    angle, size = name_size(datasets, style.TWO_COLUMNS * (RIGHT - LEFT))
    longest = max(style.text_inches(style.plain(style.short_name(dataset)), size) for dataset in datasets)
    return longest if angle else size / 72


def _draw_panel(
    axes: Axes, datasets: Sequence[str], means: pd.DataFrame, seeds: pd.DataFrame, published: pd.DataFrame
) -> str:
    """Draw one comparison; returns the words on the scale of its axis."""
    method = means["method"].iloc[0]
    shade, dark = style.colour(method), style.text_colour(method)
    slots = {dataset: float(slot) for slot, dataset in enumerate(datasets)}
    shade_slots(axes, datasets)
    unit = min(1.0, WIDEST_SLOT * len(datasets) / style.panel_inches(axes)[0])  # of the places within a slot

    order = {seed: place for place, seed in enumerate(sorted(seeds["seed"].unique()))}
    step = SEEDS_SHARE / max(1, len(order) - 1)
    at_seeds = seeds["dataset"].map(slots).astype(float) + unit * (step * seeds["seed"].map(order) - SEEDS_SHARE)
    reported = seeds["seed"] == REPORTED_SEED
    for chosen, size, face, edge, layer in (
        (~reported, 5, style.light(shade, 0.3), "none", 3),
        (reported, 11, "white", style.INK, 4),
    ):
        axes.scatter(
            at_seeds[chosen], seeds["mean"][chosen], s=size, color=face, edgecolors=edge, linewidths=0.7, zorder=layer
        )

    at_all = means["dataset"].map(slots).astype(float) + unit * PLACE_OF_ALL
    low, high = (means[end].where(np.isfinite(means[end]), means["mean"]) for end in ("interval_low", "interval_high"))
    axes.vlines(at_all, low, high, color=dark, linewidth=1.1, zorder=3)
    axes.scatter(at_all, means["mean"], s=9, marker="s", color=dark, linewidths=0, zorder=4)

    at_published, value = (
        published["dataset"].map(slots).astype(float) + unit * PLACE_OF_PUBLISHED,
        published["difference"].astype(float),
    )
    error = published["standard_error"].astype(float).fillna(0.0)
    axes.vlines(at_published, value - error, value + error, color=style.GREY, linewidth=0.5, zorder=2)
    axes.scatter(at_published, value, s=7, marker="D", color="white", edgecolors=style.GREY, linewidths=0.6, zorder=3)

    ends = pd.concat([seeds["mean"], low, high, value - error, value + error])
    scale = style.symlog_axis(axes, "y", ends.min(), ends.max(), NLL_THRESHOLD)
    axes.axhline(0, color=style.INK, linewidth=0.6)
    axes.grid(axis="y")
    return scale


def _add_legend(axes: Axes, *, with_published: bool) -> None:
    """A legend above the right end of the first panel."""
    blue = style.colour("QRTC")

    def mark(label: str, marker: str, size: float, face: str, edge: str) -> Line2D:
        return Line2D(
            [], [], linestyle="none", label=label, marker=marker, markersize=size, markerfacecolor=face,
            markeredgecolor=edge, markeredgewidth=0.6,
        )  # fmt: skip

    handles = [
        mark("one seed: mean over splits", "o", 2.3, style.light(blue, 0.3), "none"),
        mark("seed 0, as reported", "o", 3.6, "white", style.INK),
        Line2D([], [], color=style.text_colour("QRTC"), marker="s", markersize=3, linewidth=1.1,
               label="all seeds, 95 % interval"),
    ]  # fmt: skip
    if with_published:
        handles.append(mark("published ± one standard error", "D", 2.8, "white", style.GREY))
    style.legend_above(axes, handles)
