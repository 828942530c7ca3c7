"""From a source to a standardised split: mirror, own files, records, storage and loading."""

from __future__ import annotations

import csv
import errno
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import PROJECT
from qrt.atomic import whole_file, write_json
from qrt.engine.split import split_rows
from qrt.errors import UserError
from qrt_study.__main__ import main
from qrt_study.data.left_out import left_out, reasons
from qrt_study.data.own_data_words import is_own, own_data_sentences
from qrt_study.data.record import data_checksum, read_record
from qrt_study.data.sheet import paper_datasets
from qrt_study.data.split_store import load_split
from qrt_study.tables.dataset_table import dataset_table
from support.data_folders import fetch_into, files_below, make_mirror, prepare_in, yacht_csv


def test_dataset_of_the_mirror_goes_all_the_way(tmp_path: Path) -> None:
    record = fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    assert record["status"] == "available"
    prepared = prepare_in(tmp_path)
    assert (prepared["rows"], prepared["features"], prepared["feature_names"]) == (150, 2, ["a", "b"])
    assert prepared["provenance"]["source"] == "mirror"
    assert files_below(tmp_path / "prepared") == {"Yacht/x.npy", "Yacht/y.npy", "Yacht/record.json"}


def test_same_source_gives_the_same_bytes(tmp_path: Path) -> None:
    mirror = make_mirror(tmp_path / "mirror", yacht_csv())
    contents = []
    for run in ("one", "two"):
        fetch_into(tmp_path / run, mirror=mirror)
        prepare_in(tmp_path / run)
        contents.append({name: (tmp_path / run / name).read_bytes() for name in files_below(tmp_path / run)})
    assert contents[0] == contents[1]


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"sha256": "0" * 64}, "its manifest says 0000"),
        ({"drop": "nothing"}, "drop_columns of Yacht names 'nothing'"),
    ],
)
def test_wrong_mirror_is_told_and_the_next_run_works(tmp_path: Path, change: dict[str, str], part: str) -> None:
    record = fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv(), **change))
    assert record["status"] == "unavailable"
    assert part in record["reason"]
    assert prepare_in(tmp_path)["status"] == "unavailable"
    mended = fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    assert mended["status"] == "available"


def test_truncated_file_of_the_mirror_is_told(tmp_path: Path) -> None:
    record = fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()[:-20]))
    assert record["status"] == "unavailable"
    assert "not a readable CSV" in record["reason"]


def test_dataset_that_no_source_has_says_what_each_source_said(tmp_path: Path) -> None:
    record = fetch_into(tmp_path, "Power", mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    assert record["status"] == "unavailable"
    assert "mirror: Power is not in its manifest" in record["reason"]
    assert "no source is set" in fetch_into(tmp_path, "Power")["reason"]


TOO_FEW = "1 rows are left after preparation, at least 100 are needed"


def own(path: Path, **entry: Any) -> dict[str, Any]:
    return {"path": str(path), "target": "y", "categorical": []} | entry


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_own_file_takes_a_path_and_a_target(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"mine.{ending}"
    table = pd.DataFrame({"a": np.arange(200.0), "city": ["A", "B"] * 100, "y": np.arange(200.0) ** 2})
    table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    assert fetch_into(tmp_path, "mine", own=own(path))["status"] == "available"
    assert prepare_in(tmp_path, "mine")["feature_names"] == ["a", "city_A", "city_B"]


def test_unusable_own_file_becomes_a_record_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,a,y\n1,2,3\n")
    assert "more than once" in fetch_into(tmp_path, "mine", own=own(path))["reason"]
    path.write_text("a,y\n" + "1,2\n" * 150)
    assert fetch_into(tmp_path, "mine", own=own(path))["status"] == "available"
    prepared = prepare_in(tmp_path, "mine")
    assert prepared["status"] == "invalid"
    assert "no feature column" in prepared["reason"]
    with pytest.raises(UserError, match="invalid"):
        load_split(tmp_path / "prepared/mine", 0)


def houses(folder: Path) -> Path:
    """A table as people have them: a 0/1 column, words, row numbers, holes in 20 of 200 rows."""
    rows = np.arange(200)
    table = pd.DataFrame(
        {
            "number": rows,
            "garden": rows % 2,
            "city": np.array(["A", "B", "C", "D"])[rows % 4],
            "street": [f"street {row}" for row in rows],
            "size": np.where(rows % 10 == 3, np.nan, rows**0.5),
            "price": 1000.0 + rows**2,
        }
    )
    table.to_csv(folder / "houses.csv", index=False)
    return folder / "houses.csv"


def test_owner_is_told_what_was_done_to_the_data(tmp_path: Path) -> None:
    entry = own(houses(tmp_path), target="price", drop=["number"], target_transform="log1p", drop_few_valued=False)
    fetch_into(tmp_path, "houses", own=entry)
    record = prepare_in(tmp_path, "houses")
    assert is_own(record)
    assert record["feature_names"] == ["garden", "size", "city_A", "city_B", "city_C", "city_D"]
    said = own_data_sentences(record)
    for sentence, parts in zip(
        said, ("180 200 20", "number street 200", "city 4", "6 price", "log(1 + |y|)"), strict=True
    ):
        assert all(part in sentence for part in parts.split())
    targets = np.load(tmp_path / "prepared/houses/y.npy")
    assert targets[0] == pytest.approx(np.log(1001.0))


def test_papers_rule_on_few_values_is_a_key_for_own_data(tmp_path: Path) -> None:
    fetch_into(tmp_path, "houses", own=own(houses(tmp_path), target="price", drop_few_valued=True))
    dropped = prepare_in(tmp_path, "houses")["dropped_columns"]
    assert dropped["garden"] == "numeric with 2 distinct values, fewer than 10"


def test_many_columns_that_are_left_out_do_not_flood_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    table = pd.DataFrame({f"same{place}": np.ones(150) for place in range(40)})
    table.assign(a=np.arange(150), y=np.arange(150.0) ** 2).to_csv(path, index=False)
    fetch_into(tmp_path, "wide", own=own(path))
    sentence = own_data_sentences(prepare_in(tmp_path, "wide"))[1]
    assert sentence.startswith("40 columns left out: same0 (the same value everywhere), ")
    assert sentence.endswith(" and 28 more (all are in the record).")


def test_data_of_the_paper_is_no_own_data_and_its_record_has_the_keys_of_published_ones(tmp_path: Path) -> None:
    fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    record = prepare_in(tmp_path)
    assert not is_own(record)
    published = read_record(PROJECT / "replication/results/records/Yacht.json")
    assert record.keys() == published.keys()


def test_dataset_without_data_is_told_with_the_reason_and_the_way_to_try_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("a,y\n1,2\n")
    fetch_into(tmp_path, "mine", own=own(path))
    assert left_out(tmp_path, ["mine", "never tried"]) == ""
    prepare_in(tmp_path, "mine")
    fetch_into(tmp_path, "Power")
    assert reasons(tmp_path, ["mine", "Power"]) == {
        "mine": f"invalid: {TOO_FEW}",
        "Power": f"unavailable: {read_record(tmp_path / 'raw/Power.json')['reason']}",
    }
    assert f"{tmp_path}/raw/Power.json" in left_out(tmp_path, ["mine", "Power"])
    path.write_text("a,y\n" + "".join(f"{row},{row * row}\n" for row in range(150)))
    fetch_into(tmp_path, "mine", own=own(path))
    prepare_in(tmp_path, "mine")
    assert reasons(tmp_path, ["mine"]) == {}


def test_other_data_than_published_networks_were_trained_on_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def status_of_preparing(expected: str) -> int:
        raw = ["--table", str(tmp_path / "raw/Yacht.parquet"), "--record", str(tmp_path / "raw/Yacht.json")]
        return main(["prepare", "Yacht", *raw, "--out", str(tmp_path / "prepared/Yacht"), "--expected", expected])

    fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    published = data_checksum(prepare_in(tmp_path))
    assert status_of_preparing(published) == 0
    fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv(rows=160)))
    assert status_of_preparing("any") == 0
    assert status_of_preparing(published) == 2
    assert "networks: new" in capsys.readouterr().err
    fetch_into(tmp_path)
    assert status_of_preparing(published) == 0, "data that is not there is no other data"


def test_split_is_standardised_with_its_training_rows(tmp_path: Path) -> None:
    fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    prepare_in(tmp_path)
    folder = tmp_path / "prepared/Yacht"
    raw_x, raw_y = np.load(folder / "x.npy"), np.load(folder / "y.npy")
    rows, data = split_rows(150, 2), load_split(folder, 2)
    mean, scale = raw_x[rows.train].mean(axis=0), raw_x[rows.train].std(axis=0)
    for part in ("train", "calibration", "validation", "test"):
        x, y = data.part(part)
        numbers = getattr(rows, part)
        assert np.allclose(x, (raw_x[numbers] - mean) / scale, atol=1e-5)
        assert np.allclose(y * data.y_scale + data.y_mean, raw_y[numbers], atol=1e-5)
    joined, _ = data.part("train+calibration")
    assert np.shares_memory(joined, data.part("train")[0])
    assert len(joined) == len(rows.train) + len(rows.calibration)


def test_constant_column_of_the_training_rows_stays_finite(tmp_path: Path) -> None:
    folder = tmp_path / "prepared"
    folder.mkdir()
    np.save(folder / "x.npy", np.ones((150, 2), np.float32))
    np.save(folder / "y.npy", np.arange(150, dtype=np.float32))
    write_json(folder / "record.json", {"dataset": "d", "status": "available", "reason": ""})
    assert np.array_equal(load_split(folder, 0).x, np.zeros((150, 2)))


LOAD_AND_MEASURE = """
import re, sys
from pathlib import Path
from qrt_study.data.split_store import load_split
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
before = peak()
data = load_split(Path(sys.argv[1]), 0)
print((peak() - before) / data.x.nbytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
def test_loading_takes_at_most_twice_the_memory_of_the_array(tmp_path: Path) -> None:
    rows, features = 30_000, 500
    np.save(tmp_path / "x.npy", np.random.default_rng(0).random((rows, features), dtype=np.float32))
    np.save(tmp_path / "y.npy", np.arange(rows, dtype=np.float32))
    write_json(tmp_path / "record.json", {"dataset": "large", "status": "available", "reason": ""})
    run = subprocess.run(
        [sys.executable, "-c", LOAD_AND_MEASURE, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert 0.9 < float(run.stdout) <= 2.0


def test_damaged_raw_table_is_found(tmp_path: Path) -> None:
    fetch_into(tmp_path, mirror=make_mirror(tmp_path / "mirror", yacht_csv()))
    table = tmp_path / "raw/Yacht.parquet"
    table.write_bytes(table.read_bytes()[:-1] + b"!")
    with pytest.raises(UserError, match=r"Yacht\.parquet: damaged"):
        prepare_in(tmp_path)


@pytest.mark.parametrize("content", ["", "{", "\x00"])
def test_damaged_record_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"record\.json: damaged .* run the same command again"):
        read_record(path)


def test_full_disk_leaves_nothing_behind_and_the_next_run_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = make_mirror(tmp_path / "mirror", yacht_csv())

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(UserError, match=r"Yacht\.parquet: cannot be written \(No space left on device\)"):
            fetch_into(tmp_path / "out", mirror=mirror)
    assert files_below(tmp_path / "out") == set()
    assert fetch_into(tmp_path / "out", mirror=mirror)["status"] == "available"


def test_interrupted_write_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_json(path, {"old": 1})

    def write_half() -> None:
        with whole_file(path) as partial:
            partial.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert json.loads(path.read_text()) == {"old": 1}
    assert files_below(tmp_path) == {"file.json"}


def test_real_datasets_are_what_the_manifest_of_their_mirror_says(tmp_path: Path, shared_datasets: Path) -> None:
    with (shared_datasets / "manifest.csv").open(encoding="utf-8", newline="") as lines:
        told = {row["name"]: row["status"].partition(":")[0] for row in csv.DictReader(lines)}
    assert set(told) == set(paper_datasets())
    records = []
    for name in told:
        fetch_into(tmp_path, name, mirror=shared_datasets)
        records.append(prepare_in(tmp_path, name))
    found = dataset_table(records, paper_datasets()).set_index("dataset")["status"]
    assert found.to_dict() == {name: "unavailable" if word == "missing" else word for name, word in told.items()}


def test_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        write_json(tmp_path / "file/record.json", {})
