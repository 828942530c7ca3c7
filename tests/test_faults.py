"""Faults of a long run: damaged files, a full or read-only disk, signals, a second call, a wrong clock."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.atomic import write_json
from qrt.data.fetch import next_attempt
from qrt.data.split_store import load_split
from qrt.errors import UserError
from qrt.results.tables import CURVES, RUNS, concatenate, read_frames, write_rows
from qrt.running.status import is_running
from support.data_folders import fetch_into, files_below, prepare_in
from support.projects import NETWORKS, RESULTS, VOLATILE, Project, study_of

# The smallest study: one training job, one job that reads its result.
SMALLEST: dict[str, Any] = {"datasets": ["linear"], "methods": ["BASE"]}
ENDLESS: dict[str, Any] = SMALLEST | {"training": {"max_epochs": 1_000_000, "patience": 1_000_000}}
NETWORKS_FILE = f"{NETWORKS}/linear/seed0/split0/mlp-3.plain.networks.parquet"
RUNS_FILE = f"{NETWORKS}/linear/seed0/mlp-3.plain.runs.parquet"
METHODS_FILE = f"{RESULTS}/methods/seed0/main.parquet"
ROW: dict[str, Any] = {"dataset": "linear", "split": 0, "variant": "v", "status": "ok", "test_nll": 1.5, "epochs": 4}


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def flip(path: Path, bit: int | None = None) -> None:
    """Flip one bit (of the middle byte, unless told) and keep the time stamp, as a failing disk does."""
    content, times = bytearray(path.read_bytes()), path.stat()
    bit = len(content) * 4 if bit is None else bit
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


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


def test_collected_tables_keep_all_rows_in_order_and_name_foreign_ones(tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, part in enumerate(parts):
        write_rows(part, [ROW | {"split": number, "reason": None if number else "é"}] * number, RUNS)
    assert concatenate(parts, tmp_path / "all.parquet", "runs") == 3
    assert read_frames([tmp_path / "all.parquet"], "runs")["split"].tolist() == [1, 2, 2]
    write_rows(parts[0], [], CURVES)
    with pytest.raises(UserError, match=r"0\.parquet: the columns are not those of this version"):
        concatenate(parts, tmp_path / "all.parquet", "runs")


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


@pytest.mark.parametrize("damage", [truncate, empty, flip])
def test_damaged_record_is_a_reason_to_fetch_again(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    fetch_into(tmp_path, "linear", attempt=1)
    path = tmp_path / "raw/linear.json"
    assert next_attempt(path) == 1
    damage(path)
    assert next_attempt(path) == 0, "not the number Snakemake has recorded"
    fetch_into(tmp_path, "linear", attempt=0)
    assert next_attempt(path) == 0


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / ".a[1].json.abc.partial").write_text("half")
    (tmp_path / ".other.json.abc.partial").write_text("half")
    write_json(tmp_path / "a[1].json", {})
    assert files_below(tmp_path) == {"a[1].json", ".other.json.abc.partial"}


STUCK = """
import subprocess, threading, time
from qrt.running import interruption
interruption.PATIENCE_SECONDS = 1.0
interruption.stop_jobs_when_interrupted(lambda: print("last word", flush=True))
job = subprocess.Popen(["bash", "-c", "sleep 1000; true"])
threading.Thread(target=time.sleep, args=(1000,)).start()
print("ready", flush=True)
time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_jobs_and_even_a_process_that_hangs(number: signal.Signals) -> None:
    command = [sys.executable, "-c", STUCK]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.wait(60) == 128 + number
        assert process.stdout.readline() == "last word\n"
        # A process that was told to end needs a moment.
        for _ in range(50):
            if not (left := living(process.pid)):
                break
            time.sleep(0.1)
        if left:
            os.killpg(process.pid, signal.SIGKILL)
        assert left == []


# From here on real calls of Snakemake.


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A finished smallest study; tests work on copies."""
    project = Project.new(tmp_path_factory.mktemp("finished"))
    run = project.run(METHODS_FILE, **SMALLEST)
    assert run.returncode == 0, run.stderr
    return project


@pytest.fixture
def copy(finished: Project, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True)))


@pytest.fixture
def without_results(copy: Project) -> Project:
    """Data there, nothing trained."""
    shutil.rmtree(copy.folder / "results")
    shutil.rmtree(copy.folder / RESULTS)
    shutil.rmtree(copy.folder / "logs")
    return copy


def living(group: int) -> list[str]:
    """The processes of a group that still run; one that has ended may wait as a zombie for somebody to notice."""
    listed = subprocess.run(["ps", "-eo", "pgid=,stat=,args="], capture_output=True, text=True, check=True)
    processes = [line.split(maxsplit=2) for line in listed.stdout.splitlines()]
    return [args for number, state, args in processes if int(number) == group and not state.startswith("Z")]


def methods(project: Project) -> pd.DataFrame:
    return pd.read_parquet(project.folder / METHODS_FILE).drop(columns=VOLATILE, errors="ignore")


def assert_finishes_like(finished: Project, project: Project) -> None:
    """The same command goes on, finishes, leaves nothing half-done, and has the results of an undisturbed run."""
    run = project.run(METHODS_FILE, **SMALLEST)
    assert run.returncode == 0, run.stderr
    pd.testing.assert_frame_equal(methods(project), methods(finished), check_exact=True)
    assert not list((project.folder / "results").rglob("*.partial"))


@pytest.mark.workflow
def test_flipped_bit_found_on_resume_is_named_and_the_same_command_mends_it(finished: Project, copy: Project) -> None:
    flip(copy.folder / NETWORKS_FILE)
    for name in (RUNS_FILE, METHODS_FILE):
        (copy.folder / name).unlink()  # as if the run had stopped before
    run = copy.run(METHODS_FILE, "--retries", "0", **SMALLEST)
    assert run.returncode != 0
    assert Path(NETWORKS_FILE).name in run.stderr + run.stdout
    assert (copy.folder / f"{NETWORKS_FILE}.damaged").exists()
    assert_finishes_like(finished, copy)


@pytest.fixture
def small_disk(without_results: Project) -> Iterator[Path]:
    """The folder of the results as a file system of 128 kB."""
    folder = without_results.folder / "results"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a file system (root on Linux)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.workflow
def test_full_disk_is_told_and_the_same_command_goes_on(
    finished: Project, without_results: Project, small_disk: Path
) -> None:
    (small_disk / Path(NETWORKS_FILE).relative_to("results")).parent.mkdir(parents=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={small_disk / 'ballast'}", "bs=4k"], capture_output=True, check=False)
    run = without_results.run(METHODS_FILE, "--retries", "0", **SMALLEST)  # the disk stays full
    assert run.returncode != 0
    assert "cannot be written (No space left on device)" in run.stderr + run.stdout
    assert files_below(small_disk) == {"ballast"}
    (small_disk / "ballast").unlink()
    assert_finishes_like(finished, without_results)


@pytest.mark.workflow
def test_read_only_folder_of_results_is_told(without_results: Project, small_disk: Path) -> None:
    (small_disk / Path(NETWORKS_FILE).relative_to("results")).parent.mkdir(parents=True)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    run = without_results.run(METHODS_FILE, "--retries", "0", **SMALLEST)  # it stays read-only
    assert run.returncode != 0
    assert "Read-only file system" in run.stderr + run.stdout
    assert files_below(small_disk) == set()


@pytest.fixture
def running(without_results: Project, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A study whose training job never ends by itself; what it says is in `said`."""
    study = study_of(**ENDLESS)
    command, variables = without_results.command(f"{study.results}/methods/seed0/main.parquet", **ENDLESS)
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen(
            command, cwd=without_results.folder, env=variables, stdout=said, stderr=said, start_new_session=True
        )
    log = without_results.folder / f"logs/train/{study.networks}/linear/seed0/split0/mlp-3.plain.log"
    for _ in range(600):
        if log.exists() and "network(s)" in log.read_text():
            break
        assert process.poll() is None, (tmp_path / "said").read_text()
        time.sleep(0.2)
    yield process
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.mark.workflow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_stops_the_study_with_its_jobs_and_says_how_to_go_on(
    without_results: Project, running: subprocess.Popen[bytes], tmp_path: Path, number: signal.Signals
) -> None:
    os.kill(running.pid, number)
    assert running.wait(60) != 0  # seconds; the job itself would take days
    assert living(running.pid) == []
    assert "the same command" in (tmp_path / "said").read_text()
    assert files_below(without_results.folder / "results") == set()
    assert not is_running(without_results.folder), "no lock is left"


@pytest.mark.workflow
def test_second_call_in_the_same_folder_says_so_and_changes_nothing(
    without_results: Project, running: subprocess.Popen[bytes]
) -> None:
    second = without_results.run(f"{study_of(**ENDLESS).results}/methods/seed0/main.parquet", **ENDLESS)
    assert second.returncode != 0
    assert "cannot be locked" in second.stderr
    assert files_below(without_results.folder / "results") == set()
    assert running.poll() is None


@pytest.mark.workflow
@pytest.mark.parametrize("years", [-10, 10])
def test_clock_that_jumped_leads_neither_to_lost_results_nor_to_endless_runs(
    finished: Project, copy: Project, years: int
) -> None:
    moment = time.time() + years * 365 * 86_400
    for path in (copy.folder / NETWORKS_FILE, copy.folder / "data/prepared/linear/x.npy"):
        os.utime(path, (moment, moment))
    before = (copy.folder / NETWORKS_FILE).read_bytes()
    run = copy.run(METHODS_FILE, **SMALLEST)
    assert run.returncode == 0, run.stderr
    pd.testing.assert_frame_equal(methods(copy), methods(finished), check_exact=True)
    assert (copy.folder / NETWORKS_FILE).read_bytes() == before, "nothing was trained again"
    assert copy.planned(METHODS_FILE, **SMALLEST) == {}
