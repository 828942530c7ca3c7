"""What every job of a study finds in its environment."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from qrt_study.plan.config import StudyConfig
from qrt_study.running.caller import VARIABLE


def job_environment(study: StudyConfig, project: Path, *, deployed: bool) -> str:
    """The beginning of every job's shell command, with braces doubled as Snakemake wants it.

    A prefix replaces Snakemake's own, which makes a job fail with the first of its commands, also before a pipe.

    Jobs run with the Python that runs Snakemake, whether its environment is activated or not, unless each job is
    `deployed` in one of its own (`--sdm conda`).
    """
    variables = {
        "PYTHONPATH": project / "src",
        "QRT_MIRROR": study.mirror or "",
        "QRT_SOURCES": ",".join(study.sources),
    }
    commands = ["set -euo pipefail; "]
    commands += [f"export {name}={shlex.quote(str(value))}; " for name, value in variables.items()]
    commands.append(f"export {VARIABLE}=$PPID; ")
    programs = str(Path(sys.executable).parent)
    if not deployed and programs not in os.environ.get("PATH", "").split(os.pathsep):
        commands.append(f"export PATH={shlex.quote(programs)}:$PATH; ")
    return "".join(commands).replace("{", "{{").replace("}", "}}")
