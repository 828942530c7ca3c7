"""Every number of one figure, as tables that can be saved, looked up and drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

NOT_RUN = "not run yet"  # the reason for which a method or dataset is left out that has no results at all


@dataclass(frozen=True)
class LeftOut:
    """Something that a figure leaves out, and why."""

    what: str  # "QREGC on Yacht", "QREGC", "fifa"
    count: int  # of runs, or of datasets where a whole dataset is missing
    reason: str


@dataclass(frozen=True, eq=False)
class FigureStatistics:
    """The tables behind one figure (columns: `qrt.statistics.columns`), and what they are based on.

    A figure draws from `tables` alone; what it cannot draw for lack of data it says with the words of `notes`. Equal to
    itself alone (tables are not compared), so that what is looked up in it can be remembered.
    """

    tables: Mapping[str, pd.DataFrame]
    datasets: Sequence[str] = ()  # those that entered, in the order of the study
    asked: int = 0  # how many datasets could have entered
    splits: int = 0  # largest number of splits of a dataset
    left_out: Sequence[LeftOut] = ()
    notes: Sequence[str] = field(default_factory=tuple)
