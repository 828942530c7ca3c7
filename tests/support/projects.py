"""A copy of the project that a test may change, and the tiny studies it runs there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from conftest import PROJECT
from qrt.study.config import StudyConfig, load_config, read_schema
from support.snakemake_calls import DRY_RUN, SNAKEMAKE, call_snakemake, environment, planned_jobs

TINY: dict[str, Any] = {
    "datasets": ["linear", "skewed"],
    "sources": ["mirror"],
    "splits": [0],
    "base_models": ["MLP-3"],
    "methods": ["BASE", "QRC", "QRTC"],
    "switches": {"bandwidth_grid": [0.1], "lambda_grid": [0, 0.05]},
    "grids": {"bandwidth_study": [0.1], "alpha_study": [0, 1], "map_sizes": [8]},
    "training": {"max_epochs": 4, "patience": 2},
}
SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
VOLATILE = ["train_seconds", "job_seconds", "evaluation_seconds", "package_version", "torch_version", "threads", "cpu"]


def study_of(**config: Any) -> StudyConfig:
    """The tiny study with this configuration over its own."""
    return load_config(TINY | config, SCHEMA, PROJECT)


RESULTS, NETWORKS = study_of().results, study_of().networks


class Project:
    """A copy of the project in `folder`, which a test may change, and the studies it runs there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, folder: Path) -> Project:
        for name in ("Snakefile", "config.yaml", "environment.yml", "README.md"):
            shutil.copy(PROJECT / name, folder)
        for name in ("src", "workflow"):  # with compiled modules: they need not be compiled for each project
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("*.egg-info"))
        (folder / "profiles").symlink_to("workflow/profiles")
        return cls(folder)

    def command(self, *arguments: str, **config: Any) -> tuple[list[str], dict[str, str]]:
        """What to call with which environment, for a call that is to be disturbed."""
        arguments = self._arguments(*arguments, **config)
        return [*SNAKEMAKE, *arguments], environment(PYTHONPATH=str(self.folder / "src"))

    def run(self, *arguments: str, **config: Any) -> subprocess.CompletedProcess[str]:
        arguments = self._arguments(*arguments, **config)
        return call_snakemake(self.folder, *arguments, PYTHONPATH=str(self.folder / "src"))

    def _arguments(self, *arguments: str, **config: Any) -> tuple[str, ...]:
        (self.folder / "study.yaml").write_text(yaml.safe_dump(TINY | config))
        return (*arguments, "--cores", "2", "--configfile", "study.yaml")

    def planned(self, *arguments: str, **config: Any) -> dict[str, int]:
        """Number of jobs by rule that a call would run now."""
        return planned_jobs(self.run(*arguments, *DRY_RUN, **config))

    def change(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / file).write_text(text.replace(old, new, 1))

    def table(self, name: str, results: str = RESULTS) -> pd.DataFrame:
        return pd.read_parquet(self.folder / results / f"{name}.parquet")


def comparable(project: Project, results: str = RESULTS) -> dict[str, pd.DataFrame]:
    """The tables of a finished study without what differs from run to run."""
    tables = {name: project.table(name, results) for name in ("runs", "methods", "curves", "predictions")}
    return {name: table.drop(columns=VOLATILE, errors="ignore") for name, table in tables.items()}
