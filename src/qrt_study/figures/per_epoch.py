"""Metrics per epoch: the decomposition of the NLL (Figure 1) and one small panel per dataset (Figures 15 to 18)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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

from qrt_study.figures.style import (
    GREY,
    ONE_COLUMN,
    TWO_COLUMNS,
    add_title,
    colour,
    message_figure,
    plain,
    say_in,
    short_name,
)
from qrt_study.statistics.figure_statistics import FigureStatistics

_LABELS = {
    "nll_recalibrated": r"NLL of $F'_\theta$",
    "nll_base": r"NLL of $F_\theta$",
    "alpha_entropy_pit": r"$\alpha\,H(Z)$",
    "pce": r"PCE of $F'_\theta$",
}
_ONE_EPOCH_LATER = 1  # published curves count epochs from 0, ours are epochs trained
_DASHES = (0, (3, 1.5))
_MOST_COLUMNS = 6
_CUT = 0.5  # where a curve leaves the panel, in typical ranges
_EXPLOSION = 20  # range of a curve that has exploded, in those of all curves up to their selected epoch
_FEW_POINTS = 5  # of a curve that is shown whole
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Sizes:
    """Of lines, marks and letters in a panel, in points, and of what its limits take in (see `value_limits`)."""

    line: float
    thin: float
    star: float
    letters: float
    whole: float
    ticks: int  # at most, on the axis of values


_LARGE, _SMALL = _Sizes(1.2, 0.6, 7.5, 6, 1.0, 4), _Sizes(0.8, 0.4, 5.8, 6, 0.5, 3)


def draw_decomposition(
    statistics: FigureStatistics,
    *,
    datasets: Sequence[str],
    title: str,
    published_curves: pd.DataFrame | None = None,
    published_marks: pd.DataFrame | None = None,
) -> Figure:
    """Figure 1: one row per dataset with the NLL of F', its two parts, and the PCE, on validation rows.

    The published values (`qrt_study.published.figure1_curves`, `figure1_marks`) become dashed curves and hollow marks.
    """
    if not datasets:
        return message_figure("; ".join(statistics.notes) or "There is no dataset to show.", title)
    height = 1.1 + 1.4 * len(datasets)
    figure, grid = plt.subplots(len(datasets), len(_LABELS), figsize=(TWO_COLUMNS, height), squeeze=False)
    figure.subplots_adjust(
        left=0.6 / TWO_COLUMNS, right=0.985, top=1 - 0.66 / height, bottom=0.55 / height, wspace=0.27, hspace=0.22
    )
    curves, selected = (_of_part(statistics, name, "validation") for name in ("curves", "selected"))
    theirs, their_marks = _published(curves, published_curves), _published(selected, published_marks)
    panels = _Panels(_LARGE, curves, selected, theirs, their_marks)
    published = (set(theirs["dataset"]) | set(their_marks["dataset"])) & set(datasets)
    for number, (row, dataset) in enumerate(zip(grid, datasets, strict=True), start=1):
        for axes, (metric, label) in zip(row, _LABELS.items(), strict=True):
            panels.draw(axes, dataset, metric)
            if number == 1:
                axes.set_title(label)
        place: dict[str, Any] = {"y": _middle(row[0]), "rotation": 90, "va": "center"}
        figure.text(0.012, s=plain(short_name(dataset)), fontsize=8, **place)
        if dataset in published - set(curves.loc[curves["metric"].isin(list(_LABELS)), "dataset"]):
            figure.text(0.032, s="published only", fontsize=6, color=GREY, **place)
    figure.supxlabel("epochs", fontsize=7, y=0.27 / height)
    _head(figure, title, curves, selected, published=bool(published))
    return figure


def draw_per_epoch(
    statistics: FigureStatistics, *, metric: str, part: str, title: str, datasets: Sequence[str]
) -> Figure:
    """Figures 15 to 18: one metric on one part of the data, a small panel per dataset, in the order given."""
    if not datasets:
        return message_figure("; ".join(statistics.notes) or "There is no dataset to show.", title)
    columns = min(_MOST_COLUMNS, math.ceil(math.sqrt(len(datasets))))
    rows = math.ceil(len(datasets) / columns)
    width = ONE_COLUMN if columns == 1 else TWO_COLUMNS
    head = 0.58 if columns > 1 else 0.72  # the legend of a narrow page has two lines
    height = 0.42 + head + rows * max(0.8, min(1.5, 0.5 * width / columns))
    figure, grid = plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
    figure.subplots_adjust(
        left=0.52 / width, right=0.985, top=1 - head / height, bottom=0.55 / height, wspace=0.46, hspace=0.5
    )
    curves, selected = (_of_part(statistics, name, part) for name in ("curves", "selected"))
    panels = _Panels(_SMALL, curves, selected, curves.iloc[:0], selected.iloc[:0])
    for axes in grid.flat[len(datasets) :]:
        axes.set_axis_off()
    for axes, dataset in zip(grid.flat, datasets, strict=False):
        panels.draw(axes, dataset, metric)
        axes.set_title(plain(short_name(dataset)), fontsize=6, pad=2)
    figure.supxlabel("epochs", fontsize=7, y=0.27 / height)
    label = f"{'training' if part == 'train' else part} {_LABELS[metric]}"
    figure.supylabel(label, fontsize=7, x=0.06 / width)
    _head(figure, title, curves, selected, published=False)
    return figure


def _of_part(statistics: FigureStatistics, name: str, part: str) -> pd.DataFrame:
    table = statistics.tables[name]
    return table[table["part"] == part]


def _published(ours: pd.DataFrame, theirs: pd.DataFrame | None) -> pd.DataFrame:
    """Published values in our count of epochs, with the columns of ours; none where there are none."""
    if theirs is None:
        return ours.iloc[:0]
    epoch = "epoch" if "epoch" in theirs else "selected_epoch"
    return theirs.assign(**{epoch: theirs[epoch] + _ONE_EPOCH_LATER, "mean": theirs["value"]})


class _Panels:
    """One metric of one dataset each: curves of QRT and BASE, bars at their selected epoch, stars of QRTC and QRC.

    The tables are curves and marks, ours and published.
    """

    def __init__(self, sizes: _Sizes, *tables: pd.DataFrame) -> None:
        self.sizes, self._tables = sizes, tables
        self._rows = [dict(iter(table.groupby(["dataset", "metric"], sort=False))) for table in tables]

    def draw(self, axes: Axes, dataset: str, metric: str) -> None:
        """Draw everything that is there, or say that nothing is."""
        curves, marks, published, published_marks = (
            rows.get((dataset, metric), table.iloc[:0]) for rows, table in zip(self._rows, self._tables, strict=True)
        )
        if curves.empty and published.empty and published_marks.empty:
            say_in(axes, "no curves")
            return
        axes.tick_params(length=2, pad=1.5, labelsize=self.sizes.letters)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(self.sizes.ticks))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_label_coords(0, 0)  # no label, so no search for its place
        ours, theirs = (
            {str(method): rows for method, rows in table.groupby("method", sort=False)} for table in (curves, published)
        )
        for method, curve in ours.items():
            self._draw_curve(axes, method, curve)
        for mark in marks.itertuples():
            self._draw_mark(axes, mark)
        for method, curve in theirs.items():
            axes.plot(
                curve["epoch"], curve["mean"], color=colour(method), linewidth=0.6, linestyle=_DASHES, alpha=0.8,
                zorder=2.5, gid=f"published {method} curve",
            )  # fmt: skip
        for mark in published_marks.itertuples():
            shape, size = ("*", 6) if mark.mark == "star" else ("o", 3.5)
            axes.plot(
                mark.selected_epoch, mark.value, shape, markersize=size, markerfacecolor="none",
                markeredgecolor=colour(mark.method), markeredgewidth=0.7, zorder=4, gid=f"published {mark.method}",
            )  # fmt: skip
        shown = pd.concat([table[["method", "value"]] for table in (marks, published_marks) if len(table)] or [marks])
        bars = marks[marks["mark"] != "star"].set_index("method")["selected_epoch"].to_dict()
        # Limits that show the curves after their first epochs, and a word for each mark that lies beyond them.
        low, high = self._limits(ours, [curve["mean"].to_numpy() for curve in theirs.values()], bars, shown["value"])
        last = np.nanmax([*curves["epoch"], *published["epoch"], 1])
        axes.set_xlim(-0.02 * last, 1.03 * last)
        axes.set_ylim(low, high)
        for beyond, arrow, height, align in (
            (shown["value"] > high, "↑", 0.98, "top"),
            (shown["value"] < low, "↓", 0.02, "bottom"),
        ):
            words = "\n".join(f"{name} {arrow}" for name in shown.loc[beyond, "method"].unique())
            place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": align}
            axes.text(0.98, height, words, color=GREY, fontsize=self.sizes.letters, **place)

    def _draw_curve(self, axes: Axes, method: str, curve: pd.DataFrame) -> None:
        """Thick and with one standard error while all runs are alive; then thin, in one piece for each number of runs.

        Where a run stops, the mean over the others is another one: a line across would look like training.
        """
        shade = colour(method)
        epoch, mean, alive = (curve[name].to_numpy() for name in ("epoch", "mean", "all_alive"))
        of_all = np.where(alive, mean, math.nan)
        dot = "o" if alive.sum() == 1 else None
        look: dict[str, Any] = {"color": shade, "markersize": 2, "zorder": 3}
        axes.plot(epoch, of_all, linewidth=self.sizes.line, marker=dot, gid=f"{method} curve of all runs", **look)
        error = curve["standard_error"].to_numpy()
        axes.fill_between(
            epoch, of_all - error, of_all + error, color=shade, alpha=0.3, linewidth=0, zorder=2, gid=f"{method} band"
        )
        epochs, means, alone = _pieces_of_equal_runs(epoch, mean, curve["runs"].to_numpy(), alive)
        look |= {"marker": ".", "markevery": alone, "markersize": 1.5, "alpha": 0.7}
        axes.plot(epochs, means, linewidth=self.sizes.thin, gid=f"{method} curve of fewer runs", **look)

    def _draw_mark(self, axes: Axes, mark: Any) -> None:
        shade = colour(mark.method)
        if mark.mark == "star":
            # The stars of both methods often meet: the lower one must be seen behind the other.
            size = self.sizes.star * (1.2 if mark.method == "QRC" else 1)
            axes.plot(
                mark.selected_epoch, mark.value, "*", color=shade, markersize=size, markeredgecolor="white",
                markeredgewidth=0.35, zorder=5, gid=f"{mark.method} star",
            )  # fmt: skip
            return
        look: dict[str, Any] = {"color": shade, "linewidth": self.sizes.thin, "alpha": 0.75, "zorder": 1}
        axes.axvline(mark.selected_epoch, gid=f"{mark.method} selected epoch", **look)
        axes.axhline(mark.value, gid=f"{mark.method} selected value", **look)

    def _limits(
        self,
        curves: Mapping[str, pd.DataFrame],
        published: Sequence[Array],
        bars: Mapping[str, float],
        marks: pd.Series,
    ) -> tuple[float, float]:
        """Limits that show the curves after their first epochs; a curve that explodes after its selected epoch (`bars`)
        counts only on the way there.
        """
        shown = marks.to_numpy(float)
        lines = [curve["mean"].to_numpy() for curve in curves.values()]
        ways = [
            curve.loc[curve["epoch"] <= max(bars.get(method, math.inf), curve["epoch"].min()), "mean"].to_numpy()
            for method, curve in curves.items()
        ]
        low, high = value_limits([*ways, *published], shown, self.sizes.whole)
        most = _EXPLOSION * (high - low)
        lines = [line if np.ptp(_typical(line)) <= most else way for line, way in zip(lines, ways, strict=True)]
        return value_limits([*lines, *published], shown, self.sizes.whole)


def _pieces_of_equal_runs(
    epoch: Array, mean: Array, runs: Array, alive: Array
) -> tuple[list[float], list[float], list[int]]:
    """Epochs and means after the first run has stopped, and the places of points without neighbours.

    There is a gap wherever the number of runs changes.
    """
    later = np.flatnonzero(~alive)
    changes = np.flatnonzero(np.diff(runs[later])) + 1
    epochs: list[float] = []
    means: list[float] = []
    alone = []
    for piece in np.split(later, changes) if len(later) else []:
        alone += [len(epochs)] if len(piece) == 1 else []
        epochs += [*epoch[piece], math.nan]
        means += [*mean[piece], math.nan]
    return epochs, means, alone


def value_limits(
    curves: Sequence[npt.NDArray[np.float64]], marks: npt.NDArray[np.float64], whole: float
) -> tuple[float, float]:
    """Limits of the axis of values: what is typical of the curves, and what else is not far from it.

    Curves are shown whole if that needs at most `whole` times the typical range on either side. Else the first epochs
    or single outliers are larger by far, and they are cut off. A mark may be further away, because it is what the
    reader looks for.
    """
    known = [curve for curve in curves if len(curve)] or [marks]
    typical = [_typical(curve) for curve in known]
    low, high = min(low for low, _ in typical), max(high for _, high in typical)
    values = np.concatenate(known)
    farthest = max(low - values.min(), values.max() - high)
    reach = whole if farthest <= whole * (high - low) else _CUT
    for shown, share in ((values, reach), (marks, 2.0)):
        beyond = share * (high - low) or (0.0 if shown is values else math.inf)
        near = shown[(shown >= low - beyond) & (shown <= high + beyond)]
        low, high = float(np.min([low, *near])), float(np.max([high, *near]))
    margin = 0.07 * (high - low) or 0.05 * max(abs(high), 1.0)
    return low - margin, high + margin


def _typical(values: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The range without the highest fifth, where the first epochs are; all of it for a curve of a few points."""
    if len(values) < _FEW_POINTS:
        return float(values.min()), float(values.max())
    # Values, not interpolations: a single outlier is not typical of a short curve either.
    low, high = np.quantile(values, 0.02, method="higher"), np.quantile(values, 0.8, method="lower")
    return float(low), float(high)


def _head(figure: Figure, title: str, curves: pd.DataFrame, selected: pd.DataFrame, *, published: bool) -> None:
    """Title and one legend for all panels, of what is drawn in them."""
    drawn, stars = set(curves["method"]), set(selected.loc[selected["mark"] == "star", "method"])
    handles = [
        Line2D([], [], color=colour(name), linewidth=1.2, label=name) for name in ("QRT", "BASE") if name in drawn
    ]
    for method in ("QRTC", "QRC"):
        if method in stars:
            star: dict[str, Any] = {"color": colour(method), "marker": "*", "markersize": 7, "markeredgecolor": "white"}
            handles.append(Line2D([], [], linestyle="", label=method, markeredgewidth=0.35, **star))
    if (selected["mark"] == "bar").any():
        look: dict[str, Any] = {"color": GREY, "marker": "+", "markersize": 8, "linestyle": "", "markeredgewidth": 0.6}
        handles.append(Line2D([], [], label="selected epoch", **look))
    if not curves["all_alive"].all():
        handles.append(Line2D([], [], color=GREY, linewidth=0.6, label="after the first run has stopped"))
    if published:
        dashed: dict[str, Any] = {"linestyle": _DASHES, "marker": "o", "markersize": 3.5, "markerfacecolor": "none"}
        handles.append(Line2D([], [], color=GREY, linewidth=0.7, label="published", **dashed))
    width, height = figure.get_size_inches()
    add_title(figure, title).set(y=1 - 0.05 / height, va="top")
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
