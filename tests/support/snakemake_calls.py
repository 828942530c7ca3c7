"""Calling Snakemake from a test as a user would from the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from qrt_study.plan.config import MIRROR_VARIABLE

SNAKEMAKE = (sys.executable, "-m", "snakemake")
DRY_RUN = ("--dry-run", "--quiet", "rules", "reason")


def environment(**variables: str) -> dict[str, str]:
    """The environment of a call: this interpreter's programs come first, and data comes from nowhere else."""
    inherited = {name: value for name, value in os.environ.items() if name != MIRROR_VARIABLE}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return inherited | {"PATH": path} | variables


def call_snakemake(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in `folder` to its end."""
    return subprocess.run(
        [*SNAKEMAKE, *arguments],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
    )


def planned_jobs(dry_run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Number of jobs by rule that a dry run announces."""
    assert dry_run.returncode == 0, dry_run.stderr
    lines = [line.split() for line in (dry_run.stdout + dry_run.stderr).splitlines()]
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    counts.pop("total", None)
    return counts
