"""The set-up: what the lock, the conda file, the Makefile and the documents promise."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from conftest import PROJECT

CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def locked_versions() -> dict[str, str]:
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {normal(name): version for name, version in pins}


def test_conda_environment_names_the_locked_versions_of_all_direct_dependencies() -> None:
    entries = yaml.safe_load((PROJECT / "environment.yml").read_text())["dependencies"]
    conda = {CONDA_NAMES.get(name, name): version for name, _, version in (entry.partition("=") for entry in entries)}
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    direct = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    names = {normal(re.split("[<>=]", requirement)[0]) for requirement in direct}
    locked = locked_versions()
    assert {name: conda[name] for name in names} == {name: locked[name] for name in names}
    pinned = {name: version for name, version in conda.items() if name not in ("pip", "python>")}
    assert pinned == {name: locked[name] for name in pinned}


def test_lock_is_by_exact_version() -> None:
    versions = locked_versions().values()
    assert all(re.fullmatch(r"[0-9][0-9a-z.]*", version) for version in versions)


def copy_of_the_makefile(folder: Path) -> Path:
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(PROJECT / name, folder)
    return folder


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # As from a terminal: `make test` runs this under another make.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.run(
        ["make", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_failed_installation_leaves_no_environment_that_looks_complete(tmp_path: Path) -> None:
    folder = copy_of_the_makefile(tmp_path)
    (folder / "requirements.lock").write_text(f"{folder}/there-is-no-such-file.whl\n")
    run = make(folder, "environment", f"PYTHON={sys.executable}")
    assert run.returncode != 0
    assert not (folder / ".venv").exists()


def test_too_old_python_is_refused_with_a_remedy(tmp_path: Path) -> None:
    folder = copy_of_the_makefile(tmp_path)
    old = folder / "python"
    old.write_text('#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.8.1"\nexit 1\n')
    old.chmod(0o755)
    run = make(folder, "environment", f"PYTHON={old}")
    assert run.returncode != 0
    assert "Python 3.8.1" in run.stderr
    assert "Python 3.11 or newer" in run.stderr
    assert not (folder / ".venv").exists()


def test_complete_environment_is_not_installed_again() -> None:
    if not list(PROJECT.glob(".venvs/*/complete")):
        pytest.skip("needs the environment of `make`, and this run uses another one")
    run = make(PROJECT, "environment", "PYTHON=false")
    assert run.returncode == 0, run.stderr
    assert run.stdout == ""


def test_links_between_the_documents_lead_somewhere() -> None:
    documents = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")]
    assert len(documents) >= 4
    for document in documents:
        for target in re.findall(r"\]\(([^)#]+)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} links to {target}"
