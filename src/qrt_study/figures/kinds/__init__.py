"""The kinds of figures, one module each: what a figure needs, its numbers, its picture, its headline.

A new kind is a module here and a row below; a figure of it is a row of `qrt_study.plan.artifacts.ARTIFACTS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from qrt_study.figures.figure_kind import FigureKind, RequiredResults
from qrt_study.figures.kinds.comparison import ComparisonFigure
from qrt_study.figures.kinds.decomposition import DecompositionFigure
from qrt_study.figures.kinds.densities import DensitiesFigure
from qrt_study.figures.kinds.differences import DifferencesFigure
from qrt_study.figures.kinds.discreteness import DiscretenessFigure
from qrt_study.figures.kinds.maps import MapsFigure
from qrt_study.figures.kinds.per_epoch import PerEpochFigure
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import Columns

KINDS: dict[str, FigureKind] = {
    "comparison": ComparisonFigure(),
    "differences": DifferencesFigure(),
    "decomposition": DecompositionFigure(),
    "per_epoch": PerEpochFigure(),
    "discreteness": DiscretenessFigure(),
    "maps": MapsFigure(),
    "densities": DensitiesFigure(),
}


def required_results(artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
    """The results that the numbers of a figure or comparison are computed from, in a study of these datasets."""
    return KINDS[artifact.kind].requires(artifact, datasets)


def statistics_tables(artifact: Artifact) -> tuple[str, ...]:
    """The names of the tables with the numbers of a figure or comparison, each a CSV file."""
    return tuple(KINDS[artifact.kind].tables)


def table_columns() -> dict[str, Columns]:
    """The columns of every statistics table."""
    return {name: columns for kind in KINDS.values() for name, columns in kind.tables.items()}
