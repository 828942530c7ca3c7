"""`make test-slurm`: a study on a real Slurm whose jobs are cancelled and killed gives the results of a local run.

It needs root and apt and is skipped elsewhere. Everything lives in one temporary folder; nothing is installed.
"""

from __future__ import annotations

import os
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

from cluster import OneNodeSlurm, reason_to_skip, running_slurm, wait_for
from processes import nothing_left

from test_study import RESULTS, Project, comparable

LIMIT = 1800  # seconds for everything, on a busy machine; two idle cores need a few minutes
OUTAGE = 15  # seconds; the controller believes that a job is lost when it is older than 11 (BatchStartTimeout + 10)
# Long enough that a training can be met in the middle; several Slurm jobs, so that two can be disturbed.
STUDY: dict[str, Any] = {"training": {"max_epochs": 400, "patience": 400}}
TABLES = ("runs", "methods", "curves", "predictions")
TARGETS = [f"{RESULTS}/{table}.parquet" for table in TABLES]
PROFILE = [
    *("--workflow-profile", "workflow/profiles/slurm"),
    *("--group-components", "train_seconds=2", "prepare=2"),
    *("--slurm-init-seconds-before-status-checks", "2"),
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
        local, remote, slurm = (Path(name) / part for part in ("local", "remote", "slurm"))
        for folder in (local, remote, slurm):
            folder.mkdir()
        say("the study on this machine")
        expected = Project.new(local)
        run = expected.run(*TARGETS, **STUDY)
        assert run.returncode == 0, run.stderr
        say("Slurm starts")
        with OneNodeSlurm(slurm) as cluster:
            project = Project.new(remote)
            run_disturbed(project, cluster)
        compare(expected, project)
        say("the results are equal, byte for byte")
    return 0


def run_disturbed(project: Project, cluster: OneNodeSlurm) -> None:
    """The study through Slurm, with one training job cancelled and the daemons of another killed."""
    _, variables = project.command(**STUDY)  # writes the configuration of the study
    command = [sys.executable, "-m", "snakemake", *PROFILE, "--configfile", "study.yaml", "--", *TARGETS]
    environment = cluster.environment | {"PYTHONPATH": variables["PYTHONPATH"]}
    log = project.folder / "snakemake.log"
    with log.open("wb") as output:
        snakemake = subprocess.Popen(
            command, cwd=project.folder, env=environment, stdout=output, stderr=output, start_new_session=True
        )
    try:
        cancelled = training_job(cluster, snakemake, log, besides=())
        cluster.call("scancel", cancelled)
        say(f"job {cancelled} was training and is cancelled")
        killed = training_job(cluster, snakemake, log, besides=(cancelled,))
        steps = cluster.kill_daemons(killed)
        assert steps > 0, f"job {killed} had no daemon"
        time.sleep(OUTAGE)
        cluster.start("slurmd")
        say(f"job {killed} was training; its {steps} daemons and that of the node are killed, the latter starts again")
        wait_for(lambda: snakemake.poll() is not None, LIMIT, log.read_text)
    finally:
        if snakemake.poll() is None:
            os.killpg(snakemake.pid, signal.SIGKILL)
            snakemake.wait()
    states = cluster.job_states()
    say("jobs of Slurm: " + ", ".join(f"{job} {state}" for job, state in states.items()))
    assert snakemake.returncode == 0, log.read_text()
    assert states[cancelled] == "CANCELLED", states
    assert states[killed] in ("FAILED", "NODE_FAIL"), states
    restarts = log.read_text().count("Trying to restart job")
    assert restarts >= 2, f"{restarts} restarts\n{log.read_text()}"


def training_job(cluster: OneNodeSlurm, snakemake: subprocess.Popen[bytes], log: Path, besides: tuple[str, ...]) -> str:
    """A Slurm job in which a network is being trained now, other than those in `besides`."""
    while snakemake.poll() is None:
        for job in cluster.running_jobs():
            if job not in besides and cluster.job_processes(job, "-m qrt train"):
                return job
        time.sleep(0.2)
    raise AssertionError(f"the study ended before a job in training was found\n{log.read_text()}")


def compare(expected: Project, got: Project) -> None:
    """Every result column of every table; fingerprints and times aside."""
    results = comparable(got)
    for name, table in comparable(expected).items():
        assert len(table) > 0, f"{name} is empty"
        if results[name].to_parquet() != table.to_parquet():
            differing = [column for column in table if not results[name][column].equals(table[column])]
            raise AssertionError(f"{name} differs from that of the local run in {differing or 'its form'}")


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
