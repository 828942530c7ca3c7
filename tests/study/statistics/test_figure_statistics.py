"""Statistics that are written to a folder are read as they were, to the last bit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrt_study.figures.compare_job import compute_statistics
from qrt_study.figures.kinds import KINDS
from qrt_study.plan.artifacts import FIGURES
from qrt_study.statistics.columns import TEXT_COLUMNS
from qrt_study.statistics.figure_statistics import FigureStatistics, LeftOut, read_summary
from support.figure_results import results_of, study_of
from support.mock_results import mock_main_study, paper_names

# What a CSV reader takes for something else, and what a CSV writer has to quote.
NAMES = st.sampled_from(["1", "NA", "nan", "None", "True", "1e5", "a,b", 'a "b"', " a", "ä", "QRTC b=0.1"]) | st.text(
    st.characters(exclude_categories=["C", "Z"]), min_size=1
)
COLUMNS = {
    "of_all_types": {"dataset": "a name", "runs": "a count", "mean": "a number", "significant": "yes or no"},
    "of_names": {"method": "a name"},
}


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    size = draw(st.integers(1, 8))

    def column(values: st.SearchStrategy[object], dtype: str) -> pd.Series:
        return pd.Series(draw(st.lists(values, min_size=size, max_size=size)), dtype=dtype)

    return pd.DataFrame(
        {
            "dataset": column(NAMES, "str"),
            "runs": column(st.integers(-(2**60), 2**60), "int64"),
            "mean": column(st.floats(), "float64"),
            "significant": column(st.booleans(), "bool"),
        }
    )


@given(
    tables(),
    st.lists(NAMES),
    st.integers(0, 99),
    st.lists(st.builds(LeftOut, NAMES, st.integers(0, 99), st.text())),
    st.lists(st.text()),
)
def test_written_statistics_are_read_as_they_were(
    table: pd.DataFrame, datasets: list[str], count: int, left_out: list[LeftOut], notes: list[str]
) -> None:
    written = FigureStatistics(
        {"of_all_types": table, "of_names": table[["dataset"]].set_axis(["method"], axis=1)},
        tuple(datasets),
        asked=count,
        splits=count + 1,
        left_out=tuple(left_out),
        notes=tuple(notes),
    )
    with tempfile.TemporaryDirectory() as folder:
        written.write(Path(folder), COLUMNS, {"title": "of two tables"})
        read = FigureStatistics.read(Path(folder), COLUMNS)
        assert read_summary(Path(folder))["title"] == "of two tables"
    for name, expected in written.tables.items():
        pd.testing.assert_frame_equal(read.tables[name], expected, check_exact=True)
    numbers = (frame["of_all_types"]["mean"].dropna().to_numpy() for frame in (read.tables, written.tables))
    assert len({found.tobytes() for found in numbers}) == 1, "the sign of zero"
    facts = [(one.datasets, one.asked, one.splits, one.left_out, one.notes) for one in (read, written)]
    assert facts[0] == facts[1]


def test_a_table_without_rows_keeps_its_columns(tmp_path: Path) -> None:
    empty = {name: pd.DataFrame(columns=list(columns)) for name, columns in COLUMNS.items()}
    FigureStatistics(empty).write(tmp_path, COLUMNS, {})
    for name, table in FigureStatistics.read(tmp_path, COLUMNS).tables.items():
        assert (list(table), len(table)) == (list(COLUMNS[name]), 0)


@pytest.mark.parametrize("name", ["fig03_main", "fig19_discreteness_qrtc"])
def test_columns_of_words_are_known_as_such(name: str) -> None:
    datasets = paper_names(3)
    results = results_of(datasets, methods=mock_main_study(datasets, splits=2))
    tables = compute_statistics(FIGURES[name], study_of(datasets), results).tables
    for table, columns in KINDS[FIGURES[name].kind].tables.items():
        words = {column for column in columns if isinstance(tables[table][column].iloc[0], str)}
        assert words == TEXT_COLUMNS & set(columns), table
    assert np.issubdtype(tables["per_dataset"]["splits"].dtype, np.integer)
