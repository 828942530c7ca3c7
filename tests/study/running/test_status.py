"""How far the last call in a folder is: by its file, its process, and in words."""

from __future__ import annotations

import json
import platform
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT
from qrt.errors import UserError
from qrt_study.plan.config import load_config, read_schema
from qrt_study.running.status import call_in_words, last_call, note_study, noted_config, noted_study, tell_status
from qrt_study.running.study_files import StudyFiles
from snakemake_logger_plugin_qrt.progress import PROGRESS_FILE, Progress, TrainingCosts

NO_PROCESS = 2**22 + 1  # above the largest number that Linux gives


def keep(folder: Path, **changed: Any) -> Path:
    """The file of a running call of this process, with these entries changed."""
    progress = Progress("snakemake --cores 2 fig03", folder, planned={"train": 80, "figure": 1})
    progress.done["train"] = 60
    progress.seconds_left = 720.0
    (folder / ".snakemake").mkdir(exist_ok=True)
    (folder / PROGRESS_FILE).write_text(json.dumps(progress.summary() | changed))
    return folder


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({}, "running"),
        ({"process": NO_PROCESS}, "interrupted"),
        ({"started": 1.0}, "interrupted"),  # this process is younger: it has the number of one that is gone
        ({"process": NO_PROCESS, "host": "another"}, "running"),  # a login node cannot look into another
        ({"process": NO_PROCESS, "state": "finished", "ended": time.time()}, "finished"),
        ({"process": NO_PROCESS, "state": "failed", "ended": time.time()}, "failed"),
    ],
)
def test_state_is_what_the_file_says_unless_the_process_is_gone(
    tmp_path: Path, changed: dict[str, Any], state: str
) -> None:
    call = last_call(keep(tmp_path, **changed))
    assert call is not None
    assert call["state"] == state
    assert (call["ended"] is None) == (state == "running")


def test_folder_without_a_call_and_one_with_a_damaged_file_have_none(tmp_path: Path) -> None:
    assert last_call(tmp_path) is None
    keep(tmp_path)
    (tmp_path / PROGRESS_FILE).write_text("{")
    assert last_call(tmp_path) is None


def words(folder: Path, **changed: Any) -> str:
    call = last_call(keep(folder, **changed))
    assert call is not None
    return "\n".join(call_in_words(call))


def test_words_tell_counts_what_is_left_and_for_how_long(tmp_path: Path) -> None:
    told = words(tmp_path, left={"train": 20, "figure": 1}, failed=["train Yacht"])
    for part in (
        "snakemake --cores 2 fig03",
        "60 of 81",
        "20 train",
        "1 figure",
        "12 min",
        "train Yacht",
        "kill -",
    ):
        assert part in told


def test_words_of_a_finished_call_have_nothing_left(tmp_path: Path) -> None:
    now = time.time()
    told = words(tmp_path, state="finished", ended=now, done={"train": 80, "figure": 1}, left={})
    assert "81 of 81" in told
    assert "12 min" not in told
    assert "left" not in told.lower()


def test_time_since_the_file_was_written_is_over(tmp_path: Path) -> None:
    assert "10 min" in words(tmp_path, written=time.time() - 120)


def test_call_on_another_machine_is_named_with_it(tmp_path: Path) -> None:
    assert platform.node() not in words(tmp_path)
    assert "login2" in words(tmp_path, host="login2")


def test_noted_study_has_the_facts_and_the_cost_of_every_training_job(tmp_path: Path) -> None:
    config = {"datasets": ["linear", "skewed"], "splits": [0, 1], "seeds": 3, "scope": "main"}
    files = StudyFiles(load_config(config, read_schema(PROJECT / "workflow/schemas/config.schema.yaml"), PROJECT))
    assert noted_study(tmp_path) is None
    with pytest.raises(UserError):
        noted_config(tmp_path)
    note_study([files], config, tmp_path)
    study = noted_study(tmp_path)
    assert study is not None
    assert study.facts() == files.study.facts()
    assert noted_config(tmp_path) == config
    costs = TrainingCosts.read(tmp_path)
    assert costs.repeats == 6
    assert costs.seconds == {
        (dataset, family): pytest.approx(files.training_job(dataset, family).seconds, abs=0.05)
        for dataset in ("linear", "skewed")
        for family in files.plan.families_on(dataset)
    }


def test_command_tells_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tell_status(folder=tmp_path)
    assert "No study" in capsys.readouterr().out
    tell_status(folder=keep(tmp_path))
    assert "60 of 81" in capsys.readouterr().out
