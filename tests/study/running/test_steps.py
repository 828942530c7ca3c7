"""Continuing the replication: what is left, in which order, and what there is time for."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import PROJECT
from qrt_study.data.sheet import paper_datasets
from qrt_study.results.study_networks import Place
from qrt_study.running import step_calls
from qrt_study.running.step_calls import Task, call_snakemake, do, tasks
from qrt_study.running.steps import Step, Steps


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the steps, and with nothing published."""
    for name in ("workflow/schemas/config.schema.yaml", "replication/steps.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    publish(tmp_path, [])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def publish(project: Path, places: list[Place], timed: tuple[str, ...] = (), predicted: tuple[str, ...] = ()) -> None:
    families: dict[str, dict[str, list[str]]] = {}
    for place in places:
        families.setdefault(place.dataset, {}).setdefault(str(place.seed), []).append(place.family)
    files = {f"predictions/{dataset}.parquet": "0" * 64 for dataset in predicted}
    manifest = {"families": families, "splits": [0, 1, 2, 3, 4], "timed": {"paper": timed}, "datasets": {}}
    manifest["files"] = files
    path = project / "replication/results/manifest.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(manifest))


def rows(dataset: str) -> int:
    return paper_datasets()[dataset].published.train_rows


def test_every_step_and_dataset_has_its_turn_once_and_small_datasets_come_first(project: Path) -> None:
    steps = Steps(project)
    order = [(step.name, dataset) for step, dataset in steps.in_order()]
    assert len(order) == len(set(order))
    assert set(order) == {(step.name, name) for step in steps.by_name.values() for name in step.files.study.datasets}
    of_step = [dataset for name, dataset in order if name == "1 released"]
    assert of_step == sorted(of_step, key=lambda name: (rows(name), name))


def test_step_is_finished_where_all_its_networks_and_times_are_published(project: Path) -> None:
    before = Steps(project).by_name["3t paper"]
    assert before.left("Yacht").keys() > {"results/paper/times/Yacht.parquet"}
    publish(project, before.places("Yacht"))
    assert list(Steps(project).by_name["3t paper"].left("Yacht")) == ["results/paper/times/Yacht.parquet"]
    publish(project, before.places("Yacht"), timed=("Yacht",))
    after = Steps(project).by_name["3t paper"]
    assert (after.left("Yacht"), Steps(project).by_name["2 paper"].left("Yacht")) == ({}, {})
    assert after.left("CPU").keys() == before.left("CPU").keys()


def test_predictions_are_left_until_published_and_wait_for_their_networks(project: Path) -> None:
    before = Steps(project).by_name["15 both"]
    assert not before.can_begin("Yacht")
    assert not list(tasks(Steps(project).in_order(), 2, {"15"}))
    publish(project, Steps(project).by_name["2 paper"].places("Yacht"))
    ready = Steps(project).by_name["15 both"]
    assert ready.can_begin("Yacht")
    (task,) = tasks(Steps(project).in_order(), 2, {"15 both"})
    assert (task.datasets, set(task.targets)) == (("Yacht",), set(before.left("Yacht")))
    assert "results/networks/Yacht/scores.released.parquet" in task.targets
    publish(project, before.places("Yacht"), predicted=("Yacht",))
    assert Steps(project).by_name["15 both"].left("Yacht") == {}


def test_predictions_cost_less_than_the_families_that_they_are_tuned_among(project: Path) -> None:
    steps = Steps(project).by_name
    whole = sum(sum(steps[name].left("Kin8nm").values()) for name in ("1 released", "3 paper", "4 released"))
    assert 0 < sum(steps["15 both"].left("Kin8nm").values()) < whole / 3


def test_steps_are_chosen_by_number_or_by_name(project: Path) -> None:
    chosen = [
        {task.step.name for task in tasks(Steps(project).in_order(), 2, names)} for names in ({"9a"}, {"9a paper"})
    ]
    assert chosen == [{"9a released", "9a paper"}, {"9a paper"}]


def test_datasets_that_are_not_at_hand_are_those_that_the_mirror_lacks(shared_datasets: Path) -> None:
    with (shared_datasets / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        missing = {row["name"] for row in csv.DictReader(manifest) if not row["file"]}
    plan = yaml.safe_load((PROJECT / "replication/steps.yaml").read_text(encoding="utf-8"))
    assert set(plan["not_at_hand"]) == missing
    assert Steps(PROJECT).at_hand == 57 - len(missing)


def test_nothing_is_asked_for_twice_nor_what_is_there(project: Path) -> None:
    there = Path(next(iter(Steps(project).by_name["2 paper"].left("Yacht"))))
    there.parent.mkdir(parents=True)
    there.touch()
    targets = [target for task in tasks(Steps(project).in_order(), 2, set()) for target in task.targets]
    assert len(targets) == len(set(targets))
    assert str(there) not in targets


def test_small_datasets_share_a_call_and_long_ones_have_their_own(project: Path) -> None:
    found = list(tasks(Steps(project).in_order(), 2, {"1", "2"}))
    assert {task.step.number for task in found} == {"1", "2"}
    assert any(len(task.datasets) > 1 for task in found)
    assert all(task.hours <= step_calls.LONGEST_SHARED for task in found if len(task.datasets) > 1)


class Called:
    """Calls of Snakemake that take no time."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def __call__(self, task: Task) -> bool:
        self.steps.append(task.step.name)
        return True


def test_nothing_is_begun_that_the_time_left_is_too_short_for(project: Path) -> None:
    short, long, other = list(Steps(project).by_name.values())[:3]
    hours = [(short, 0.001), (long, 0.5), (long, 0.001), (other, 0.002)]
    called = Called()
    do([Task(step, ("Yacht",), (), left) for step, left in hours], called, time.time() + 60)
    assert called.steps == [short.name, other.name], "a step keeps its order"


def stand_in(monkeypatch: pytest.MonkeyPatch, program: str) -> list[Any]:
    """Run a program of bash instead of Snakemake; returns what was called."""
    calls: list[Any] = []

    def start(command: list[str]) -> subprocess.Popen[bytes]:
        config = yaml.safe_load(Path(command[command.index("--configfile") + 1]).read_text())
        calls.append((config, command[command.index("--") + 1 :]))
        return original(["bash", "-c", program])

    original = subprocess.Popen
    monkeypatch.setattr("qrt_study.running.step_calls.subprocess.Popen", start)
    return calls


@pytest.mark.parametrize(("program", "done"), [("exit 0", True), ("exit 1", False)])
def test_call_extends_the_published_results_by_its_datasets(
    program: str, done: bool, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, step = stand_in(monkeypatch, program), Steps(project).by_name["9b released"]
    assert call_snakemake(Task(step, ("Yacht", "CPU"), ("a", "b"), 0.1), 2, time.time() + 60) == done
    ((config, targets),) = calls
    assert (config["networks"], config["datasets"], targets) == ("extend", ["Yacht", "CPU"], ["a", "b"])
    assert config["protocols"] == ["released.kernel_width"]


def test_call_is_asked_to_end_when_time_is_over(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, "trap 'touch asked; exit 1' TERM; while true; do sleep 0.05; done")
    task = Task(Steps(project).by_name["1 released"], ("Yacht",), (), 0.0)
    assert not call_snakemake(task, 1, time.time() + 0.5)
    assert Path("asked").exists()


@pytest.mark.parametrize(("sent", "ignored"), [("SIGTERM", False), ("SIGHUP", False), ("SIGHUP", True)])
def test_signal_ends_the_call_unless_it_is_ignored(project: Path, sent: str, ignored: bool) -> None:
    """As a program of its own, with a Snakemake that runs until it is asked to end."""
    snakemake = "trap 'touch asked; exit 1' TERM; touch begun; until [ -e on ]; do sleep 0.05; done; touch finished"
    program = f"import signal; signal.signal(signal.{sent}, signal.SIG_{'IGN' if ignored else 'DFL'})\n"
    program += "import subprocess; from qrt_study.running import step_calls; original = subprocess.Popen\n"
    program += f"start = lambda command: original(['bash', '-c', {snakemake!r}])\n"
    program += "step_calls.subprocess.Popen = start\n"
    program += "step = step_calls.Steps(step_calls.Path()).by_name['1 released']\n"
    program += "step_calls.tasks = lambda *_: [step_calls.Task(step, ('Yacht',), (), 0.0)]\n"
    program += "step_calls.run_steps(cores=1)"
    call = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not Path("begun").exists():
        assert call.poll() is None, call.communicate()[1]
        time.sleep(0.05)
    call.send_signal(getattr(signal, sent))
    if ignored:
        time.sleep(0.2)
        Path("on").touch()
    call.communicate()
    assert call.returncode == (0 if ignored else 128 + getattr(signal, sent))
    assert Path("finished").exists() == ignored
    assert Path("asked").exists() == (not ignored)


def test_step_of_one_switch_is_a_scenario(project: Path) -> None:
    step: Step = Steps(project).by_name["9d paper"]
    assert step.files.study.scenario == "paper.x_scale"
    assert step.files.study.networks == "extend"
