"""What the ecosystem of Snakemake expects of a workflow, and what this workflow expects of Snakemake."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import yaml
from packaging.requirements import Requirement

from conftest import PROJECT

# What is no public part of Snakemake, and was used here once.
INTERNALS = re.compile(
    r"job_rate_limiter|workflow\.(dag|persistence|scheduler|rules)|auto_report|rulegraph_spec|logger\.handlers"
)


def test_no_internals_of_snakemake_are_used() -> None:
    files = [path for folder in ("workflow", "src") for path in (PROJECT / folder).rglob("*") if path.is_file()]
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix in (".py", ".smk", "")}
    assert len(texts) > 100
    assert not [path for path, text in texts.items() if INTERNALS.search(text)]


def test_next_major_version_of_snakemake_is_not_installed_untested() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (snakemake,) = (
        one for one in map(Requirement, project["optional-dependencies"]["study"]) if one.name == "snakemake"
    )
    installed = version("snakemake")
    assert snakemake.specifier.contains(installed)
    assert not snakemake.specifier.contains(f"{int(installed.split('.')[0]) + 1}.0")


def test_workflow_catalogue_finds_what_it_looks_for() -> None:
    for name in ("workflow/Snakefile", "config/README.md", "config/config.yaml", "LICENSE", "README.md"):
        assert (PROJECT / name).is_file()
    usage = yaml.safe_load((PROJECT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert usage["software-stack-deployment"] == {"conda": True, "apptainer": False, "apptainer+conda": False}
    assert usage["report"] is True
