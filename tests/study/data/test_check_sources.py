"""`make check-sources` against a stand-in for both servers: every dataset is asked for, changes are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from qrt_study.__main__ import main
from qrt_study.data.sheet import paper_datasets
from qrt_study.data.source_lock import LockEntry, SourceLock
from support.openml_stand_in import ARFF, FORMS, description
from support.stand_in_server import StandInServer, answer

ROWS = paper_datasets()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StandInServer]:
    """A stand-in that has every dataset of the sheet, with OpenML's descriptions in all their forms."""
    with StandInServer() as stand_in:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("QRT_OPENML_SERVER", f"{stand_in.address}/api/v1/xml")
        monkeypatch.setenv("QRT_UCI_SERVER", stand_in.address)
        for number, row in enumerate(ROWS.values()):
            if row.openml_id is None:
                stand_in.serve(row.uci_address.removeprefix("https://archive.ics.uci.edu"), answer(b"PK"))
            else:
                describe(stand_in, row.name, **list(FORMS.values())[number % len(FORMS)])
                stand_in.serve(f"/data/{row.openml_id}", answer(ARFF))
        yield stand_in


def describe(server: StandInServer, dataset: str, **changes: str | list[str]) -> None:
    number = str(ROWS[dataset].openml_id)
    usual: dict[str, str | list[str]] = {"id": number, "name": dataset, "url": f"{server.address}/data/{number}"}
    server.serve(f"/api/v1/xml/data/{number}", description(server, **(usual | changes)))


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())


def test_all_sources_are_asked_for_by_two_requests_each_at_most(
    server: StandInServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["check_sources"]) == 0
    said = told(capsys)
    assert list(said) == list(ROWS)
    odd = {name for number, name in enumerate(ROWS) if number % len(FORMS) == list(FORMS).index("deactivated")}
    odd = {name for name in odd if ROWS[name].openml_id is not None}
    assert {name for name, words in said.items() if "OpenML's status of it is 'deactivated'" in words} == odd
    assert {words for name, words in said.items() if name not in odd} == {"as in the sheet"}
    on_openml = sum(row.openml_id is not None for row in ROWS.values())
    assert len(server.asked) == len(ROWS) + on_openml
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".slot"] == []


def test_a_server_that_does_not_answer_is_not_waited_for_long(
    server: StandInServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("qrt_study.data.download.time.sleep", waits.append)
    server.serve("/api/v1/xml/data/" + str(ROWS["boston"].openml_id), answer(b"", status=503))
    assert main(["check_sources"]) == 2
    assert "503" in told(capsys)["boston"]
    assert server.asked.count("/api/v1/xml/data/" + str(ROWS["boston"].openml_id)) == 2


def test_what_is_gone_or_has_changed_is_told(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    describe(server, "boston", name="boston_corrected")
    describe(server, "abalone", version="7")
    pinned = LockEntry(source="openml", address="x", openml_id=42726, openml_version=3, sha256="0" * 64, size=1)
    SourceLock(Path("datasets.lock.json")).record("abalone", pinned)
    server.serve(f"/data/{ROWS['tecator'].openml_id}", answer(b"", status=404))
    server.serve("/static/public/9/auto+mpg.zip", answer(b"<!DOCTYPE html><html></html>"))
    assert main(["check_sources"]) == 2
    problems = {name: words for name, words in told(capsys).items() if not words.startswith("as in the sheet")}
    assert set(problems) == {"boston", "abalone", "tecator", "MPG"}
    assert "is named 'boston_corrected'" in problems["boston"]
    assert "openml_version 3, now 7" in problems["abalone"]
    assert "404" in problems["tecator"]
    assert "an HTML page" in problems["MPG"]
