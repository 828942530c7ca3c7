"""The one look of all figures: sizes, colours, markers, names of datasets, axes, footers, the same bytes each time."""

from __future__ import annotations

import logging
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from fontTools import subset
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.scale import SymmetricalLogScale, SymmetricalLogTransform
from matplotlib.text import Text
from matplotlib.textpath import TextPath
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from qrt.atomic import whole_file
from qrt_study.data.sheet import paper_datasets

mpl.use("Agg")  # figures go to files, also where there is a display
logging.getLogger("fontTools").setLevel(logging.ERROR)  # it warns of the dates of Matplotlib's own fonts

# Widths in inches of one and two columns of the paper.
ONE_COLUMN, TWO_COLUMNS = 3.25, 6.75
FOOTER = 0.25  # inches, left free at the bottom of a figure
GREY, INK = "#8c8c8c", "#222222"
FIT = "#c1272d"  # fitted lines
LONGEST_NAME = 18
FONT, TICK_SIZE = "DejaVu Sans", 6.5

# Okabe and Ito's palette, which colour-blind readers can tell apart; every method also has its marker.
_BLUE, _ORANGE, _GREEN, _SKY = "#0072b2", "#d55e00", "#009e73", "#56b4e9"
_PURPLE, _AMBER, _BLACK = "#cc79a7", "#e69f00", "#4d4d4d"
_METHODS: dict[str, tuple[str, str]] = {
    "BASE": (_BLACK, "s"),
    "BASE-TRAIN": (_BLACK, "D"),
    "QRC": (_ORANGE, "o"),
    "QREGC": (_GREEN, "^"),
    "QRT": (_SKY, "v"),
    "QRTC": (_BLUE, "*"),
    "QRIC": (_PURPLE, "P"),
    "QRGC": (_AMBER, "X"),
    "QRLC": (_SKY, "d"),
    "QRC-STOP": (_PURPLE, "P"),
    "QRTC-KDE": (_PURPLE, "P"),
    "QRTC-TRUNC": (_AMBER, "X"),
    "QRTC-REFL": (_BLUE, "*"),
    "QRTC-MLP-1": (_SKY, "v"),
    "QRTC-MLP-3": (_BLUE, "*"),
    "QRTC-MLP-10": (_PURPLE, "P"),
    "QRTC-ResNet-3": (_AMBER, "X"),
    "BASE-MLP-3": (_BLACK, "s"),
    "EMP": (_BLACK, "s"),
    "KDE": (_PURPLE, "P"),
    "TRUNC": (_AMBER, "X"),
    "REFL": (_BLUE, "*"),
}
_MARKERS = ("o", "^", "v", "P", "X", "d", "h", "<", ">", "p", "8", "D")


def colour(method: str, methods: Sequence[str] = ()) -> str:
    """The colour of a method. One that is a value of a parameter is coloured by its place among `methods`.

    What is neither known nor in the list has the look of a baseline.
    """
    if method in _METHODS:
        return _METHODS[method][0]
    others = [name for name in methods if name not in _METHODS]
    if method not in others:
        return _BLACK
    return mpl.colors.to_hex(mpl.colormaps["viridis"](0.05 + 0.8 * others.index(method) / max(1, len(others) - 1)))


def marker(method: str, methods: Sequence[str] = ()) -> str:
    """The marker of a method."""
    if method in _METHODS:
        return _METHODS[method][1]
    others = [name for name in methods if name not in _METHODS]
    return _MARKERS[others.index(method) % len(_MARKERS)] if method in others else "s"


def draw_marker(axes: Axes, x: float, y: float, method: str, methods: Sequence[str] = ()) -> None:
    """The marker of a method at one point. A star covers less than other markers of its size: it is drawn larger."""
    shape = marker(method, methods)
    size = 7.0 if shape == "*" else 4.5
    axes.plot(
        [x], [y], marker=shape, markersize=size, color=colour(method, methods), markeredgecolor="white",
        markeredgewidth=0.4, linestyle="none", zorder=5, clip_on=False,
    )  # fmt: skip


def text_colour(method: str, methods: Sequence[str] = ()) -> str:
    """The colour of a method, darkened until letters in it stand out from white (contrast 4.5, as WCAG asks for)."""
    red, green, blue = mpl.colors.to_rgb(colour(method, methods))
    while 1.05 / (_luminance(red, green, blue) + 0.05) < 4.5:
        red, green, blue = 0.95 * red, 0.95 * green, 0.95 * blue
    return mpl.colors.to_hex((red, green, blue))


def _luminance(*rgb: float) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def light(colour_name: str, share: float = 0.5) -> str:
    """`colour_name` mixed with white: `share` = 1 is white."""
    red, green, blue = (part + (1 - part) * share for part in mpl.colors.to_rgb(colour_name))
    return mpl.colors.to_hex((red, green, blue))


def name_rows(axes: Axes, names: Sequence[str], methods: Sequence[str]) -> None:
    """Rows 0, 1, ... of a panel have the names of methods, in their colours, and no axis line."""
    axes.set_yticks(range(len(names)), [plain(method_name(name)) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    for label, name in zip(axes.get_yticklabels(), names, strict=True):
        label.set_color(text_colour(name, methods))


def short_name(dataset: str) -> str:
    """The paper's abbreviation of a dataset; a long name of another one is cut."""
    row = paper_datasets().get(dataset)
    if row is not None:
        return row.abbreviation
    return dataset if len(dataset) <= LONGEST_NAME else f"{dataset[: LONGEST_NAME - 1]}…"


def method_name(method: str) -> str:
    """A method as figures name it: the weight `alpha=-0.05` is `α = −0.05`."""
    name, equals, value = method.partition("=")
    return f"α = {value}".replace("-", "\N{MINUS SIGN}") if (name, equals) == ("alpha", "=") else method


def plain(text: str) -> str:
    """`text` as matplotlib shows it letter by letter: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


@contextmanager
def paper_style() -> Iterator[None]:
    """Fonts, lines and colours of the paper's figures, for everything drawn and saved inside."""
    settings: Any = {
        "font.family": FONT,
        "font.size": 7,
        "axes.titlesize": 8,
        "axes.titley": 1.0,  # where it is anyway: no axis is above a panel, and looking for one takes time
        "axes.labelsize": 7,
        "xtick.labelsize": TICK_SIZE,
        "ytick.labelsize": TICK_SIZE,
        "legend.fontsize": 6.5,
        "axes.linewidth": 0.6,
        "axes.edgecolor": INK,
        "axes.labelcolor": INK,
        "text.color": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": "#e4e4e4",
        "grid.linewidth": 0.5,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 1.1,
        "figure.dpi": 100,
        "pdf.fonttype": 42,  # text stays text
        "svg.fonttype": "none",
        "svg.hashsalt": "qrt",
        "text.usetex": False,
    }
    with mpl.rc_context(settings):
        yield


def panels_above_footer(rows: int, columns: int, height: float, pads: float | None = None, **shares: Any) -> Any:
    """A figure of two columns' width and its panels (rows, columns), which leave room for a footer."""
    below = FOOTER / height
    layout = ConstrainedLayoutEngine(rect=(0, below, 1, 1 - below), w_pad=pads, h_pad=pads)
    return plt.subplots(rows, columns, figsize=(TWO_COLUMNS, height), layout=layout, squeeze=False, **shares)


def write_above(axes: Axes, across: float, text: str, up: float = 3, **font: Any) -> None:
    """Text above a panel, at a share of its width and some points up."""
    axes.annotate(text, (across, 1), (0, up), xycoords="axes fraction", textcoords="offset points", **font)


def legend_above(axes: Axes, handles: Sequence[Any]) -> None:
    """A legend in one line above the right end of a panel."""
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(handles), borderaxespad=0.1,
        handlelength=1.2, handletextpad=0.4, columnspacing=1.2,
    )  # fmt: skip


def add_title(figure: Figure, title: str) -> Text:
    """The title of a whole figure, at its upper left corner."""
    return figure.suptitle(plain(title), fontsize=8.5, fontweight="bold", x=0.01, ha="left")


def add_footer(figure: Figure, text: str) -> None:
    """What the figure is based on, in small letters below everything (the figure must have room for it)."""
    width = int(figure.get_figwidth() * 26)
    figure.text(0.01, 0.004, plain("\n".join(textwrap.wrap(text, width))), fontsize=5, color=GREY, va="bottom")


def message_figure(message: str, title: str = "") -> Figure:
    """A figure that says why there is nothing to draw."""
    figure = plt.figure(figsize=(TWO_COLUMNS, 1.6))
    figure.text(0.01, 0.9, plain(title), size=8.5, weight="bold")
    figure.text(0.5, 0.5, plain("\n".join(textwrap.wrap(message, 90))), ha="center", va="center", color=GREY)
    return figure


def say_in(axes: Axes, message: str) -> None:
    """The reason why this panel is empty, in the panel."""
    axes.set_axis_off()
    text = plain("\n".join(textwrap.wrap(message, max(16, int(panel_inches(axes)[0] * 19)))))
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)


def panel_inches(axes: Axes) -> tuple[float, float]:
    """Width and height of a panel as it is placed now."""
    box, dpi = axes.get_window_extent(), axes.figure.dpi
    return box.width / dpi, box.height / dpi


@cache
def text_inches(text: str, size: float) -> float:
    """How wide `text` will be in the font of the figures at `size` points."""
    if not text.strip():
        return 0.0
    return float(TextPath((0, 0), text, size=size, prop=FontProperties(family=FONT)).get_extents().x1) / 72


def symlog_axis(axes: Axes, which: Literal["x", "y"], low: float, high: float, threshold: float) -> str:
    """Make one axis linear within +-`threshold` and logarithmic beyond, from `low` to `high` and a little more.

    The linear part is always in view and takes about a third of the axis at least, however far the outliers are. Labels
    stand at 0, at powers of ten times `threshold`, as many as there is room for, and beyond `threshold` on each side
    that goes there. Returns the words on this scale for the axis's own label, which are none if all of it is linear.
    """
    low, high = -_reach(-low, threshold), _reach(high, threshold)
    decades = math.log10(low / -threshold) + math.log10(high / threshold)
    linear_decades = max(1.0, decades / 4)
    scale = SymmetricalLogTransform(10, threshold, linear_decades)
    start, stop = scale.transform(np.array([low, high]))
    margin = 0.04 * (stop - start)
    limits = scale.inverted().transform(np.array([start - margin, stop + margin])).tolist()
    axes.set(**{f"{which}scale": SymmetricalLogScale(None, linthresh=threshold, linscale=linear_decades)})
    axes.set(**{f"{which}lim": limits})

    inches, gap = (panel_inches(axes)[0], 0.04) if which == "x" else (panel_inches(axes)[1], 0.02)

    def fits(values: Sequence[float]) -> bool:
        at = inches * (scale.transform(np.array(values)) - start + margin) / (stop - start + 2 * margin)
        widths = [text_inches(power_label(value), TICK_SIZE) if which == "x" else 0.085 for value in values]
        return all(b - a > (v + w) / 2 + gap for a, b, v, w in zip(at, at[1:], widths, widths[1:], strict=False))

    powers = [threshold * 10.0**k for k in range(20) if threshold * 10.0**k <= max(-limits[0], limits[1])]
    halves = [*powers, *(power / 2 for power in (*powers, 10 * powers[-1]))]
    beyond = [
        sign * threshold * part for sign, end in ((-1, -limits[0]), (1, limits[1])) for part in _beyond(end / threshold)
    ]
    # All of them, or every second, third, ... power, the largest among them.
    choices = [halves, powers, *(powers[::-step] for step in range(2, len(powers) + 1)), []]
    labels = (sorted({0.0, *_within(limits, choice), *more}) for more in (beyond, ()) for choice in choices)
    ticks = next((values for values in labels if fits(values)), [0.0])
    for end in (-threshold, threshold):
        ticks = next(values for values in (sorted({*ticks, end}), ticks) if fits(values))
    between = [part * power for power in powers for part in range(1, 10) if part == 1 or decades < 6]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(FixedLocator(_within(limits, between)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: power_label(value)))
    axis.set_minor_formatter(NullFormatter())
    axis.set_tick_params(which="minor", width=0.4, length=1.5)
    return f"linear to ±{power_label(threshold)}, then log" if decades else ""


def _reach(end: float, threshold: float) -> float:
    """How far a side of the axis goes: where values are just beyond the threshold, a label beyond it has room, too."""
    return max(end, 2 * threshold) if end > threshold else threshold


def _beyond(end: float) -> list[int]:
    """The label between 1 and 10 of a side that ends there, in thresholds; if it goes further, it has powers of ten."""
    return [part for part in (2, 3, 5) if part <= end][-1:] if end < 10 else []


def _within(limits: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """The sizes with both signs, as far as they are between the limits."""
    return [sign * size for size in sizes for sign in (-1, 1) if limits[0] <= sign * size <= limits[1]]


def power_label(value: float) -> str:
    """A tick's label: `0.01`, `−10`, and where that would be long `10⁵`."""
    size = abs(value)
    if value == 0 or 0.999e-4 < size < 0.999e4:
        return f"{value:.6g}".replace("-", "\N{MINUS SIGN}")
    exponent = math.floor(math.log10(size) + 1e-9)
    digits = f"{size / 10.0**exponent:.2g}"
    factor = "" if digits == "1" else rf"{digits}{{\cdot}}"
    return f"${'-' if value < 0 else ''}{factor}10^{{{exponent}}}$"


@contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """Fonts in PDFs without the tables for setting text, which matplotlib has set: they take most of a font's time."""
    usual = subset.Options._drop_tables_default
    subset.Options._drop_tables_default = [*usual, "GDEF", "GPOS", "GSUB"]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = usual


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write both files, whole or not at all; the same figure gives the same bytes. Closes the figure."""
    with _fonts_without_layout(), whole_file(pdf) as partial:
        figure.savefig(partial, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    with whole_file(png) as partial:
        figure.savefig(partial, format="png", dpi=200, metadata={"Software": None})
    plt.close(figure)
