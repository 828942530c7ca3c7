"""What the ecosystem of Snakemake expects of a workflow, and what this workflow expects of Snakemake."""

from __future__ import annotations

import inspect
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from snakemake import api  # before the others, which import each other in a circle
from snakemake.dag import DAG
from snakemake.persistence import PersistenceBase
from snakemake.scheduling.job_scheduler import JobScheduler

from conftest import PROJECT
from support.snakemake_calls import DRY_RUN, call_snakemake, planned_jobs


def test_snakemake_has_the_internals_that_the_rules_touch() -> None:
    assert callable(PersistenceBase.unlock)
    assert callable(DAG.needrun_jobs)
    assert all(hasattr(api.Workflow, name) for name in ("persistence", "dag", "scheduler", "rules", "current_basedir"))
    # Setting an attribute never fails, so a renamed one would go unnoticed; None turns the limit off.
    scheduler = inspect.getsource(JobScheduler)
    assert "self.job_rate_limiter = " in scheduler
    assert "if self.job_rate_limiter is None:" in scheduler


def test_next_major_version_of_snakemake_is_not_installed_untested() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (snakemake,) = (one for one in map(Requirement, project["dependencies"]) if one.name == "snakemake")
    installed = version("snakemake")
    assert snakemake.specifier.contains(installed)
    assert not snakemake.specifier.contains(f"{int(installed.split('.')[0]) + 1}.0")


def test_workflow_catalogue_finds_what_it_looks_for() -> None:
    assert (PROJECT / "workflow/Snakefile").is_file()
    assert (PROJECT / "config/README.md").is_file()
    usage = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert usage["software-stack-deployment"]["conda"] is True
    assert usage["report"] is True


@pytest.mark.workflow
def test_another_workflow_uses_the_rules_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(
        f"""
module qrt:
    snakefile:
        "{PROJECT}/workflow/Snakefile"
    config:
        {{"datasets": ["linear"], "splits": [0], "base_models": ["MLP-3"], "scope": "main", "jobs": "coarse"}}


use rule * from qrt exclude unknown as qrt_*


rule summary:
    default_target: True
    input:
        "paper_figures/fig03_main.pdf",
    output:
        "summary",
    shell:
        "touch {{output}}"
"""
    )
    jobs = planned_jobs(call_snakemake(tmp_path, "--cores", "1", *DRY_RUN))
    assert jobs["qrt_train"] == jobs["qrt_fig03_main"] == jobs["summary"] == 1
