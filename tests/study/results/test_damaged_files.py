"""Damaged files: found by their checksums, named, set aside, and made anew."""

from __future__ import annotations

import errno
import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qrt.atomic import whole_file, write_json
from qrt.errors import UserError
from qrt_study.data.split_store import load_split
from qrt_study.results.tables import RUNS, read_frames, write_rows
from support.damage import empty, flip, truncate
from support.data_folders import fetch_into, files_below, prepare_in

ROW: dict[str, Any] = {"dataset": "linear", "split": 0, "variant": "v", "status": "ok", "test_nll": 1.5, "epochs": 4}


@pytest.mark.parametrize("damage", [truncate, empty])
def test_damaged_result_file_is_named_and_set_aside(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    sound, first, second = (tmp_path / f"{name}.parquet" for name in ("sound", "first", "second"))
    for path in (sound, first, second):
        write_rows(path, [ROW], RUNS)
    damage(first)
    damage(second)
    with pytest.raises(UserError) as caught:
        read_frames([first, sound, second], "runs")
    assert all(f"{path}: damaged" in str(caught.value) for path in (first, second))
    assert "run the same command again" in str(caught.value)
    assert files_below(tmp_path) == {"sound.parquet", "first.parquet.damaged", "second.parquet.damaged"}
    with pytest.raises(UserError, match=r"first\.parquet: was damaged and is now first\.parquet\.damaged"):
        read_frames([first], "runs")


def test_flipped_bit_never_changes_a_result_unseen(tmp_path: Path) -> None:
    path, bits = tmp_path / "file.parquet", random.Random(7)
    rows = [ROW | {"split": split, "test_nll": split / 3, "reason": f"r{split}"} for split in range(20)]
    write_rows(path, rows, RUNS)
    content, expected, found = path.read_bytes(), read_frames([path], "runs"), 0
    for bit in bits.sample(range(len(content) * 8), 400):
        path.write_bytes(content)
        flip(path, bit)
        try:
            got = read_frames([path], "runs")
        except UserError:
            found += 1
            assert not path.exists()
        else:
            assert got.equals(expected)
    assert found > 100


def test_file_that_cannot_be_read_is_not_taken_for_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file.parquet"
    write_rows(path, [ROW], RUNS)

    def stale(_: Path) -> bytes:
        raise OSError(errno.ESTALE, "Stale file handle")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", stale)
        with pytest.raises(UserError, match="Stale file handle"):
            read_frames([path], "runs")
    assert len(read_frames([path], "runs")) == 1


@pytest.mark.parametrize("damage", [truncate, empty, flip])
@pytest.mark.parametrize("name", ["raw/linear.parquet", "raw/linear.json", "prepared/linear/x.npy"])
def test_damaged_data_is_named_set_aside_and_made_anew(
    tmp_path: Path, name: str, damage: Callable[[Path], None]
) -> None:
    fetch_into(tmp_path, "linear")
    prepare_in(tmp_path, "linear")
    sound = load_split(tmp_path / "prepared/linear", 0)
    path = tmp_path / name
    damage(path)
    with pytest.raises(UserError, match=f"{path.name}: damaged"):
        prepare_in(tmp_path, "linear") if name.startswith("raw") else load_split(path.parent, 0)
    assert not path.exists()
    fetch_into(tmp_path, "linear")
    prepare_in(tmp_path, "linear")
    assert np.array_equal(load_split(tmp_path / "prepared/linear", 0).x, sound.x)


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".a[1].json.abc.partial").write_text("half")
    (tmp_path / ".other.json.abc.partial").write_text("half")
    write_json(tmp_path / "a[1].json", {})
    assert files_below(tmp_path) == {"a[1].json", ".other.json.abc.partial"}


def test_two_writers_of_one_file_leave_each_other_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    with whole_file(path) as slow:
        slow.write_text("slow")
        write_json(path, "quick")
        assert json.loads(path.read_text()) == "quick"
    assert path.read_text() == "slow"
    assert files_below(tmp_path) == {"a.json"}


def test_many_writers_of_one_file_all_succeed(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path; from qrt.atomic import write_json\n"
    program += "for number in range(100): write_json(Path(sys.argv[1]), [number] * 1000)"
    writers = [subprocess.Popen([sys.executable, "-c", program, tmp_path / "a.json"]) for _ in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert json.loads((tmp_path / "a.json").read_text()) == [99] * 1000
    assert files_below(tmp_path) == {"a.json"}
