"""Studies from a configuration, as the workflow reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from conftest import PROJECT
from qrt_study.plan.config import StudyConfig, load_config, read_schema

SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")


def study_with(root: Path = PROJECT, **config: Any) -> StudyConfig:
    """The study with this configuration; relative paths in it are relative to `root`."""
    return load_config(config, SCHEMA, root)
