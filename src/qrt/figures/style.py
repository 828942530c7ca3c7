"""The one look of all figures: sizes, colours, markers, names of datasets, footers, and files with the same bytes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from qrt.atomic import whole_file
from qrt.data.sheet import paper_datasets

mpl.use("Agg")  # figures go to files, also where there is a display

# Widths in inches of one and two columns of the paper.
ONE_COLUMN, TWO_COLUMNS = 3.25, 6.75
GREY, INK = "#8c8c8c", "#222222"
FIT = "#c1272d"  # fitted lines
LONGEST_NAME = 14

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
_MARKERS = ("o", "^", "v", "P", "X", "d", "h", "<", ">", "p", "8", "D", "s")


def colour(method: str, methods: Sequence[str] = ()) -> str:
    """The colour of a method. One that is a value of a parameter is coloured by its place among `methods`."""
    if method in _METHODS:
        return _METHODS[method][0]
    others = [name for name in methods if name not in _METHODS]
    place = others.index(method) / max(1, len(others) - 1) if method in others else 0.5
    return mpl.colors.to_hex(mpl.colormaps["viridis"](0.08 + 0.84 * place))


def marker(method: str, methods: Sequence[str] = ()) -> str:
    """The marker of a method."""
    if method in _METHODS:
        return _METHODS[method][1]
    others = [name for name in methods if name not in _METHODS]
    return _MARKERS[others.index(method) % len(_MARKERS)] if method in others else "o"


def short_name(dataset: str) -> str:
    """The paper's abbreviation of a dataset; a long name of another one is cut."""
    row = paper_datasets().get(dataset)
    if row is not None:
        return row.abbreviation
    return dataset if len(dataset) <= LONGEST_NAME else f"{dataset[: LONGEST_NAME - 1]}…"


def plain(text: str) -> str:
    """`text` as matplotlib shows it letter by letter: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


@contextmanager
def paper_style() -> Iterator[None]:
    """Fonts, lines and colours of the paper's figures, for everything drawn and saved inside."""
    settings: Any = {
        "font.family": "DejaVu Sans",
        "font.size": 7,
        "axes.titlesize": 8,
        "axes.labelsize": 7,
        "xtick.labelsize": 6.5,
        "ytick.labelsize": 6.5,
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


def add_footer(figure: Figure, text: str) -> None:
    """What the figure stands on, in small letters below everything (the figure must have room for it)."""
    width = int(figure.get_figwidth() * 26)
    figure.text(0.01, 0.004, plain("\n".join(textwrap.wrap(text, width))), fontsize=5, color=GREY, va="bottom")


def message_figure(message: str, title: str = "") -> Figure:
    """A figure that says why there is nothing to draw."""
    figure, axes = plt.subplots(figsize=(TWO_COLUMNS, 1.6))
    axes.axis("off")
    axes.set_title(plain(title))
    axes.text(0.5, 0.5, plain("\n".join(textwrap.wrap(message, 90))), ha="center", va="center", color=GREY)
    return figure


def say_in(axes: Axes, message: str) -> None:
    """The reason why this panel is empty, in the panel."""
    axes.set_axis_off()
    text = plain("\n".join(textwrap.wrap(message, 34)))
    axes.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axes.transAxes)


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Write both files, whole or not at all; the same figure gives the same bytes. Closes the figure."""
    with whole_file(pdf) as partial:
        figure.savefig(partial, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
    with whole_file(png) as partial:
        figure.savefig(partial, format="png", dpi=200, metadata={"Software": None})
    plt.close(figure)
