"""What calls plan, and what they answer when there is nothing to plan: dry runs in folders without results."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import PROJECT
from support.projects import LAYOUT, Project
from support.snakemake_calls import DRY_RUN, call_snakemake, planned_jobs

FIG03, FIG11 = (LAYOUT.figure("paper", name, "pdf") for name in ("fig03_main", "fig11_calibration_maps"))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.new(tmp_path_factory.mktemp("plans"))


def test_one_figure_trains_only_its_own_need(project: Project) -> None:
    # Networks with and without a map under one protocol, on two datasets. Figure 3 also has those for QREGC.
    by_path = project.planned(FIG03)
    assert (by_path["train"], by_path["tune"], by_path["compare"], by_path["figure"]) == (4, 1, 1, 1)
    assert project.planned(FIG03, methods=["BASE", "QRTC", "QREGC"])["train"] == 6
    by_number = project.planned(draw=["fig3"], protocols=["paper"])
    assert by_number == by_path | {"everything": 1}
    both = project.planned(draw=["fig03"])
    assert (both["train"], both["figure"]) == (6, 2)
    assert project.planned(FIG11) == {"maps": 1, "compare": 1, "figure": 1}


def test_more_seeds_add_jobs_and_a_page(project: Project) -> None:
    small = {"protocols": ["paper"], "draw": ["all"], "scope": "main"}
    one, two = (project.planned(seeds=seeds, **small) for seeds in (1, 2))
    assert {rule: count - one.get(rule, 0) for rule, count in two.items() if count != one.get(rule)} == {
        "train": one["train"],
        "evaluate": one["evaluate"],
        "tune": 1,  # the main comparison
        "seeds": 1,
    }


def test_download_fetches_everything_and_nothing_else(project: Project) -> None:
    assert project.planned("download") == {"download": 1, "fetch": 2}


def test_all_mistakes_in_the_configuration_are_told_with_suggestions(project: Project) -> None:
    mistakes = ["protocols=[papr]", "draw=[fig33,scorecrd]", "datasets=[Yact]"]
    run = project.call("--cores", "1", "--config", *mistakes)
    assert run.returncode != 0
    for meant in ("'paper'", "'scorecard'", "'Yacht'", "'fig33'"):
        assert meant in run.stderr
    assert "Traceback" not in run.stderr
    assert not (project.folder / "data").exists()
    unknown = project.call("--cores", "1", "--config", "protocl=paper")
    assert "'protocols'" in unknown.stderr


def test_every_rule_is_described(project: Project) -> None:
    run = project.call("--list-rules")
    assert run.returncode == 0, run.stderr
    rules = run.stdout.strip().splitlines()
    assert {line.split()[0] for line in rules} >= {"all", "train", "figure", "table", "judge"}
    assert all("(" in line for line in rules), rules


MODULE = """
module qrt:
    snakefile:
        "{project}/workflow/Snakefile"
    config:
        {{"datasets": ["linear"], "splits": [0], "base_models": ["MLP-3"], "scope": "main", "jobs": "coarse"}}


use rule * from qrt as qrt_*


rule summary:
    default_target: True
    input:
        "figures/paper/fig03_main.pdf",
    output:
        "summary",
    shell:
        "touch {{output}}"
"""


def test_another_workflow_uses_the_rules_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(MODULE.format(project=PROJECT))
    jobs = planned_jobs(call_snakemake(tmp_path, "--cores", "1", *DRY_RUN, PYTHONPATH=str(PROJECT / "src")))
    assert jobs["qrt_train"] == jobs["qrt_figure"] == jobs["summary"] == 1
