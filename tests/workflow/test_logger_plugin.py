"""The logger plugin: what it counts, what it keeps in its file, and what it leaves to Snakemake's own words."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.tests import MockOutputSettings, TestLogHandlerBase

from conftest import PROJECT
from qrt_study.running.status import last_call
from snakemake_logger_plugin_qrt import LogHandler
from snakemake_logger_plugin_qrt.progress import PROGRESS_FILE, STUDY_FILE, Job, Progress, TrainingCosts

SNAKEMAKE = (sys.executable, "-m", "snakemake")

TOY = """
import os

rule all:
    input:
        expand("out/{dataset}.{split}", dataset=["Yacht", "CPU"], split=[0, 1]),
        "pages/scorecard.html",

rule train:
    output:
        "out/{dataset}.{split}",
    log:
        "logs/{dataset}.{split}.log",
    retries: 1
    shell:
        "echo about to fail > {log}; DATASET={wildcards.dataset}; {config[command]} && touch {output}"

rule page:
    output:
        "pages/scorecard.html",
    run:  # in a Snakemake of its own
        open(output[0], "w").close()
"""


class Strict(LogHandler):
    """A handler whose faults are seen."""

    def handleError(self, _: logging.LogRecord) -> NoReturn:  # noqa: N802 - the name of logging
        raise AssertionError from sys.exc_info()[1]


class TestInterface(TestLogHandlerBase):
    """Snakemake's own tests of a logger plugin: every event is taken."""

    __test__ = True

    @pytest.fixture(autouse=True)
    def _elsewhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def get_log_handler_cls(self) -> type[LogHandler]:
        return Strict

    def get_log_handler_settings(self) -> Any:
        return None


Send = Callable[..., None]


@pytest.fixture
def handler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Strict:
    """A plugin in an empty folder that a call of Snakemake runs in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    return Strict(MockOutputSettings(), None)


@pytest.fixture
def send(handler: Strict) -> Send:
    def send(event: Any = None, message: str = "", level: int = logging.INFO, **fields: Any) -> None:
        record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
        vars(record).update(fields, event=event)
        handler.emit(record)

    return send


def begin(send: Send, number: int, rule: str = "train", log: str = "", **wildcards: str) -> None:
    log_files = [log] if log else []
    fields = {"output": [], "log": log_files, "reason": "", "local": True, "wildcards": wildcards}
    send(LogEvent.JOB_INFO, jobid=number, rule_name=rule, **fields)


def kept(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / PROGRESS_FILE).read_text())
    return content


def test_jobs_have_words_instead_of_numbers() -> None:
    place = {"dataset": "Yacht", "seed": "0", "split": "3", "family": "mlp-3.plain"}
    assert Job("train", place).words == "train Yacht, split 3, mlp-3.plain"
    assert Job("train", place | {"seed": "2"}).words == "train Yacht, seed 2, split 3, mlp-3.plain"
    assert Job("all").words == "all"


def test_file_tells_what_is_planned_done_and_left(send: Send, tmp_path: Path) -> None:
    send(LogEvent.RUN_INFO, stats={"train": 2, "all": 1, "total": 3})
    begin(send, 5, dataset="Yacht", split="0")
    begin(send, 6, dataset="CPU", split="0")
    send(LogEvent.JOB_FINISHED, job_id=5)
    now = kept(tmp_path)
    assert (now["state"], now["ended"], now["process"]) == ("running", None, os.getpid())
    assert now["planned"] == {"train": 2, "all": 1}
    assert now["done"] == {"train": 1}
    assert now["left"] == {"train": 1, "all": 1}
    assert now["running"] == ["train CPU, split 0"]


def test_job_that_fails_and_succeeds_in_another_attempt_has_not_failed(send: Send, tmp_path: Path) -> None:
    send(LogEvent.RUN_INFO, stats={"train": 1, "total": 1})
    begin(send, 5, dataset="Yacht")
    send(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=5, log=[], indent=False)
    assert (kept(tmp_path)["failed"], kept(tmp_path)["running"]) == (["train Yacht"], [])
    begin(send, 5, dataset="Yacht")
    assert (kept(tmp_path)["failed"], kept(tmp_path)["running"]) == ([], ["train Yacht"])
    send(LogEvent.JOB_FINISHED, job_id=5)
    assert (kept(tmp_path)["failed"], kept(tmp_path)["left"]) == ([], {})


def test_job_that_leaves_the_notes_of_its_attempts_gave_up(send: Send, tmp_path: Path) -> None:
    send(LogEvent.RUN_INFO, stats={"train": 2, "total": 2})
    (tmp_path / "mlp-3.plain.attempts.json").write_text("[]")
    for number, log in enumerate(("mlp-3.plain.log", "mlp-3.qrt.log")):
        begin(send, number, log=log, family=log)
        send(LogEvent.JOB_FINISHED, job_id=number)
    assert kept(tmp_path)["gave_up"] == ["train mlp-3.plain.log"]
    assert kept(tmp_path)["done"] == {"train": 2}


@pytest.mark.parametrize(
    ("records", "state"),
    [
        ([], "finished"),
        ([(LogEvent.ERROR, "WorkflowError: a job did not complete", logging.ERROR)], "failed"),
        # One that another attempt has made up for.
        (
            [(LogEvent.ERROR, "MissingOutputException", logging.ERROR), (None, "Complete log(s)", logging.INFO)],
            "finished",
        ),
        (
            [
                (None, "Terminating processes on user request, this might take some time.", logging.INFO),
                (LogEvent.ERROR, "WorkflowError: a job did not complete", logging.ERROR),
            ],
            "interrupted",
        ),
    ],
)
def test_state_at_the_end(
    records: list[tuple[Any, str, int]], state: str, handler: Strict, send: Send, tmp_path: Path
) -> None:
    send(LogEvent.RUN_INFO, stats={"train": 1, "total": 1})
    for event, message, level in records:
        send(event, message, level)
    handler.close()
    assert kept(tmp_path)["state"] == state
    assert kept(tmp_path)["ended"] >= kept(tmp_path)["started"]


def test_call_that_does_not_get_the_lock_leaves_the_file_of_the_one_that_has_it(
    handler: Strict, send: Send, tmp_path: Path
) -> None:
    send(LogEvent.WORKFLOW_STARTED)
    send(LogEvent.ERROR, "LockException: Directory cannot be locked.", logging.ERROR)
    handler.close()
    assert not (tmp_path / PROGRESS_FILE).exists()


def test_jobs_that_end_with_the_call_have_not_failed(handler: Strict, send: Send, tmp_path: Path) -> None:
    send(LogEvent.RUN_INFO, stats={"train": 4, "total": 4})
    for number in range(3):
        begin(send, number, split=str(number))
    send(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=0, log=[], indent=False)
    handler._progress.failed[0] -= 3600  # an hour ago
    send(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=1, log=[], indent=False)
    send(None, "Will exit after finishing currently running jobs (scheduler).")
    send(LogEvent.JOB_ERROR, level=logging.ERROR, jobid=2, log=[], indent=False)
    handler.close()
    assert kept(tmp_path)["failed"] == ["train split 0"]


def test_event_of_another_version_of_snakemake_and_unwritable_folder_are_no_fault(send: Send, tmp_path: Path) -> None:
    send("an event to come", something=1)
    (tmp_path / ".snakemake").rmdir()
    send(LogEvent.RUN_INFO, stats={"train": 1, "total": 1})
    begin(send, 5)
    send(LogEvent.JOB_FINISHED, job_id=5)


def trained(progress: Progress, dataset: str, family: str, *, seconds: float | None) -> None:
    """A training job that has begun at the time 0 and, unless `seconds` is None, has been done since then."""
    number = len(progress.jobs)
    progress.begin(number, Job("train", {"dataset": dataset, "family": family, "split": str(number)}))
    if seconds is not None:
        progress.finish(number)
    progress.training_began = 0.0


@pytest.fixture
def half_done(tmp_path: Path) -> Progress:
    """A study of two datasets, one of which costs ten times as much, with 2 of 4 splits on the dear one done."""
    costs = [["large", "plain", 100.0], ["small", "plain", 10.0], ["large", "qrt", 500.0], ["small", "qrt", 50.0]]
    (tmp_path / ".snakemake").mkdir()
    (tmp_path / STUDY_FILE).write_text(json.dumps({"training": {"jobs": costs, "repeats": 4}}))
    progress = Progress("snakemake", tmp_path, planned={"train": 8, "all": 1})
    for _ in range(2):
        trained(progress, "large", "plain", seconds=100.0)
    return progress


def test_time_left_is_weighted_by_the_cost_formula(half_done: Progress) -> None:
    # In 200 s jobs of 200 s by the formula were done; 2 x 100 and 4 x 10 are left.
    assert half_done.estimate(now=200.0) == pytest.approx(240.0)
    assert half_done.estimate(now=400.0) == pytest.approx(480.0), "a busy machine"
    trained(half_done, "large", "plain", seconds=None)
    assert half_done.estimate(now=200.0) == pytest.approx(50.0 + 100.0 + 40.0), "half of the running job is left"


def test_whole_study_is_estimated_before_all_families_have_begun(half_done: Progress) -> None:
    half_done.planned = {"train": 16}
    assert half_done.estimate(now=200.0) == pytest.approx(240.0 + 4 * 500.0 + 4 * 50.0)


def test_nothing_is_said_of_the_time_left_where_too_little_is_known(half_done: Progress, tmp_path: Path) -> None:
    assert Progress("snakemake", tmp_path, planned={"train": 8}).estimate(now=1.0) is None, "nothing has begun"
    half_done.planned = {"train": 13}  # of 16: which families?
    assert half_done.estimate(now=200.0) is None
    trained(half_done, "another", "plain", seconds=1.0)
    trained(half_done, "another", "plain", seconds=1.0)
    assert half_done.estimate(now=400.0) == pytest.approx(9 * 100.0), "by the number of jobs, when a quarter is done"


def test_time_left_is_that_of_the_longest_job_at_least() -> None:
    assert TrainingCosts({("large", "a"): 100.0, ("small", "a"): 1.0}, 1).of_unseen([], 2) == (101.0, 100.0)
    assert TrainingCosts({}, 0).of_unseen([], 2) is None


def test_importing_the_plugin_is_cheap() -> None:
    heavy = "{'numpy', 'pandas', 'torch', 'pyarrow', 'psutil', 'snakemake.workflow'}"
    program = f"import sys, snakemake_logger_plugin_qrt; print({heavy} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=_variables()
    )
    assert found.stdout == "set()\n"


# From here on real calls of Snakemake.


def _variables() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(PROJECT / "src")}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """A small workflow whose default profile turns the plugin on."""
    (tmp_path / "Snakefile").write_text(TOY)
    (tmp_path / "profiles/default").mkdir(parents=True)
    (tmp_path / "profiles/default/config.yaml").write_text("logger: [qrt]\nshow-failed-logs: true\nkeep-going: true\n")
    return tmp_path


def call(folder: Path, *arguments: str, command: str = "true") -> subprocess.CompletedProcess[str]:
    full = [*SNAKEMAKE, "--config", f"command={command}", *arguments]
    return subprocess.run(full, cwd=folder, env=_variables(), capture_output=True, text=True, check=False)


def test_call_of_snakemake_tells_its_jobs_and_keeps_its_end(toy: Path) -> None:
    dry_run = call(toy, "--dry-run")
    assert "  train Yacht, split 1" in dry_run.stdout
    assert [line.split() for line in dry_run.stdout.splitlines() if line.startswith(("train ", "total "))] == [
        ["train", "4"],
        ["total", "6"],
    ]
    assert last_call(toy) is None, "a dry run is no call to tell of"
    run = call(toy, "--cores", "2")
    assert run.returncode == 0, run.stderr
    assert run.stderr.count("Finished") == 6
    assert "[6 of 6] Finished all" in run.stderr
    assert (toy / "pages/scorecard.html").as_uri() in run.stderr
    assert "Select jobs" not in run.stderr
    told = last_call(toy)
    assert told is not None
    assert (told["state"], told["done"], told["left"]) == ("finished", {"train": 4, "page": 1, "all": 1}, {})
    assert told["command"] == "snakemake --config command=true --cores 2"
    summary = call(toy, "--summary").stdout.splitlines()
    assert len(summary) == 1 + 5
    assert call(toy, "--list-target-rules").stdout.split() == ["all", "page"]
    assert call(toy, "--cores", "1", "--quiet", "--forceall").returncode == 0
    told = last_call(toy)
    assert told is not None
    assert told["done"] == {"train": 4, "page": 1, "all": 1}
    assert call(toy, "--cores", "1").returncode == 0
    told = last_call(toy)
    assert told is not None
    assert (told["state"], told["planned"]) == ("finished", {}), "there was nothing to do"


def test_target_after_config_gets_a_message_in_place_of_a_traceback(toy: Path) -> None:
    run = call(toy, "--cores", "2", "--config", "command=true", "page")
    assert run.returncode == 1
    assert "Traceback" not in run.stderr
    assert "'page'" in run.stderr
    assert "before --config" in run.stderr
    assert call(toy, "--cores", "2", "--dry-run", "--", "page").returncode == 0


def test_failed_jobs_are_named_with_their_logs(toy: Path) -> None:
    run = call(toy, "--cores", "2", command="test $DATASET = CPU")
    assert run.returncode == 1
    assert run.stderr.count("about to fail") >= 2, "the log of each last attempt"
    assert run.stderr.count("Trying again: train Yacht") == 2
    assert run.stderr.splitlines()[-1].startswith("Failed: train Yacht")
    told = last_call(toy)
    assert told is not None
    assert (told["state"], told["left"]) == ("failed", {"train": 2, "all": 1})
    assert sorted(told["failed"]) == ["train Yacht, split 0", "train Yacht, split 1"]


def started(folder: Path, command: str) -> subprocess.Popen[bytes]:
    """A call in a session of its own whose first two jobs have begun."""
    full = [*SNAKEMAKE, "--cores", "2", "--config", f"command={command}"]
    silent = subprocess.DEVNULL
    process = subprocess.Popen(full, cwd=folder, env=_variables(), stdout=silent, stderr=silent, start_new_session=True)
    for _ in range(300):
        told = last_call(folder)
        if told and len(told["running"]) == 2:
            return process
        assert process.poll() is None
        time.sleep(0.1)
    raise AssertionError("no jobs have begun")


def test_sigterm_lets_running_jobs_finish_and_the_same_command_goes_on(toy: Path) -> None:
    process = started(toy, "sleep 4")
    process.terminate()
    assert process.wait(60) == 1
    told = last_call(toy)
    assert told is not None
    assert told["state"] == "interrupted"
    assert sum(told["done"].values()) == 2, "no more were started"
    run = call(toy, "--cores", "2")
    assert run.returncode == 0, run.stderr
    told = last_call(toy)
    assert told is not None
    assert (told["state"], sum(told["planned"].values())) == ("finished", 4)


def test_killed_call_is_interrupted_not_running(toy: Path) -> None:
    process = started(toy, "sleep 60")
    told = last_call(toy)
    assert told is not None
    assert told["state"] == "running"
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    told = last_call(toy)
    assert told is not None
    assert (told["state"], told["running"]) == ("interrupted", [])
    assert call(toy, "--unlock").returncode == 0
    run = call(toy, "--cores", "2", "--rerun-incomplete")
    assert run.returncode == 0, run.stderr
