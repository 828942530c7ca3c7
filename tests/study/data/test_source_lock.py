"""The lock file is written once for each dataset and obeyed ever after."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from qrt.errors import UserError
from qrt_study.data.download import TransferSettings
from qrt_study.data.raw_table import SourceUnavailable
from qrt_study.data.source_lock import LockEntry, Origin, SourceLock, locked_file
from support.stand_in_server import StandInServer, answer

QUICK = TransferSettings(attempts=1, slot_poll_seconds=0.01)
ENTRY = LockEntry(source="uci", address="http://server/a.zip", sha256="a" * 64, size=12)


@pytest.fixture
def lock(tmp_path: Path) -> SourceLock:
    return SourceLock(tmp_path / "datasets.lock.json")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandInServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with StandInServer() as stand_in:
        yield stand_in


def test_the_first_download_writes_its_entry(lock: SourceLock) -> None:
    openml = LockEntry(
        source="openml",
        address="http://server/1.arff",
        openml_id=1,
        openml_version=2,
        openml_name="b",
        md5="m",
        sha256="b" * 64,
        size=3,
    )
    lock.record("b", openml)
    lock.record("a", ENTRY)
    assert json.loads(lock.path.read_text()) == {
        "datasets": {
            "a": {"source": "uci", "address": "http://server/a.zip", "sha256": "a" * 64, "size": 12},
            "b": {
                "source": "openml",
                "address": "http://server/1.arff",
                "openml_id": 1,
                "openml_version": 2,
                "openml_name": "b",
                "md5": "m",
                "sha256": "b" * 64,
                "size": 3,
            },
        }
    }
    assert lock.path.read_text().index('"a"') < lock.path.read_text().index('"b"')
    assert (lock.entry("a"), lock.entry("b"), lock.entry("c")) == (ENTRY, openml, None)


def test_the_same_bytes_from_another_address_are_accepted(lock: SourceLock) -> None:
    lock.record("a", ENTRY)
    before = lock.path.read_bytes()
    lock.record("a", replace(ENTRY, address="http://elsewhere/a.zip"))
    assert lock.path.read_bytes() == before


def test_other_bytes_are_refused_with_the_way_to_accept_them(lock: SourceLock) -> None:
    lock.record("a", ENTRY)
    before = lock.path.read_bytes()
    other = replace(ENTRY, sha256="c" * 64)
    for refuse in (lock.check, lock.record):
        with pytest.raises(SourceUnavailable) as caught:
            refuse("a", other)
        message = str(caught.value)
        assert f"expects sha256 {'a' * 64}" in message
        assert f"from http://server/a.zip came sha256 {'c' * 64}" in message
        assert f'delete the entry "a" from {lock.path}' in message
        assert "size" not in message
    assert lock.path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [
        "",
        '{"datasets": {"a": ',
        "[]",
        '{"datasets": []}',
        '{"datasets": {"a": "b"}}',
        '{"datasets": {"a": {"source": "uci", "address": "x", "size": 1}}}',
        '{"datasets": {"a": {"source": "uci", "address": "x", "size": 1, "sha256": "zz"}}}',
        '{"datasets": {"a": {"source": "uci", "address": "x", "size": 1, "sha256": 5}}}',
    ],
)
def test_a_damaged_lock_file_is_named_and_left_alone(lock: SourceLock, content: str) -> None:
    lock.path.write_text(content)
    for use in (lambda: lock.entry("a"), lambda: lock.record("b", ENTRY)):
        with pytest.raises(UserError, match=r"datasets\.lock\.json: the lock file is damaged"):
            use()
    assert lock.path.read_text() == content


def test_processes_that_record_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from qrt_study.data.source_lock import LockEntry, SourceLock\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read(1)\n"
        "for number in range(8):\n"
        "    entry = LockEntry(source='uci', address=sys.argv[1], sha256='0' * 64, size=number)\n"
        "    SourceLock().record(f'{sys.argv[1]}-{number:02}', entry)\n"
    )
    command = [sys.executable, "-c", script]
    processes = [
        subprocess.Popen([*command, name], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("w", "x", "y", "z")
    ]
    for process in processes:  # all at one moment, so that they do meet
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(b"!")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    names = json.loads((tmp_path / "datasets.lock.json").read_text())["datasets"]
    assert list(names) == [f"{name}-{number:02}" for name in "wxyz" for number in range(8)]
    assert not list(tmp_path.glob("*.partial")) + list(tmp_path.glob(".*.partial"))


def fetched(lock: SourceLock, address: str, md5: str | None = None) -> bytes:
    path = lock.path.parent / "cache" / "a.bin"
    origin = Origin(source="uci", address=address, md5=md5)
    with locked_file("a", path, origin=origin, lock=lock, slots=path.parent / "slots", settings=QUICK):
        return path.read_bytes()


def cached(lock: SourceLock) -> list[str]:
    return [file.name for file in (lock.path.parent / "cache").iterdir() if file.is_file()]


def test_a_file_that_the_lock_vouches_for_is_not_fetched_again(lock: SourceLock, server: StandInServer) -> None:
    address = server.serve("/a", answer(b"data"))
    assert fetched(lock, address) == fetched(lock, address) == b"data"
    assert len(server.asked) == 1
    entry = lock.entry("a")
    assert entry is not None
    assert entry.sha256 == hashlib.sha256(b"data").hexdigest()


def test_a_cached_file_that_was_damaged_is_fetched_again(lock: SourceLock, server: StandInServer) -> None:
    address = server.serve("/a", answer(b"data"))
    fetched(lock, address)
    (lock.path.parent / "cache" / "a.bin").write_bytes(b"dxta")
    assert fetched(lock, address) == b"data"
    assert len(server.asked) == 2


def test_another_version_is_refused_until_the_entry_is_deleted(lock: SourceLock, server: StandInServer) -> None:
    address = server.serve("/a", answer(b"old"))
    fetched(lock, address)
    (lock.path.parent / "cache" / "a.bin").unlink()
    server.serve("/a", answer(b"new version"))
    with pytest.raises(SourceUnavailable, match=r"expects sha256 .* size 3, but from .* size 11"):
        fetched(lock, address)
    assert cached(lock) == []
    server.serve("/a", answer(b"old"))
    assert fetched(lock, address) == b"old"  # the right version is still welcome

    content = json.loads(lock.path.read_text())
    del content["datasets"]["a"]
    lock.path.write_text(json.dumps(content))
    server.serve("/a", answer(b"new version"))
    assert fetched(lock, address) == b"new version"  # and not the old one from the cache


def test_a_wrong_published_checksum_leaves_no_file_and_no_entry(lock: SourceLock, server: StandInServer) -> None:
    address = server.serve("/a", answer(b"dxta"))
    md5 = hashlib.md5(b"data").hexdigest()
    with pytest.raises(SourceUnavailable, match=f"checksum is wrong, OpenML publishes md5 {md5}"):
        fetched(lock, address, md5)
    assert cached(lock) == []
    assert lock.entry("a") is None
    server.serve("/a", answer(b"data"))
    assert fetched(lock, address, md5) == b"data"


def test_a_file_that_is_not_the_data_is_neither_kept_nor_recorded(lock: SourceLock, server: StandInServer) -> None:
    path = lock.path.parent / "cache" / "a.bin"
    origin = Origin(source="uci", address=server.serve("/a", answer(b"nonsense")))
    with (
        pytest.raises(SourceUnavailable, match="cannot be parsed"),
        locked_file("a", path, origin=origin, lock=lock, slots=path.parent / "slots", settings=QUICK),
    ):
        raise SourceUnavailable("cannot be parsed")
    assert cached(lock) == []
    assert lock.entry("a") is None
    server.serve("/a", answer(b"data"))
    assert fetched(lock, origin.address) == b"data"
