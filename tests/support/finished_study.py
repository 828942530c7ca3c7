"""The tiny study, finished: run once for all tests that look at it or change a copy of it (a plugin of pytest)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.projects import Project

SAID = "said.txt"  # what the call has said


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A finished tiny study, which must not be changed, with files where published ones are."""
    from support.projects import Project  # not where the packages of the study are missing (`make test-skpro`)

    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # that of all processes
    project = Project(folder / "finished")
    with (folder / "finished.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not project.folder.exists():
            project.folder.mkdir()
            Project.new(project.folder)
            for name in ("paper_figures", "replication/results"):
                (project.folder / name).mkdir(parents=True)
                (project.folder / name / "published").write_text("published")
            run = project.run()
            (project.folder / SAID).write_text(f"{run.stdout}{run.stderr}\nstatus {run.returncode}")
    said = (project.folder / SAID).read_text()
    assert said.endswith("status 0"), said
    return project


@pytest.fixture
def copy(finished: Project, tmp_path: Path) -> Project:
    """A copy of the finished study, to be changed."""
    return finished.copy(tmp_path / "copy")
