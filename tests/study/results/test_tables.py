"""Result tables and their places on disk."""

from __future__ import annotations

from itertools import chain, combinations
from pathlib import Path

import pytest

from qrt.errors import UserError
from qrt_study.parquet_file import as_table, read_tables, write_rows, write_table
from qrt_study.results.layout import Layout, splits_word
from qrt_study.results.tables import RUNS, SAMPLE


def test_undocumented_column_is_refused() -> None:
    with pytest.raises(KeyError, match="surprise"):
        as_table([{"surprise": 1}], RUNS)


def test_files_are_read_in_their_order_and_none_gives_an_empty_table(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.parquet" for name in ("two", "one")]
    for path in files:
        write_rows(path, [{"dataset": path.stem, "variant": variant} for variant in ("a", "b")], RUNS)
    assert read_tables(files, RUNS)["dataset"].to_pylist() == ["two", "two", "one", "one"]
    assert read_tables([], RUNS).column_names == list(RUNS)


def test_file_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    write_table(tmp_path / "old.parquet", as_table([{"z": 0.5}], SAMPLE))
    with pytest.raises(UserError, match=r"old\.parquet"):
        read_tables([tmp_path / "old.parquet"], RUNS)


def test_splits_are_told_apart_by_their_place() -> None:
    choices = list(chain.from_iterable(combinations(range(6), count) for count in range(1, 7)))
    words = {splits_word(choice) for choice in choices}
    assert len(words) == len(choices)
    assert splits_word([4, 3, 2, 1, 0]) == "0-4"
    assert splits_word([2, 0]) == "0+2"


def test_studies_scenarios_and_networks_have_files_of_their_own() -> None:
    plain, named = Layout("results/networks"), Layout("results/networks", "mine")
    assert plain.trained("d", 0, 1, "f") == named.trained("d", 0, 1, "f"), "networks are shared"
    for layout in (plain, named):
        files = [
            *(layout.methods(scenario, "main", seed) for scenario in ("paper", "paper.sd") for seed in (0, 1)),
            *(layout.evaluated("d", 0, splits, "f", kind) for splits in ("0", "0-1") for kind in ("runs", "curves")),
            *(layout.trained("d", seed, split, "f") for seed in (0, 1) for split in (0, 1)),
            *(layout.figure(scenario, "fig03_main", "pdf") for scenario in ("paper", "released")),
        ]
        assert len(set(files)) == len(files)
    assert (plain.results, named.results) == ("results", "results_mine")
    assert not named.table("paper", "runs").startswith("results/")
