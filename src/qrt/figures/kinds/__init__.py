"""The kinds of figures, one module each: what a figure needs, its numbers, its picture, its headline.

A new kind is a module here and a row below; a figure of it is a row of `qrt.study.artifacts.ARTIFACTS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from qrt.figures.figure_kind import FigureKind, Needs
from qrt.figures.kinds.comparison import ComparisonFigure
from qrt.figures.kinds.decomposition import DecompositionFigure
from qrt.figures.kinds.densities import DensitiesFigure
from qrt.figures.kinds.differences import DifferencesFigure
from qrt.figures.kinds.discreteness import DiscretenessFigure
from qrt.figures.kinds.maps import MapsFigure
from qrt.figures.kinds.pages import PagesFigure
from qrt.statistics.columns import Columns
from qrt.study.artifacts import Artifact

KINDS: dict[str, FigureKind] = {
    "comparison": ComparisonFigure(),
    "differences": DifferencesFigure(),
    "decomposition": DecompositionFigure(),
    "pages": PagesFigure(),
    "discreteness": DiscretenessFigure(),
    "maps": MapsFigure(),
    "densities": DensitiesFigure(),
}


def needed_tables(artifact: Artifact, datasets: Sequence[str]) -> Needs:
    """The results that a figure draws from, in a study of these datasets."""
    return KINDS[artifact.kind].needs(artifact, datasets)


def statistics_tables(artifact: Artifact) -> tuple[str, ...]:
    """The names of the tables that are saved beside a figure."""
    return tuple(KINDS[artifact.kind].tables)


def table_columns() -> dict[str, Columns]:
    """The columns of every statistics table."""
    return {name: columns for kind in KINDS.values() for name, columns in kind.tables.items()}
