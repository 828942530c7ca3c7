"""Downloads come whole or not at all, whatever the server does."""

from __future__ import annotations

import datetime
import email.utils
import errno
import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from qrt.errors import UserError
from qrt_study.data.download import (
    Received,
    TransferSettings,
    digest_of_file,
    download,
    looks_like_a_page,
    waiting_seconds,
)
from qrt_study.data.raw_table import SourceUnavailable
from support.stand_in_server import StandInServer, answer, close_half_way, gzipped, hang, hang_half_way, in_company

DATA = bytes(range(256)) * 4000
QUICK = TransferSettings(
    connect_seconds=10,
    read_seconds=10,
    attempts=3,
    first_wait_seconds=0,
    longest_retry_after_seconds=0,
    slot_poll_seconds=0.01,
)
IMPATIENT = replace(QUICK, read_seconds=0.2, attempts=2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StandInServer() as stand_in:
        yield stand_in


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "data.bin"


def fetch(address: str, path: Path, settings: TransferSettings = QUICK) -> Received:
    return download(address, path, path.parent / "slots", settings)


def left_behind(path: Path) -> list[str]:
    """All files beside `path`, apart from the empty files of the slots."""
    return sorted(file.name for file in path.parent.rglob("*") if file.is_file() and file.suffix != ".slot")


def assert_next_run_works(server: StandInServer, address: str, path: Path) -> None:
    server.serve(address.removeprefix(server.address), answer(DATA))
    fetch(address, path)
    assert path.read_bytes() == DATA
    assert left_behind(path) == [path.name]


def test_a_file_arrives_whole_with_its_size_and_checksums(server: StandInServer, path: Path) -> None:
    received = fetch(server.serve("/data", answer(DATA)), path)
    assert path.read_bytes() == DATA
    assert received == Received(len(DATA), hashlib.sha256(DATA).hexdigest(), hashlib.md5(DATA).hexdigest())
    assert received == digest_of_file(path)
    assert left_behind(path) == ["data.bin"]


def test_an_answer_compressed_on_its_way_is_stored_unpacked(server: StandInServer, path: Path) -> None:
    received = fetch(server.serve("/data", gzipped(DATA)), path)
    assert path.read_bytes() == DATA
    assert received.sha256 == hashlib.sha256(DATA).hexdigest()


def test_404_is_reported_at_once_and_leaves_nothing(server: StandInServer, path: Path) -> None:
    address = server.serve("/data", answer(b"gone", status=404))
    with pytest.raises(SourceUnavailable, match="/data: the server answered 404 Not Found") as caught:
        fetch(address, path)
    assert "\n" not in str(caught.value)
    assert server.asked == ["/data"]
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again_until_it_answers(server: StandInServer, path: Path, status: int) -> None:
    busy = answer(b"<html>busy</html>", status=status)
    fetch(server.serve("/data", busy, busy, answer(DATA)), path)
    assert path.read_bytes() == DATA
    assert len(server.asked) == 3


def test_a_server_that_stays_busy_is_given_up(server: StandInServer, path: Path) -> None:
    address = server.serve("/data", answer(b"busy", status=503))
    with pytest.raises(SourceUnavailable, match=r"answered 503 Service Unavailable \(tried 3 times\)"):
        fetch(address, path)
    assert len(server.asked) == 3
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


@pytest.mark.parametrize("silence", [hang, hang_half_way(DATA)], ids=["from the start", "half-way"])
def test_a_server_that_hangs_is_given_up(server: StandInServer, path: Path, silence: object) -> None:
    address = server.serve("/data", silence)  # type: ignore[arg-type]
    with pytest.raises(SourceUnavailable, match=r"no answer within 0.2 s \(tried 2 times\)"):
        fetch(address, path, IMPATIENT)
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


def test_a_connection_closed_half_way_is_tried_again(server: StandInServer, path: Path) -> None:
    fetch(server.serve("/data", close_half_way(DATA), answer(DATA)), path)
    assert path.read_bytes() == DATA


def test_a_connection_that_always_closes_half_way_leaves_nothing(server: StandInServer, path: Path) -> None:
    address = server.serve("/data", close_half_way(DATA))
    with pytest.raises(SourceUnavailable, match=r"closed the connection .*\(tried 3 times\)"):
        fetch(address, path)
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


def test_a_server_that_is_not_there_is_reported(server: StandInServer, path: Path) -> None:
    with StandInServer() as other:
        address = other.address + "/data"
    with pytest.raises(SourceUnavailable, match=r"cannot be reached \(Connection refused\) \(tried 3 times\)"):
        fetch(address, path)
    assert left_behind(path) == []


def test_an_address_that_cannot_be_asked_is_not_tried_again(path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="cannot be asked for"):
        fetch("file:///etc/hostname", path)
    assert left_behind(path) == []


@pytest.mark.parametrize("content_type", ["text/html", "application/zip"])
def test_html_instead_of_data_is_refused(server: StandInServer, path: Path, content_type: str) -> None:
    page = b"\n <!DOCTYPE HTML>\n<html><body>Down for maintenance</body></html>"
    address = server.serve("/data", answer(page, Content_Type=content_type))
    with pytest.raises(SourceUnavailable, match="sent an HTML page instead of data"):
        fetch(address, path)
    assert len(server.asked) == 1
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


def test_data_that_is_declared_as_html_is_taken(server: StandInServer, path: Path) -> None:
    fetch(server.serve("/data", answer(b"1,2,3\n", Content_Type="text/html; charset=UTF-8")), path)
    assert path.read_bytes() == b"1,2,3\n"


@pytest.mark.parametrize(
    ("beginning", "content_type", "page"),
    [
        (b"<html lang='en'>", "", True),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- x --><!doctype html>', "", True),
        (b"<p>sorry</p>", "text/html", True),
        (b"<p>sorry</p>", "text/plain", False),
        (b"PK\x03\x04<html>", "text/html", False),
        (b'<?xml version="1.0"?><oml:data>', "text/xml", False),
        (b"% <html> in a comment\n@relation x", "", False),
    ],
)
def test_a_page_is_known_by_its_first_bytes(beginning: bytes, content_type: str, page: bool) -> None:
    assert looks_like_a_page(beginning, content_type) is page


def test_an_empty_file_is_refused(server: StandInServer, path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="sent an empty file"):
        fetch(server.serve("/data", answer(b"")), path)
    assert left_behind(path) == []


def test_a_file_without_end_is_refused(server: StandInServer, path: Path) -> None:
    with pytest.raises(SourceUnavailable, match="sent more than 1000 bytes"):
        fetch(server.serve("/data", answer(DATA)), path, replace(QUICK, largest_bytes=1000))
    assert left_behind(path) == []


def test_a_disk_that_is_full_while_writing_is_a_local_fault(server: StandInServer, path: Path) -> None:
    address = server.serve("/data", answer(DATA))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"data\.bin: cannot be written"):
            fetch(address, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


def test_a_disk_that_is_full_at_the_end_is_a_local_fault(
    server: StandInServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    address = server.serve("/data", answer(DATA))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match="No space left on device"):
            fetch(address, path)
    assert left_behind(path) == []
    assert_next_run_works(server, address, path)


def test_a_file_that_fails_its_check_never_appears(server: StandInServer, path: Path) -> None:
    def refuse(received: Received) -> None:
        assert received.size == len(DATA)
        assert not path.exists()
        raise SourceUnavailable("not this one")

    with pytest.raises(SourceUnavailable, match="not this one"):
        download(server.serve("/data", answer(DATA)), path, path.parent / "slots", QUICK, refuse)
    assert left_behind(path) == []


def test_waits_double_with_jitter_up_to_the_longest() -> None:
    settings = TransferSettings(first_wait_seconds=1, longest_wait_seconds=6)
    for number, longest in [(1, 1), (2, 2), (3, 4), (4, 6), (9, 6)]:
        waits = [waiting_seconds(number, None, settings) for _ in range(200)]
        assert longest / 2 <= min(waits) < max(waits) <= longest


def waits_of(server: StandInServer, path: Path, monkeypatch: pytest.MonkeyPatch, retry_after: str) -> list[float]:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    settings = replace(QUICK, longest_retry_after_seconds=100)
    busy = answer(b"", status=503, Retry_After=retry_after)
    fetch(server.serve("/data", busy, answer(DATA)), path, settings)
    monkeypatch.undo()
    return waits


@pytest.mark.parametrize(("retry_after", "waited"), [("7", 7), ("3600", 100), ("no idea", 0)])
def test_the_server_says_how_long_to_wait_within_bounds(
    server: StandInServer, path: Path, monkeypatch: pytest.MonkeyPatch, retry_after: str, waited: float
) -> None:
    assert waits_of(server, path, monkeypatch, retry_after) == [waited]


def test_the_server_may_name_the_moment_to_come_back(
    server: StandInServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=2)
    assert waits_of(server, path, monkeypatch, email.utils.format_datetime(moment, usegmt=True)) == [100]


@pytest.mark.parametrize("limit", [1, 3])
def test_processes_share_the_slots_of_a_server(server: StandInServer, tmp_path: Path, limit: int) -> None:
    address = server.serve("/data", in_company(DATA, expected=limit, then=0.1))
    script = (
        "import sys, pathlib, threading\n"
        "from qrt_study.data.download import TransferSettings, download\n"
        "address, name, limit = sys.argv[1:]\n"
        "settings = TransferSettings(transfers_per_server=int(limit), slot_poll_seconds=0.01)\n"
        "def fetch(part):\n"
        "    download(address, pathlib.Path(f'{name}-{part}'), pathlib.Path('slots'), settings)\n"
        "threads = [threading.Thread(target=fetch, args=(part,)) for part in range(3)]\n"
        "[thread.start() for thread in threads]\n"
        "[thread.join() for thread in threads]\n"
    )
    command = [sys.executable, "-c", script, address]
    processes = [subprocess.Popen([*command, f"file-{number}", str(limit)], cwd=tmp_path) for number in range(2)]
    assert [process.wait(timeout=60) for process in processes] == [0, 0]
    assert server.most_at_a_time == limit
    assert len(server.asked) == 6
    assert sum(file.read_bytes() == DATA for file in tmp_path.glob("file-*")) == 6
