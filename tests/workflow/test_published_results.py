"""Published results as a source: drawn again byte for byte, and extended by what is new."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import PROJECT
from qrt_study.data.record import write_record
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


@pytest.fixture
def yacht(tmp_path: Path) -> Project:
    """A project with the published results of one dataset, and without predictions."""
    manifest = json.loads((ARCHIVE / "manifest.json").read_text())
    manifest.pop("record_sha256")
    archive = tmp_path / "replication/results"
    (archive / "networks").mkdir(parents=True)
    shutil.copy(ARCHIVE / "networks/Yacht.runs.parquet", archive / "networks")
    left_out = ("predictions/", "scores/", "conditional/")
    files = manifest["files"].items()
    manifest["files"] = {name: checksum for name, checksum in files if not name.startswith(left_out)}
    write_record(archive / "manifest.json", manifest)
    return Project.new(tmp_path)


PREDICTING = ("networks=published", "datasets=[Yacht]", "protocols=[paper,released]")


def planned(project: Project, target: str) -> dict[str, int]:
    return planned_jobs(project.call(target, "--cores", "1", "--dry-run", "--quiet", "reason", "--config", *PREDICTING))


def test_published_networks_are_trained_again_for_their_predictions(yacht: Project) -> None:
    # One job for each family: without a map, and with one and regularised under each protocol.
    expected = {"fetch": 1, "prepare": 1, "retrain": 5, "predict": 1, "predictions": 1}
    assert planned(yacht, "predictions") == expected


def test_published_predictions_are_scored_without_data_training_or_network(yacht: Project) -> None:
    archive = yacht.folder / "replication/results"
    manifest = json.loads((archive / "manifest.json").read_text())
    manifest.pop("record_sha256")
    (archive / "predictions").mkdir()
    (archive / "predictions/Yacht.parquet").write_bytes(b"predictions")
    manifest["files"]["predictions/Yacht.parquet"] = "0" * 64
    write_record(archive / "manifest.json", manifest)
    assert planned(yacht, "scores") == {"score": 2, "collect": 2, "scores": 1}


def test_explorer_is_drawn_from_published_predictions_where_there_are_some(yacht: Project) -> None:
    archive = yacht.folder / "replication/results"
    for folder, names in (("records", "Yacht.json"), ("networks", "Yacht.*"), ("times", "*.parquet")):
        (archive / folder).mkdir(exist_ok=True)
        for path in (ARCHIVE / folder).glob(names):
            shutil.copy(path, archive / folder)
    without = planned(yacht, "figures_published/explorer.html")
    assert "pits" not in without
    manifest = json.loads((archive / "manifest.json").read_text())
    manifest.pop("record_sha256")
    (archive / "predictions").mkdir()
    (archive / "predictions/Yacht.parquet").write_bytes(b"predictions")
    manifest["files"]["predictions/Yacht.parquet"] = "0" * 64
    write_record(archive / "manifest.json", manifest)
    assert planned(yacht, "results_published/pits.csv") == {"pits": 1}
    assert planned(yacht, "figures_published/explorer.html") == without | {"pits": 1}


@pytest.mark.parametrize("page", ["gains", "coverage"])
def test_published_scores_are_drawn_and_nothing_is_trained_for_them(yacht: Project, page: str) -> None:
    archive = yacht.folder / "replication/results"
    manifest = json.loads((archive / "manifest.json").read_text())
    manifest.pop("record_sha256")
    for kind in ("scores", "conditional"):
        (archive / kind).mkdir()
        (archive / kind / "paper.parquet").write_bytes(b"rows")
        manifest["files"][f"{kind}/paper.parquet"] = "0" * 64
    write_record(archive / "manifest.json", manifest)
    (archive / "records").mkdir()
    shutil.copy(ARCHIVE / "records/Yacht.json", archive / "records")
    assert planned(yacht, f"figures_published/paper/{page}.html") == {"table": 1, "compare": 1, page: 1}
