"""The workflow itself: Snakemake runs on small studies, each in a folder of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from conftest import PROJECT
from support.data_folders import make_mirror, yacht_csv
from support.snakemake_calls import DRY_RUN, call_snakemake, planned_jobs

pytestmark = pytest.mark.workflow
TABLE3 = "paper_figures/table3_datasets.csv"


def snakemake(folder: Path, *arguments: str, **config: Any) -> subprocess.CompletedProcess[str]:
    """Run the project's Snakefile in `folder` with the given configuration over the project's own."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.yaml").write_text(yaml.safe_dump({"sources": ["mirror"]} | config))
    place = ["--cores", "2", "--directory", str(folder), "--configfile", str(folder / "study.yaml")]
    return call_snakemake(PROJECT, *arguments, *place)


def planned(folder: Path, *arguments: str, **config: Any) -> dict[str, int]:
    """Number of jobs by rule that a call would run now."""
    return planned_jobs(snakemake(folder, *arguments, *DRY_RUN, **config))


def test_figure_of_simulated_maps_trains_nothing(tmp_path: Path) -> None:
    expected = {"maps": 1, "fig11_calibration_maps": 1}
    assert planned(tmp_path, "paper_figures/fig11_calibration_maps.pdf") == expected


def test_figure_2_trains_the_families_of_base_qrc_and_qrtc_alone(tmp_path: Path) -> None:
    run = snakemake(tmp_path, "paper_figures/fig02_nll_difference.pdf", "--dry-run", "--quiet", "reason")
    families = set(re.findall(r"family=([\w.-]+)", run.stdout + run.stderr))
    assert families == {"mlp-3.plain", "mlp-3.qrt.variance.same_pass"}
    jobs = planned_jobs(run)
    assert jobs["train"] + jobs["train_large"] == 2 * 57 * 5
    assert jobs["evaluate"] == 2 * 57


def test_more_seeds_add_jobs_and_a_page_and_leave_those_of_seed_0_as_they_are(tmp_path: Path) -> None:
    small = {"datasets": ["linear"], "splits": [0, 1], "scope": "main"}
    jobs, files, commands = [], [], []
    for seeds in (1, 2):
        summary = snakemake(tmp_path, "--summary", **small, seeds=seeds)
        files.append({line.split("\t")[0] for line in summary.stdout.splitlines()[1:]})
        dry_run = snakemake(tmp_path, "--dry-run", "--printshellcmds", "--quiet", "reason", **small, seeds=seeds)
        jobs.append(planned_jobs(dry_run))
        told = (dry_run.stdout + dry_run.stderr).splitlines()
        commands.append({line for line in told if re.search(r"python -m qrt (train|evaluate|tune|time) ", line)})
    one, two = jobs
    assert {rule: two[rule] - one.get(rule, 0) for rule in two if two[rule] != one.get(rule)} == {
        "train": one["train"],
        "evaluate": one["evaluate"],
        "tune": 1,  # the main comparison
        "seeds": 1,
    }
    assert one.keys() <= two.keys()
    assert files[0] < files[1]
    assert all("/seed1/" in path or "seeds" in path for path in files[1] - files[0])
    pages = {f"paper_figures/seeds.{form}" for form in ("html", "csv", "md", "pdf", "png")}
    assert pages <= files[1] - files[0]
    assert commands[0] < commands[1]  # what trains, evaluates, tunes and times seed 0 is the same, word by word
    assert all("--seed 1" in line or "/seed1/" in line for line in commands[1] - commands[0])


@pytest.fixture
def study(tmp_path: Path) -> dict[str, Any]:
    """A study of one dataset of the paper (from a mirror), one embedded, one of the user's own, one unavailable."""
    mirror = make_mirror(tmp_path / "mirror with 'quotes'", yacht_csv())
    own = tmp_path / "my data.csv"
    numbers = np.arange(150.0)
    pd.DataFrame({"a": numbers, "it's": numbers**2, "y": np.sin(numbers)}).to_csv(own, index=False)
    return {
        "datasets": ["Yacht", "linear", "Power"],
        "mirror": str(mirror),
        "own_datasets": {"mine": {"path": str(own), "target": "y"}},
    }


def test_data_stage_runs_tells_what_is_left_out_and_tries_it_again(tmp_path: Path, study: dict[str, Any]) -> None:
    folder = tmp_path / "run"
    run = snakemake(folder, TABLE3, **study)
    assert run.returncode == 0, run.stderr
    assert "1 dataset left out" in run.stdout
    assert "Power: unavailable: mirror: Power is not in its manifest" in run.stdout
    table = pd.read_csv(folder / TABLE3).set_index("dataset")
    assert table["status"].to_dict() == {
        "Yacht": "differs",
        "linear": "not in the paper",
        "Power": "unavailable",
        "mine": "not in the paper",
    }
    record = json.loads((folder / "data/prepared/mine/record.json").read_text())
    assert record["feature_names"] == ["a", "it's"]

    # What is there is left alone; what is missing is tried again.
    assert planned(folder, TABLE3, **study) == {"fetch": 1, "prepare": 1, "table3_datasets": 1}

    # The same data from another place is no reason to do anything.
    moved = Path(shutil.copytree(study["mirror"], tmp_path / "moved"))
    available = study | {"datasets": ["Yacht", "linear"]}
    assert planned(folder, "download", **available | {"mirror": str(moved)}) == {}

    # A changed file of the user's is read again, and nothing else.
    own = Path(study["own_datasets"]["mine"]["path"])
    own.write_text(own.read_text().replace("149.0,", "150.0,"))
    assert planned(folder, "download", **available) == {"download": 1, "fetch": 1}

    # The dataset has come to the mirror: the next call has it.
    manifest = Path(study["mirror"]) / "manifest.csv"
    yacht = manifest.read_text().splitlines()[1]
    manifest.write_text(manifest.read_text().replace("uci,Power,,,,,,,", yacht.replace("uci,Yacht", "uci,Power")))
    assert snakemake(folder, TABLE3, **study).returncode == 0
    assert pd.read_csv(folder / TABLE3).set_index("dataset")["status"]["Power"] == "differs"
    assert planned(folder, TABLE3, **study) == {}


def test_download_fetches_everything_and_nothing_else(tmp_path: Path, study: dict[str, Any]) -> None:
    assert planned(tmp_path / "run", "download", **study) == {"download": 1, "fetch": 4}


@pytest.mark.parametrize(
    ("mistake", "parts"),
    [
        ({"protocl": "paper"}, ["protocl: unknown key", "did you mean 'protocol'?"]),
        (
            {"datasets": ["Yact", "atlantis"]},
            ["'Yact'", "did you mean 'Yacht'?", "there is no dataset or group 'atlantis'", "own_datasets"],
        ),
    ],
)
def test_mistake_in_the_configuration_stops_before_anything_runs(
    tmp_path: Path, mistake: dict[str, Any], parts: list[str]
) -> None:
    run = snakemake(tmp_path / "run", **mistake)
    assert run.returncode != 0
    assert all(part in run.stderr for part in parts), run.stderr
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "run/data").exists()


def test_every_target_is_described() -> None:
    run = call_snakemake(PROJECT, "--list-target-rules")
    assert run.returncode == 0, run.stderr
    targets = run.stdout.strip().splitlines()
    assert {line.split()[0] for line in targets} >= {"all", "download", "table3_datasets"}
    assert all("(" in line for line in targets), targets
