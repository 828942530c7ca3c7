"""Which splits files of evaluated networks have, and that a study never goes on without one that it asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from qrt.errors import UserError
from qrt.results.evaluated_splits import refuse_missing_splits, splits_in
from qrt.results.tables import RUNS, concatenate, read_frames, write_rows


def evaluated(path: Path, *splits: int) -> Path:
    write_rows(path, [{"dataset": path.stem, "split": split, "variant": "a"} for split in splits], RUNS)
    return path


def test_splits_of_a_file_are_found_whatever_it_is(tmp_path: Path) -> None:
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    assert splits_in(evaluated(tmp_path / "some.parquet", 2, 0, 2)) == [2, 0]
    assert splits_in(evaluated(tmp_path / "empty.parquet")) == []
    assert splits_in(tmp_path / "damaged.parquet") == []
    assert splits_in(tmp_path / "missing.parquet") == []


def test_split_that_a_file_lacks_is_refused_with_the_way_to_get_it(tmp_path: Path) -> None:
    both, one = evaluated(tmp_path / "both.parquet", 0, 1), evaluated(tmp_path / "one.parquet", 1)
    refuse_missing_splits([both, one], [1])
    with pytest.raises(UserError, match=r"one\.parquet: no rows of split 0\..*--forcerun evaluate"):
        refuse_missing_splits([both, one], [0, 1])
    with pytest.raises(UserError, match=r"both\.parquet and 1 other file: no rows of split 2 and 3"):
        refuse_missing_splits([both, one], [1, 2, 3])


def test_rows_of_splits_that_the_study_does_not_ask_for_are_left_out(tmp_path: Path) -> None:
    paths = [evaluated(tmp_path / "a.parquet", 0, 1), evaluated(tmp_path / "b.parquet", 1, 2)]
    assert list(read_frames(paths, "runs")["split"]) == [0, 1, 1, 2]
    assert list(read_frames(paths, "runs", [2, 1])["split"]) == [1, 1, 2]
    assert concatenate(paths, tmp_path / "all.parquet", "runs", [0]) == 1
    assert splits_in(tmp_path / "all.parquet") == [0]
