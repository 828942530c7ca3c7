"""Drawing Figures 23 to 28: predictive densities of a few test rows, one row of panels per method."""

from __future__ import annotations

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from qrt_study.figures import style
from qrt_study.statistics.densities import METHODS
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics

_FLATTEST = 1 / 4  # the flattest curve of a column takes at least this share of the panel's height
_VISIBLE = 0.01  # share of the height below which a curve is not worth width


def draw_densities(statistics: FigureStatistics, *, dataset: str, title: str) -> Figure:
    """One column per test row, one row per method (`densities`), the realised target and its NLL (`instances`).

    A method that has not run yet has no row; one that failed has a row that says why.
    Panels of a column have common limits. A peak that would make the flattest curve of its column too flat to see is
    cut at the top of the panel, which then says how high it is.
    """
    densities, instances = statistics.tables["densities"], statistics.tables["instances"]
    if densities.empty:
        return style.message_figure("; ".join(statistics.notes) or "There are no results to draw.", title)
    rows = sorted(densities["row"].unique())
    not_run = {entry.what for entry in statistics.left_out if entry.reason == NOT_RUN_YET}
    methods = [method for method in METHODS if f"{method} on {dataset}" not in not_run]
    height = 3.6 - 1.0 * (len(METHODS) - len(methods))
    figure, panels = style.panels_above_footer(len(methods), len(rows), height, 0.02)
    style.add_title(figure, title)
    for column, row in zip(panels.T, rows, strict=True):
        curves, marks = densities[densities["row"] == row], instances[instances["row"] == row]
        top = panel_height(curves)
        limits = _x_limits(curves, marks, top)
        for axes, method in zip(column, methods, strict=True):
            axes.set(xlim=limits, ylim=(0, top))
            curve, mark = curves[curves["method"] == method], marks[marks["method"] == method]
            if curve.empty:
                axes.set_axis_off()
            else:
                _draw(axes, curve, mark.iloc[0], method, top)
        for axes in column[:-1]:
            axes.tick_params(labelbottom=False)
        style.write_above(column[0], 0.5, f"test row {row + 1}", 11, ha="center", va="bottom")
    middle = len(rows) // 2
    panels[-1, middle].set_xlabel("target y; red: the realised value and its density")
    for line, method in zip(panels, methods, strict=True):
        if method in set(densities["method"]):
            line[0].set_ylabel(f"{method}\ndensity", color=style.text_colour(method))
        else:
            _say_missing(line[middle], method, statistics)
    return figure


def panel_height(curves: pd.DataFrame) -> float:
    """The upper limit of the density axis for the curves of one test row (column `method` tells them apart)."""
    finite = curves[np.isfinite(curves["density"].astype(float))]
    peaks = finite.groupby("method")["density"].max()
    peaks = peaks[peaks > 0]
    return float(min(peaks.max(), peaks.min() / _FLATTEST)) * 1.06 if len(peaks) else 1.0


def _x_limits(curves: pd.DataFrame, marks: pd.DataFrame, top: float) -> tuple[float, float]:
    """Where a curve can be seen, and the target: grids reach further for targets or components far away."""
    seen = curves.loc[curves["density"] >= _VISIBLE * top, "y"]
    shown = np.concatenate([seen.to_numpy(float), marks["target"].to_numpy(float)])
    low, high = float(shown.min()), float(shown.max())
    margin = 0.05 * (high - low) or max(abs(high), 1) * 0.05
    return low - margin, high + margin


def _draw(axes: Axes, curve: pd.DataFrame, mark: pd.Series, method: str, top: float) -> None:
    y, density = curve["y"].to_numpy(float), curve["density"].to_numpy(float)
    colour = style.colour(method)
    axes.fill_between(y, np.minimum(density, 2 * top), color=colour, alpha=0.25, linewidth=0)
    axes.plot(y, density, color=colour, linewidth=1)
    target, nll = float(mark["target"]), float(mark["nll"])
    axes.axvline(target, color=style.FIT, linewidth=0.9, zorder=1)
    # Between two points of the grid a curve may hide a spike: the NLL says how high it is at the target.
    realised = np.exp(-nll) if -nll < np.log(top) else top
    axes.plot([target], [realised], "o", color=style.FIT, markersize=2.6, zorder=3, clip_on=False)
    axes.set_title(_number(f"NLL {nll:.2f}"), loc="left", fontsize=6, pad=2)
    peak = np.fmax.reduce(density)  # without missing values
    if peak > top:
        axes.set_title(f"peak {peak:.3g} ↑", loc="right", fontsize=6, pad=2, color=style.text_colour(method))
    axes.xaxis.set_major_locator(MaxNLocator(3, min_n_ticks=2))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _thousands(value)))
    axes.yaxis.set_major_locator(MaxNLocator(2, min_n_ticks=2))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axes.tick_params(labelsize=5.5, pad=1.5, length=2)


def _say_missing(axes: Axes, method: str, statistics: FigureStatistics) -> None:
    reasons = [note for note in statistics.notes if note.startswith(f"{method} on ")]
    message = reasons[0] if reasons else f"no prediction of {method}"
    axes.set_axis_off()
    text = style.plain("\n".join(textwrap.wrap(message, 80)))
    axes.text(
        0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=style.GREY, in_layout=False
    )  # fmt: skip


def _thousands(value: float) -> str:
    """A tick's label with few letters: 250k for 250000, 1.5M for 1500000."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= unit:
            return _number(f"{value / (1e3 if letter == 'k' else unit):g}{letter}")
    return _number(f"{value:g}")


def _power(value: float) -> str:
    """A density's label: 0.15, or 2·10⁻⁶."""
    if value == 0 or 1e-3 <= value < 1e4:
        return f"{value:g}"
    digits, exponent = f"{value:.2e}".split("e")
    return rf"${float(digits):g}\cdot10^{{{int(exponent)}}}$"


def _number(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
