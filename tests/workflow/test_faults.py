"""Faults of a long run: kills, damaged files, a full disk, too little memory, data and networks that fail."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qrt_study.running.status import last_call
from support.damage import flip
from support.data_folders import files_below
from support.projects import LAYOUT, TINY, Project, layout_of, study_of

# Two jobs: training and evaluation.
SMALLEST: dict[str, Any] = {"protocols": ["paper"], "datasets": ["linear"], "methods": ["BASE"]}
FAMILY = "mlp-3.plain"
NETWORKS_FILE = LAYOUT.trained("linear", 0, 0, FAMILY)
RUNS_FILE = LAYOUT.evaluated("linear", 0, "0", FAMILY, "runs")
ENDLESS: dict[str, Any] = SMALLEST | {"training": {"max_epochs": 1_000_000, "patience": 1_000_000}}
ENDLESS_LAYOUT = layout_of(study_of(**ENDLESS))


@pytest.fixture
def untrained(copy: Project) -> Project:
    """Data there, nothing trained."""
    for made in ("results", LAYOUT.results, LAYOUT.figures, "logs"):
        shutil.rmtree(copy.folder / made)
    return copy


def assert_finishes_like(finished: Project, project: Project) -> None:
    """The same command goes on, leaves nothing half-done, and has the results of an undisturbed run."""
    run = project.run(RUNS_FILE, **SMALLEST)
    assert run.returncode == 0, run.stderr
    pd.testing.assert_frame_equal(project.read(RUNS_FILE), finished.read(RUNS_FILE), check_exact=True)
    assert not list((project.folder / "results").rglob("*.partial"))


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts a study in a session of its own, so that it can be killed with its jobs; what it says is in `said`."""
    calls = []

    def start(project: Project, *arguments: str, **config: Any) -> subprocess.Popen[bytes]:
        command, variables = project.command(*arguments, **config)
        with (project.folder / "said").open("wb") as said:
            call = subprocess.Popen(
                command, cwd=project.folder, env=variables, stdout=said, stderr=said, start_new_session=True
            )
        calls.append(call)
        return call

    yield start
    for call in calls:
        if living(call.pid):
            os.killpg(call.pid, signal.SIGKILL)
        call.wait()


def living(group: int) -> dict[int, str]:
    """The processes of a group that still run; one that has ended may wait as a zombie for somebody to notice."""
    listed = subprocess.run(["ps", "-eo", "pgid=,pid=,stat=,args="], capture_output=True, text=True, check=True)
    processes = [line.split(maxsplit=3) for line in listed.stdout.splitlines()]
    return {int(one[1]): one[-1] for one in processes if int(one[0]) == group and not one[2].startswith("Z")}


def wait_for(condition: Callable[[], Any]) -> Any:
    for _ in range(1200):
        if found := condition():
            return found
        time.sleep(0.1)
    raise AssertionError("nothing happened for two minutes")


def training_job(call: subprocess.Popen[bytes], *others: int) -> int:
    """The process of a training job of a call, other than these."""

    def found() -> int | None:
        jobs = (number for number, args in living(call.pid).items() if args.startswith("python -m qrt_study train"))
        return next((number for number in jobs if number not in others), None)

    number: int = wait_for(found)
    return number


def training(project: Project, start: Callable[..., subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """A study in the middle of a training that would take days."""
    call = start(project, ENDLESS_LAYOUT.evaluated("linear", 0, "0", FAMILY, "runs"), **ENDLESS)
    log = project.folder / ENDLESS_LAYOUT.training_log("linear", 0, 0, FAMILY)
    wait_for(lambda: log.exists() and "network(s)" in log.read_text())
    told = last_call(project.folder)
    assert told is not None
    assert (told["state"], len(told["running"])) == ("running", 1)
    return call


@pytest.mark.parametrize(
    ("name", "send"), [("SIGTERM", os.killpg), ("SIGINT", os.killpg), ("SIGHUP", os.killpg), ("SIGHUP", os.kill)]
)
def test_a_signal_or_a_lost_terminal_ends_the_study_with_its_jobs_and_says_how_to_go_on(
    untrained: Project, start: Callable[..., subprocess.Popen[bytes]], name: str, send: Callable[..., None]
) -> None:
    if signal.getsignal(getattr(signal, name)) is signal.SIG_IGN:
        pytest.skip(f"these tests run where {name} is ignored, as in the background of a shell or under nohup")
    call = training(untrained, start)
    send(call.pid, getattr(signal, name))
    assert call.wait(60) != 0  # seconds; the job itself would take days
    assert living(call.pid) == {}
    assert "the same command" in (untrained.folder / "said").read_text()
    assert files_below(untrained.folder / "results") == set()
    assert not list((untrained.folder / ".snakemake").glob("locks/*.lock"))
    told = last_call(untrained.folder)
    assert told is not None
    assert (told["state"], told["running"], told["left"]["train"]) == ("interrupted", [], 1)


def test_jobs_of_a_killed_study_end_and_the_refusal_to_go_on_names_the_way(
    untrained: Project, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    call = training(untrained, start)
    os.kill(call.pid, signal.SIGKILL)  # Snakemake alone, which cannot end its jobs then
    call.wait()
    wait_for(lambda: not living(call.pid))
    assert files_below(untrained.folder / "results") == set()
    refused = untrained.run(ENDLESS_LAYOUT.evaluated("linear", 0, "0", FAMILY, "runs"), **ENDLESS)
    assert refused.returncode != 0
    assert "--unlock" in refused.stderr


def test_killed_job_is_tried_again_and_a_killed_study_goes_on(
    finished: Project, untrained: Project, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    """Many more kills at random moments: tests/support/random_kills.py."""
    call = start(untrained, RUNS_FILE, **SMALLEST)
    first = training_job(call)
    os.kill(first, signal.SIGKILL)  # as the kernel does when memory runs out
    training_job(call, first)
    os.kill(call.pid, signal.SIGKILL)  # Snakemake alone: its job ends a little later, or with its work
    call.wait()
    wait_for(lambda: not living(call.pid))
    told = last_call(untrained.folder)
    assert told is not None
    assert told["state"] == "interrupted"
    assert untrained.run("--unlock").returncode == 0
    assert_finishes_like(finished, untrained)


@pytest.mark.parametrize("file", [NETWORKS_FILE, "data/prepared/linear/x.npy"])
def test_flipped_bit_is_found_named_and_mended_by_the_same_command(finished: Project, copy: Project, file: str) -> None:
    flip(copy.folder / file)
    remade = [RUNS_FILE] if file == NETWORKS_FILE else [RUNS_FILE, NETWORKS_FILE]
    for name in remade:
        (copy.folder / name).unlink()  # as if the run had stopped before
    run = copy.run(RUNS_FILE, "--retries", "0", **SMALLEST)
    assert run.returncode != 0
    assert f"{Path(file).name}: damaged" in run.stderr + run.stdout
    assert (copy.folder / f"{file}.damaged").exists()
    assert_finishes_like(finished, copy)


@pytest.fixture
def small_disk(untrained: Project) -> Iterator[Path]:
    """The folder of the results as a file system of 128 kB."""
    folder = untrained.folder / "results"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("needs the right to mount a file system (root on Linux)")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_is_told_and_the_study_goes_on(finished: Project, untrained: Project, small_disk: Path) -> None:
    (untrained.folder / NETWORKS_FILE).parent.mkdir(parents=True)
    subprocess.run(["dd", "if=/dev/zero", f"of={small_disk / 'ballast'}", "bs=4k"], capture_output=True, check=False)
    run = untrained.run(RUNS_FILE, "--retries", "0", **SMALLEST)  # the disk stays full
    assert run.returncode != 0
    assert "cannot be written (No space left on device)" in run.stderr + run.stdout
    assert files_below(small_disk) == {"ballast"}
    (small_disk / "ballast").unlink()
    assert_finishes_like(finished, untrained)


# Stands for a cluster: a job that takes more memory than it asked for is killed, and one dataset has a small machine.
CLUSTER = """#!{python}
import re, subprocess, sys, time
from pathlib import Path

job = subprocess.Popen(["{python}", *sys.argv[1:]])
asked = re.search(r"([0-9]+) MB and", " ".join(sys.argv))
limit = min(int(asked[1]), 250 if "skewed" in sys.argv else 4000) if asked else 4000
while job.poll() is None:
    pages = Path(f"/proc/{{job.pid}}/statm").read_text().split()
    if pages and int(pages[1]) * 4096 > limit * 1e6:
        job.kill()
    time.sleep(0.01)
sys.exit(job.returncode if job.returncode >= 0 else 137)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the stand-in for a cluster reads the memory of jobs from /proc")
def test_killed_training_gets_more_memory_and_in_the_end_rows_with_the_reason(untrained: Project) -> None:
    python = untrained.folder / "bin/python"
    python.parent.mkdir()
    python.write_text(CLUSTER.format(python=sys.executable))
    python.chmod(0o755)
    table, both = LAYOUT.methods("paper", "main"), SMALLEST | {"datasets": ["linear", "skewed"]}
    command, variables = untrained.command(table, "--set-resources", "train:mem_mb=100+100*attempt", **both)
    variables["PATH"] = f"{python.parent}{os.pathsep}{variables['PATH']}"
    run = subprocess.run(command, cwd=untrained.folder, env=variables, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    methods = untrained.read(table).set_index("dataset")
    assert methods["status"].to_dict() == {"linear": "ok", "skewed": "failed"}
    asked = (200, 300, 400)
    assert all(f"killed with {memory} MB and" in methods.loc["skewed", "reason"] for memory in asked)
    call = last_call(untrained.folder)
    assert call is not None
    assert (call["state"], call["gave_up"]) == ("finished", [f"train skewed, split 0, {FAMILY}"])
    again = LAYOUT.trained("skewed", 0, 0, FAMILY)
    assert "--forcerun" in run.stderr
    assert again in run.stderr
    assert untrained.planned(table, **both) == {}
    assert untrained.planned(table, "--forcerun", again, **both) == {"train": 1, "evaluate": 1, "tune": 1}


def test_failures_are_rows_with_reasons_and_the_rest_finishes(tmp_path: Path) -> None:
    """Also for data of the user's: the end of the call tells what came out, and fails if a file could not be used."""
    project = Project.new(tmp_path)
    (tmp_path / "short.csv").write_text("a,y\n" + "".join(f"{i},{i * i}\n" for i in range(50)))
    rows = "".join(f"{i},{i % 2},{'' if i % 10 == 0 else i % 7},{i * i}\n" for i in range(200))
    (tmp_path / "houses.csv").write_text("number,garden,age,price\n" + rows)
    config: dict[str, Any] = {
        "protocols": ["paper"],
        "draw": ["fig14", "own_data", "table3"],
        "datasets": ["Power"],  # without a source
        "own_datasets": {
            "short": {"path": "short.csv", "target": "y"},
            "houses": {"path": "houses.csv", "target": "price", "drop": ["number"]},
        },
        "grids": TINY["grids"] | {"alpha_study": [0, 1, -1e39]},
        "jobs": "coarse",
        "keep_outputs": False,
    }
    run = project.run("all", LAYOUT.methods("paper", "main"), **config)
    assert run.returncode == 1
    assert "Data of your own could not be used: short: invalid: 50 rows" in run.stderr
    alpha, main = (project.read(LAYOUT.methods("paper", name)) for name in ("alpha", "main"))
    status = alpha.set_index(["dataset", "method"])["status"]
    assert status["houses"].to_dict() == {"alpha=0": "ok", "alpha=1": "ok", "alpha=-1e+39": "diverged"}
    assert (set(status["Power"]), set(status["short"])) == ({"unavailable"}, {"invalid"})
    failed = alpha[alpha["status"] != "ok"]
    assert (failed["reason"].str.len() > 0).all()
    assert failed["test_nll"].isna().all()
    datasets = pd.read_csv(tmp_path / LAYOUT.figure("paper", "table3_datasets", "csv")).set_index("dataset")
    assert datasets.loc["Power", "status"] == "unavailable"
    # The page on one's own data, its text and its tables.
    text = (tmp_path / LAYOUT.figure("paper", "own_data", "txt")).read_text(encoding="utf-8")
    assert text in run.stdout
    assert all((tmp_path / line.strip()).exists() for line in text.splitlines() if line.startswith("    "))
    assert (tmp_path / LAYOUT.figure("paper", "own_data", "html")).as_uri() in run.stderr
    scores = pd.read_csv(tmp_path / LAYOUT.figure("paper", "own_data/houses", "csv")).set_index("method")
    assert list(scores.index) == ["BASE", "QRC", "QRTC"]
    of_main = main[main["dataset"] == "houses"].set_index("method")
    for column in ("nll", "coverage_90", "length_90"):
        assert scores[column].to_dict() == pytest.approx(of_main.loc[scores.index, f"test_{column}"].to_dict())
    # Data that failed is tried again by force; outputs of networks are dropped after their evaluation.
    again = ["data/raw/Power.json", "data/raw/short.json"]
    assert f"--forcerun {' '.join(again)}" in run.stderr
    assert project.planned(**config) == {}
    assert project.planned("--forcerun", *again, **config)["fetch"] == 2
    assert not list((tmp_path / "results").rglob("*.networks.parquet"))
    # A changed file is read, and trained on, again.
    (tmp_path / "houses.csv").write_text("number,garden,age,price\n" + rows[rows.index("\n") + 1 :])
    changed = project.planned(**config)
    assert (changed["fetch"], changed["prepare"], changed["train"]) == (1, 1, 1)


def test_study_runs_for_any_user_in_any_folder(tmp_path: Path) -> None:
    """A path with blanks and quotes, no HOME, files for oneself alone, no assertions, no rights beyond one's own."""
    folder = tmp_path / 'my study\'s "first" (1)'
    folder.mkdir()
    command, variables = Project.new(folder).command(RUNS_FILE, **SMALLEST)
    del variables["HOME"]
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if os.geteuid() == 0 and shutil.which(without_rights[0]):
        command = [*without_rights, *command]
    variables["PYTHONOPTIMIZE"] = "1"
    run = subprocess.run(command, cwd=folder, env=variables, umask=0o077, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert set(pd.read_parquet(folder / RUNS_FILE)["status"]) == {"ok"}
    assert (folder / RUNS_FILE).stat().st_mode & 0o077 == 0
