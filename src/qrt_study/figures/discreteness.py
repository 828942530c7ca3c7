"""Drawing Figures 19 and 20: Cohen's d against the discreteness level of the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from qrt_study.figures import style
from qrt_study.figures.letter_value_plot import THRESHOLD
from qrt_study.plan.artifacts import DISCRETE
from qrt_study.statistics.discreteness import usable_points
from qrt_study.statistics.figure_statistics import FigureStatistics

_LABELS = 8  # per panel, as far as there is room
_POINT = 3.0  # points from a marker's centre to its edge
# Where a label may stand, as seen from its point (right, up); the best place first.
_PLACES = [(1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1)]


def draw_discreteness(statistics: FigureStatistics, *, method: str, metrics: Sequence[str], title: str) -> Figure:
    """One panel per metric: Cohen's d of each dataset (`per_dataset`), and its isotonic regression (`isotonic`)."""
    per_dataset, isotonic = statistics.tables["per_dataset"], statistics.tables["isotonic"]
    figure, panels = style.panels_above_footer(1, len(metrics), height=2.35)
    style.add_title(figure, title)
    drawn, scale = [], ""
    for axes, metric in zip(panels[0], metrics, strict=True):
        axes.set_title(metric, pad=13)
        points = usable_points(per_dataset, method, metric)
        if points.empty:
            style.say_in(axes, f"no dataset has a Cohen's d of {method} for {metric}")
            continue
        fit = isotonic[(isotonic["metric"] == metric) & (isotonic["method"] == method)]
        drawn.append((axes, points, fit))
        scale = _draw(axes, points, fit, method) or scale
    if drawn:
        drawn[0][0].set_ylabel("\n".join(filter(None, ["Cohen's d (below 0: better)", scale])))
    figure.draw_without_rendering()  # settles the layout, so that labels can be placed
    for axes, points, fit in drawn:
        _label_extremes(axes, points, fit)
    return figure


def _draw(axes: Axes, points: pd.DataFrame, fit: pd.DataFrame, method: str) -> str:
    """One panel; returns the words on its scale."""
    axes.axhline(0, color=style.GREY, linewidth=0.6, zorder=1)
    axes.axvline(DISCRETE, color=style.GREY, linewidth=0.6, linestyle=(0, (2, 2)), zorder=1)
    axes.scatter(
        points["discreteness"],
        points["cohens_d"],
        s=(2 * _POINT) ** 2 / 2.5,
        color=style.colour(method),
        alpha=0.75,
        linewidth=0,
        zorder=2,
    )
    marker = "o" if len(fit) == 1 else None  # a line through one point is not seen
    axes.plot(fit["discreteness"], fit["fitted"], color=style.FIT, linewidth=1.3, marker=marker, markersize=3, zorder=3)
    axes.set_xlim(-0.04, 1.04)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_xlabel("discreteness level")
    d = points["cohens_d"].to_numpy(float)
    scale = style.symlog_axis(axes, "y", d.min(), d.max(), THRESHOLD)
    rho, p_value = float(fit["spearman"].iloc[0]), float(fit["spearman_p"].iloc[0])
    words = _correlation(rho, p_value)
    style.write_above(axes, 0.5, words, ha="center", va="bottom", fontsize=6, color=style.INK)
    return scale


def _correlation(rho: float, p_value: float) -> str:
    if np.isnan(rho):
        return "no rank correlation"
    rho_text = f"Spearman ρ = {rho:.2f}".replace("-", "\N{MINUS SIGN}")
    if np.isnan(p_value):
        return rho_text
    p_text = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    return f"{rho_text}, {p_text}"


def _label_extremes(axes: Axes, points: pd.DataFrame, fit: pd.DataFrame) -> None:
    """Short names at the points with the largest |Cohen's d|, where no point, line or other name is in the way."""
    canvas = axes.get_figure().canvas  # type: ignore[union-attr]
    assert isinstance(canvas, FigureCanvasAgg)
    renderer = canvas.get_renderer()
    radius = _POINT * renderer.points_to_pixels(1)
    centres = axes.transData.transform(points[["discreteness", "cohens_d"]].to_numpy(float))
    line = axes.transData.transform(fit[["discreteness", "fitted"]].to_numpy(float))
    taken = [Bbox.from_bounds(x - radius / 2, y - radius / 2, radius, radius) for x, y in (*centres, *_along(line))]
    inside = axes.get_window_extent(renderer)
    size = points["cohens_d"].abs()
    extreme = points.assign(size=size).sort_values("size", ascending=False, kind="stable").head(_LABELS)
    if len(points) > _LABELS:
        extreme = extreme[extreme["size"] > size.median()]
    for row in extreme.itertuples():
        for right, up in _PLACES:
            label = axes.annotate(
                style.plain(style.short_name(str(row.dataset))),
                (row.discreteness, row.cohens_d),
                xytext=(_POINT * right, _POINT * up),
                textcoords="offset points",
                ha={1: "left", 0: "center", -1: "right"}[right],
                va={1: "bottom", 0: "center", -1: "top"}[up],
                fontsize=5,
                in_layout=False,
            )
            box = label.get_window_extent(renderer)
            if inside.contains(*box.min) and inside.contains(*box.max) and not box.count_overlaps(taken):
                taken.append(box)
                break
            label.remove()


def _along(line: np.ndarray) -> np.ndarray:
    """Points (n, 2) every few pixels along a line given by its corners (m, 2)."""
    steps = np.linspace(0, 1, 20)[:, None]
    return np.concatenate([line, *(start + steps * (end - start) for start, end in pairwise(line))])
