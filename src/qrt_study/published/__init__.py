"""What the paper publishes as numbers: two of its figures, digitised, and Table 2. Datasets have their names here."""

from __future__ import annotations

from functools import cache
from importlib import resources

import pandas as pd

from qrt_study.data.sheet import paper_datasets


def figure1_curves() -> pd.DataFrame:
    """Validation curves of BASE and QRT: dataset, method, metric, epoch (from 0), value, standard_error, runs, source.

    `runs` is "all" while every run is alive, "some" after the first early stop (no standard error from there on).
    """
    return _with_names(_read("figure1_curves.csv"))


def figure1_marks() -> pd.DataFrame:
    """Bars and stars of Figure 1: dataset, method, metric, selected_epoch (from 0), value, mark, digitisation_error."""
    return _with_names(_read("figure1_summary.csv"))


def figure2() -> pd.DataFrame:
    """Test NLL minus that of BASE: dataset, method, difference, standard_error, and how the figure labels and ranks."""
    return _read("figure2.csv").copy()


def table2() -> pd.DataFrame:
    """Training times, epochs and times per epoch of BASE, QREGC and QRTC: one row per dataset."""
    return _read("table2.csv").copy()


@cache
def _read(name: str) -> pd.DataFrame:
    with resources.files("qrt_study.published").joinpath(name).open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _with_names(table: pd.DataFrame) -> pd.DataFrame:
    """A copy of the table with names of datasets in place of the paper's abbreviations."""
    names = {row.abbreviation: name for name, row in paper_datasets().items()}
    return table.assign(dataset=table["dataset"].map(names))
