"""The set-up: what the lock, the conda file, the Makefile and the documents promise."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import qrt
from conftest import PROJECT
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES, PAGES
from support.snakemake_calls import call_snakemake

PUBLISHED = (Path("paper_figures"), Path("replication/released"))
EXPLORER = Path("figures_published/explorer.html")  # drawn by `make replication`, and not stored
CONDA_NAMES = {"pytorch": "torch", "matplotlib-base": "matplotlib", "typst-py": "typst"}


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
    extras = project["optional-dependencies"]
    direct = [*project["dependencies"], *extras["study"], *extras["dev"]]
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


def copied_into_the_image(stage: str) -> list[str]:
    """What a stage of the Dockerfile copies from the project."""
    lines = re.findall(r"^COPY (?!--from)(.+) \S+$", stage, flags=re.M)
    return [name for line in lines for name in line.split()]


def test_image_is_built_from_the_lock_with_the_oldest_python_and_names_no_server() -> None:
    text = (PROJECT / "Dockerfile").read_text()
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    bases = re.findall(r"^FROM (\S+)", text, flags=re.M)
    assert {f">={base.removeprefix('python:').removesuffix('-slim')}" for base in bases} == {project["requires-python"]}
    assert "--constraint requirements.lock" in text
    assert "pygments" in locked_versions()
    assert "://" not in text
    ignored = (PROJECT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in copied_into_the_image(text)} == {line for line in ignored if line.startswith("!")}


def test_what_the_image_holds_is_enough_to_plan_a_study(tmp_path: Path) -> None:
    *_, image = (PROJECT / "Dockerfile").read_text().split("FROM ")
    tree, study = tmp_path / "qrt", tmp_path / "study"
    for name in copied_into_the_image(image):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (PROJECT / name).is_dir() else shutil.copy
        copy(PROJECT / name, tree / name)
    assert "RUN ln -s workflow/profiles profiles" in image
    (tree / "profiles").symlink_to("workflow/profiles")
    study.mkdir()
    (study / "houses.csv").write_text("size,price\n1,2\n")
    (study / "study.yaml").write_text(
        yaml.safe_dump(
            {
                "datasets": [],
                "splits": [0],
                "draw": ["own_data"],
                "own_datasets": {"houses": {"path": str(study / "houses.csv"), "target": "price"}},
            }
        )
    )
    arguments = ["--cores", "1", "--configfile", "study.yaml", "--dry-run"]
    run = call_snakemake(study, "--snakefile", str(tree / "Snakefile"), *arguments, PYTHONPATH=str(tree / "src"))
    assert run.returncode == 0, run.stderr
    assert re.search(r"^train +3$", run.stdout, flags=re.M), "26 networks in 3 jobs"


def test_codecheck_lists_every_artefact_and_nothing_that_is_not_there() -> None:
    manifest = yaml.safe_load((PROJECT / "codecheck.yml").read_text(encoding="utf-8"))["manifest"]
    listed = {Path(entry["file"]): entry["comment"] for entry in manifest}
    artifacts = {
        folder / f"{name}.{'pdf' if name in FIGURES else 'csv'}": f"{artifact.number}: {artifact.title}"
        for folder in PUBLISHED
        for name, artifact in ARTIFACTS.items()
    }
    assert listed.items() >= artifacts.items()
    pages = {folder / f"{page}.html" for folder in PUBLISHED for page in PAGES if page != "own_data"}
    assert listed.keys() == artifacts.keys() | pages | {Path("article/article.pdf"), EXPLORER}
    published = {path.relative_to(PROJECT) for folder in PUBLISHED for path in (PROJECT / folder).glob("*.html")}
    assert published <= pages
    # A new page is listed before its first publication, which draws it under both protocols.
    waiting = {page for page in pages if page.name not in {path.name for path in published}}
    assert all((PROJECT / file).is_file() for file in listed.keys() - waiting - {EXPLORER})


def test_version_and_day_of_the_release_are_the_same_everywhere() -> None:
    citation = yaml.safe_load((PROJECT / "CITATION.cff").read_text(encoding="utf-8"))
    zenodo = json.loads((PROJECT / ".zenodo.json").read_text(encoding="utf-8"))
    day = str(citation["date-released"])
    assert citation["version"] == zenodo["version"] == qrt.__version__
    assert zenodo["publication_date"] == day
    releases = re.findall(r"^## (\d\S*) \((.+)\)$", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)
    assert releases[0] == (qrt.__version__, day)


def anchors(document: Path) -> set[str]:
    """The places of a page in Markdown that a link can lead to, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_between_the_documents_lead_somewhere() -> None:
    documents = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"), *PROJECT.glob("*/README.md")]
    assert len(documents) >= 4
    for document in documents:
        for path, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", document.read_text(encoding="utf-8")):
            if "://" not in path:
                target = document.parent / path if path else document
                assert target.exists(), f"{document.name} links to {path}"
                assert not anchor or anchor in anchors(target), f"{document.name} links to {path}#{anchor}"


def test_front_page_fits_on_two_screens() -> None:
    assert len((PROJECT / "README.md").read_text(encoding="utf-8").splitlines()) <= 90
