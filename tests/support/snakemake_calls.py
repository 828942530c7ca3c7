"""Calling Snakemake from a test as a user would from the terminal."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from qrt.running.warm_command import warm_programs

SNAKEMAKE = (sys.executable, "-m", "snakemake")
DRY_RUN = ("--dry-run", "--quiet", "rules", "reason")


def environment(**variables: str) -> dict[str, str]:
    """The environment of a call: this interpreter's programs come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path} | variables


def call_snakemake(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in `folder` to its end. It and its jobs, hundreds in all tests, start at once (`warm_programs`)."""
    variables = environment(**variables)
    command: tuple[str, ...] = SNAKEMAKE
    if sys.platform == "linux":
        programs = _warm_programs()
        variables["PATH"] = f"{programs}{os.pathsep}{variables['PATH']}"
        command = (str(programs / "python"), *SNAKEMAKE[1:])
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=variables, capture_output=True, text=True, check=False
    )


@cache
def _warm_programs() -> Path:
    """A folder with the warm Python, until this process ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(warm_programs(environment()))


def planned_jobs(dry_run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Number of jobs by rule that a dry run announces."""
    assert dry_run.returncode == 0, dry_run.stderr
    lines = [line.split() for line in (dry_run.stdout + dry_run.stderr).splitlines()]
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    counts.pop("total", None)
    return counts
