from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from conftest import SHARED
from qrt_study import published
from qrt_study.data.sheet import paper_datasets

READERS: dict[str, Callable[[], pd.DataFrame]] = {
    "figure1_per_epoch_curves.csv": published.figure1_curves,
    "figure1_per_epoch_summary.csv": published.figure1_marks,
    "figure2_diff_test_nll.csv": published.figure2,
    "table_times.csv": published.table2,
}
ROWS = (2288, 24, 88, 57)


@pytest.mark.parametrize(("reader", "rows"), list(zip(READERS.values(), ROWS, strict=True)))
def test_tables_are_complete_and_name_known_datasets(reader: Callable[[], pd.DataFrame], rows: int) -> None:
    table = reader()
    assert len(table) == rows
    assert set(table["dataset"]) <= set(paper_datasets())


def test_figure_1_shows_yacht_and_taxi_and_figure_2_the_44_datasets_that_are_not_discrete() -> None:
    assert set(published.figure1_curves()["dataset"]) == {"Yacht", "nyc-taxi-green-dec-2016"}
    assert set(published.figure1_marks()["dataset"]) == {"Yacht", "nyc-taxi-green-dec-2016"}
    continuous = {name for name, row in paper_datasets().items() if row.published.top10 <= 0.5}
    assert set(published.figure2()["dataset"]) == continuous
    assert set(published.table2()["dataset"]) == set(paper_datasets())


def test_changing_a_table_does_not_change_the_next_one() -> None:
    for reader in READERS.values():
        table, untouched = reader(), reader()
        table.loc[0, "dataset"] = "another"
        table.insert(0, "more", 1)
        pd.testing.assert_frame_equal(reader(), untouched)


@pytest.mark.parametrize("name", READERS)
def test_values_are_those_of_the_shared_files(name: str) -> None:
    source: Path = SHARED / "paper" / name
    if not source.is_file():
        pytest.skip("needs the published values in ../shared/paper, which are not beside this clone")
    original, table = pd.read_csv(source), READERS[name]()
    abbreviations = {row.abbreviation: name for name, row in paper_datasets().items()}
    original["dataset"] = original["dataset"].map(lambda dataset: abbreviations.get(dataset, dataset))
    pd.testing.assert_frame_equal(table, original)
