"""What figures and verdicts read of result tables."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pandas as pd

from qrt.results.reported import read_reported
from qrt.results.tables import MAPS, TIMES, read_frames, write_rows


def test_rows_of_the_study_s_own_seed_and_of_some_splits_are_read(tmp_path: Path) -> None:
    path = tmp_path / "times.parquet"
    places = list(product((0, 1), (0, 1, 2)))
    rows = [{"dataset": "d", "seed": seed, "split": split, "method": f"{seed}{split}"} for seed, split in places]
    write_rows(path, rows, TIMES)
    everything = read_frames([path], "times")
    own = everything[everything["seed"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(read_reported([path], "times"), own)
    some = read_reported([path, path], "times", splits=[0, 2], columns=["method", "split"])
    assert list(some.columns) == ["method", "split"]
    assert some["method"].tolist() == ["00", "02", "00", "02"]


def test_table_without_seeds_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "maps.parquet"
    write_rows(path, [{"map": "EMP", "z": 0.5, "cdf": 0.4, "density": None}], MAPS)
    pd.testing.assert_frame_equal(read_reported([path], "maps"), read_frames([path], "maps"))
    assert read_reported([], "curves").empty
