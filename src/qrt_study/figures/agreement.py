"""Our differences to BASE against the published ones, dataset by dataset, and the p-values of their distances."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox
from scipy import stats

from qrt_study.figures import style
from qrt_study.figures.difference_bars import NLL_THRESHOLD
from qrt_study.statistics.agreement import LEVEL, ordered_p_values, outliers

TITLE = "test NLL minus that of BASE: ours and published"
HEIGHT = 3.1
_ANGLES = np.deg2rad([45, 135, -45, -135, 0, 180, 90, -90])
# Where the name of an outlier may stand, in points from its marker.
_PLACES = [
    (distance * float(np.cos(angle)), distance * float(np.sin(angle))) for distance in (6, 13, 21) for angle in _ANGLES
]


def draw_agreement(points: pd.DataFrame) -> Figure:
    """One panel per method (published on x, ours on y, one standard error each), and one of the ordered p-values.

    `points`: `qrt_study.statistics.agreement.agreement_statistics`. Both axes are the same, linear near zero as in the
    published Figure 2. In the shaded quarters the signs differ. Outliers have names.
    """
    if points.empty:
        return style.message_figure("This study has no dataset of the published Figure 2.", TITLE)
    methods = list(points["method"].unique())
    widths = [*[1.0] * len(methods), 0.85]
    figure, grid = plt.subplots(1, len(widths), figsize=(style.TWO_COLUMNS, HEIGHT), width_ratios=widths, squeeze=False)
    figure.subplots_adjust(left=0.09, right=0.99, top=0.84, bottom=0.64 / HEIGHT, wspace=0.3)
    low, high = _range(points)
    for axes, method in zip(grid[0], methods, strict=False):
        _draw_panel(axes, points[points["method"] == method], method, low, high)
    grid[0][0].set_ylabel("ours")
    _draw_p_values(grid[0][-1], points, methods)
    style.add_title(figure, TITLE)
    return figure


def _range(points: pd.DataFrame) -> tuple[float, float]:
    """The lowest and highest value, for both axes of all panels; an error bar as long as its value may leave them."""
    values = points[["ours", "published"]].to_numpy(float)
    return float(values.min()), float(values.max())


def _draw_panel(axes: Axes, points: pd.DataFrame, method: str, low: float, high: float) -> None:
    style.symlog_axis(axes, "y", low, high, NLL_THRESHOLD)
    scale = style.symlog_axis(axes, "x", low, high, NLL_THRESHOLD)
    left, right = axes.get_xlim()
    for x, y in (((left, 0), (0, right)), ((0, right), (left, 0))):
        axes.fill_between(x, *y, color="#f2f2f2", linewidth=0, zorder=0)
    axes.plot([left, right], [left, right], color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
    far = outliers(points)["dataset"]
    shade, dark = style.colour(method), style.text_colour(method)
    is_far = points["dataset"].isin(far)
    axes.errorbar(
        points["published"], points["ours"], xerr=points["published_standard_error"].fillna(0),
        yerr=points["ours_standard_error"].fillna(0), fmt="none", ecolor=style.light(shade, 0.45), elinewidth=0.6,
        zorder=2,
    )  # fmt: skip
    for chosen, face in ((points[~is_far], shade), (points[is_far], "white")):
        axes.scatter(
            chosen["published"], chosen["ours"], s=13, color=face, edgecolors=dark, linewidths=0.7, zorder=3,
        )  # fmt: skip
    tested = int(points["p_value"].notna().sum())
    axes.set_title(f"{style.plain(method)}: {len(far)} of {tested} outside, {LEVEL * tested:.1f} expected", fontsize=7)
    axes.set_xlabel(f"published ({scale})" if scale else "published")
    _name(axes, points[is_far], points, dark)


def _draw_p_values(axes: Axes, points: pd.DataFrame, methods: list[str]) -> None:
    """The ordered p-values against what to expect of them: a line, and the range that holds 95 % of each alone."""
    most = 0
    for method in methods:
        values, expected = ordered_p_values(points[points["method"] == method])
        axes.plot(
            expected, values, marker="o", markersize=2.6, linestyle="none", color=style.colour(method),
            label=style.plain(method), zorder=3, clip_on=False,
        )  # fmt: skip
        most = max(most, len(values))
    if not most:
        style.say_in(axes, "No p-values: they need two splits.")
        return
    place = np.arange(1, most + 1)
    low, high = (stats.beta.ppf(tail, place, most - place + 1) for tail in (0.025, 0.975))
    axes.fill_between(place / (most + 1), low, high, color="#ececec", linewidth=0, zorder=0)
    axes.plot([0, 1], [0, 1], color=style.GREY, linewidth=0.7, linestyle=(0, (4, 2)), zorder=1)
    axes.axhline(LEVEL, color=style.GREY, linewidth=0.5, linestyle=":", zorder=1)
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="expected if equal", ylabel="p-value of the distance")
    axes.set_title("p-values in order", fontsize=7)
    axes.legend(loc="upper left", handletextpad=0.2)


def _name(axes: Axes, named: pd.DataFrame, points: pd.DataFrame, colour: str) -> None:
    """Names beside the outliers, each where it touches neither a marker nor another name, if there is such a place."""
    where = axes.transData.transform(points[["published", "ours"]].to_numpy(float))
    taken = [Bbox.from_bounds(x - 3, y - 3, 6, 6) for x, y in where]
    for row in named.itertuples():
        best, fewest = None, np.inf
        for x, y in _PLACES:
            label = axes.annotate(
                style.plain(style.short_name(row.dataset)), (row.published, row.ours), (x, y),
                textcoords="offset points", fontsize=5.5, color=colour, zorder=4, va="center",
                ha="left" if x > 1 else "right" if x < -1 else "center",
                arrowprops={"arrowstyle": "-", "color": style.GREY, "linewidth": 0.3, "shrinkA": 0, "shrinkB": 2},
            )  # fmt: skip
            box = _letters(label)
            outside = not (axes.bbox.x0 <= box.x0 and box.x1 <= axes.bbox.x1)
            clashes = sum(box.overlaps(other) for other in taken) + 10 * outside
            if clashes >= fewest:
                label.remove()
                continue
            if best is not None:
                best.remove()
            best, fewest = label, clashes
            if not clashes:
                break
        assert best is not None
        taken.append(_letters(best))


def _letters(label: Annotation) -> Bbox:
    """The box around the letters, without the line to the marker."""
    label.get_window_extent()  # moves the letters to their place
    return Text.get_window_extent(label)
