"""Metrics per epoch: the decomposition of the NLL (Figure 1) and one small panel per dataset (Figures 15 to 18)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

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


class _Curve(NamedTuple):
    """One metric of one method by epoch. Panels are many and curves short, so these are arrays and not tables."""

    method: str
    epoch: Array
    mean: Array
    error: Array
    runs: Array
    all_alive: Array


class _PublishedCurve(NamedTuple):
    method: str
    epoch: Array
    value: Array


class _Mark(NamedTuple):
    """A bar or star; of a curve, or published."""

    method: str
    epoch: float
    value: float
    is_star: bool


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
        return message_figure("There is no dataset to show.", title)
    height = 1.1 + 1.4 * len(datasets)
    figure, grid = plt.subplots(len(datasets), len(_LABELS), figsize=(TWO_COLUMNS, height), squeeze=False)
    figure.subplots_adjust(
        left=0.6 / TWO_COLUMNS, right=0.985, top=1 - 0.66 / height, bottom=0.55 / height, wspace=0.27, hspace=0.22
    )
    curves, selected = (_of_part(statistics, name, "validation") for name in ("curves", "selected"))
    panels = _panels(curves, selected, _LARGE)
    _add_published(panels, published_curves, published_marks)
    published = {dataset for (dataset, _), panel in panels.items() if panel.has_published and dataset in datasets}
    for number, (row, dataset) in enumerate(zip(grid, datasets, strict=True), start=1):
        for axes, (metric, label) in zip(row, _LABELS.items(), strict=True):
            panels.setdefault((dataset, metric), _Panel(_LARGE)).draw(axes)
            if number == 1:
                axes.set_title(label)
        place: dict[str, Any] = {"y": _middle(row[0]), "rotation": 90, "va": "center"}
        figure.text(0.012, s=plain(short_name(dataset)), fontsize=8, **place)
        if dataset in published and not any(panels[dataset, metric].curves for metric in _LABELS):
            figure.text(0.032, s="published only", fontsize=6, color=GREY, **place)
    figure.supxlabel("epochs", fontsize=7, y=0.27 / height)
    _head(figure, title, curves, selected, published=bool(published))
    return figure


def draw_per_epoch(
    statistics: FigureStatistics, *, metric: str, part: str, title: str, datasets: Sequence[str]
) -> Figure:
    """Figures 15 to 18: one metric on one part of the data, a small panel per dataset, in the order given."""
    if not datasets:
        return message_figure("There is no dataset to show.", title)
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
    panels = _panels(curves, selected, _SMALL)
    for axes in grid.flat[len(datasets) :]:
        axes.set_axis_off()
    for axes, dataset in zip(grid.flat, datasets, strict=False):
        panels.get((dataset, metric), _Panel(_SMALL)).draw(axes)
        axes.set_title(plain(short_name(dataset)), fontsize=6, pad=2)
    figure.supxlabel("epochs", fontsize=7, y=0.27 / height)
    label = f"{'training' if part == 'train' else part} {_LABELS[metric]}"
    figure.supylabel(label, fontsize=7, x=0.06 / width)
    _head(figure, title, curves, selected, published=False)
    return figure


def _of_part(statistics: FigureStatistics, name: str, part: str) -> pd.DataFrame:
    table = statistics.tables[name]
    return table[table["part"] == part]


def _panels(curves: pd.DataFrame, selected: pd.DataFrame, sizes: _Sizes) -> dict[tuple[str, str], _Panel]:
    """What is in the panel of each dataset and metric, found by one pass over the tables."""
    panels: dict[tuple[str, str], _Panel] = {}
    for (dataset, metric, method), columns in _pieces(curves, "epoch", "mean", "standard_error", "runs", "all_alive"):
        panels.setdefault((dataset, metric), _Panel(sizes)).curves.append(_Curve(method, *columns))
    for row in selected.itertuples():
        mark = _Mark(row.method, row.selected_epoch, row.value, row.mark == "star")
        panels.setdefault((row.dataset, row.metric), _Panel(sizes)).marks.append(mark)
    return panels


def _add_published(
    panels: dict[tuple[str, str], _Panel], curves: pd.DataFrame | None, marks: pd.DataFrame | None
) -> None:
    """Show published values too, in our count of epochs."""
    if curves is not None:
        for (dataset, metric, method), (epoch, value) in _pieces(curves, "epoch", "value"):
            curve = _PublishedCurve(method, epoch + _ONE_EPOCH_LATER, value)
            panels.setdefault((dataset, metric), _Panel(_LARGE)).published_curves.append(curve)
    if marks is not None:
        for row in marks.itertuples():
            mark = _Mark(row.method, row.selected_epoch + _ONE_EPOCH_LATER, row.value, row.mark == "star")
            panels.setdefault((row.dataset, row.metric), _Panel(_LARGE)).published_marks.append(mark)


def _pieces(table: pd.DataFrame, *columns: str) -> Iterable[tuple[tuple[str, str, str], list[Array]]]:
    """These columns of each dataset, metric and method, in the order of the table."""
    arrays = [table[column].to_numpy() for column in columns]
    rows = table.groupby(["dataset", "metric", "method"]).indices
    for key in sorted(rows, key=lambda key: rows[key][0]):
        yield key, [array[rows[key]] for array in arrays]


class _Panel:
    """One metric of one dataset: curves of QRT and BASE, bars at their selected epoch, stars of QRTC and QRC."""

    def __init__(self, sizes: _Sizes) -> None:
        self.sizes = sizes
        self.curves: list[_Curve] = []
        self.marks: list[_Mark] = []
        self.published_curves: list[_PublishedCurve] = []
        self.published_marks: list[_Mark] = []

    @property
    def has_published(self) -> bool:
        """Whether something published is in this panel."""
        return bool(self.published_curves or self.published_marks)

    def draw(self, axes: Axes) -> None:
        """Draw everything that is there, or say that nothing is."""
        if not self.curves and not self.has_published:
            say_in(axes, "no curves")
            return
        axes.tick_params(length=2, pad=1.5, labelsize=self.sizes.letters)
        axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(self.sizes.ticks))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_label_coords(0, 0)  # no label, so no search for its place
        for curve in self.curves:
            self._draw_curve(axes, curve)
        for mark in self.marks:
            self._draw_mark(axes, mark)
        self._draw_published(axes)
        self._set_limits(axes)

    def _draw_curve(self, axes: Axes, curve: _Curve) -> None:
        """Thick and with one standard error while all runs are alive; then thin, in one piece for each number of runs.

        Where a run stops, the mean over the others is another one: a line across would look like training.
        """
        shade = colour(curve.method)
        of_all = np.where(curve.all_alive, curve.mean, math.nan)
        dot = "o" if curve.all_alive.sum() == 1 else None
        look: dict[str, Any] = {"color": shade, "markersize": 2, "zorder": 3}
        name = f"{curve.method} curve of all runs"
        axes.plot(curve.epoch, of_all, linewidth=self.sizes.line, marker=dot, gid=name, **look)
        low, high = of_all - curve.error, of_all + curve.error
        axes.fill_between(
            curve.epoch, low, high, color=shade, alpha=0.3, linewidth=0, zorder=2, gid=f"{curve.method} band"
        )
        epochs, means, alone = _pieces_of_equal_runs(curve)
        look |= {"marker": ".", "markevery": alone, "markersize": 1.5, "alpha": 0.7}
        axes.plot(epochs, means, linewidth=self.sizes.thin, gid=f"{curve.method} curve of fewer runs", **look)

    def _draw_mark(self, axes: Axes, mark: _Mark) -> None:
        shade = colour(mark.method)
        if mark.is_star:
            # The stars of both methods often meet: the lower one must be seen behind the other.
            size = self.sizes.star * (1.2 if mark.method == "QRC" else 1)
            axes.plot(
                mark.epoch, mark.value, "*", color=shade, markersize=size, markeredgecolor="white",
                markeredgewidth=0.35, zorder=5, gid=f"{mark.method} star",
            )  # fmt: skip
            return
        look: dict[str, Any] = {"color": shade, "linewidth": self.sizes.thin, "alpha": 0.75, "zorder": 1}
        axes.axvline(mark.epoch, gid=f"{mark.method} selected epoch", **look)
        axes.axhline(mark.value, gid=f"{mark.method} selected value", **look)

    def _draw_published(self, axes: Axes) -> None:
        for curve in self.published_curves:
            axes.plot(
                curve.epoch, curve.value, color=colour(curve.method), linewidth=0.6, linestyle=_DASHES, alpha=0.8,
                zorder=2.5, gid=f"published {curve.method} curve",
            )  # fmt: skip
        for mark in self.published_marks:
            shape, size = ("*", 6) if mark.is_star else ("o", 3.5)
            axes.plot(
                mark.epoch, mark.value, shape, markersize=size, markerfacecolor="none",
                markeredgecolor=colour(mark.method), markeredgewidth=0.7, zorder=4, gid=f"published {mark.method}",
            )  # fmt: skip

    def _set_limits(self, axes: Axes) -> None:
        """Limits that show the curves after their first epochs, and a word for each mark that lies beyond them."""
        marks = [*self.marks, *self.published_marks]
        low, high = self._limits(np.array([mark.value for mark in marks], dtype=float))
        epochs = [curve.epoch for curve in self.curves] + [curve.epoch for curve in self.published_curves]
        last = np.nanmax(np.concatenate([*epochs, [1]]))
        axes.set_xlim(-0.02 * last, 1.03 * last)
        axes.set_ylim(low, high)
        above = dict.fromkeys(mark.method for mark in marks if mark.value > high)
        below = dict.fromkeys(mark.method for mark in marks if mark.value < low)
        self._say(axes, "\n".join(f"{name} ↑" for name in above), 0.98, "top")
        self._say(axes, "\n".join(f"{name} ↓" for name in below), 0.02, "bottom")

    def _limits(self, marks: npt.NDArray[np.float64]) -> tuple[float, float]:
        """Those of all values; of a curve that explodes after its selected epoch, only of the way there."""
        published = [curve.value for curve in self.published_curves]
        bars = {mark.method: mark.epoch for mark in self.marks if not mark.is_star}
        curves, ways = [], []
        for curve in self.curves:
            last = max(bars.get(curve.method, math.inf), curve.epoch.min())
            curves.append(curve.mean)
            ways.append(curve.mean[curve.epoch <= last])
        low, high = value_limits([*ways, *published], marks, self.sizes.whole)
        most = _EXPLOSION * (high - low)
        lines = [curve if np.ptp(_typical(curve)) <= most else way for curve, way in zip(curves, ways, strict=True)]
        return value_limits([*lines, *published], marks, self.sizes.whole)

    def _say(self, axes: Axes, words: str, height: float, align: Literal["top", "bottom"]) -> None:
        place: dict[str, Any] = {"transform": axes.transAxes, "ha": "right", "va": align}
        axes.text(0.98, height, words, color=GREY, fontsize=self.sizes.letters, **place)


def _pieces_of_equal_runs(curve: _Curve) -> tuple[list[float], list[float], list[int]]:
    """Epochs and means after the first run has stopped, and the places of points without neighbours.

    There is a gap wherever the number of runs changes.
    """
    later = np.flatnonzero(~curve.all_alive)
    changes = np.flatnonzero(np.diff(curve.runs[later])) + 1
    epochs: list[float] = []
    means: list[float] = []
    alone = []
    for piece in np.split(later, changes) if len(later) else []:
        alone += [len(epochs)] if len(piece) == 1 else []
        epochs += [*curve.epoch[piece], math.nan]
        means += [*curve.mean[piece], math.nan]
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
