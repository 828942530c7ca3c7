"""Input that means harm or is simply broken: a message for people, never a traceback, never a way out of the folder."""

from __future__ import annotations

import contextlib
import copy
import csv
import gzip
import hashlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from qrt.errors import UserError
from qrt_study.__main__ import main
from qrt_study.data.mirror import fetch_mirror
from qrt_study.data.raw_table import SourceUnavailable
from qrt_study.plan.config import StudyConfig, load_config
from qrt_study.results.layout import Layout
from support.configured import SCHEMA
from support.data_folders import MANIFEST, yacht_csv
from support.hostile_words import HARMFUL, quick, words

numbers = st.one_of(
    st.integers(-3, 12), st.sampled_from([10**400, -(10**400), 2**63, 1e308, 5e-324]), st.floats(allow_nan=True)
)
# What YAML can say: also dates, bytes and keys that are no text.
leaves = st.one_of(st.none(), st.booleans(), numbers, words, st.binary(max_size=4), st.just(date(2024, 1, 1)))
trees = st.recursive(
    leaves,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.dictionaries(st.one_of(words, st.integers(), st.none(), st.booleans()), inside, max_size=3),
    ),
    max_leaves=8,
)


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a tree of dictionaries and lists."""
    yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in inside:
        yield from places(entry, (*place, key))


VALID: dict[str, Any] = {
    "protocols": ["released", "paper.sd"],
    "networks": "new",
    "draw": ["fig03", "results"],
    "name": "mine",
    "datasets": ["linear", "uci"],
    "own_datasets": {"mine": {"path": "mine.csv", "target": "y", "categorical": ["a"]}},
    "splits": [0, 1],
    "mirror": "mirror",
    "sources": ["mirror"],
    "methods": ["BASE", "QRTC"],
    "base_models": ["MLP-3"],
    "grids": {"bandwidth_grid": [0.1], "lambda_grid": [0, 1], "alpha_study": [-1, 0.5], "map_sizes": [8]},
    "training": {"max_epochs": 4, "patience": 2},
    "jobs": "coarse",
}


@st.composite
def spoilt_configurations(draw: st.DrawFn) -> dict[str, Any]:
    """A valid configuration with one to three values, keys or entries replaced by something else."""
    config: dict[str, Any] = copy.deepcopy(VALID)
    for _ in range(draw(st.integers(1, 3))):
        *way, last = draw(st.sampled_from(list(places(config))[1:]))
        parent: Any = config
        for step in way:
            parent = parent[step]
        if isinstance(parent, dict) and draw(st.booleans()):
            near = draw(st.sampled_from([f"{last}s", str(last)[:-1], str(last).upper(), f" {last}", f"{last}\n"]))
            parent[draw(st.one_of(st.just(near), words, st.integers()))] = parent.pop(last)
        else:
            parent[last] = draw(trees)
    return config


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "mine.csv").write_text("a,y\n1,2\n")
    (folder / "mirror").mkdir()
    (folder / "mirror/manifest.csv").write_text("group,name,file,sha256,target\n")
    return folder


@quick
@given(st.one_of(spoilt_configurations(), st.dictionaries(st.one_of(words, st.integers()), trees, max_size=4)))
@example(VALID | {"own_datasets": {"mine\n": VALID["own_datasets"]["mine"]}})
@example(VALID | {"own_datasets": {1: VALID["own_datasets"]["mine"]}})
@example(VALID | {"mirror": "\x00"})
@example(VALID | {"training": {"max_epochs": 10**400}})
@example(VALID | {"splits": [1.0]})
def test_configuration_is_either_usable_or_refused_with_a_message(project: Path, config: dict[Any, Any]) -> None:
    study: StudyConfig | None = None
    message = ""
    try:
        study = load_config(config, SCHEMA, project)
    except UserError as error:
        message = str(error)
    if study is None:
        assert message.startswith("Configuration: ")
        assert message.replace("\n", "").isprintable()
        return
    layout = Layout(study.networks_folder, study.name)
    names = (*study.datasets, *study.scenarios, layout.results, layout.figures, *study.networks_folder.split("/"))
    assert all(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name) for name in names)
    assert all(type(split) is int for split in study.splits)
    values = [*study.training.values(), *(value for grid in study.grids.values() for value in grid)]
    assert np.isfinite(np.array(values, dtype=np.float64)).all()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 10**400, 1 << 20_000], ids=["nan", "inf", "big", "huge"])
@pytest.mark.parametrize("grid", ["bandwidth_study", "alpha_study"])
def test_number_that_is_none_is_refused_by_name(project: Path, grid: str, value: float) -> None:
    with pytest.raises(UserError, match=rf"grids\.{grid}\.0: should be a finite number"):
        load_config({"grids": {grid: [value]}}, SCHEMA, project)


@pytest.mark.parametrize("name", [*HARMFUL, ".", "..", "a/b", "a\\b", "a\n"])
def test_name_of_a_dataset_cannot_leave_its_folder_or_reach_the_shell(project: Path, name: str) -> None:
    with pytest.raises(UserError, match="own_datasets"):
        load_config({"own_datasets": {name: {"path": "mine.csv", "target": "y"}}}, SCHEMA, project)


@pytest.mark.parametrize("name", ["a/../../../X", "..", "mine\n", "\nmine", "a b", "-rf", "", "n" * 65])
def test_name_of_a_study_cannot_leave_its_folder(project: Path, name: str) -> None:
    with pytest.raises(UserError, match="Configuration: name"):
        load_config({"name": name}, SCHEMA, project)


def test_nine_levels_of_aliases_are_refused_at_once(project: Path) -> None:
    tree: list[Any] = ["x"] * 9
    for _ in range(9):
        tree = [tree] * 9
    with pytest.raises(UserError, match="more than 100,000 entries"):
        load_config({"datasets": tree}, SCHEMA, project)


# Every file is flushed to disk when it is written; in memory that costs nothing.
IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def run_main(*arguments: str) -> int:
    """`python -m qrt` in this process: status 0, or status 2 with one message."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = main(list(arguments))
    lines = said.getvalue().splitlines()
    assert (status, lines[:1]) == (0, []) or (status == 2 and said.getvalue().startswith("error: ")), said.getvalue()
    return status


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    """An empty working folder; whatever else appears beside what is named in the test is a leak."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as outside:
        folder = Path(outside) / "a" / "project"
        folder.mkdir(parents=True)
        os.chdir(folder)
        try:
            yield folder
            strange = [path for path in Path(outside).rglob("*") if folder not in (path, *path.parents)]
            assert strange == [folder.parent]
        finally:
            os.chdir(before)


def way_of_own_file(name: str, content: bytes, target: str, categorical: list[str]) -> dict[str, Any]:
    """Fetch and prepare a file of the user's as the workflow does; the record of what came of it."""
    with empty_folder() as folder:
        (folder / name).write_bytes(content)
        own = json.dumps({"path": str(folder / name), "target": target, "categorical": categorical})
        raw = ["--table", "raw/mine.parquet", "--record", "raw/mine.json"]
        assert run_main("fetch", "mine", *raw, "--own", own) == 0
        assert run_main("prepare", "mine", *raw, "--out", "prepared/mine") == 0
        made = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()} - {name}
        assert made == {
            "raw/mine.parquet",
            "raw/mine.json",
            "prepared/mine/x.npy",
            "prepared/mine/y.npy",
            "prepared/mine/record.json",
        }
        record: dict[str, Any] = json.loads((folder / "prepared/mine/record.json").read_text())
        if record["status"] == "available":
            x, y = np.load(folder / "prepared/mine/x.npy"), np.load(folder / "prepared/mine/y.npy")
            assert np.isfinite(x).all()
            assert np.isfinite(y).all()
            assert np.ptp(y) > 0
        else:
            assert record["status"] in ("unavailable", "invalid")
            assert record["reason"]
        return record


cells = st.one_of(
    st.sampled_from(["", "1", "-2.5", "1e400", "1e39", "nan", "inf", "-inf", "NA", "True", "1_000", "0x10", "1,5"]),
    st.sampled_from(HARMFUL).filter(lambda text: "\ud800" not in text),
    st.floats().map(repr),
    st.integers().map(str),
    st.text(st.characters(codec="utf-8"), max_size=6),
)


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[bytes, str, list[str]]:
    """A CSV with hostile names and cells, often with enough sound rows to be usable; its target and categories."""
    column = st.one_of(st.sampled_from(["a", "b"]), cells)
    names = [*draw(st.lists(column, max_size=3)), "y"]
    sound = [[str(row), *[f"{row * 1.5}"] * (len(names) - 1)] for row in range(draw(st.sampled_from([0, 3, 110])))]
    strange = draw(st.lists(st.lists(cells, max_size=len(names) + 1), max_size=4))
    text = io.StringIO()
    writer = csv.writer(text, quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])), lineterminator="\n")
    writer.writerows([names, *sound, *strange])
    content = text.getvalue().replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"]))).encode()
    content = draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + content
    return content, draw(st.sampled_from(names)), draw(st.lists(st.sampled_from(names), max_size=2, unique=True))


@quick
@given(csv_files(), st.sampled_from(["mine.csv", "mine.csv.gz"]))
def test_hostile_csv_becomes_a_record(file: tuple[bytes, str, list[str]], name: str) -> None:
    content, target, categorical = file
    way_of_own_file(name, gzip.compress(content) if name.endswith(".gz") else content, target, categorical)


@quick
@given(st.binary(max_size=300), st.sampled_from(["mine.csv", "mine.csv.gz", "mine.parquet"]), words)
@example(b"", "mine.csv", "y")
@example(b"\x00", "mine.csv", "y")
@example(b"y\n", "mine.csv", "y")
@example(b'"y\n1\n', "mine.csv", "y")
@example(gzip.compress(b"y\n1\n")[:-4], "mine.csv.gz", "y")
@example(b"PAR1\x00\x00\x00\x00PAR1", "mine.parquet", "y")
@example(b"y\n" + b"1" * 200_000 + b"\n", "mine.csv", "y")
def test_bytes_that_are_no_table_become_a_record(content: bytes, name: str, target: str) -> None:
    assert way_of_own_file(name, content, target, [])["status"] != "available"


ROWS = 120
ODD_COLUMNS: dict[str, pa.Array] = {
    "lists": pa.array([[1], [2, 3]] * 60),
    "structs": pa.array([{"a": 1}, {"a": 2}] * 60),
    "moments": pa.array([datetime(2024, 1, 1), None] * 60),
    "days": pa.array([date(2024, 1, 1)] * ROWS),
    "durations": pa.array([timedelta(days=1)] * ROWS),
    "decimals": pa.array([Decimal(f"{row}.5") for row in range(ROWS)]),
    "bytes": pa.array([b"\xff\x00"] * ROWS),
    "truths": pa.array([True, False] * 60),
    "nothing": pa.nulls(ROWS),
    "huge": pa.array([2**63] * ROWS, pa.uint64()),
    "words": pa.array(["a", "b"] * 60).dictionary_encode(),
    "infinite": pa.array([float("inf"), float("nan")] * 60),
}


@pytest.mark.parametrize("odd", ODD_COLUMNS)
@pytest.mark.parametrize("target", ["y", "odd"])
@pytest.mark.parametrize("categorical", [[], ["odd"]])
def test_parquet_with_any_type_becomes_a_record(odd: str, target: str, categorical: list[str]) -> None:
    numbers = pa.array(np.arange(float(ROWS)))
    content = io.BytesIO()
    pq.write_table(pa.table({"a": numbers, "odd": ODD_COLUMNS[odd], "y": numbers}), content)
    way_of_own_file("mine.parquet", content.getvalue(), target, categorical)


def test_parquet_with_columns_without_usable_names_becomes_a_record() -> None:
    numbers = np.arange(float(ROWS))
    content = io.BytesIO()
    pd.DataFrame({0: numbers, 1: numbers**2}).to_parquet(content)
    assert way_of_own_file("mine.parquet", content.getvalue(), "1", [])["feature_names"] == ["0"]
    content = io.BytesIO()
    pq.write_table(pa.table([pa.array(numbers)] * 3, names=["a", "a", "y"]), content)
    assert "more than once" in way_of_own_file("mine.parquet", content.getvalue(), "y", [])["reason"]


def test_unknown_dataset_is_a_mistake_of_the_user(tmp_path: Path) -> None:
    for name in ("atlantis", "../Yacht", "\x00"):
        raw = ["--table", str(tmp_path / "t"), "--record", str(tmp_path / "r"), "--sources", "mirror"]
        assert run_main("fetch", name, *raw) == 2
    assert list(tmp_path.iterdir()) == []


manifest_cells = st.one_of(
    st.sampled_from(HARMFUL).filter(lambda text: "\ud800" not in text),
    st.sampled_from(["../outside.csv.gz", "uci/../../outside.csv.gz", "link", "uci", ".", "nan", "-1", "1e400", "x;x"]),
    st.text(st.characters(codec="utf-8"), max_size=6),
)


@quick
@given(st.dictionaries(st.sampled_from(MANIFEST.split(",")), manifest_cells, min_size=1, max_size=3))
@example({"file": "../outside.csv.gz"})
@example({"file": "link"})
@example({"missing_column_threshold": "many"})
def test_hostile_manifest_of_a_mirror_gives_a_reason_or_the_data(changes: dict[str, str]) -> None:
    with empty_folder() as folder:
        mirror = folder / "mirror"
        (mirror / "uci").mkdir(parents=True)
        content = yacht_csv()
        for file in (mirror / "uci/Yacht.csv.gz", folder / "outside.csv.gz"):
            file.write_bytes(content)
        (mirror / "link").symlink_to("../outside.csv.gz")
        checksum = hashlib.sha256(content).hexdigest()
        sound = ["uci", "Yacht", "uci/Yacht.csv.gz", checksum, "c6", "", "junk", "none", "0.2"]
        row = dict(zip(MANIFEST.split(","), sound, strict=True)) | changes
        with (mirror / "manifest.csv").open("w", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerows([list(row), list(row.values())])
        raw = ["--table", "raw.parquet", "--record", "raw.json", "--sources", "mirror", "--mirror", str(mirror)]
        assert run_main("fetch", "Yacht", *raw) == 0
        record = json.loads((folder / "raw.json").read_text())
        assert record["status"] in ("available", "unavailable")
        if record["status"] == "available":
            assert (mirror / row["file"]).resolve() == (mirror / "uci/Yacht.csv.gz").resolve()
        assert run_main("prepare", "Yacht", *raw[:4], "--out", "prepared") == 0


ROW = f"uci,Yacht,uci/Yacht.csv.gz,{'0' * 64},c6,,,,"


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (f"{MANIFEST}\n{ROW},more\n", "line 2 has"),
        (f"{MANIFEST}\nuci,Yacht\n", "line 2 has"),
        (f"{MANIFEST}\n{ROW}\n{ROW}\n", "2 times in its manifest"),
        ("name,file\nYacht,x\n", "lacks the column"),
        ("", "lacks the column"),
        ("a" * 200_000, "not a readable CSV"),
        ("\ud800", "not a readable CSV"),
        (None, "not a readable CSV"),
    ],
    ids=["more fields", "fewer fields", "twice", "columns", "empty", "long", "no UTF-8", "folder"],
)
def test_odd_manifest_of_a_mirror_is_a_reason_and_the_next_source_is_tried(
    tmp_path: Path, manifest: str | None, reason: str
) -> None:
    if manifest is None:
        (tmp_path / "manifest.csv").mkdir()
    else:
        (tmp_path / "manifest.csv").write_bytes(manifest.encode(errors="surrogatepass"))
    with pytest.raises(SourceUnavailable, match=reason):
        fetch_mirror("Yacht", tmp_path)


@pytest.mark.parametrize("file", ["../outside.csv.gz", "/etc/passwd", "link", "uci/../../outside.csv.gz"])
def test_mirror_names_the_file_that_lies_outside(tmp_path: Path, file: str) -> None:
    (tmp_path / "outside.csv.gz").write_bytes(yacht_csv())
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    (mirror / "link").symlink_to("../outside.csv.gz")
    checksum = hashlib.sha256(yacht_csv()).hexdigest()
    (mirror / "manifest.csv").write_text(f"{MANIFEST}\nuci,Yacht,{file},{checksum},c6,,,,\n")
    with pytest.raises(SourceUnavailable, match="lies outside"):
        fetch_mirror("Yacht", mirror)
