"""Calling Snakemake from a test as a user would from the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SNAKEMAKE = (sys.executable, "-m", "snakemake")
DRY_RUN = ("--dry-run", "--quiet", "rules", "reason")


def environment(**variables: str) -> dict[str, str]:
    """The environment of a call: this interpreter's programs come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path} | variables


def planned_jobs(dry_run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Number of jobs by rule that a dry run announces."""
    assert dry_run.returncode == 0, dry_run.stderr
    lines = [line.split() for line in (dry_run.stdout + dry_run.stderr).splitlines()]
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    counts.pop("total", None)
    return counts
