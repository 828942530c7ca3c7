"""Letter-value plots of Cohen's d over the datasets, one box for each method (Hofmann, Wickham and Kafadar, 2017)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.patches import Rectangle
from matplotlib.patheffects import Normal, Stroke

from qrt.text.words import counted
from qrt_study.figures import style
from qrt_study.statistics.effects import FEWEST_FOR_TAILS

HEIGHTS = (0.36, 0.72, 0.36)  # of the boxes from 1/8 to 1/4, to 3/4 and to 7/8, in rows
THRESHOLD = 1.0  # d = 1 is one standard deviation; the axis is linear up to there


def sorted_by_median(letter_values: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """`methods` with the lowest median first; those without a value come last, in their own order."""
    medians = letter_values[letter_values["quantile"] == 0.5].dropna().set_index("method")["value"]
    return sorted(methods, key=lambda method: medians.get(method, np.inf))


def words_on_datasets(letter_values: pd.DataFrame) -> str:
    """How many datasets the boxes of one metric are based on."""
    return counted(int(letter_values["datasets"].max()), "dataset")


def words_on_boxes(letter_values: pd.DataFrame) -> str:
    """What boxes and circles are."""
    circles = "all beyond" if letter_values["datasets"].max() >= FEWEST_FOR_TAILS else "every dataset"
    return f"boxes: middle half and middle three quarters of the datasets; line: median; circles: {circles}"


def draw_letter_values(axes: Axes, letter_values: pd.DataFrame, circles: pd.DataFrame, methods: Sequence[str]) -> None:
    """One box of Cohen's d for each of `methods`, best on top; both tables hold one metric only, with one d at least.

    The order of `methods` gives them their colours. Rows are one unit apart.
    """
    order = sorted_by_median(letter_values, methods)
    boxes = {
        method: rows.sort_values("quantile")["value"].to_numpy(dtype=float)
        for method, rows in letter_values.dropna().groupby("method")
    }
    single = {method: rows["cohens_d"].to_numpy(dtype=float) for method, rows in circles.groupby("method")}
    filled = letter_values["datasets"].max() < FEWEST_FOR_TAILS
    axes.axvline(0, color=style.GREY, linewidth=0.6, zorder=0)
    for row, method in enumerate(order):
        colour = style.colour(method, methods)
        if method in boxes:
            _draw_box(axes, row, boxes[method], colour)
            _draw_circles(axes, row, single.get(method, np.array([])), colour, filled=filled)
        else:
            axes.text(0, row, "no values", ha="center", va="center", fontsize=5.5, color=style.GREY)
    drawn = np.concatenate([*boxes.values(), *single.values()])
    scale = style.symlog_axis(axes, "x", drawn.min(), drawn.max(), THRESHOLD)
    axes.grid(axis="x")
    axes.set_ylim(len(order) - 0.4, -0.6)
    style.name_rows(axes, order, methods)
    lines = ["← better   Cohen's d", *filter(None, [scale])]
    widest = max(style.text_inches(line, 7) for line in lines)
    axes.set_xlabel("\n".join(lines), loc="left" if widest < style.panel_inches(axes)[0] else "right")
    axes.set_ylabel("")


def _draw_box(axes: Axes, row: int, quantiles: np.ndarray, colour: str) -> None:
    """Boxes between the letter values (the five of a method in increasing order), the median as a line."""
    median, ends = quantiles[2], np.delete(quantiles, 2)
    boxes = [
        Rectangle((left, row - height / 2), right - left, height)
        for left, right, height in zip(ends[:-1], ends[1:], HEIGHTS, strict=True)
    ]
    faces = [style.light(colour, share) for share in (0.6, 0.15, 0.6)]
    axes.add_collection(PatchCollection(boxes, facecolors=faces, edgecolors=style.INK, linewidth=0.5), autolim=False)
    half = max(HEIGHTS) / 2
    axes.plot(
        [median, median], [row - half, row + half], color="white", linewidth=1.1, solid_capstyle="butt",
        path_effects=[Stroke(linewidth=2.1, foreground=style.INK), Normal()],
    )  # fmt: skip


def _draw_circles(axes: Axes, row: int, values: np.ndarray, colour: str, *, filled: bool) -> None:
    """Single datasets: hollow beyond the boxes, filled where all of them are drawn."""
    at = np.full(len(values), row)
    if filled:
        axes.scatter(values, at, s=8, linewidths=0.5, edgecolors="white", facecolors=colour, zorder=4)
    else:
        axes.scatter(values, at, s=5, linewidths=0.5, edgecolors=colour, facecolors="none")
