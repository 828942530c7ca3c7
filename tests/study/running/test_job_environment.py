"""What every job finds in its environment: the Python that runs Snakemake, and a shell that notices failures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import PROJECT
from qrt_study.running.job_environment import job_environment
from support.configured import study_with


def job(command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command as Snakemake does, with `variables` as the whole environment of the call."""
    prefix = job_environment(study_with(), PROJECT, deployed=False).replace("{{", "{").replace("}}", "}")
    return subprocess.run(
        ["/bin/bash", "-c", prefix + command], env=variables, capture_output=True, text=True, check=False
    )


def test_jobs_run_with_the_python_of_snakemake_without_an_activated_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    found = job("command -v python", PATH="/usr/bin:/bin")
    assert found.stdout.strip() == str(Path(sys.executable).with_name("python"))


def test_job_fails_with_its_command_although_its_output_goes_to_a_log() -> None:
    assert job("false 2>&1 | tee /dev/null", PATH="/usr/bin:/bin").returncode != 0
    assert job("true 2>&1 | tee /dev/null", PATH="/usr/bin:/bin").returncode == 0


def test_job_knows_the_process_that_started_it() -> None:
    assert job("echo $QRT_CALLER", PATH="/usr/bin:/bin").stdout.strip() == str(os.getpid())
