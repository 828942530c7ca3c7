"""What a kind of figure has to say of itself; the kinds are in `qrt.figures.kinds`.

Every call of Snakemake imports the kinds to plan, so whatever draws or tests (Matplotlib, SciPy, seaborn, scikit-learn)
is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import pandas as pd

from qrt.statistics.columns import Columns
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.artifacts import Artifact
from qrt.study.config import StudyConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Needs:
    """The results that a figure draws from.

    `examples`: the figure shows `datasets` alone and needs nothing else of the study, neither other datasets nor other
    experiments than `qrt.study.artifacts.EXAMPLE_EXPERIMENTS`.
    """

    datasets: tuple[str, ...] = ()  # whose records are read
    experiments: tuple[str, ...] = ()  # whose tuned methods are read
    tables: tuple[str, ...] = ()  # result tables besides `methods`
    examples: bool = False


@dataclass(frozen=True)
class Results:
    """The result tables that a figure draws from; those it does not need are empty."""

    records: Mapping[str, Mapping[str, Any]]  # of the prepared datasets
    methods: pd.DataFrame
    curves: pd.DataFrame
    predictions: pd.DataFrame
    maps: pd.DataFrame
    sample: pd.DataFrame

    @property
    def discreteness(self) -> dict[str, float]:
        """The top-10 share of each dataset that there is."""
        return {name: record["top10"] for name, record in self.records.items() if record["status"] == "available"}


class FigureKind(Protocol):
    """All that distinguishes one kind of figure from another."""

    @property
    def tables(self) -> Mapping[str, Columns]:
        """The statistics tables behind a figure, with their columns."""

    def needs(self, artifact: Artifact, datasets: Sequence[str]) -> Needs:
        """What a figure needs in a study of these datasets."""

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Every number of a figure."""

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """The picture of these numbers, with room for a footer."""

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """What the figure shows, in one sentence with its numbers; empty where it has nothing to show."""


def not_in_the_study(artifact: Artifact, tables: Mapping[str, Columns]) -> FigureStatistics:
    """The statistics of a figure whose datasets the study lacks."""
    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in tables.items()}
    note = f"This study has no {' and '.join(artifact.datasets)}."
    return FigureStatistics(empty, asked=len(artifact.datasets), notes=(note,))


def empty_figure(statistics: FigureStatistics, title: str) -> Figure:
    """A figure that says why there is nothing to draw."""
    from qrt.figures import style

    return style.message_figure("; ".join(statistics.notes) or "There are no results to draw.", title)
