"""Jobs that lack memory or time: tried again with more, then rows with the reason."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from qrt.engine.variant import Variant
from qrt.errors import UserError
from qrt_study.__main__ import main
from qrt_study.plan.family import Family
from qrt_study.running.attempts import (
    MOST_ATTEMPTS,
    given_up,
    noted_attempt,
    notes_beside,
    read_attempts,
    reason_to_give_up,
)
from qrt_study.training.networks_file import read_networks
from support.data_folders import fetch_into, prepare_in

FAMILY = Family(
    name="mlp-3.plain",
    networks=(Variant(), Variant(trained_on="train+calibration")),
    posthoc=(("none",), ("none",)),
    curves=False,
)


def killed_attempt(notes: Path, number: int, asked: str) -> None:
    """An attempt that ends without a word, as by SIGKILL."""
    child = os.fork()
    if child == 0:
        with noted_attempt(notes, number, asked):
            os.kill(os.getpid(), signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


def failed_attempt(notes: Path, number: int, error: Exception) -> None:
    with pytest.raises(type(error)), noted_attempt(notes, number, f"{number} GB"):
        raise error


def test_success_leaves_no_note(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    killed_attempt(notes, 1, "1 GB")
    assert [attempt["end"] for attempt in read_attempts(notes)] == [None]
    with noted_attempt(notes, 2, "2 GB"):
        assert [attempt["asked"] for attempt in read_attempts(notes)] == ["1 GB", "2 GB"]
    assert not notes.exists()


def test_job_is_given_up_after_three_attempts_without_enough_memory_or_time(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    killed_attempt(notes, 1, "1 GB")
    failed_attempt(notes, 2, RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ..."))
    assert reason_to_give_up(notes, 3) is None
    failed_attempt(notes, 3, MemoryError())
    reason = reason_to_give_up(notes, 4)
    assert reason == (
        "not enough memory or time in 3 attempts: killed with 1 GB; out of memory with 2 GB; out of memory with 3 GB"
    )


def test_attempts_of_an_earlier_call_do_not_count(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    for number in (1, 2, 3):
        killed_attempt(notes, number, f"{number} GB")
    assert reason_to_give_up(notes, 1) is None
    killed_attempt(notes, 1, "1 GB")
    assert len(read_attempts(notes)) == 1


def test_job_that_first_runs_in_a_late_attempt_of_its_group_is_not_given_up(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    assert reason_to_give_up(notes, MOST_ATTEMPTS + 1) is None
    killed_attempt(notes, 3, "3 GB")
    assert reason_to_give_up(notes, MOST_ATTEMPTS + 1) is None


def test_fault_of_the_program_is_not_tried_again(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    failed_attempt(notes, 1, ValueError("a bug"))
    for number in (2, 3, 4):
        assert reason_to_give_up(notes, number) is None
        with (
            pytest.raises(UserError, match=r"not tried again.*ValueError: a bug"),
            noted_attempt(notes, number, "much"),
        ):
            pytest.fail("it was tried again")
    with noted_attempt(notes, 1, "after it was mended"):
        pass


def test_removing_the_logs_of_a_running_job_does_not_fail_it(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    with noted_attempt(notes, 1, "much"):
        notes.unlink()
    assert not notes.exists()


def test_file_that_could_not_be_written_is_worth_another_attempt(tmp_path: Path) -> None:
    notes = tmp_path / "notes.json"
    failed_attempt(notes, 1, UserError("no space left"))
    with noted_attempt(notes, 2, "as much"):
        pass


@pytest.mark.parametrize("content", ["", "{", "\xff"])
def test_damaged_notes_count_as_none(tmp_path: Path, content: str) -> None:
    notes = tmp_path / "notes.json"
    notes.write_bytes(content.encode("latin-1"))
    assert read_attempts(notes) == []
    with noted_attempt(notes, 2, "much"):
        pass


def test_results_of_given_up_jobs_are_named(tmp_path: Path) -> None:
    assert given_up(tmp_path) == ""
    folder = "train/results/networks"
    logs = (f"{folder}/a/seed0/split0/mlp-3.qrt.log", "results_x/paper/times/a.log", f"{folder}/b/seed0/split0/f.log")
    for log in logs:
        notes = notes_beside(tmp_path / log)
        for number in range(1, 3 if "/b/" in log else 4):
            killed_attempt(notes, number, "little")
    header, *names = given_up(tmp_path).splitlines()
    assert header.startswith("2 job(s)")
    expected = ["results_x/paper/times/a.parquet", "results/networks/a/seed0/split0/mlp-3.qrt.networks.parquet"]
    assert names == [f"  {name}" for name in expected]


def train_command(folder: Path, attempt: int) -> list[str]:
    return [
        *("train", "linear", "0", "--seed", "0", "--data", f"{folder}/prepared/linear", "--family", FAMILY.json),
        *("--training", '{"max_epochs": 2, "patience": 1}', "--out", f"{folder}/networks.parquet"),
        *("--attempt", str(attempt), "--asked", "1 MB and 2 min", "--log", f"{folder}/job.log"),
    ]


def test_training_that_is_given_up_leaves_a_row_for_each_network(tmp_path: Path) -> None:
    fetch_into(tmp_path, "linear")
    prepare_in(tmp_path, "linear")
    for number in (1, 2, 3):
        killed_attempt(notes_beside(tmp_path / "job.log"), number, f"{number} MB and 2 min")
    assert main(train_command(tmp_path, 4)) == 0
    networks = read_networks(tmp_path / "networks.parquet", FAMILY.networks)
    assert tuple(network.variant for network in networks) == FAMILY.networks
    assert {network.status for network in networks} == {"failed"}
    assert all("killed with 3 MB and 2 min" in network.reason for network in networks)
    assert not any(network.outputs for network in networks)


def test_log_of_training_ends_with_what_it_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetch_into(tmp_path, "linear")
    prepare_in(tmp_path, "linear")
    assert main(train_command(tmp_path, 1)) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert (found := re.fullmatch(r"took ([\d.]+) s of processor time and (\d+) MB at most", last))
    assert (float(found[1]) > 0, int(found[2]) > 50) == (True, True)


def test_giving_up_does_not_take_the_memory_of_torch(tmp_path: Path) -> None:
    fetch_into(tmp_path, "linear")
    prepare_in(tmp_path, "linear")
    for number in (1, 2, 3):
        killed_attempt(notes_beside(tmp_path / "job.log"), number, "little")
    arguments = train_command(tmp_path, 4)
    code = f"import sys; from qrt_study.__main__ import main; main({arguments}); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
