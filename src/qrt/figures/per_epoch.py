"""Metrics per epoch: the decomposition of the NLL (Figure 1) and one small panel per dataset (Figures 15 to 18)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from qrt.figures.style import GREY, INK, ONE_COLUMN, TWO_COLUMNS, colour, message_figure, plain, say_in, short_name
from qrt.statistics.figure_statistics import FigureStatistics

_LABELS = {
    "nll_recalibrated": r"NLL of $F'_\theta$",
    "nll_base": r"NLL of $F_\theta$",
    "alpha_entropy_pit": r"$\alpha\,H(Z)$",
    "pce": r"PCE of $F'_\theta$",
}
_ONE_EPOCH_LATER = 1  # published curves count epochs from 0, ours are epochs trained
_MOST_COLUMNS = 6


@dataclass(frozen=True)
class _Sizes:
    """Of lines, marks and letters in a panel, in points."""

    line: float
    thin: float
    star: float
    letters: float


_LARGE, _SMALL = _Sizes(1.2, 0.6, 7.5, 6), _Sizes(0.8, 0.4, 4.5, 5)


def draw_decomposition(
    statistics: FigureStatistics,
    *,
    datasets: Sequence[str],
    title: str,
    published_curves: pd.DataFrame | None = None,
    published_marks: pd.DataFrame | None = None,
) -> Figure:
    """Figure 1: one row per dataset with the NLL of F', its two parts, and the PCE, on validation rows.

    The published values (`qrt.published.figure1_curves`, `figure1_marks`) become dashed curves and hollow marks.
    """
    if not datasets:
        return message_figure("There is no dataset to show.", title)
    height = 1.1 + 1.4 * len(datasets)
    figure, grid = plt.subplots(len(datasets), len(_LABELS), figsize=(TWO_COLUMNS, height), squeeze=False)
    figure.subplots_adjust(
        left=0.47 / TWO_COLUMNS, right=0.995, top=1 - 0.68 / height, bottom=0.6 / height, wspace=0.27, hspace=0.3
    )
    published = False
    for row, dataset in zip(grid, datasets, strict=True):
        for axes, (metric, label) in zip(row, _LABELS.items(), strict=True):
            panel = _Panel(statistics, dataset, metric, "validation", _LARGE)
            panel.add_published(published_curves, published_marks)
            published = published or panel.has_published
            panel.draw(axes)
            if row is grid[0]:
                axes.set_title(label)
            if row is grid[-1]:
                axes.set_xlabel("epochs")
        figure.text(0.012, _middle(row[0]), plain(short_name(dataset)), rotation=90, fontsize=8, ha="left", va="center")
    _head(figure, title, published=published)
    return figure


def draw_pages(statistics: FigureStatistics, *, metric: str, part: str, title: str, datasets: Sequence[str]) -> Figure:
    """Figures 15 to 18: one metric on one part of the data, a small panel per dataset, in the order given."""
    if not datasets:
        return message_figure("There is no dataset to show.", title)
    columns = min(_MOST_COLUMNS, math.ceil(math.sqrt(len(datasets))))
    rows = math.ceil(len(datasets) / columns)
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    height = 1.0 + rows * max(0.8, min(1.5, 0.5 * width / columns))
    figure, grid = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    figure.subplots_adjust(
        left=0.42 / width, right=0.995, top=1 - 0.62 / height, bottom=0.55 / height, wspace=0.29, hspace=0.48
    )
    for axes in grid.flat[len(datasets) :]:
        axes.set_axis_off()
    for axes, dataset in zip(grid.flat, datasets, strict=False):
        _Panel(statistics, dataset, metric, part, _SMALL).draw(axes)
        axes.set_title(plain(short_name(dataset)), fontsize=6, pad=2)
    figure.supxlabel("epochs", fontsize=7, y=0.3 / height)
    label = f"{'training' if part == 'train' else part} {_LABELS[metric]}"
    figure.supylabel(label, fontsize=7, x=0.06 / width)
    _head(figure, title, published=False)
    return figure


class _Panel:
    """One metric of one dataset: curves of QRT and BASE, bars at their selected epoch, stars of QRTC and QRC."""

    def __init__(self, statistics: FigureStatistics, dataset: str, metric: str, part: str, sizes: _Sizes) -> None:
        self.dataset, self.metric, self.sizes = dataset, metric, sizes
        curves, selected = self._own(statistics.tables["curves"]), self._own(statistics.tables["selected"])
        self.curves = curves[curves["part"] == part]
        self.selected = selected[selected["part"] == part]
        self.published_curves = self.published_marks = pd.DataFrame({"epoch": [], "value": [], "method": []})

    def _own(self, table: pd.DataFrame) -> pd.DataFrame:
        return table[(table["dataset"] == self.dataset) & (table["metric"] == self.metric)]

    def add_published(self, curves: pd.DataFrame | None, marks: pd.DataFrame | None) -> None:
        """Show the published values of this panel, if there are any, in our count of epochs."""
        if curves is not None:
            self.published_curves = self._own(curves).assign(epoch=lambda table: table["epoch"] + _ONE_EPOCH_LATER)
        if marks is not None:
            self.published_marks = self._own(marks).assign(
                epoch=lambda table: table["selected_epoch"] + _ONE_EPOCH_LATER
            )

    @property
    def has_published(self) -> bool:
        """Whether something published is in this panel."""
        return len(self.published_curves) + len(self.published_marks) > 0

    def draw(self, axes: Axes) -> None:
        """Draw everything that is there, or say that nothing is."""
        if self.curves.empty and not self.has_published:
            say_in(axes, "no curves")
            return
        axes.tick_params(length=2, pad=1.5, labelsize=self.sizes.letters)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(4))
        for method, curve in self.curves.groupby("method", sort=False):
            self._draw_curve(axes, str(method), curve)
        for mark in self.selected.itertuples():
            self._draw_mark(axes, mark.method, mark.selected_epoch, mark.value, star=mark.mark == "star")
        self._draw_published(axes)
        self._set_limits(axes)

    def _draw_curve(self, axes: Axes, method: str, curve: pd.DataFrame) -> None:
        """Thin all the way, thick and with one standard error while all runs are alive."""
        shade, mean, error = colour(method), curve["mean"], curve["standard_error"]
        dot = "o" if len(curve) == 1 else None
        look: dict[str, Any] = {"color": shade, "marker": dot, "markersize": 2, "zorder": 3}
        axes.plot(curve["epoch"], mean, linewidth=self.sizes.thin, gid=f"{method} curve", **look)
        of_all = mean.where(curve["all_alive"])
        axes.plot(curve["epoch"], of_all, linewidth=self.sizes.line, gid=f"{method} curve of all runs", **look)
        low, high = of_all - error, of_all + error
        axes.fill_between(
            curve["epoch"], low, high, color=shade, alpha=0.22, linewidth=0, zorder=2, gid=f"{method} band"
        )

    def _draw_mark(self, axes: Axes, method: str, epoch: float, value: float, *, star: bool) -> None:
        shade = colour(method)
        if star:
            axes.plot(
                epoch, value, "*", color=shade, markersize=self.sizes.star, markeredgecolor="white",
                markeredgewidth=0.35, zorder=5, gid=f"{method} star",
            )  # fmt: skip
            return
        look: dict[str, Any] = {"color": shade, "linewidth": self.sizes.thin, "alpha": 0.75, "zorder": 1}
        axes.axvline(epoch, gid=f"{method} selected epoch", **look)
        axes.axhline(value, gid=f"{method} selected value", **look)

    def _draw_published(self, axes: Axes) -> None:
        for method, curve in self.published_curves.groupby("method", sort=False):
            shade = colour(str(method))
            axes.plot(
                curve["epoch"], curve["value"], color=shade, linewidth=0.7, linestyle=(0, (3, 1.5)), zorder=2.5,
                gid=f"published {method} curve",
            )  # fmt: skip
        for mark in self.published_marks.itertuples():
            star = mark.mark == "star"
            axes.plot(
                mark.epoch, mark.value, "*" if star else "o", markersize=6 if star else 3.5, markerfacecolor="none",
                markeredgecolor=colour(mark.method), markeredgewidth=0.7, zorder=4, gid=f"published {mark.method}",
            )  # fmt: skip

    def _set_limits(self, axes: Axes) -> None:
        """Limits that show the curves after their first epochs, and a word for each mark that lies beyond them."""
        lines = [curve["mean"] for _, curve in self.curves.groupby("method")]
        lines += [curve["value"] for _, curve in self.published_curves.groupby("method")]
        marks = pd.concat([self.selected[["method", "value"]], self.published_marks[["method", "value"]]])
        low, high = value_limits([line.to_numpy(float) for line in lines], marks["value"].to_numpy(float))
        last = np.nanmax([*self.curves["epoch"], *self.published_curves["epoch"], 1])
        axes.set_xlim(-0.02 * last, 1.03 * last)
        axes.set_ylim(low, high)
        for beyond, sign, height, align in (
            (marks["value"] > high, "↑", 0.98, "top"),
            (marks["value"] < low, "↓", 0.02, "bottom"),
        ):
            names = dict.fromkeys(f"{name}{sign}" for name in marks["method"][beyond])
            if names:
                words = "\n".join(names)
                axes.text(0.98, height, words, transform=axes.transAxes, ha="right", va=align, fontsize=4.5, color=INK)


def value_limits(curves: Sequence[npt.NDArray[np.float64]], marks: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Limits of the axis of values: what is typical of the curves, and what else is not far from it.

    The first epochs and single outliers may be larger by orders of magnitude: they are cut off where they would double
    the typical range. A mark may triple it, because it is what the reader looks for.
    """
    known = [curve for curve in curves if len(curve)] or [marks]
    typical = np.array([np.quantile(curve, (0.03, 0.9)) for curve in known])
    low, high = float(typical[:, 0].min()), float(typical[:, 1].max())
    spread = high - low
    whole = np.concatenate(known)
    low = min(low, float(whole.min())) if whole.min() >= low - spread else low
    high = max(high, float(whole.max())) if whole.max() <= high + spread else high
    reach = 2 * (high - low) or math.inf
    near = marks[(marks >= low - reach) & (marks <= high + reach)]
    low, high = float(np.min([low, *near])), float(np.max([high, *near]))
    margin = 0.07 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - margin, high + margin


def _head(figure: Figure, title: str, *, published: bool) -> None:
    """Title and one legend for all panels."""
    handles = [Line2D([], [], color=colour(method), linewidth=1.2, label=method) for method in ("QRT", "BASE")]
    for method in ("QRTC", "QRC"):
        star: dict[str, Any] = {"color": colour(method), "marker": "*", "markersize": 7, "markeredgecolor": "white"}
        handles.append(Line2D([], [], linestyle="", label=method, markeredgewidth=0.35, **star))
    look: dict[str, Any] = {"color": GREY, "marker": "+", "markersize": 8, "linestyle": "", "markeredgewidth": 0.6}
    handles.append(Line2D([], [], label="selected epoch", **look))
    handles.append(Line2D([], [], color=GREY, linewidth=0.6, label="some runs stopped"))
    if published:
        dashed: dict[str, Any] = {
            "linestyle": (0, (3, 1.5)),
            "marker": "o",
            "markersize": 3.5,
            "markerfacecolor": "none",
        }
        handles.append(Line2D([], [], color=GREY, linewidth=0.7, label="published", **dashed))
    width, height = figure.get_size_inches()
    figure.suptitle(plain(title), fontsize=8.5, y=1 - 0.05 / height, va="top")
    figure.legend(
        handles=handles,
        ncols=len(handles) if width > ONE_COLUMN else 3,
        loc="upper center",
        bbox_to_anchor=(0.5, 1 - 0.2 / height),
        borderaxespad=0,
        columnspacing=1.4,
        handlelength=1.7,
        handletextpad=0.5,
    )


def _middle(axes: Axes) -> float:
    box = axes.get_position()
    return float(box.y0 + box.y1) / 2
