"""Figures that compare methods over datasets: where the panels stand, and what each of them shows.

Places are in inches from the upper left corner, so that print sizes do not depend on the number of panels, and rows of
methods are equally high in all of them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qrt_study.figures import style
from qrt_study.figures.critical_difference import (
    WORDS_ON_GROUPS,
    draw_critical_difference,
    panel_rows,
    rank_limits,
    words_on_test,
)
from qrt_study.figures.difference_bars import add_legend, draw_difference_bars, name_size, sorted_datasets
from qrt_study.figures.letter_value_plot import draw_letter_values, words_on_boxes, words_on_datasets
from qrt_study.statistics.figure_statistics import FigureStatistics

EDGE = 0.06  # left and right of everything
TITLE, NEXT_LINE, HEADING, PANEL_TITLE, AXIS = 0.24, 0.14, 0.22, 0.16, 0.41  # heights of what is not a panel
GAP = 0.16  # between a panel and the names to its right
NAMES_SIZE = 6.5  # points, of the names of methods
SMALL = 5.5  # points, of explanations
NARROWEST = 0.8  # where panels would be narrower, there are fewer columns
MANY = 8  # so many methods' lines to the axis of ranks need wide panels
BOX_ROW, RANK_ROW = 0.19, 0.135  # heights of a method's row
BARS, LONE_BARS = 1.45, 1.9  # heights of a panel of bars
BARS_WIDTH = style.TWO_COLUMNS - EDGE - 0.8  # beside it are ticks and label


class _Page:
    """A figure that is filled from top to bottom."""

    def __init__(self, title: str, height: float) -> None:
        lines = textwrap.wrap(title, 90)
        self.height = TITLE + NEXT_LINE * (len(lines) - 1) + height + style.FOOTER
        self.figure = plt.figure(figsize=(style.TWO_COLUMNS, self.height))
        self.filled = 0.0
        for number, line in enumerate(lines):
            self.write(NEXT_LINE if number else TITLE, line, size=8.5, weight="bold")

    def write(self, height: float, text: str, **font: Any) -> None:
        """A line of text that takes `height`."""
        self.filled += height
        left = EDGE / style.TWO_COLUMNS
        self.figure.text(left, 1 - (self.filled - 0.07) / self.height, style.plain(text), **font)

    def head(self, text: str, explained: str = "") -> None:
        """The heading of what follows, with an explanation in small letters at its right end."""
        self.write(HEADING, text, size=7.5)
        at = 1 - EDGE / style.TWO_COLUMNS, 1 - (self.filled - 0.07) / self.height
        self.figure.text(*at, explained, ha="right", size=SMALL, color=style.GREY)

    def panel(self, left: float, width: float, height: float) -> Axes:
        """A panel whose upper edge is where the page is filled to; it does not fill the page, there may be more."""
        bottom = self.height - self.filled - height
        across, up = style.TWO_COLUMNS, self.height
        return self.figure.add_axes((left / across, bottom / up, width / across, height / up))


class _Grid(NamedTuple):
    """Panels of equal width side by side, each with the names of methods to its left."""

    columns: int
    names: float  # width of the names
    width: float  # of a panel
    axis: float  # height of what is below a panel

    def left(self, place: int) -> float:
        return EDGE + self.names + (place % self.columns) * (self.names + self.width + GAP)

    def height(self, panels: int, panel: float) -> float:
        """Of so many panels of height `panel`, with the heading."""
        return HEADING + math.ceil(panels / self.columns) * (PANEL_TITLE + panel + self.axis)


def draw_comparison(
    statistics: FigureStatistics,
    *,
    title: str,
    metrics: Sequence[str],
    baseline: str,
    bars: Sequence[str] = (),
) -> Figure:
    """Differences in the first metric (if `bars` names methods), Cohen's d and critical differences of all metrics."""
    names = list(dict.fromkeys(statistics.tables["per_dataset"]["method"]))
    if not names:
        return style.message_figure(_reason(statistics, "", ""), title)
    methods = [name for name in names if name != baseline]
    box_grid = _grid(names, len(metrics), axis=AXIS + NEXT_LINE)  # whose axis says where it is logarithmic
    rank_grid = _grid(names, len(metrics), axis=AXIS, most=2 if len(names) >= MANY else 4)
    boxes = BOX_ROW * max(2, len(methods))
    ranks = RANK_ROW * max(panel_rows(*_tables(statistics, metric, "ranks", "groups")) for metric in metrics)
    bars_heights = _bars_heights(statistics, metrics[0], bars, BARS)
    height = box_grid.height(len(metrics), boxes) + rank_grid.height(len(metrics), ranks)
    page = _Page(title, height + (HEADING + sum(bars_heights) if bars else 0.0))
    letters = iter("abc")
    if bars:
        page.head(f"{next(letters)}   Test {metrics[0]}, difference to {style.method_name(baseline)} on each dataset")
        _add_bars(page, statistics, metrics[0], bars, bars_heights)
    explained = words_on_boxes(statistics.tables["letter_values"])
    page.head(f"{next(letters)}   Cohen's d against {style.method_name(baseline)}", explained)
    for axes, metric in _panels(page, box_grid, metrics, boxes):
        _draw_boxes(axes, statistics, metric, methods)
    page.head(f"{next(letters)}   Critical differences", WORDS_ON_GROUPS)
    for axes, metric in _panels(page, rank_grid, metrics, ranks):
        _draw_ranks(axes, statistics, metric, methods, ranks / RANK_ROW)
    return page.figure


def draw_differences(
    statistics: FigureStatistics,
    *,
    title: str,
    metrics: Sequence[str],
    methods: Sequence[str],
    published: pd.DataFrame | None,
) -> Figure:
    """A panel of differences to the baseline for each metric; `published` are those of the first metric."""
    panel = LONE_BARS if len(metrics) == 1 else BARS
    heights = [_bars_heights(statistics, metric, methods, panel) for metric in metrics]
    page = _Page(title, sum(HEADING + sum(pair) for pair in heights))
    for place, metric in enumerate(metrics):
        letter = f"{chr(ord('a') + place)}   " if len(metrics) > 1 else ""
        page.head(f"{letter}Test {metric}")
        theirs = published if place == 0 else None
        _add_bars(page, statistics, metric, methods, heights[place], published=theirs, with_legend=place == 0)
    return page.figure


def _grid(names: Sequence[str], panels: int, *, axis: float, most: int = 4) -> _Grid:
    """As many columns as the widest name allows, but not more than `most`."""
    widest = max(style.text_inches(style.plain(style.method_name(name)), NAMES_SIZE) for name in names) + 0.1
    for columns in range(min(most, panels), 0, -1):
        width = (style.TWO_COLUMNS - 2 * EDGE - (columns - 1) * GAP) / columns - widest
        if width >= NARROWEST and (columns < 3 or columns == panels):
            break
    return _Grid(columns, widest, width, axis)


def _panels(page: _Page, grid: _Grid, metrics: Sequence[str], height: float) -> Iterator[tuple[Axes, str]]:
    """An empty panel for each metric, with the metric's name; the page is filled line by line."""
    for start in range(0, len(metrics), grid.columns):
        page.filled += PANEL_TITLE
        for place, metric in enumerate(metrics[start : start + grid.columns]):
            axes = page.panel(grid.left(place), grid.width, height)
            style.write_above(axes, -grid.names / grid.width, metric, weight="bold")
            yield axes, metric
        page.filled += height + grid.axis


def _draw_boxes(axes: Axes, statistics: FigureStatistics, metric: str, methods: Sequence[str]) -> None:
    letter_values, circles = _tables(statistics, metric, "letter_values", "circles")
    if letter_values["value"].notna().any():
        draw_letter_values(axes, letter_values, circles, methods)
        style.write_above(axes, 1, words_on_datasets(letter_values), ha="right", size=SMALL, color=style.GREY)
    else:
        style.say_in(axes, _reason(statistics, metric, "no usable run", "Cohen's d"))


def _draw_ranks(axes: Axes, statistics: FigureStatistics, metric: str, methods: Sequence[str], rows: float) -> None:
    ranks, groups, friedman = _tables(statistics, metric, "ranks", "groups", "friedman")
    if len(ranks):
        limits = rank_limits(statistics.tables["ranks"])
        draw_critical_difference(axes, ranks, groups, methods, limits=limits, rows=rows)
        style.write_above(axes, 1, words_on_test(friedman), ha="right", size=SMALL, color=style.GREY)
    else:
        style.say_in(axes, _reason(statistics, metric, "rank tests"))


def _bars_heights(
    statistics: FigureStatistics, metric: str, methods: Sequence[str], panel: float
) -> tuple[float, float]:
    """Of a panel of bars (`panel`, less if it only says why it is empty), and of the names of datasets below it."""
    (per_dataset,) = _tables(statistics, metric, "per_dataset")
    datasets = sorted_datasets(per_dataset, methods)
    angle, size = name_size(datasets, BARS_WIDTH)
    names = [style.plain(style.short_name(dataset)) for dataset in datasets] if angle else []
    below = max((style.text_inches(name, size) for name in names), default=size / 72)
    return panel if datasets else 0.4, 0.16 + below


def _add_bars(
    page: _Page,
    statistics: FigureStatistics,
    metric: str,
    methods: Sequence[str],
    heights: tuple[float, float],
    *,
    published: pd.DataFrame | None = None,
    with_legend: bool = True,
) -> None:
    """A panel of bars below a heading, of those methods that have differences."""
    (per_dataset,) = _tables(statistics, metric, "per_dataset")
    found = set(per_dataset.loc[per_dataset["difference"].notna(), "method"])
    methods = [method for method in methods if method in found]
    left = style.TWO_COLUMNS - EDGE - BARS_WIDTH
    axes = page.panel(left, BARS_WIDTH, heights[0])
    page.filled += sum(heights)
    if not methods:
        style.say_in(axes, _reason(statistics, metric, "no usable run"))
        return
    with_published = draw_difference_bars(axes, per_dataset, metric, methods, published=published)
    # At the left edge of the page in all panels, however wide the ticks' labels are.
    axes.yaxis.set_label_coords((EDGE - left) / BARS_WIDTH, 0.5)
    axes.yaxis.label.set_verticalalignment("top")
    if with_legend:
        add_legend(axes, methods, with_published=with_published)


def _tables(statistics: FigureStatistics, metric: str, *names: str) -> list[pd.DataFrame]:
    """Tables of one metric."""
    return [table[table["metric"] == metric] for table in (statistics.tables[name] for name in names)]


def _reason(statistics: FigureStatistics, metric: str, *subjects: str) -> str:
    """Why a panel is empty: the note on one of `subjects` for this metric ("NLL, PCE: ..."), or one on all metrics."""
    on_all = ["no usable results for this panel"]
    for note in statistics.notes:
        of, colon, remark = note.partition(": ")
        if colon and metric in of.split(", ") and any(subject in remark for subject in subjects):
            return remark
        if not colon:
            on_all.insert(0, note)
    return on_all[0]
