"""A Python that starts at once: it does what the real one does, and ends when it is asked to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from qrt.running.warm_python import WarmPythonError, warm_python

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="runs on Linux; elsewhere Snakemake starts as usual")

# A package of this name in the current folder is what a call runs, as with the real Python.
PROGRAM = """
import os, sys, time
from pathlib import Path
print(" ".join(sys.argv[1:]), os.environ["GREETING"], os.getcwd())
print("a warning", file=sys.stderr)
if "wait" in sys.argv:
    Path("started").write_text(str(os.getpid()))
    time.sleep(60)
if "fail" in sys.argv:
    raise ValueError("on purpose")
sys.exit(3 if "three" in sys.argv else 0)
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    long = tmp_path_factory.mktemp("warm") / ("a folder whose path is longer than the address of a socket may be " * 2)
    long.mkdir()
    with warm_python(long / "bin", ("json",), dict(os.environ)) as folder:
        yield folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrt").mkdir()
    (tmp_path / "qrt/__init__.py").touch()
    (tmp_path / "qrt/__main__.py").write_text(PROGRAM)
    return tmp_path


def started(programs: Path, folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [programs / "python", *arguments],
        cwd=folder,
        env=os.environ | {"GREETING": "hello"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(("word", "status"), [("a word", 0), ("three", 3), ("fail", 1)])
def test_call_has_arguments_environment_folder_output_and_status(
    programs: Path, folder: Path, word: str, status: int
) -> None:
    call = started(programs, folder, "-m", "qrt", word)
    output, errors = call.communicate(timeout=60)
    assert output == f"{word} hello {folder}\n"
    assert errors.startswith("a warning\n")
    assert ("ValueError: on purpose" in errors) == (word == "fail")
    assert call.returncode == status


def test_other_calls_are_those_of_the_real_python(programs: Path, folder: Path) -> None:
    call = started(programs, folder, "-c", "import sys; print(sys.argv[1]); sys.exit(4)", "a 'word'")
    assert call.communicate(timeout=60)[0] == "a 'word'\n"
    assert call.returncode == 4


def test_a_server_that_cannot_start_is_told(tmp_path: Path) -> None:
    with (
        pytest.raises(WarmPythonError, match="did not start"),
        warm_python(tmp_path / "bin", ("no_such_module",), dict(os.environ)),
    ):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_client_that_is_asked_to_end_ends_its_call(programs: Path, folder: Path, number: signal.Signals) -> None:
    call = started(programs, folder, "-m", "qrt", "wait")
    while not (folder / "started").exists() or not (folder / "started").read_text():
        assert call.poll() is None
        time.sleep(0.02)
    call.send_signal(number)
    call.communicate(timeout=30)
    assert call.returncode != 0
    process = int((folder / "started").read_text())
    for _ in range(300):
        if not _runs(process):
            break
        time.sleep(0.02)
    assert not _runs(process)


def _runs(process: int) -> bool:
    """Is it there, and no mere entry of one that has ended?"""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
