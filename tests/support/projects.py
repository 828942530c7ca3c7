"""A copy of the project that a test may change, and the tiny studies it runs there."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from conftest import PROJECT
from qrt_study.plan.config import StudyConfig, load_config, read_schema
from qrt_study.results.layout import Layout
from support.snakemake_calls import DRY_RUN, SNAKEMAKE, call_snakemake, environment, planned_jobs

# Both protocols, a figure from each kind of results, every table, verdicts.
TINY: dict[str, Any] = {
    "protocols": ["paper", "released"],
    "draw": ["fig03", "fig11", "fig15", "fig24", "tables", "scorecard"],
    "name": "tiny",
    "datasets": ["linear", "skewed"],
    "sources": ["mirror"],
    "splits": [0],
    "base_models": ["MLP-3"],
    "methods": ["BASE", "QRC", "QRTC"],
    "grids": {
        "bandwidth_grid": [0.1],
        "lambda_grid": [0, 0.05],
        "bandwidth_study": [0.1],
        "alpha_study": [0, 1],
        "map_sizes": [8],
    },
    "training": {"max_epochs": 4, "patience": 2},
}
SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
VOLATILE = ["train_seconds", "job_seconds", "evaluation_seconds", "package_version", "torch_version", "threads", "cpu"]


def study_of(**config: Any) -> StudyConfig:
    """The tiny study with this configuration over its own."""
    return load_config(TINY | config, SCHEMA, PROJECT)


def layout_of(study: StudyConfig) -> Layout:
    """Where the files of a study are."""
    return Layout(study.networks_folder, study.name)


LAYOUT = layout_of(study_of())


class Project:
    """A copy of the project in `folder`, which a test may change, and the studies it runs there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, folder: Path) -> Project:
        """A copy without results, published ones neither."""
        shutil.copytree(PROJECT / "config", folder / "config")
        for name in ("Snakefile", "environment.yml"):
            shutil.copy(PROJECT / name, folder)
        for name in ("src", "workflow"):  # with compiled modules: they need not be compiled for each project
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("*.egg-info"))
        (folder / "profiles").symlink_to("workflow/profiles")
        return cls(folder)

    def copy(self, folder: Path) -> Project:
        """The same project with its results in another folder."""
        return Project(Path(shutil.copytree(self.folder, folder, symlinks=True)))

    def command(self, *arguments: str, **config: Any) -> tuple[list[str], dict[str, str]]:
        """What to call with which environment, for a call that is to be disturbed."""
        arguments = self._arguments(*arguments, **config)
        return [*SNAKEMAKE, *arguments], environment(PYTHONPATH=str(self.folder / "src"))

    def run(self, *arguments: str, **config: Any) -> subprocess.CompletedProcess[str]:
        """Run the tiny study with this configuration over its own."""
        return self.call(*self._arguments(*arguments, **config))

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call Snakemake with these arguments alone."""
        return call_snakemake(self.folder, *arguments, PYTHONPATH=str(self.folder / "src"))

    def _arguments(self, *arguments: str, **config: Any) -> tuple[str, ...]:
        return (*arguments, "--cores", "2", "--configfile", self.settings(**config))

    def settings(self, **config: Any) -> str:
        """The file with the tiny study's configuration and this one over it."""
        name = f"study{os.getpid()}.yaml"  # other processes of pytest may plan in this folder
        (self.folder / name).write_text(yaml.safe_dump(TINY | config))
        return name

    def planned(self, *arguments: str, **config: Any) -> dict[str, int]:
        """Number of jobs by rule that a call would run now."""
        return planned_jobs(self.run(*arguments, *DRY_RUN, **config))

    @contextmanager
    def changed(self, file: str, old: str, new: str) -> Iterator[None]:
        """With another text in one place of a file."""
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} has changed: {old!r} is not there"
        path.write_text(text.replace(old, new, 1))
        yield
        path.write_text(text)

    def read(self, file: str) -> pd.DataFrame:
        """A Parquet file without what differs from run to run."""
        return pd.read_parquet(self.folder / file).drop(columns=VOLATILE, errors="ignore")
