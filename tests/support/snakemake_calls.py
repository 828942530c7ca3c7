"""Calling Snakemake from a test as a user would from the terminal."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

from support.warm_python import warm_python

SNAKEMAKE = (sys.executable, "-m", "snakemake")
DRY_RUN = ("--dry-run", "--quiet", "rules", "reason")
# What Snakemake and the commands of a study import of other packages. Their own modules are those of each call.
_IMPORTS = (
    *(
        "snakemake.cli",
        "snakemake.scheduling.job_scheduler",
        "snakemake.executors.local",
        "snakemake.report.html_reporter",
    ),
    *("torch", "pandas", "pyarrow.parquet", "scipy.stats", "sklearn", "jsonschema", "yaml"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "seaborn"),
)


def environment(**variables: str) -> dict[str, str]:
    """The environment of a call: this interpreter's programs come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return os.environ | {"PATH": path} | variables


def call_snakemake(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in `folder` to its end. It and its jobs, hundreds in all tests, start at once (`warm_python`)."""
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
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    return stack.enter_context(warm_python(Path(folder) / "bin", _IMPORTS, environment()))


def planned_jobs(dry_run: subprocess.CompletedProcess[str]) -> dict[str, int]:
    """Number of jobs by rule that a dry run announces."""
    assert dry_run.returncode == 0, dry_run.stderr
    lines = [line.split() for line in (dry_run.stdout + dry_run.stderr).splitlines()]
    counts = {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}
    counts.pop("total", None)
    return counts
