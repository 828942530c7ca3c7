"""How far a study is, told from the files of its jobs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qrt.parquet_file import write_rows
from qrt.running.attempts import noted_attempt
from qrt.running.status import Job, JobFiles, Status, is_running, progress_line
from qrt.training.networks_file import NETWORKS


def job(folder: Path, name: str, estimate: float) -> Job:
    return Job(folder / f"{name}.networks.parquet", folder / f"{name}.attempts.json", estimate)


def finish(done: Job, *seconds: float, status: str = "ok") -> None:
    """The networks of a job and their times."""
    rows = [{"variant": str(i), "job_seconds": value, "status": status} for i, value in enumerate(seconds)]
    write_rows(done.networks, rows, NETWORKS)


def test_what_is_left_is_scaled_by_what_finished_jobs_took(tmp_path: Path) -> None:
    jobs = [job(tmp_path, name, 10.0) for name in "abcd"]
    finish(jobs[0], 6.0, 2 * 10.0 - 6.0)  # twice the estimate
    now = JobFiles(jobs).status()
    assert (now.done, now.waiting, now.spent) == (1, 3, 20.0)
    assert now.left == pytest.approx(3 * 20.0)
    assert now.time_left(2) == pytest.approx(30.0)
    assert now.time_left(100) == pytest.approx(20.0), "no faster than its longest job"


def test_nothing_is_left_of_a_finished_study_and_an_empty_one_has_no_jobs(tmp_path: Path) -> None:
    only = job(tmp_path, "a", 10.0)
    finish(only, 3.0)
    assert JobFiles([only]).status().lines(2, study_runs=False)[0] == "1 of 1 training jobs done (100%), 0 waiting"
    assert JobFiles([only]).status().left == 0
    assert JobFiles([]).status().counts() == "0 of 0 training jobs done (100%), 0 waiting"


def test_running_failed_and_given_up_jobs_are_told_apart(tmp_path: Path) -> None:
    running, failed, given_up, waiting = (job(tmp_path, name, 10.0) for name in "abcd")
    finish(given_up, 0.0, status="failed")
    with pytest.raises(ValueError, match="bug"), noted_attempt(failed.notes, 1, "much"):
        raise ValueError("bug")
    files = JobFiles([running, failed, given_up, waiting])
    with noted_attempt(running.notes, 1, "much"):
        now = files.status()
    parts = "1 of 4 training jobs done (25%), 1 of them gave up (out of memory or time), 1 running, 1 failed, 1 waiting"
    assert now.counts() == parts
    assert "1 interrupted" in now.lines(2, study_runs=False)[0]


def test_jobs_that_run_again_are_done_when_their_results_are_new(tmp_path: Path) -> None:
    again = job(tmp_path, "a", 10.0)
    finish(again, 3.0)
    os.utime(again.networks, (1, 1))
    files = JobFiles([again], again=True)
    assert files.status().done == 0
    finish(again, 3.0)
    assert files.status().done == 1
    again.networks.unlink()
    assert files.status().done == 1, "what was counted once is remembered"


def test_damaged_results_do_not_stop_the_counting(tmp_path: Path) -> None:
    damaged = job(tmp_path, "a", 10.0)
    damaged.networks.write_bytes(b"not Parquet")
    assert JobFiles([damaged]).status().done == 1


def test_line_in_the_terminal_has_an_estimate_as_soon_as_jobs_run() -> None:
    now = Status(done=1, given_up=0, running=2, failed=0, waiting=7, spent=7200.0, left=36000.0, longest=60.0)
    counts = "Progress: 1 of 10 training jobs done (10%), 2 running, 7 waiting; 2.0 h of one core spent"
    assert progress_line(now, 0, 100.0) == counts
    assert progress_line(now, 2, 100.0) == f"{counts}; about 5.0 h left"


def test_estimate_goes_by_the_pace_once_enough_jobs_are_done() -> None:
    now = Status(done=4, given_up=0, running=2, failed=0, waiting=4, spent=7200.0, left=7200.0, longest=60.0)
    assert progress_line(now, 2, 4 * 7200.0).endswith("; about 8.0 h left"), "a busy machine"


def test_study_runs_as_long_as_a_call_holds_its_lock(tmp_path: Path) -> None:
    assert not is_running(tmp_path)
    lock = tmp_path / ".snakemake/locks/0.input.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    assert is_running(tmp_path)
