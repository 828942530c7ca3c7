"""Touch something, see which rules run: dry runs of a finished study."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from qrt_study.results.layout import prepared_data
from support.projects import Project

DRAWN = {"figure"}
PAGES = {"page"}
TABLES = {"table"}
COMPARED = {"compare", "judge"} | DRAWN | PAGES
TUNED = {"tune"} | COMPARED
EVALUATED = {"evaluate", "time"} | TUNED | TABLES
TRAINED = {"train"} | EVALUATED
LAST = {"everything"}


@pytest.fixture(scope="module")
def project(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy of the finished study; every test leaves its code as it was."""
    return finished.copy(tmp_path_factory.mktemp("reruns") / "copy")


def number(name: str) -> tuple[str, str]:
    """The change that gives a stage a new version."""
    return f"{name} = 1", f"{name} = 2"


WORDS = ('"""', '"""Other words. ')  # the first docstring of a module


@pytest.mark.parametrize(
    ("file", "change", "rules"),
    [
        pytest.param("src/qrt_study/figures/style.py", WORDS, DRAWN, id="the style of figures"),
        pytest.param("src/qrt/text/page.css", ("{", " {"), PAGES, id="the style of pages"),
        pytest.param("src/qrt_study/verdicts/rules.py", WORDS, {"judge"} | PAGES, id="a rule of the verdict"),
        pytest.param("src/qrt_study/tables/study_tables.py", WORDS, TABLES | {"judge"} | PAGES, id="a table"),
        pytest.param("src/qrt_study/statistics/rank_tests.py", WORDS, COMPARED | TABLES, id="a statistic"),
        pytest.param("src/qrt_study/results/tuning.py", WORDS, TUNED | TABLES, id="tuning"),
        pytest.param("src/qrt/engine/trainer.py", WORDS, set(), id="same networks"),
        pytest.param("src/qrt/engine/version.py", number("TRAINING_VERSION"), TRAINED, id="other networks"),
        pytest.param("src/qrt_study/versions.py", number("EVALUATION_VERSION"), EVALUATED, id="a metric"),
        pytest.param(
            "src/qrt_study/versions.py", number("PREPARATION_VERSION"), {"prepare"} | TRAINED, id="the preparation"
        ),
    ],
)
def test_change_runs_exactly_these_rules(project: Project, file: str, change: tuple[str, str], rules: set[str]) -> None:
    with project.changed(file, *change):
        assert project.planned().keys() - LAST == rules


def test_data_prepared_again_with_the_same_content_trains_nothing(project: Project) -> None:
    record = prepared_data("linear")
    before = (project.folder / record).stat().st_mtime_ns
    run = project.run(record, "--forcerun", "prepare")
    assert run.returncode == 0, run.stderr
    assert (project.folder / record).stat().st_mtime_ns > before
    assert project.planned() == {}


@pytest.mark.parametrize("years", [-10, 10])
def test_clock_that_jumped_trains_nothing(project: Project, years: int) -> None:
    moment = time.time() + years * 365 * 86_400
    for path in (project.folder / "data/prepared").rglob("*.*"):
        os.utime(path, (moment, moment))
    assert project.planned() == {}


def test_deleted_figure_is_drawn_again_and_nothing_else(copy: Project) -> None:
    for path in Path(copy.folder).glob("figures_tiny/paper/fig03_main.*"):
        path.unlink()
    assert copy.planned() == {"figure": 1, "everything": 1}
