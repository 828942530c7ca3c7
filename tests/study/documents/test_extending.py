"""docs/extending.md: its patches apply, its examples run, and they forget no step (test_registry.py)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import PROJECT
from qrt_study.verdicts.claim import parse_claims

PAGE = (PROJECT / "docs/extending.md").read_text(encoding="utf-8")
_STEP = re.compile(
    r"^\*\*\d+\. `(\S+)`\*\*[^\n]*(?:\n[^\n`*]+[^\n]*)*\n\n```(diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_TRIAL = re.compile(r"^(?:\*\*)?Try it.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

PLANNING = """
from pathlib import Path

import pytest

from qrt_study.plan.config import load_config, read_schema

study = load_config({}, read_schema(Path("workflow/schemas/config.schema.yaml")), Path())
assert pytest.main(["-q", "-p", "no:cacheprovider", "tests/test_registry.py"]) == 0
"""
# A job of one family, trained shortly and evaluated.
TRAINING = """
from qrt_study.data.fetch import fetch
from qrt_study.data.prepared_store import prepare_dataset
from qrt_study.results.evaluation_job import evaluate_family
from qrt_study.results.tables import RUNS, as_table
from qrt_study.plan.experiments import plan_study
from qrt_study.training.family_job import train_family
from qrt_study.training.networks_file import write_networks

place = {"cache": Path("cache"), "lock": Path("lock.json")}
fetch("skewed", Path("raw.parquet"), Path("raw.json"), sources=[], mirror=None, own=None, **place)
prepare_dataset("skewed", Path("raw.parquet"), Path("raw.json"), Path("prepared"))
family = next(one for name, one in plan_study(study).families.items() if name.startswith(FAMILY))
networks = train_family(Path("prepared"), 0, 0, family, {"max_epochs": 4, "patience": 2}, log=lambda line: None)
write_networks(Path("family.networks.parquet"), networks)
files = {0: Path("family.networks.parquet")}
rows = evaluate_family("skewed", Path("prepared"), 0, family, files, examples=False).runs
as_table(rows, RUNS)
assert {row["status"] for row in rows} == {"ok"}
"""
DRAWING = """
import pandas as pd
from qrt_study.figures.compare_job import write_statistics
from qrt_study.figures.figure_job import draw_figure
from qrt_study.figures.kinds import Results

methods = {"method": ["BASE", "QRTC"], "status": "ok", "dataset": "Yacht", "test_coverage_90": [0.8, 0.9]}
results = Results({}, pd.DataFrame(methods), *[pd.DataFrame()] * 4)
write_statistics("fig30_hits", study, results, Path("numbers"))
draw_figure("fig30_hits", study=study, statistics=Path("numbers"), pdf=Path("figure.pdf"), png=Path("figure.png"))
assert "QRTC 0.900" in Path("numbers/caption.rst").read_text()
"""
# Beyond what the page tries: a figure that is drawn, and families that are trained, with what their rows then have.
FURTHER = {"A kind of figure": DRAWING} | {
    name: f"\nFAMILY = {family!r}\n{TRAINING}\nassert {check}\n"
    for name, family, check in (
        ("A metric", "mlp-3.plain", "all(row['test_interval_score_90'] > 0 for row in rows)"),
        ("A calibration map", "mlp-3.qrt", "any(row['posthoc_map'] == 'LIN' for row in rows)"),
        ("A regulariser", "mlp-3.pcereg", "{row['alpha'] for row in rows} == {-1, -0.1}"),
    )
}


@dataclass(frozen=True)
class Example:
    """A section of the page: what it does to each file, and what it says to try."""

    steps: dict[str, list[str]] = field(default_factory=dict)
    trial: str = ""


def examples() -> dict[str, Example]:
    found = {}
    for section in PAGE.split("\n## ")[1:]:
        steps: dict[str, list[str]] = {}
        for path, _, content in _STEP.findall(section):
            steps.setdefault(path, []).append(content)
        trial = _TRIAL.search(section)
        found[section.splitlines()[0]] = Example(steps, trial[1] if trial else "")
    return found


EXAMPLES = examples()


def patched(file: Path, content: str) -> None:
    """Write a new file, or apply the hunks of a patch, each of which must fit at exactly one place."""
    if not content.startswith(("+", "-", " ")):
        file.write_text(content, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    for hunk in content.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before, after = ("".join(line[1:] for line in lines if line[0] in kinds) for kinds in (" -", " +"))
        assert text.count(before) == 1, f"{file}: this is not there once:\n{before}"
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src", "workflow/schemas", "tests/support"):
        shutil.copytree(PROJECT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PROJECT / "tests/test_registry.py", tmp_path / "tests")
    return tmp_path


def extend(project: Path, example: Example) -> None:
    for path, contents in example.steps.items():
        for content in contents:
            patched(project / path, content)


def succeeds(project: Path, script: str) -> None:
    """Plan and run a script in a process of its own."""
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", PLANNING + script],
        cwd=project,
        env={"PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


def with_cost_of_the_deep_model(project: Path) -> None:
    """Step 5 of a base model, in words: an entry for `deep` wherever there is one for `mlp`."""
    cost = project / "src/qrt_study/plan/cost.py"
    changed, count = re.subn(r'"mlp": ([\d.]+)', r'"mlp": \1, "deep": \1', cost.read_text(encoding="utf-8"))
    assert count
    cost.write_text(changed, encoding="utf-8")


@pytest.mark.parametrize("name", [name for name, example in EXAMPLES.items() if example.steps])
def test_example_of_the_page_runs(name: str, project: Path) -> None:
    extend(project, EXAMPLES[name])
    if name == "A base model":
        with_cost_of_the_deep_model(project)
    assert EXAMPLES[name].trial, f"{name} has nothing to try"
    succeeds(project, EXAMPLES[name].trial + FURTHER.get(name, ""))


def test_page_has_an_example_for_everything_in_its_table() -> None:
    listed = re.findall(r"^\| \[([a-z ]+)\]\(", PAGE, re.MULTILINE)
    assert [name.lower() for name in EXAMPLES] == listed
    assert all(example.steps for name, example in EXAMPLES.items() if name != "A claim")


def test_example_of_a_claim_can_be_judged() -> None:
    (row,) = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    header = (PROJECT / "src/qrt_study/verdicts/claims.csv").read_text(encoding="utf-8").splitlines()[0]
    (claim,) = parse_claims([header, row])
    assert claim.rule == "share_of_datasets"
    assert claim.settings["comparison"] == "fig09_map_size"
