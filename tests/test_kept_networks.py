"""Trained networks are never replaced: a short trial has a place of its own, other splits join those that
are there, and other data under their name is refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.study.config import StudyConfig
from support.projects import VOLATILE, Project, study_of

pytestmark = pytest.mark.workflow

# Trained as usual: as long as the validation rows ask for.
USUAL: dict[str, Any] = {
    "datasets": [],
    "own_datasets": {"mine": {"path": "mine.csv", "target": "y"}},
    "methods": ["BASE"],
    "training": {},
}
SHORT: dict[str, Any] = USUAL | {"training": {"max_epochs": 4}}


def write_data(folder: Path, seed: int = 0) -> None:
    x = np.random.default_rng(seed).normal(size=(150, 2))
    pd.DataFrame({"a": x[:, 0], "y": np.sin(x[:, 0]) + 0.1 * x[:, 1]}).to_csv(folder / "mine.csv", index=False)


def networks_of(project: Project) -> dict[str, tuple[bytes, int]]:
    """Content and time of every file of networks trained as usual."""
    files = [path for path in (project.folder / "results/networks").rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def study(config: dict[str, Any]) -> StudyConfig:
    return study_of(**{name: value for name, value in config.items() if name != "own_datasets"})


def runs(project: Project, config: dict[str, Any]) -> pd.DataFrame:
    (file,) = (project.folder / study(config).networks).glob("mine/seed0/*.runs.parquet")
    return pd.read_parquet(file).drop(columns=VOLATILE, errors="ignore")


def tuned_splits(project: Project) -> set[int]:
    return set(pd.read_parquet(project.folder / study(USUAL).results / "methods/seed0/main.parquet")["split"])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project.new(tmp_path_factory.mktemp("trained"))
    write_data(project.folder)
    run = project.run("main", **USUAL)
    assert run.returncode == 0, run.stderr
    return project


@pytest.fixture
def copy(trained: Project, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(trained.folder, tmp_path / "copy", symlinks=True)))


def test_short_trial_leaves_finished_networks_alone(copy: Project) -> None:
    before, usual = networks_of(copy), runs(copy, USUAL)
    assert usual["epochs"].min() > 4
    # The file of the data is at another place in the copy, so that it is fetched again: all the rest is planned too.
    jobs = ("fetch", "prepare", "train", "evaluate", "tune", "main")
    assert copy.planned("main", **SHORT) == dict.fromkeys(jobs, 1)
    run = copy.run("main", **SHORT)
    assert run.returncode == 0, run.stderr
    assert set(runs(copy, SHORT)["epochs"]) == {4}
    assert networks_of(copy) == before
    assert copy.planned("main", **USUAL).keys() <= {"main"}


def test_call_with_other_splits_keeps_those_that_are_there(copy: Project) -> None:
    first, other = runs(copy, USUAL), USUAL | {"splits": [1]}
    assert set(first["split"]) == {0}
    copy.run("main", **USUAL)  # the file of the data is at another place in the copy, and is fetched again
    run = copy.run("main", **other)
    assert run.returncode == 0, run.stderr
    both = runs(copy, USUAL)
    assert set(both["split"]) == {0, 1}
    pd.testing.assert_frame_equal(both[both["split"] == 0].reset_index(drop=True), first, check_exact=True)
    assert tuned_splits(copy) == {1}

    before = networks_of(copy)
    assert copy.planned("main", **USUAL).keys() == {"tune", "main"}
    run = copy.run("main", **USUAL)
    assert run.returncode == 0, run.stderr
    assert tuned_splits(copy) == {0}
    assert networks_of(copy) == before


def test_changed_data_under_the_same_name_is_refused_and_nothing_is_replaced(copy: Project) -> None:
    before, usual = networks_of(copy), runs(copy, USUAL)
    write_data(copy.folder, seed=1)
    run = copy.run("main", "--retries", "0", **USUAL)
    assert run.returncode != 0
    said = run.stdout + run.stderr
    assert "mine: its data has changed since" in said
    assert "Nothing was replaced: give the new data another name" in said
    assert networks_of(copy) == before
    # With the old data back the study goes on as if nothing had been.
    write_data(copy.folder)
    run = copy.run("main", **USUAL)
    assert run.returncode == 0, run.stderr
    pd.testing.assert_frame_equal(runs(copy, USUAL), usual, check_exact=True)
