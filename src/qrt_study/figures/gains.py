"""The gain of each method on each dataset, split into a better network and a better calibration."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from qrt_study.figures import style
from qrt_study.figures.difference_bars import name_datasets, name_size, shade_slots

TITLE = "Where the gains to BASE come from"
METHODS = ("QRTC", "QRC")
# A panel: what is split, its parts, and whether they are shares of the baseline's score.
PANELS = (
    ("NLL", "refined NLL", "NLL to calibrate", False),
    ("CRPS", "refined CRPS", "CRPS to calibrate", True),
)
LEFT, RIGHT = 0.1, 0.995
TOP, PANEL, GAP, FOOTER = 0.62, 1.45, 0.14, 0.4  # inches
_WIDTH = 0.36  # of a bar, of a dataset's slot


def draw_gains(per_dataset: pd.DataFrame) -> Figure:
    """A panel for each score and method: bars of the two parts, datasets by the difference of QRTC's NLL."""
    wide = per_dataset.pivot(index="dataset", columns=["metric", "method"], values="difference")
    baseline = per_dataset[per_dataset["method"] == per_dataset["baseline"]]
    scale = baseline.set_index(["metric", "dataset"])["mean"].abs()
    if wide.empty or ("NLL", METHODS[0]) not in wide:
        return style.message_figure("There are no scores of predictions yet.", TITLE)
    datasets = wide["NLL", METHODS[0]].dropna().sort_values(kind="stable").index.tolist()
    rows = [(panel, method) for panel in PANELS for method in METHODS if (panel[0], method) in wide]
    bottom = FOOTER + _names_height(datasets)
    height = TOP + bottom + len(rows) * PANEL + (len(rows) - 1) * GAP
    figure, grid = plt.subplots(len(rows), 1, figsize=(style.TWO_COLUMNS, height), squeeze=False)
    figure.subplots_adjust(left=LEFT, right=RIGHT, top=1 - TOP / height, bottom=bottom / height, hspace=GAP / PANEL)
    for axes, ((score, refined, to_calibrate, relative), method) in zip(grid[:, 0], rows, strict=True):
        unit = scale.loc[score].reindex(datasets) if relative else pd.Series(1.0, index=datasets)
        parts = [wide[part, method].reindex(datasets) / unit for part in (refined, to_calibrate)]
        words = _draw_parts(axes, datasets, method, parts)
        axes.set_ylabel(f"{score}{' / BASE' if relative else ''}: {method} − BASE\n{words}")
        name_datasets(axes, datasets)
        if axes is not grid[-1, 0]:
            axes.tick_params(axis="x", labelbottom=False)
    figure.align_ylabels()
    figure.legend(
        handles=[
            Patch(color=style.GREY, label="better network: the score under the best map"),
            Patch(color=style.light(style.GREY, 0.6), label="better calibration: what that map takes"),
        ],
        loc="upper left",
        bbox_to_anchor=(0.005, 1 - 0.24 / height),
        ncols=2,
        fontsize=style.TICK_SIZE,
        frameon=False,
    )
    style.add_title(figure, TITLE)
    return figure


def _names_height(datasets: Sequence[str]) -> float:
    """Inches that the names below the last panel need."""
    angle, size = name_size(datasets, style.TWO_COLUMNS * (RIGHT - LEFT))
    longest = max(style.text_inches(style.plain(style.short_name(dataset)), size) for dataset in datasets)
    return longest if angle else size / 72


def _draw_parts(axes: Axes, datasets: Sequence[str], method: str, parts: Sequence[pd.Series]) -> str:
    """Bars of the parts of a difference; returns the words on the scale of its axis."""
    shade_slots(axes, datasets)
    colour, slots = style.text_colour(method), np.arange(len(datasets))
    for values, shade, shift in zip(parts, (colour, style.light(colour, 0.6)), (-0.5, 0.5), strict=True):
        axes.bar(slots + shift * _WIDTH, values.to_numpy(float), _WIDTH, color=shade, linewidth=0)
    axes.axhline(0, color=style.INK, linewidth=0.5)
    everything = pd.concat(list(parts))
    return style.symlog_axis(axes, "y", min(0.0, everything.min()), max(0.0, everything.max()), 0.1)
