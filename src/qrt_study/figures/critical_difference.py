"""Critical-difference diagrams (Demsar, 2006, Figure 1): mean ranks on an axis, bars over groups without difference."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from qrt_study.figures import style

WORDS_ON_GROUPS = "p: Friedman's test; dots on a bar: methods without a significant difference among them (level 0.05)"
BAR_STEP = 0.5  # distance of two bars, in rows


def rank_limits(ranks: pd.DataFrame) -> tuple[float, float]:
    """Half or whole ranks around all mean ranks of a table, at least one rank apart."""
    low, high = math.floor(2 * ranks["mean_rank"].min()) / 2, math.ceil(2 * ranks["mean_rank"].max()) / 2
    return (low, high) if high - low >= 1 else (low - 0.5, high + 0.5)


def bar_levels(ranks: pd.DataFrame, groups: pd.DataFrame) -> dict[int, int]:
    """group -> level of its bar (0 is nearest the methods), so that bars of one level keep apart; of one metric."""
    mean_ranks = ranks.set_index("method")["mean_rank"]
    spans = groups["method"].map(mean_ranks).groupby(groups["group"]).agg(["min", "max"]).sort_values(["min", "max"])
    gap = 0.05 * (mean_ranks.max() - mean_ranks.min())
    filled: list[float] = []  # worst rank so far on each level
    levels = {}
    for group, best, worst in spans.itertuples():
        level = next((level for level, last in enumerate(filled) if best > last + gap), len(filled))
        filled[level : level + 1] = [worst]
        levels[int(group)] = level
    return levels


def panel_rows(ranks: pd.DataFrame, groups: pd.DataFrame) -> float:
    """How many rows of methods high a diagram has to be, its bars included; of one metric."""
    levels = 1 + max(bar_levels(ranks, groups).values(), default=0)
    return max(4.0, len(ranks) + 0.25 + BAR_STEP * levels)


def draw_critical_difference(
    axes: Axes,
    ranks: pd.DataFrame,
    groups: pd.DataFrame,
    methods: Sequence[str],
    *,
    limits: tuple[float, float],
    rows: float,
) -> None:
    """Mean ranks with rank 1 to the right; both tables hold one metric only.

    Every method has a row, the best on top: its line goes from its name to its mean rank and down to the axis. Worse
    methods end lower and further left, so that lines never cross and names never collide, however close the ranks are.
    A bar joins a group; the dots on it are its members, since a group need not be all methods between its ends. The
    order of `methods` (without the baseline) gives them their colours.
    `limits`: ends of the axis; `rows`: height of the panel, not below `panel_rows`.
    """
    ranks = ranks.sort_values("mean_rank", kind="stable")
    span = limits[1] - limits[0]
    worst, best = limits[1] + 0.08 * span, limits[0] - 0.04 * span
    first_bar = len(ranks) - 0.35
    bottom = rows - 0.6
    for row, (method, rank) in enumerate(zip(ranks["method"], ranks["mean_rank"], strict=True)):
        axes.plot([worst, rank, rank], [row, row, bottom], color=style.colour(method, methods), linewidth=0.8)
        style.draw_marker(axes, rank, row, method, methods)
    mean_ranks = ranks.set_index("method")["mean_rank"]
    for group, level in bar_levels(ranks, groups).items():
        members = groups.loc[groups["group"] == group, "method"]
        at = mean_ranks[members].to_numpy()
        height = first_bar + BAR_STEP * level
        axes.hlines(height, at.min(), at.max(), color=style.INK, linewidth=1.6, zorder=3)
        faces = [style.colour(method, methods) for method in members]
        axes.scatter(at, np.full(len(at), height), s=8, c=faces, edgecolors=style.INK, linewidths=0.5, zorder=4)
    axes.set_xlim(worst, best)
    step = 0.5 if span <= 2 else 1.0 if span <= 7 else 2.0
    axes.set_xticks(np.arange(step * math.ceil(limits[0] / step), limits[1] + step / 2, step))
    axes.set_ylim(bottom, -0.6)
    style.name_rows(axes, ranks["method"].tolist(), methods)
    axes.set_xlabel("mean rank   better →", loc="right")


def words_on_test(friedman: pd.DataFrame) -> str:
    """What the diagram is based on: the number of datasets and Friedman's p, from the one row of a metric."""
    datasets, p_value = friedman["datasets"].iloc[0], friedman["p_value"].iloc[0]
    if not np.isfinite(p_value):
        return f"{datasets} datasets"
    return f"{datasets} datasets, p {'< 0.001' if p_value < 0.001 else f'= {p_value:.2g}'}"
