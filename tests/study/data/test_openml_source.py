"""The real `openml` package against a stand-in server: datasets are found, verified and read, or refused."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qrt.errors import UserError
from qrt_study.data.download import TransferSettings
from qrt_study.data.openml_source import fetch_openml
from qrt_study.data.raw_table import RawTable, SourceUnavailable
from qrt_study.data.sheet import paper_datasets
from qrt_study.data.source_lock import SourceLock
from support.openml_stand_in import (
    ARFF,
    DATA,
    DESCRIPTION,
    FEATURES,
    FORMS,
    description,
    features,
    open_house,
    refusal,
)
from support.stand_in_server import StandInServer, answer, close_half_way, hang

QUICK = TransferSettings(read_seconds=10, attempts=3, first_wait_seconds=0, slot_poll_seconds=0.01)
IMPATIENT = replace(QUICK, read_seconds=0.2)
ROW = replace(paper_datasets()["abalone"], openml_id=44)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInServer]:
    with StandInServer() as stand_in:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("QRT_OPENML_SERVER", f"{stand_in.address}/api/v1/xml")
        open_house(stand_in)
        yield stand_in


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def fetched(cache: Path, settings: TransferSettings = QUICK, row: Any = ROW) -> RawTable:
    return fetch_openml(row, cache, SourceLock(cache.parent / "datasets.lock.json"), settings)


def kept(folder: Path) -> list[str]:
    """All files and empty folders, apart from the empty files of the slots."""
    return sorted(
        str(entry.relative_to(folder))
        for entry in folder.rglob("*")
        if (entry.is_file() and entry.suffix != ".slot") or (entry.is_dir() and entry.name.startswith("."))
    )


def test_a_dataset_is_found_by_the_id_of_the_sheet_and_read(server: StandInServer, cache: Path) -> None:
    table = fetched(cache)
    assert table.target == "Rings"
    assert table.categorical == ("Sex",)
    assert (table.rules, table.target_transform, table.missing_column_threshold) == ("openml", "none", 0.2)
    expected = pd.DataFrame(
        {
            "Sex": ["M", "F", None],
            "Length": [0.455, None, 0.53],
            "note": ["a, b", "plain", None],
            "Rings": [15.0, 7.0, 9.0],
        }
    )
    pd.testing.assert_frame_equal(table.frame, expected)
    assert table.provenance == {
        "source": "openml",
        "address": server.address + DATA,
        "openml_id": 44,
        "openml_name": "abalone",
        "openml_version": 3,
        "md5": hashlib.md5(ARFF).hexdigest(),
        "sha256": hashlib.sha256(ARFF).hexdigest(),
        "size": len(ARFF),
    }


def test_only_the_arff_file_is_kept_and_the_lock_file_names_it(server: StandInServer, cache: Path) -> None:
    table = fetched(cache)
    assert kept(cache) == ["openml/44.arff"]
    lock = json.loads((cache.parent / "datasets.lock.json").read_text())
    assert lock == {"datasets": {"abalone": table.provenance}}


def test_three_requests_are_enough_and_the_data_are_not_fetched_again(server: StandInServer, cache: Path) -> None:
    fetched(cache)
    assert server.asked == [DESCRIPTION, FEATURES, DATA]
    server.asked.clear()
    fetched(cache)
    assert server.asked == [DESCRIPTION, FEATURES]


def test_every_dataset_of_openml_has_an_id_of_its_own() -> None:
    rows = [row for row in paper_datasets().values() if row.group != "uci" or not row.uci_address]
    assert len({row.openml_id for row in rows} - {None}) == len(rows) == 46


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_description_is_understood(server: StandInServer, cache: Path, form: str) -> None:
    server.serve(DESCRIPTION, description(server, **FORMS[form]))
    frame = fetched(cache).frame
    assert list(frame) == [
        name for name in ("Sex", "Length", "note", "Rings") if name != "note" or "ignored" not in form
    ]
    assert frame["Rings"].tolist() == [15.0, 7.0, 9.0]


def test_a_sparse_file_is_read(server: StandInServer, cache: Path) -> None:
    head = ARFF[: ARFF.index(b"1,M")]
    sparse = head + b"{0 1, 1 M, 2 0.455, 3 'a, b', 4 15, 5 1}\n{0 2, 1 F, 3 plain, 4 7}\n{1 I, 4 9}\n"
    server.serve(DESCRIPTION, description(server, format="Sparse_ARFF", md5_checksum=hashlib.md5(sparse).hexdigest()))
    server.serve(DATA, answer(sparse))
    frame = fetched(cache).frame
    assert frame["Rings"].tolist() == [15.0, 7.0, 9.0]
    assert frame["Length"].tolist() == [0.455, 0.0, 0.0]  # what a sparse row leaves out is 0


PARQUET = "/datasets/0000/0044/dataset_44.pq"


def parquet(**columns: pa.Array) -> bytes:
    """The table of the ARFF file as OpenML converts it, with other columns in place of some."""
    content: dict[str, Any] = {
        "number": pa.array([1, 2, 3], pa.uint8()),
        "Sex": pa.array(["M", "F", None]).dictionary_encode(),
        "Length": pa.array([0.455, None, 0.53]),
        "note": pa.array(["a, b", "plain", None]),
        "Rings": pa.array([15, 7, 9], pa.int64()),
        "leak": pa.array([1.0, 2.0, 3.0]),
    }
    file = io.BytesIO()
    pq.write_table(pa.table(content | columns), file)
    return file.getvalue()


def by_parquet(server: StandInServer, cache: Path, content: bytes) -> RawTable:
    server.serve(DESCRIPTION, description(server, parquet_url=server.address + PARQUET))
    server.serve(PARQUET, answer(content))
    lock = SourceLock(cache.parent / "datasets.lock.json")
    return fetch_openml(ROW, cache, lock, QUICK, parquet=True)


def test_the_parquet_file_gives_the_same_table_where_the_arff_file_is_gone(server: StandInServer, cache: Path) -> None:
    expected = fetched(cache.parent / "other" / "cache")
    server.serve(DATA, answer(b"", status=404))
    with pytest.raises(SourceUnavailable, match="404"):
        fetched(cache)
    table = by_parquet(server, cache, parquet())
    pd.testing.assert_frame_equal(table.frame, expected.frame)
    assert (table.target, table.categorical) == (expected.target, expected.categorical)
    assert table.provenance["source"] == "openml_parquet"
    assert "md5" not in table.provenance


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"Rings": pa.array(["15", "7", "9"])}, "Rings is numeric, here string"),
        ({"Length": pa.array([True, False, None])}, "Length is numeric, here bool"),
        ({"Sex": pa.array([0, 1, None])}, "Sex is nominal, here int64"),
        ({"more": pa.array([1, 2, 3])}, "are not those of OpenML's description"),
    ],
)
def test_parquet_files_with_other_types_are_refused(
    server: StandInServer, cache: Path, columns: dict[str, pa.Array], reason: str
) -> None:
    with pytest.raises(SourceUnavailable, match=reason):
        by_parquet(server, cache, parquet(**columns))
    assert kept(cache.parent) == []


def test_the_parquet_file_does_not_take_the_place_of_a_locked_arff_file(server: StandInServer, cache: Path) -> None:
    fetched(cache)
    with pytest.raises(SourceUnavailable, match=r"datasets\.lock\.json expects source openml, .* delete the entry"):
        by_parquet(server, cache, parquet())


def test_another_dataset_behind_the_id_is_refused(server: StandInServer, cache: Path) -> None:
    server.serve(DESCRIPTION, description(server, name="abalone_2"))
    assert_refused_and_next_run_works(server, cache, "does not look like the data of abalone, .* named 'abalone_2'")


def test_a_dataset_with_an_id_in_the_sheet_follows_the_rules_of_its_group(server: StandInServer, cache: Path) -> None:
    arff = b"@relation kin8nm\n@attribute theta1 numeric\n@attribute y numeric\n@data\n-0.5,0.25\n"
    server.serve("/api/v1/xml/data/189", description(server, id="189", name="kin8nm", md5_checksum=""))
    server.serve("/api/v1/xml/data/features/189", features(theta1="numeric", y="numeric"))
    server.serve(DATA, answer(arff))
    table = fetched(cache, row=paper_datasets()["Kin8nm"])
    assert (table.target, table.rules, table.categorical) == ("y", "uci", ())
    assert table.frame.to_dict("list") == {"theta1": [-0.5], "y": [0.25]}


def test_several_ignored_columns_may_be_named_in_one(server: StandInServer, cache: Path) -> None:
    server.serve(DESCRIPTION, description(server, ignore_attribute="leak, note", row_id_attribute=""))
    assert list(fetched(cache).frame.columns) == ["number", "Sex", "Length", "Rings"]


def test_the_feature_description_makes_a_numeric_column_categorical(server: StandInServer, cache: Path) -> None:
    server.serve(FEATURES, features(number="numeric", Sex="nominal", Length="nominal"))
    assert fetched(cache).categorical == ("Sex", "Length")


def test_without_a_feature_description_the_header_says_what_is_nominal(server: StandInServer, cache: Path) -> None:
    server.serve(FEATURES, refusal(273, "Dataset not processed yet"))
    assert fetched(cache).categorical == ("Sex",)


def test_a_target_declared_nominal_is_a_number_if_its_labels_are(server: StandInServer, cache: Path) -> None:
    arff = ARFF.replace(b"Rings numeric", b"Rings {15,7,9}")
    server.serve(DESCRIPTION, description(server, md5_checksum=hashlib.md5(arff).hexdigest()))
    server.serve(DATA, answer(arff))
    table = fetched(cache)
    assert table.frame["Rings"].tolist() == [15, 7, 9]
    assert pd.api.types.is_numeric_dtype(table.frame["Rings"])
    assert table.categorical == ("Sex",)


def test_nothing_is_pickled(server: StandInServer, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("no pickle here")

    for name in ("dump", "load"):
        monkeypatch.setattr(pickle, name, refuse)
    assert len(fetched(cache).frame) == 3


def test_the_home_directory_and_the_root_logger_stay_untouched(server: StandInServer, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    script = (
        "from dataclasses import replace\n"
        "from pathlib import Path\n"
        "from qrt_study.data.openml_source import fetch_openml\n"
        "from qrt_study.data.sheet import paper_datasets\n"
        "from qrt_study.data.source_lock import SourceLock\n"
        "row = replace(paper_datasets()['abalone'], openml_id=44)\n"
        "table = fetch_openml(row, Path('cache'), SourceLock())\n"
        "import logging, os\n"
        "assert len(table.frame) == 3 and os.environ['HOME'].endswith('home')\n"
        "assert logging.getLogger().handlers == []\n"
    )
    hidden = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "OPENML_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in hidden} | {"HOME": str(home)}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True, timeout=120)
    assert list(home.iterdir()) == []
    assert kept(tmp_path / "cache") == ["openml/44.arff"]


def assert_refused_and_next_run_works(server: StandInServer, cache: Path, message: str, quick: bool = True) -> None:
    with pytest.raises(SourceUnavailable, match=message) as caught:
        fetched(cache, QUICK if quick else IMPATIENT)
    assert "\n" not in str(caught.value)
    assert kept(cache.parent) == []
    open_house(server)
    assert len(fetched(cache).frame) == 3
    assert kept(cache) == ["openml/44.arff"]


EVERYWHERE = [DESCRIPTION, FEATURES, DATA]
PLACES = pytest.mark.parametrize("path", EVERYWHERE, ids=["description", "features", "data"])


@PLACES
def test_404_is_reported_at_once(server: StandInServer, cache: Path, path: str) -> None:
    server.serve(path, answer(b"<html>not found</html>", status=404))
    with pytest.raises(SourceUnavailable, match="the server answered 404 Not Found"):
        fetched(cache)
    assert len(server.asked) == EVERYWHERE.index(path) + 1
    assert_refused_and_next_run_works(server, cache, "the server answered 404 Not Found")


@PLACES
def test_503_twice_is_survived(server: StandInServer, cache: Path, path: str) -> None:
    routes = {DESCRIPTION: description(server), FEATURES: features(Sex="nominal"), DATA: answer(ARFF)}
    busy = answer(b"busy", status=503)
    server.serve(path, busy, busy, routes[path])
    assert len(fetched(cache).frame) == 3


@PLACES
def test_503_for_ever_is_given_up(server: StandInServer, cache: Path, path: str) -> None:
    server.serve(path, answer(b"busy", status=503))
    assert_refused_and_next_run_works(server, cache, r"answered 503 Service Unavailable \(tried 3 times\)")


@PLACES
def test_a_server_that_hangs_is_given_up(server: StandInServer, cache: Path, path: str) -> None:
    server.serve(path, hang)
    assert_refused_and_next_run_works(server, cache, r"no answer within 0.2 s \(tried 3 times\)", quick=False)


@PLACES
def test_a_connection_closed_half_way_is_given_up(server: StandInServer, cache: Path, path: str) -> None:
    server.serve(path, close_half_way(b"x" * 5000))
    assert_refused_and_next_run_works(server, cache, r"closed the connection half-way \(tried 3 times\)")


@PLACES
def test_html_instead_of_data_is_refused(server: StandInServer, cache: Path, path: str) -> None:
    server.serve(path, answer(b"<!DOCTYPE html>\n<html><body>Maintenance</body></html>"))
    assert_refused_and_next_run_works(server, cache, "sent an HTML page instead of data")


@pytest.mark.parametrize("path", [DESCRIPTION, FEATURES])
@pytest.mark.parametrize("body", [b"<a/>", b"<oml:study"])
def test_an_answer_that_is_not_openmls_is_refused(server: StandInServer, cache: Path, path: str, body: bytes) -> None:
    server.serve(path, answer(body))
    assert_refused_and_next_run_works(server, cache, "sent an answer that is not OpenML's")


def test_a_dataset_that_openml_does_not_know_is_unavailable(server: StandInServer, cache: Path) -> None:
    server.serve(DESCRIPTION, refusal(111, "Unknown dataset"))
    assert_refused_and_next_run_works(server, cache, "data/44: OpenML answers: Unknown dataset")


def test_a_busy_database_is_asked_again(server: StandInServer, cache: Path) -> None:
    server.serve(DESCRIPTION, refusal(107, "Database connection error"), description(server))
    assert len(fetched(cache).frame) == 3
    server.serve(DESCRIPTION, refusal(107, "Database connection error"))
    with pytest.raises(SourceUnavailable, match=r"database is busy \(tried 3 times\)"):
        fetched(cache)


OVERLOADED = [b"Too many requests, please try again later.", b""]


@pytest.mark.parametrize("path", [DESCRIPTION, FEATURES])
@pytest.mark.parametrize("body", OVERLOADED)
def test_overload_in_plain_text_with_status_200_is_asked_again(
    server: StandInServer, cache: Path, path: str, body: bytes
) -> None:
    server.serve(path, answer(body), description(server) if path == DESCRIPTION else features(Sex="nominal"))
    assert len(fetched(cache).frame) == 3
    server.serve(path, answer(body))
    with pytest.raises(SourceUnavailable, match=r"without XML, .* overloaded \(tried 3 times\)"):
        fetched(cache)


def test_overload_in_place_of_the_data_is_asked_again(server: StandInServer, cache: Path) -> None:
    server.serve(DATA, answer(OVERLOADED[0]), answer(ARFF[:-5]), answer(ARFF))
    assert len(fetched(cache).frame) == 3


def test_a_checksum_that_stays_wrong_is_refused_without_a_third_download(server: StandInServer, cache: Path) -> None:
    server.serve(DATA, answer(ARFF.replace(b"0.455", b"0.456")))
    assert_refused_and_next_run_works(server, cache, "the checksum is wrong, OpenML publishes md5")
    assert server.asked.count(DATA) == 2 + 1


@pytest.mark.parametrize(
    ("code", "words"),
    [(112, "No access granted .*was withdrawn"), (372, "No results .*found nothing for what was asked")],
)
def test_errors_of_openml_get_words(server: StandInServer, cache: Path, code: int, words: str) -> None:
    server.serve(DESCRIPTION, refusal(code, "No access granted" if code == 112 else "No results"))
    assert_refused_and_next_run_works(server, cache, words)


def test_a_new_version_behind_the_same_id_is_refused(server: StandInServer, cache: Path) -> None:
    fetched(cache)
    changed = ARFF.replace(b"0.455", b"0.456")
    server.serve(DESCRIPTION, description(server, md5_checksum=hashlib.md5(changed).hexdigest()))
    server.serve(DATA, answer(changed))
    with pytest.raises(SourceUnavailable, match=r"datasets\.lock\.json expects md5 .* delete the entry"):
        fetched(cache)
    assert kept(cache) == []
    open_house(server)
    assert len(fetched(cache).frame) == 3


@pytest.mark.parametrize(
    ("arff", "message"),
    [
        (b"Rings,Sex\n1,M\n", "does not look like the data of abalone, not a readable ARFF file"),
        (ARFF.replace(b"Rings", b"Wings"), "it has no column 'Rings', which is to be the target"),
        (ARFF[: ARFF.index(b"@data") + 6], "it has no rows"),
        (ARFF + b"4,M\n", "not a readable ARFF file"),
    ],
    ids=["csv", "no target", "no rows", "short row"],
)
def test_what_is_not_the_data_is_neither_kept_nor_locked(
    server: StandInServer, cache: Path, arff: bytes, message: str
) -> None:
    server.serve(DESCRIPTION, description(server, md5_checksum=hashlib.md5(arff).hexdigest()))
    server.serve(DATA, answer(arff))
    assert_refused_and_next_run_works(server, cache, message)


@pytest.mark.parametrize("limit", [10, 1800], ids=["description", "data"])
def test_a_disk_that_is_full_is_a_local_fault(server: StandInServer, cache: Path, limit: int) -> None:
    arff = ARFF + b"1,M,0.455,x,15,1\n" * 1000
    server.serve(DESCRIPTION, description(server, md5_checksum=hashlib.md5(arff).hexdigest()))
    server.serve(DATA, answer(arff))
    fetched(cache)  # so that the package is imported, which may write byte code
    (cache / "openml" / "44.arff").unlink()
    (cache.parent / "datasets.lock.json").unlink()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(UserError, match="cannot be written"):
            fetched(cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept(cache) == []
    assert len(fetched(cache).frame) == 1003


def test_a_dataset_that_is_not_on_openml_is_unavailable(cache: Path) -> None:
    with pytest.raises(SourceUnavailable, match="MPG: is not on OpenML"):
        fetched(cache, row=paper_datasets()["MPG"])
