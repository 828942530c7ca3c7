"""Drawing Figure 11: calibration maps of PITs whose true distribution is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from qrt_study.figures import style
from qrt_study.statistics.figure_statistics import FigureStatistics

_MAPS = ("EMP", "KDE", "TRUNC", "REFL")
_DASHES = {"EMP": "-", "KDE": (0, (1, 1)), "TRUNC": (0, (4, 1.4)), "REFL": "-"}
_END = 0.12  # of [0, 1], shown enlarged


def leaked_mass(maps: pd.DataFrame) -> tuple[float, float]:
    """The mass that KDE puts below 0 and above 1."""
    kde = maps[maps["map"] == "KDE"].set_index("z")["cdf"]
    return float(kde.loc[0.0]), 1 - float(kde.loc[1.0])


def draw_calibration_maps(statistics: FigureStatistics, *, title: str) -> Figure:
    """CDFs and densities of the maps in the tables `maps` and `sample`, whole and at the lower end."""
    maps, sample = statistics.tables["maps"], statistics.tables["sample"]["z"].to_numpy(float)
    figure, panels = style.panels_above_footer(2, 2, height=3.9, width_ratios=(3, 2))
    style.add_title(figure, title)
    for column, (left, right) in enumerate(((0.0, 1.0), (0.0, _END))):
        cdf, pdf = panels[:, column]
        _draw(cdf, maps, "cdf", left, right)
        _draw(pdf, maps, "density", left, right)
        _rug(pdf, sample)
        pdf.set_xlabel("PIT" if right == 1 else "PIT, lower end enlarged")
    panels[0, 0].set_ylabel("CDF")
    panels[1, 0].set_ylabel("density")
    panels[0, 0].legend(loc="upper left", ncols=2)
    _point_at_leak(panels[0, 1], maps)
    return figure


def _draw(axes: Axes, maps: pd.DataFrame, column: str, left: float, right: float) -> None:
    shown = maps[(maps["z"] >= left) & (maps["z"] <= right)]
    for name in ("TRUE", *_MAPS):
        curve = shown[shown["map"] == name]
        # The true density has no bound at the ends.
        values = curve[column].astype(float).replace(np.inf, np.nan).to_numpy()
        if not np.isfinite(values).any():
            continue
        if name == "TRUE":
            axes.plot(curve["z"], values, color=style.GREY, linewidth=0.7, label="true (Beta)", zorder=1)
            continue
        (line,) = axes.plot(curve["z"], values, color=style.colour(name), linestyle=_DASHES[name], label=name)
        if name == "EMP":
            line.set(drawstyle="steps-post", linewidth=0.8)
        if name == "KDE":
            line.set(zorder=4)  # away from the ends REFL is the same curve
    axes.set_xlim(left, right)
    estimates = shown.loc[shown["map"].isin(_MAPS), column].max()
    if column == "density":
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        lowest = shown.loc[shown["map"] != "EMP", column].min()
        axes.set_ylim(lowest / 1.4, estimates * 1.6)
    elif right == 1:
        axes.set_ylim(0, 1)
    else:
        axes.set_ylim(0, shown["cdf"].max() * 1.05)


def _rug(axes: Axes, sample: np.ndarray) -> None:
    """The PITs as ticks along the x axis."""
    left, right = axes.get_xlim()
    inside = sample[(sample >= left) & (sample <= right)]
    at_axis = axes.get_xaxis_transform()
    axes.plot(inside, np.full_like(inside, 0.02), "|", color=style.INK, markersize=4, alpha=0.35, transform=at_axis)


def _point_at_leak(axes: Axes, maps: pd.DataFrame) -> None:
    below, above = leaked_mass(maps)
    axes.annotate(
        f"KDE starts at {below:.3f}:\nmass {below:.3f} below 0\nand {above:.3f} above 1",
        xy=(0, below),
        xytext=(0.97, 0.06),
        textcoords="axes fraction",
        ha="right",
        va="bottom",
        fontsize=6.5,
        color=style.text_colour("KDE"),
        arrowprops={"arrowstyle": "->", "color": style.colour("KDE"), "linewidth": 0.7},
    )
