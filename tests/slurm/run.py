"""`make test-slurm`: a study on a real Slurm, whose jobs are cancelled and killed, gives the results of a local run.

It needs root and apt and is skipped elsewhere. Everything lives in one temporary folder; nothing is installed.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cluster import OneNodeSlurm, PackagesUnavailableError, reason_to_skip, running_slurm, unpack_slurm, wait_for
from processes import nothing_left

from support.projects import Project, layout_of, study_of
from support.snakemake_calls import SNAKEMAKE

LIMIT = 1200  # seconds for everything; two busy cores took up to six minutes
# Data of one's own is planned by the size of its file: jobs on `mine` are taken for long ones, though few of its rows
# are of use. So each is alone in its Slurm job, while those on the other dataset share one. Long enough that a training
# can be met in the middle.
OWN_ROWS, ROWS_PER_TARGET = 120_000, 300
STUDY: dict[str, Any] = {
    "protocols": ["paper"],
    "datasets": ["skewed"],
    "own_datasets": {"mine": {"path": "mine.csv", "target": "y"}},
    "training": {"max_epochs": 200, "patience": 200},
}
LAYOUT = layout_of(study_of(training=STUDY["training"]))
TARGETS = [LAYOUT.table("paper", table) for table in ("runs", "methods", "curves", "predictions")]
# The commands to disturb.
ALONE, SHARED = "train mine 0 .*mlp-3.qrt", "train skewed 0"
TOO_LITTLE, ENOUGH = 350, 1400  # MB, for PyTorch and a Snakemake beside it, which take more than 500
MEMORY = (
    f"{TOO_LITTLE} if (wildcards.dataset, '.qrt.' in wildcards.family, attempt) == ('mine', False, 1) else {ENOUGH}"
)
PROFILE = [
    *("--workflow-profile", "workflow/profiles/slurm"),
    *("--group-components", "train_seconds=2", "train_minutes=1", "prepare=2"),
    *("--set-resources", f"train:mem_mb={MEMORY}"),
    *("--slurm-init-seconds-before-status-checks", "4"),
    *("--latency-wait", "5"),
    *("--default-resources", "slurm_partition=test"),
]


def main() -> int:
    """Run the test; the exit code."""
    if reason := reason_to_skip():
        print(f"test-slurm skipped: {reason}")
        return 0
    if daemons := running_slurm():
        print(f"error: a Slurm runs on this machine already: {', '.join(daemons)}. Stop it first.", file=sys.stderr)
        return 1
    with stoppable(), tempfile.TemporaryDirectory(prefix="qrt-slurm-") as name, nothing_left(Path(name)):
        Path(name).chmod(0o755)  # munged wants its socket where everybody may go
        slurm = Path(name) / "slurm"
        try:
            unpack_slurm(slurm)
        except PackagesUnavailableError as error:
            print(f"test-slurm skipped: {error}")
            return 0
        expected, got = new_project(Path(name) / "local"), new_project(Path(name) / "remote")
        command, variables = expected.command(*TARGETS, **STUDY)
        say("the study on this machine and on Slurm")
        local = start(command, variables, expected)
        with OneNodeSlurm(slurm) as cluster:
            run_disturbed(got, cluster)
        assert local.wait() == 0, log_of(expected).read_text()
        compare(expected, got)
        say("the results are equal, byte for byte")
    return 0


def new_project(folder: Path) -> Project:
    """A copy of the project with a dataset of its own, most rows of which lack the target."""
    folder.mkdir()
    numbers = random.Random(7)
    rows = ["a,b,y"]
    for row in range(OWN_ROWS):
        a, b, noise = (numbers.gauss(0, 1) for _ in range(3))
        rows.append(f"{a:.6f},{b:.6f}," + (f"{a + b * noise:.6f}" if row % ROWS_PER_TARGET == 0 else ""))
    (folder / "mine.csv").write_text("\n".join(rows) + "\n")
    return Project.new(folder)


def log_of(project: Project) -> Path:
    return project.folder / "snakemake.log"


def start(command: list[str], variables: dict[str, str], project: Project) -> subprocess.Popen[bytes]:
    """Start Snakemake in a project; `nothing_left` would end it."""
    with log_of(project).open("wb") as log:
        return subprocess.Popen(command, cwd=project.folder, env=variables, stdout=log, stderr=log)


def run_disturbed(project: Project, cluster: OneNodeSlurm) -> None:
    """The study through Slurm: one training job is cancelled, one loses its daemons, one asks for too little memory."""
    command = [*SNAKEMAKE, *PROFILE, "--configfile", project.settings(**STUDY), "--", *TARGETS]
    snakemake = start(command, cluster.environment | {"PYTHONPATH": str(project.folder / "src")}, project)
    log = log_of(project)

    held = hold_in_training([ALONE, SHARED], cluster, snakemake, project)  # so that neither ends before its turn
    (lost, lost_training), (cancelled, cancelled_training) = held[ALONE], held[SHARED]
    prepared = edit_the_code(project)
    os.kill(lost_training, signal.SIGCONT)
    steps = cluster.lose(lost)
    assert steps > 0, f"job {lost} had no daemon"
    say(f"job {lost} was training; its {steps} daemons and that of the node were killed, the latter started again")
    os.kill(cancelled_training, signal.SIGCONT)
    cluster.call("scancel", cancelled)
    wait_for(lambda: not cluster.job_processes(cancelled, ""), 60, log.read_text)
    say(f"job {cancelled} was training and is cancelled; its processes have ended")
    wait_for(lambda: snakemake.poll() is not None, LIMIT, log.read_text)

    jobs = cluster.jobs()
    say("jobs of Slurm: " + ", ".join(f"{number} {job.state} ({job.memory})" for number, job in jobs.items()))
    assert snakemake.returncode == 0, log.read_text()
    assert jobs[cancelled].state == "CANCELLED", jobs
    assert jobs[lost].state in ("FAILED", "NODE_FAIL"), jobs
    others = [job for number, job in jobs.items() if number not in (lost, cancelled)]
    failed = [job.memory for job in others if job.state != "COMPLETED"]
    assert failed == [f"{TOO_LITTLE}M"], f"{jobs}\n{log.read_text()}\n{logs_of_slurm(project)}"
    assert f"{ENOUGH}M" in [job.memory for job in others], jobs
    assert prepared == {path: path.stat().st_mtime_ns for path in prepared}, "an edit made a job run what is upstream"
    assert "exceeded memory limit" in logs_of_slurm(project)


def logs_of_slurm(project: Project) -> str:
    """What the jobs of Slurm have said."""
    files = sorted((project.folder / ".snakemake/slurm_logs").rglob("*.log"))
    return "\n".join(f"== {file.name}\n{file.read_text()}" for file in files)


def edit_the_code(project: Project) -> dict[Path, int]:
    """Change a version that jobs read when they plan; the prepared files, whose rule has it as a parameter."""
    versions = project.folder / "src/qrt_study/versions.py"
    text = versions.read_text()
    assert "PREPARATION_VERSION = " in text
    versions.write_text(text.replace("PREPARATION_VERSION = ", "PREPARATION_VERSION = 9"))
    return {path: path.stat().st_mtime_ns for path in (project.folder / "data/prepared").rglob("*") if path.is_file()}


def hold_in_training(
    commands: list[str], cluster: OneNodeSlurm, snakemake: subprocess.Popen[bytes], project: Project
) -> dict[str, tuple[str, int]]:
    """For each of these commands the Slurm job in which it is training a network, and its process, stopped in it."""
    held: dict[str, tuple[str, int]] = {}
    while snakemake.poll() is None:
        jobs = cluster.running_jobs()
        for words in set(commands) - set(held):
            processes = (
                (job, process) for job in jobs for process in cluster.job_processes(job, f"-m qrt_study {words}")
            )
            training = next((found for found in processes if "network(s)" in log_in(project, found[1])), None)
            if training:
                os.kill(training[1], signal.SIGSTOP)
                held[words] = training
        if len(held) == len(commands):
            return held
        time.sleep(0.2)
    raise AssertionError(f"the study ended before jobs in training were found\n{log_of(project).read_text()}")


def log_in(project: Project, process: int) -> str:
    """What a training job has said so far; nothing if the process is the shell around it, or has ended."""
    try:
        log = Path(os.readlink(f"/proc/{process}/fd/1"))
    except OSError:
        return ""
    return log.read_text() if log.is_relative_to(project.folder / "logs") else ""


def compare(expected: Project, got: Project) -> None:
    """Every result column of every table; times and the machine aside."""
    for target in TARGETS:
        table, result = expected.read(target), got.read(target)
        assert len(table) > 0, f"{target} is empty"
        if result.to_parquet() != table.to_parquet():
            differing = [column for column in table if not result[column].equals(table[column])]
            raise AssertionError(f"{target} differs from that of the local run in {differing or 'its form'}")


@contextmanager
def stoppable() -> Iterator[None]:
    """Let every way of stopping this program, and its time limit, pass through the cleaning up."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(other, signal.SIG_IGN)  # cleaning up is bounded in time, and must not be interrupted
        raise SystemExit(f"test-slurm stopped by {signal.Signals(number).name}; cleaning up")

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, stop)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
