"""The program that runs the steps of the replication."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import time
from types import ModuleType
from typing import Any

import pytest

from conftest import PROJECT
from qrt.data.sheet import paper_datasets

AVAILABLE = {"CPU", "Yacht", "Airfoil", "Kin8nm", "Power", "Protein"}


@pytest.fixture
def run_steps(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module replication/run_steps.py."""
    spec = importlib.util.spec_from_file_location("run_steps", PROJECT / "replication/run_steps.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_steps", module)  # its dataclasses look it up
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PAUSE", 0.01)
    return module


def test_each_step_is_done_once_on_each_dataset_small_ones_first(
    run_steps: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_steps, "steps", lambda project: ())  # as if nothing was published
    found = list(run_steps.tasks(["1", "2"], 7_000, AVAILABLE))
    pairs = [(task.step, dataset) for task in found for dataset in task.datasets]
    planned = {name for name in AVAILABLE if paper_datasets()[name].published.train_rows <= 7_000}
    assert sorted(pairs) == sorted((step, name) for step in ("1 released", "2 paper") for name in planned)
    assert [task.datasets for task in found if task.step == "2 paper"] == [
        ("CPU", "Yacht"),
        ("Airfoil",),
        ("Kin8nm",),
        ("Power",),
    ]


def test_what_is_published_is_not_planned_again(run_steps: ModuleType) -> None:
    published = {(step.name, dataset) for step in run_steps.steps(PROJECT) for dataset in step.finished}
    planned = {
        (task.step, dataset) for task in run_steps.tasks([], 10**9, set(paper_datasets())) for dataset in task.datasets
    }
    assert planned
    assert not planned & published


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_calls_run_side_by_side_and_never_on_the_same_dataset(run_steps: ModuleType, cores: int) -> None:
    waiting = [
        run_steps.Task(step, {}, datasets) for step in ("1", "2") for datasets in (("a", "b"), ("c",), ("d",), ("e",))
    ]
    asked, running, most, begun = list(waiting), [], [0], []

    def begin(task: Any) -> Any:
        process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(0.05)"])
        one = run_steps.Running(task, process, _Closed(), time.time())
        begun.append(task)
        running.append(one)
        at_work = [other.task for other in running if other.snakemake.poll() is None]
        used = [dataset for other in at_work for dataset in other.datasets]
        assert len(used) == len(set(used))
        most[0] = max(most[0], len(at_work))
        return one

    run_steps.run(waiting, begin, cores, time.time() + 60)
    assert sorted(begun, key=asked.index) == asked
    assert begun[: len(asked) // 2] == asked[: len(asked) // 2]  # in their order, where datasets allow it
    assert most[0] <= cores


def test_calls_are_ended_when_time_is_over(run_steps: ModuleType) -> None:
    processes = []

    def begin(task: Any) -> Any:
        processes.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return run_steps.Running(task, processes[-1], _Closed(), time.time())

    tasks = [run_steps.Task("1", {}, (name,)) for name in "abc"]
    run_steps.run(tasks, begin, 2, time.time() + 0.3)
    assert len(processes) == 2
    assert all(process.poll() is not None for process in processes)


def test_nothing_is_begun_that_the_time_left_is_too_short_for(run_steps: ModuleType) -> None:
    begun = []

    def begin(task: Any) -> Any:
        begun.append(task.step)
        return run_steps.Running(task, subprocess.Popen([sys.executable, "-c", ""]), _Closed(), time.time())

    hours = [("short", 0.001), ("too long", 0.5), ("too long", 0.001), ("short as well", 0.002)]
    tasks = [run_steps.Task(step, {}, (str(place),), left) for place, (step, left) in enumerate(hours)]
    start = time.time()
    run_steps.run(tasks, begin, 1, start + 60)
    assert begun == ["short", "short as well"], "a step keeps its order"
    assert time.time() < start + 55, "it does not wait for nothing"


class _Closed:
    """The temporary file of a call that has none."""

    def close(self) -> None: ...
