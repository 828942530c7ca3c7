"""UCI archives are found, checked and read as the sheet says; faults leave nothing behind."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import resource
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pytest

from qrt.errors import UserError
from qrt_study.data import archive_member, uci_source
from qrt_study.data.download import TransferSettings
from qrt_study.data.raw_table import RawTable, SourceUnavailable
from qrt_study.data.sheet import SheetRow, paper_datasets
from qrt_study.data.source_lock import SourceLock
from qrt_study.data.uci_source import fetch_uci
from support.stand_in_server import Behaviour, StandInServer, answer, close_half_way, hang

QUICK = TransferSettings(read_seconds=10, attempts=3, first_wait_seconds=0, slot_poll_seconds=0.01)
IMPATIENT = replace(QUICK, read_seconds=0.2)
MPG_ROWS = (
    b'18.0   8   307.0      130.0      3504.      12.0   70  1\t"chevrolet chevelle malibu"\n'
    b'25.0   4   98.00      ?          2046.      19.0   71  1\t"ford pinto"\n'
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInServer]:
    with StandInServer() as stand_in:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("QRT_UCI_SERVER", stand_in.address)
        yield stand_in


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def served(server: StandInServer, row: SheetRow, *behaviours: Behaviour) -> None:
    server.serve(row.uci_address.removeprefix("https://archive.ics.uci.edu"), *behaviours)


def fetched(row: SheetRow, cache: Path, settings: TransferSettings = QUICK) -> RawTable:
    """The table of a row whose archive has the bytes of a test, not those of the sheet."""
    return fetch_uci(replace(row, uci_sha256=""), cache, SourceLock(cache.parent / "datasets.lock.json"), settings)


def kept(cache: Path) -> list[str]:
    """All files below the cache, apart from the empty files of the slots."""
    return sorted(file.name for file in cache.rglob("*") if file.is_file() and file.suffix != ".slot")


def read(server: StandInServer, cache: Path, name: str, content: bytes) -> RawTable:
    """The dataset `name` of the sheet, when its archive holds `content`."""
    row = paper_datasets()[name]
    served(server, row, answer(zipped({row.uci_member: content})))
    return fetched(row, cache)


def test_a_whitespace_table_with_quoted_names_is_read(server: StandInServer, cache: Path) -> None:
    table = read(server, cache, "MPG", MPG_ROWS)
    assert table.target == "mpg"
    assert (table.rules, table.target_transform, table.missing_column_threshold) == ("uci", "none", 0.2)
    assert table.categorical == ()
    assert table.frame["car_name"].tolist() == ["chevrolet chevelle malibu", "ford pinto"]
    assert table.frame["horsepower"].dtype == float
    assert table.frame["horsepower"].isna().tolist() == [False, True]
    assert table.frame["displacement"].tolist() == [307.0, 98.0]


def test_the_record_says_where_the_bytes_came_from(server: StandInServer, cache: Path) -> None:
    table = read(server, cache, "MPG", MPG_ROWS)
    entry = json.loads((cache.parent / "datasets.lock.json").read_text())["datasets"]["MPG"]
    assert table.provenance == {
        "source": "uci",
        "address": f"{server.address}/static/public/9/auto+mpg.zip",
        "member": "auto-mpg.data",
        "sha256": entry["sha256"],
        "size": entry["size"],
    }


def test_lines_with_blanks_around_have_no_more_columns(server: StandInServer, cache: Path) -> None:
    rows = b"   1.5   2.5  3 4 5 6 7  \n   1e-3   2.5  3 4 5 6 8  \n\n"
    table = read(server, cache, "Yacht", rows)
    assert list(table.frame.columns) == ["c0", "c1", "c2", "c3", "c4", "c5", "c6"]
    assert table.frame["c6"].tolist() == [7.0, 8.0]
    assert table.frame["c0"].tolist() == [1.5, 0.001]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_row_after_a_blank_line_keeps_its_empty_first_field(server: StandInServer, cache: Path, end: bytes) -> None:
    rows = [b"adviser,32/60,125,256,6000,256,16,128,198,199", b"", b",470v/7,29,8000,32000,32,8,32,?,253", b" ", b""]
    frame = read(server, cache, "CPU", end.join(rows)).frame
    assert frame["vendor_name"].fillna("").tolist() == ["adviser", ""]
    assert frame["ERP"].tolist() == [199, 253]


def test_blanks_in_quotes_stay(server: StandInServer, cache: Path) -> None:
    names = read(server, cache, "MPG", MPG_ROWS.replace(b"ford pinto", b" ford  pinto")).frame["car_name"]
    assert names.tolist() == ["chevrolet chevelle malibu", " ford  pinto"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("MPG", MPG_ROWS + b"18.0 8 307.0 130.0 3504. 12.0 70 1\n"),
        ("Protein", b"RMSD,F1\n1,2\n3\n"),
        ("Protein", b"RMSD,F1\n1,2,3\n4,5,6\n"),
    ],
)
def test_rows_with_more_or_fewer_fields_are_refused(
    server: StandInServer, cache: Path, name: str, content: bytes
) -> None:
    with pytest.raises(SourceUnavailable, match=r"does not look like .* field\(s\), but the first line has"):
        read(server, cache, name, content)


def test_a_comma_table_with_names_and_numbers_is_read(server: StandInServer, cache: Path) -> None:
    rows = b"adviser,32/60,125,256,6000,256,16,128,198,199\namdahl,470v/7,29,8000,32000,32,8,32,?,253\n"
    frame = read(server, cache, "CPU", rows).frame
    assert frame["vendor_name"].tolist() == ["adviser", "amdahl"]
    assert frame["ERP"].tolist() == [199, 253]
    pd.testing.assert_series_equal(frame["PRP"], pd.Series([198, None], name="PRP"))


def test_a_semicolon_table_is_read(server: StandInServer, cache: Path) -> None:
    table = read(server, cache, "Fish", b"3.26;0.829;1.676;0;1;1.453;3.77\n2.189;0.58;0.863;0;0;1.348;3.115\n")
    assert table.target == "LC50"
    assert table.frame["LC50"].tolist() == [3.77, 3.115]


def test_a_table_with_its_names_in_the_first_line_is_read(server: StandInServer, cache: Path) -> None:
    names = "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9"
    numbers = "17.284,13558.3,4305.35,0.31754,162.173,1.872791e+06,215.359,4287.87,102,27.0302"
    text = f"\ufeff{names}\r\n{numbers}\r\n"
    table = read(server, cache, "Protein", text.encode())
    assert list(table.frame.columns) == names.split(",")
    assert table.frame.loc[0, "F5"] == 1872791.0


def test_the_digits_of_numbers_are_kept(server: StandInServer, cache: Path) -> None:
    numbers = ["0.1", "123456.789012345678", "2.2250738585072014e-308", "9007199254740993"]
    rows = "".join(f"{number},0,0,0,0,0,0,0,0,0\n" for number in numbers)
    header = "RMSD,F1,F2,F3,F4,F5,F6,F7,F8,F9\n"
    frame = read(server, cache, "Protein", (header + rows).encode()).frame
    assert frame["RMSD"].tolist() == [float(number) for number in numbers]


def workbook(rows: list[list[Any]]) -> bytes:
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(row)
    book.create_sheet("second").append(["not", "this"])
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_a_workbook_loses_its_trailing_empty_rows_and_columns(server: StandInServer, cache: Path) -> None:
    names: list[Any] = ["X1", "X2", "X3", "X4", "X5", "X6", "X7", "X8", "Y1", "Y2"]
    rows: list[list[Any]] = [
        [0.98, 514.5, 294, 110.25, 7, 2, 0, 0, 15.55, 21.33],
        [0.9, 563.5, 318.5, 122.5, 7, 3, 0, 0, "?", 25],
    ]
    padded = [[*row, None, ""] for row in [names, *rows]] + [[None] * 12, [""] * 12]
    table = read(server, cache, "Energy", workbook(padded))
    assert list(table.frame.columns) == names
    assert table.frame["Y2"].tolist() == [21.33, 25.0]
    assert table.frame["Y1"].isna().tolist() == [False, True]
    assert all(pd.api.types.is_float_dtype(kind) for kind in table.frame.dtypes)


def biff2(rows: list[list[str | float]]) -> bytes:
    """The smallest file of Excel 2.1: records of type, length and content."""
    records = [(0x0009, struct.pack("<HH", 2, 0x10))]
    for y, row in enumerate(rows):
        for x, value in enumerate(row):
            place = struct.pack("<HH3x", y, x)
            if isinstance(value, str):
                records.append((0x0004, place + bytes([len(value)]) + value.encode("ascii")))
            else:
                records.append((0x0003, place + struct.pack("<d", value)))
    records.append((0x000A, b""))
    return b"".join(struct.pack("<HH", kind, len(content)) + content for kind, content in records)


def test_an_old_spreadsheet_is_read_and_a_blank_in_the_targets_name_does_not_matter(
    server: StandInServer, cache: Path
) -> None:
    names: list[str | float] = [f"Component {number}" for number in range(8)]
    target = "Concrete compressive  strength(MPa, megapascals)"
    rows: list[list[str | float]] = [[*names, target], [540.0, 0, 0, 162, 2.5, 1040, 676, 28, 79.98611076]]
    table = read(server, cache, "Concrete", biff2(rows))
    assert table.target == target
    assert table.frame[target].tolist() == [79.98611076]
    assert table.frame.shape == (1, 9)


def test_a_workbook_or_data_file_may_come_without_an_archive(server: StandInServer, cache: Path) -> None:
    mpg, energy = paper_datasets()["MPG"], paper_datasets()["Energy"]
    served(server, mpg, answer(MPG_ROWS))
    assert len(fetched(mpg, cache).frame) == 2
    served(server, energy, answer(workbook([["X1", "Y2"], [1, 2]])))
    assert fetched(energy, cache).frame.shape == (1, 2)


@pytest.mark.parametrize(
    "members",
    [
        {"folder/auto-mpg.data": MPG_ROWS, "__MACOSX/folder/auto-mpg.data": b"no", "auto-mpg.names": b"x"},
        {"inner.zip": zipped({"deep/auto-mpg.data": MPG_ROWS}), "readme": b"x"},
    ],
    ids=["in a folder", "in an archive within"],
)
def test_the_member_is_found_wherever_it_is(server: StandInServer, cache: Path, members: dict[str, bytes]) -> None:
    row = paper_datasets()["MPG"]
    served(server, row, answer(zipped(members)))
    assert len(fetched(row, cache).frame) == 2


def assert_refused_and_next_run_works(server: StandInServer, cache: Path, behaviour: Behaviour, message: str) -> None:
    row = paper_datasets()["MPG"]
    served(server, row, behaviour)
    with pytest.raises(SourceUnavailable, match=message) as caught:
        fetched(row, cache, IMPATIENT if behaviour is hang else QUICK)
    assert "\n" not in str(caught.value)
    assert kept(cache) == []
    assert kept(cache.parent) == []  # neither in the lock file nor anywhere else
    served(server, row, answer(zipped({row.uci_member: MPG_ROWS})))
    assert len(fetched(row, cache).frame) == 2
    assert kept(cache) == ["auto+mpg.zip"]


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (answer(b"", status=404), "answered 404 Not Found"),
        (answer(b"", status=503), r"answered 503 Service Unavailable \(tried 3 times\)"),
        (hang, r"no answer within 0.2 s \(tried 3 times\)"),
        (close_half_way(zipped({"auto-mpg.data": MPG_ROWS})), r"closed the connection .*\(tried 3 times\)"),
        (answer(b"<!DOCTYPE html><html></html>"), "sent an HTML page instead of data"),
        (answer(zipped({"auto-mpg.data": MPG_ROWS})[:-30]), "is a damaged zip archive"),
        (answer(zipped({"other.data": b"1"})), "has no file 'auto-mpg.data' in it"),
        (answer(zipped({"a/auto-mpg.data": b"1", "b/auto-mpg.data": b"2"})), "several files named"),
        (answer(zipped({"auto-mpg.data": b""})), "does not look like the data of MPG"),
        (answer(zipped({"auto-mpg.data": b"1 2 3\n"})), "it has 3 columns, and 9 names for them"),
        (
            answer(zipped({"auto-mpg.data": MPG_ROWS + b"1 2 3 4 5 6 7 8 9 10 11\n"})),
            "cannot be read as white",
        ),
    ],
    ids=[
        "404",
        "503",
        "hang",
        "closed half-way",
        "html",
        "cut archive",
        "no member",
        "two members",
        "empty member",
        "too few columns",
        "ragged",
    ],
)
def test_a_fault_gives_one_message_and_leaves_nothing(
    server: StandInServer, cache: Path, behaviour: Behaviour, message: str
) -> None:
    assert_refused_and_next_run_works(server, cache, behaviour, message)


def test_a_server_that_is_busy_twice_is_asked_a_third_time(server: StandInServer, cache: Path) -> None:
    row = paper_datasets()["MPG"]
    busy = answer(b"", status=503)
    served(server, row, busy, busy, answer(zipped({row.uci_member: MPG_ROWS})))
    assert len(fetched(row, cache).frame) == 2


@pytest.mark.parametrize("name", ["../auto-mpg.data", "a/../../x", "/etc/x", "..\\x", "C:\\x", "C:x"])
def test_an_archive_with_a_name_that_leads_outside_is_refused(server: StandInServer, cache: Path, name: str) -> None:
    archive = zipped({"auto-mpg.data": MPG_ROWS, name: b"evil"})
    assert_refused_and_next_run_works(server, cache, answer(archive), "leads outside its folder")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damage_anywhere_in_an_archive_is_refused_or_harmless(method: int) -> None:
    archive = zipped({"auto-mpg.data": MPG_ROWS}, method)
    for place in range(len(archive)):
        damaged = archive[:place] + bytes([archive[place] ^ 0x55]) + archive[place + 1 :]
        try:
            assert archive_member.member_bytes(damaged, "auto-mpg.data", "here") in (MPG_ROWS, damaged)
        except SourceUnavailable as error:
            assert str(error).startswith("here")  # noqa: PT017 (harmless damage raises nothing)


def test_a_file_without_a_name_in_an_archive_is_left_alone() -> None:
    archive = zipped({"auto-mpg.data": MPG_ROWS, "nn": b"nameless"}).replace(b"nn", b"\0n")
    assert archive_member.member_bytes(archive, "auto-mpg.data", "here") == MPG_ROWS


def test_an_inner_archive_that_is_none_is_not_taken_for_the_file(server: StandInServer, cache: Path) -> None:
    archive = zipped({"data.zip": MPG_ROWS})
    assert_refused_and_next_run_works(server, cache, answer(archive), r"data\.zip: is no zip archive")


@pytest.mark.parametrize("name", ["Energy", "Concrete"])
def test_damaged_spreadsheets_are_refused_or_read(server: StandInServer, cache: Path, name: str) -> None:
    sound = bytearray(workbook([["Y2", "X"], [1, 2]]) if name == "Energy" else biff2([["Y", "X"], [1.0, 2.0]]))
    row = paper_datasets()[name]
    for place in range(0, len(sound), max(1, len(sound) // 200)):
        damaged = bytes([*sound[:place], sound[place] ^ 0x15, *sound[place + 1 :]])
        with contextlib.suppress(SourceUnavailable):
            uci_source._table(damaged, row, "here")


BOMB = zipped({"auto-mpg.data": bytes(100_001)})


@pytest.mark.parametrize("bomb", [BOMB, zipped({"inner.zip": BOMB})], ids=["bare", "nested"])
def test_an_archive_that_unpacks_to_too_much_is_refused(
    server: StandInServer, cache: Path, monkeypatch: pytest.MonkeyPatch, bomb: bytes
) -> None:
    assert len(bomb) < 1000
    monkeypatch.setattr(archive_member, "LARGEST_MEMBER_BYTES", 100_000)
    message = "would unpack to 100001 bytes, more than the 100000 that are allowed"
    assert_refused_and_next_run_works(server, cache, answer(bomb), message)


def test_a_workbook_that_unpacks_to_too_much_is_refused(
    server: StandInServer, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_member, "LARGEST_MEMBER_BYTES", 100_000)
    book = workbook([["Y2"], *([letter * 30_000] for letter in "abcd")])
    assert len(book) < 100_000
    with pytest.raises(SourceUnavailable, match=r"'xl/[\w/]+\.xml' would unpack to \d+ bytes"):
        read(server, cache, "Energy", book)
    assert kept(cache) == []


def test_a_member_that_lies_about_its_size_is_refused(server: StandInServer, cache: Path) -> None:
    archive = bytearray(zipped({"auto-mpg.data": MPG_ROWS}))
    size = struct.pack("<I", len(MPG_ROWS))
    place = archive.rfind(size)  # in the central directory
    archive[place : place + 4] = struct.pack("<I", 10)
    assert_refused_and_next_run_works(server, cache, answer(bytes(archive)), "cannot be unpacked")


def test_a_disk_that_is_full_is_a_local_fault(server: StandInServer, cache: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    row = paper_datasets()["MPG"]
    served(server, row, answer(zipped({row.uci_member: MPG_ROWS})))
    try:
        with pytest.raises(UserError, match="cannot be written"):
            fetched(row, cache)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert kept(cache) == []
    assert len(fetched(row, cache).frame) == 2


def test_a_table_without_its_target_is_refused(server: StandInServer, cache: Path) -> None:
    with pytest.raises(SourceUnavailable, match="does not look like the data of Protein, it has no column 'RMSD'"):
        read(server, cache, "Protein", b"F1,F2\n1,2\n")
    assert kept(cache) == []


def test_other_bytes_than_the_locked_ones_are_refused(server: StandInServer, cache: Path) -> None:
    read(server, cache, "MPG", MPG_ROWS)
    (cache / "uci" / "MPG" / "auto+mpg.zip").unlink()
    with pytest.raises(SourceUnavailable, match=r"datasets\.lock\.json expects sha256 .* delete the entry"):
        read(server, cache, "MPG", MPG_ROWS + MPG_ROWS)
    assert kept(cache) == []


def test_archives_with_a_known_checksum_are_checked_against_it(server: StandInServer, cache: Path) -> None:
    assert sum(bool(row.uci_sha256) for row in paper_datasets().values()) == 7
    content = zipped({"auto-mpg.data": MPG_ROWS})
    row = replace(paper_datasets()["MPG"], uci_sha256=hashlib.sha256(content).hexdigest())
    lock = SourceLock(cache.parent / "datasets.lock.json")
    served(server, row, answer(b"PK cut"), answer(content))
    assert len(fetch_uci(row, cache, lock, QUICK).frame) == 2
    other = replace(row, uci_sha256="0" * 64)
    with pytest.raises(SourceUnavailable, match="the checksum is wrong, the sheet of datasets has sha256 0000"):
        fetch_uci(other, cache, lock, QUICK)
    assert kept(cache) == []


def test_a_second_run_needs_no_server(server: StandInServer, cache: Path) -> None:
    first = read(server, cache, "MPG", MPG_ROWS)
    served(server, paper_datasets()["MPG"], answer(b"", status=404))
    again = fetched(paper_datasets()["MPG"], cache)
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert len(server.asked) == 1


def test_a_dataset_that_is_not_in_the_archive_is_unavailable(cache: Path) -> None:
    with pytest.raises(SourceUnavailable, match="Kin8nm: is not in the UCI archive"):
        fetched(paper_datasets()["Kin8nm"], cache)
    with pytest.raises(SourceUnavailable, match="not in the UCI archive"):
        fetched(replace(paper_datasets()["MPG"], uci_address=""), cache)
