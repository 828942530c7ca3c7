"""Letter-value plots of Cohen's d over the datasets, one box for each method (Hofmann, Wickham and Kafadar, 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.patheffects import Normal, Stroke

from qrt.figures import style

# With this depth seaborn's boxes end at the quantiles 1/8, 1/4, 3/4 and 7/8, those of the table `letter_values`.
DEPTH = 2
# Below this number of datasets the tails hold less than one dataset each: every dataset is a point.
FEWEST_FOR_TAILS = 8
THRESHOLD = 1.0  # d = 1 is one standard deviation; the axis is linear up to there


def sorted_by_median(letter_values: pd.DataFrame, methods: Sequence[str]) -> list[str]:
    """`methods` with the lowest median first; those without a value come last, in their own order."""
    medians = letter_values[letter_values["quantile"] == 0.5].dropna().set_index("method")["value"]
    return sorted(methods, key=lambda method: medians.get(method, np.inf))


def words_on_datasets(letter_values: pd.DataFrame) -> str:
    """How many datasets the boxes of one metric are based on."""
    fewest, most = letter_values["datasets"].min(), letter_values["datasets"].max()
    span = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{span} dataset" if span == "1" else f"{span} datasets"


def words_on_boxes(letter_values: pd.DataFrame) -> str:
    """What boxes and circles are."""
    circles = "all beyond" if letter_values["datasets"].max() >= FEWEST_FOR_TAILS else "every dataset"
    return f"boxes: middle half and middle three quarters of the datasets; line: median; circles: {circles}"


def draw_letter_values(
    axes: Axes, per_dataset: pd.DataFrame, letter_values: pd.DataFrame, methods: Sequence[str]
) -> None:
    """One box of Cohen's d for each of `methods`, best on top; both tables hold one metric only, with one d at least.

    The order of `methods` gives them their colours. Rows are one unit apart.
    """
    order = sorted_by_median(letter_values, methods)
    values = {
        method: rows["cohens_d"][np.isfinite(rows["cohens_d"])].to_numpy(dtype=float)
        for method, rows in per_dataset.groupby("method")
    }
    axes.axvline(0, color=style.GREY, linewidth=0.6, zorder=0)
    for row, method in enumerate(order):
        if len(values.get(method, ())):
            _draw_box(axes, row, values[method], style.colour(method, methods))
        else:
            axes.text(0, row, "no values", ha="center", va="center", fontsize=5.5, color=style.GREY)
    drawn = np.concatenate([values[method] for method in order if method in values])
    # The scale is set after drawing: on a symlog axis seaborn would interpolate quantiles between logarithms.
    scale = style.symlog_axis(axes, "x", drawn.min(), drawn.max(), THRESHOLD)
    axes.grid(axis="x")
    axes.set_ylim(len(order) - 0.4, -0.6)
    style.name_rows(axes, order, methods)
    lines = ["← better   Cohen's d", *filter(None, [scale])]
    widest = max(style.text_inches(line, 7) for line in lines)
    axes.set_xlabel("\n".join(lines), loc="left" if widest < style.panel_inches(axes)[0] else "right")
    axes.set_ylabel("")


def _draw_box(axes: Axes, row: int, values: np.ndarray, colour: str) -> None:
    """Boxes between the letter values, the median as a line, datasets beyond the boxes (or all, if few) as circles."""
    few = len(values) < FEWEST_FOR_TAILS
    seaborn.boxenplot(
        x=values,
        y=np.full(len(values), row),
        orient="y",
        native_scale=True,
        ax=axes,
        color=colour,
        k_depth=DEPTH,
        width=0.72,
        linewidth=0.5,
        linecolor=style.INK,
        showfliers=not few,
        box_kws={"facecolors": [style.light(colour, share) for share in (0.6, 0.15, 0.6)]},
        line_kws={
            "linewidth": 1.1,
            "color": "white",
            "path_effects": [Stroke(linewidth=2.1, foreground=style.INK), Normal()],
        },
        flier_kws={"s": 5, "linewidths": 0.5, "edgecolor": colour},
    )
    if few:
        marks: dict[str, Any] = {"s": 8, "linewidths": 0.5, "edgecolors": "white", "facecolors": colour, "zorder": 4}
        axes.scatter(values, np.full(len(values), row), **marks)
