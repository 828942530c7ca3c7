"""Published results as a source: drawn again byte for byte, and extended by what is new."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from conftest import PROJECT
from support.projects import Project
from support.snakemake_calls import planned_jobs

ARCHIVE = PROJECT / "replication/results"
pytestmark = [
    pytest.mark.skipif(not ARCHIVE.is_dir(), reason="this clone has no published results in replication/results"),
]

# `make replication` draws them all.
DRAWN = ("fig02_nll_difference.png", "table3_datasets.csv", "robustness.csv")
PLACES = {"paper": PROJECT / "paper_figures", "released": PROJECT / "replication/released"}
# Datasets that differ in what is published of them: all base models, seeds, some switches, or the main comparison.
SOME = "datasets=[Yacht,CPU,space_ga,Ailerons,fifa]"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the published results and nothing else."""
    (tmp_path / "replication").symlink_to(PROJECT / "replication")
    return Project.new(tmp_path)


def test_published_figures_are_drawn_again_byte_for_byte_from_nothing_else(project: Project) -> None:
    targets = [f"figures_published/{protocol}/{name}" for protocol in PLACES for name in DRAWN]
    run = project.call(*targets, "--cores", "2", "--config", "networks=published")
    assert run.returncode == 0, run.stderr
    for protocol, place in PLACES.items():
        for name in DRAWN:
            drawn = project.folder / "figures_published" / protocol / name
            assert drawn.read_bytes() == (place / name).read_bytes(), drawn
    assert not [name for name in ("data", "results", "paper_figures") if (project.folder / name).exists()]


@pytest.mark.parametrize("networks", ["new", "published"])
def test_published_figure_is_not_made_and_both_ways_to_draw_it_are_told(project: Project, networks: str) -> None:
    run = project.call("paper_figures/fig03_main.pdf", "--cores", "1", "--dry-run", "--config", f"networks={networks}")
    assert run.returncode != 0
    for target in ("figures/paper/fig03_main.pdf", "figures_published/paper/fig03_main.pdf"):
        assert target in run.stdout
    assert "networks=published" in run.stdout


def plan(project: Project, *config: str) -> subprocess.CompletedProcess[str]:
    settings = ("networks=extend", "protocols=[paper,released]", *config)
    return project.call("networks", "--cores", "1", "--dry-run", "--quiet", "reason", "--config", *settings)


def test_nothing_that_is_published_is_trained(project: Project) -> None:
    published = json.loads((ARCHIVE / "manifest.json").read_text())["families"]
    told = plan(project, SOME, "scope=published").stdout
    trained = re.findall(r"^  train (\S+), (?:seed (\d+), )?split \d+, (\S+)", told, flags=re.MULTILINE)
    assert trained, "fifa has few networks yet"
    assert not [place for place in trained if place[2] in published[place[0]].get(place[1] or "0", ())]


MAIN = ("datasets=[Yacht]", "scope=main", "methods=[BASE,QRC,QRTC]", "base_models=[MLP-3]")
FAMILIES = 3  # with a map under each protocol, and without
SPLITS = 5


@pytest.mark.parametrize(
    ("more", "jobs"),
    [
        pytest.param("splits=[0,1,2]", {}, id="less"),
        pytest.param("splits=[0,1,2,3,4,5]", {"train": FAMILIES, "evaluate": FAMILIES}, id="a split"),
        # Five seeds are published.
        pytest.param("seeds=6", {"train": FAMILIES * SPLITS, "evaluate": FAMILIES}, id="a seed"),
        pytest.param("datasets=[Yacht,linear]", {"train": FAMILIES * SPLITS, "evaluate": FAMILIES}, id="a dataset"),
    ],
)
def test_one_more_thing_plans_only_what_is_new(project: Project, more: str, jobs: dict[str, int]) -> None:
    data = {"fetch": 1, "prepare": 1, "networks": 1} if jobs else {}
    assert planned_jobs(plan(project, *MAIN, more)) == data | jobs
