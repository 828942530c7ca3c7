"""What a kind of figure has to say of itself; the kinds are in `qrt_study.figures.kinds`.

Every call of Snakemake imports the kinds to plan, so whatever computes or draws (pandas, SciPy, Matplotlib) is imported
where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import Columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics


@dataclass(frozen=True)
class RequiredResults:
    """The results that a figure's numbers are computed from.

    `examples`: the figure shows `datasets` alone and needs nothing else of the study, neither other datasets nor other
    experiments than `qrt_study.plan.artifacts.EXAMPLE_EXPERIMENTS`.
    """

    datasets: tuple[str, ...] = ()  # whose records are read
    experiments: tuple[str, ...] = ()  # whose tuned methods are read
    tables: tuple[str, ...] = ()  # result tables besides `methods`
    examples: bool = False


@dataclass(frozen=True)
class Results:
    """The result tables that a figure's numbers are computed from; those it does not need are empty."""

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

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """What the numbers of a figure are computed from, in a study of these datasets."""

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """Every number of a figure."""

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """What the figure shows, in one sentence with its numbers; empty where it has nothing to show."""

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """The picture of these numbers, with room for a footer."""


def not_in_the_study(artifact: Artifact, tables: Mapping[str, Columns]) -> FigureStatistics:
    """The statistics of a figure whose datasets the study lacks."""
    import pandas as pd

    from qrt_study.statistics.figure_statistics import FigureStatistics

    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in tables.items()}
    note = f"This study has no {' and '.join(artifact.datasets)}."
    return FigureStatistics(empty, asked=len(artifact.datasets), notes=(note,))


def empty_figure(statistics: FigureStatistics, title: str) -> Figure:
    """A figure that says why there is nothing to draw."""
    from qrt_study.figures import style

    return style.message_figure("; ".join(statistics.notes) or "There are no results to draw.", title)
