"""docs/extending.md: its patches apply, its examples run, and a step that is left out is refused with its file."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from conftest import PROJECT
from qrt.claims.claim import parse_claims
from qrt.errors import UserError
from qrt.running.forgotten_steps import refuse_unusable_claims

PAGE = (PROJECT / "docs/extending.md").read_text(encoding="utf-8")
_STEP = re.compile(
    r"^\*\*\d+\. `(\S+)`\*\*[^\n]*(?:\n[^\n`*]+[^\n]*)*\n\n```(diff|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
_TRIAL = re.compile(r"^(?:\*\*)?Try it.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

COMMANDS = ("train", "evaluate", "figure", "fetch")
# What planning does: the configuration is checked, and every rule asks for the fingerprint of its command.
PLANNING = """
from qrt.code_version import code_version
from qrt.running.forgotten_steps import refuse_forgotten_steps
from qrt.study.config import load_config, read_schema

schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
study = load_config({}, schema, PROJECT)
refuse_forgotten_steps(study, schema)
fingerprints = {name: code_version(f"qrt.commands.{name}") for name in COMMANDS}
"""
# A job of one family, trained shortly and evaluated.
TRAINING = """
from qrt.data.fetch import fetch
from qrt.data.prepared_store import prepare_dataset
from qrt.results.evaluation_job import evaluate_family
from qrt.results.tables import RUNS, as_table
from qrt.study.experiments import plan_study
from qrt.training.family_job import train_family
from qrt.training.networks_file import write_networks

place = {"cache": Path("cache"), "lock": Path("lock.json")}
fetch("skewed", Path("raw.parquet"), Path("raw.json"), attempt=1, sources=[], mirror=None, own=None, **place)
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
from qrt.figures.figure_job import write_figure
from qrt.figures.figure_kind import Results

methods = {"method": ["BASE", "QRTC"], "status": "ok", "dataset": "Yacht", "test_coverage_90": [0.8, 0.9]}
results = Results({}, pd.DataFrame(methods), *[pd.DataFrame()] * 4)
write_figure("fig30_coverage", study, results, Path("numbers"), pdf=Path("figure.pdf"), png=Path("figure.png"))
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
    shutil.copytree(PROJECT / "src/qrt", tmp_path / "src/qrt")
    shutil.copytree(PROJECT / "workflow/schemas", tmp_path / "workflow/schemas")
    return tmp_path


def extend(project: Path, example: Example, without: str = "") -> None:
    for path, contents in example.steps.items():
        for content in contents if path != without else ():
            patched(project / path, content)


def planned(project: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Plan with the project's own package, in this process: a new one would take longer than all the rest."""
    with monkeypatch.context() as patch:
        patch.syspath_prepend(project / "src")
        for name in [name for name in sys.modules if name.split(".")[0] == "qrt"]:
            patch.delitem(sys.modules, name)
        names: dict[str, Any] = {"PROJECT": project, "COMMANDS": COMMANDS}
        try:
            exec(PLANNING, names)  # noqa: S102 - our own text, above
        finally:
            for name in [name for name in sys.modules if name.split(".")[0] == "qrt"]:
                del sys.modules[name]
    fingerprints: dict[str, str] = names["fingerprints"]
    return fingerprints


def succeeds(project: Path, script: str) -> None:
    """Plan and run a script in a process of its own."""
    start = f"from pathlib import Path\nPROJECT, COMMANDS = Path(), {COMMANDS!r}\n"
    process = subprocess.run(
        [sys.executable, "-W", "error", "-c", start + PLANNING + script],
        cwd=project,
        env={"PYTHONPATH": str(project / "src"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr


def with_cost_of_the_deep_model(project: Path) -> None:
    """Step 5 of a base model, in words: an entry for `deep` wherever there is one for `mlp`."""
    cost = project / "src/qrt/study/cost.py"
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


@pytest.mark.parametrize("name", ["A metric", "A calibration map"])
def test_what_acts_after_training_trains_nothing(name: str, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(project, monkeypatch)
    extend(project, EXAMPLES[name])
    now = planned(project, monkeypatch)
    assert {command for command in COMMANDS if now[command] != before[command]} == {"evaluate", "figure"}


def omissions() -> list[tuple[str, str]]:
    """Steps without which an extension is not whole."""
    silent = {
        # Not decided by any name: the page says so.
        ("A regulariser", "src/qrt/engine/validation.py"),
        ("A regulariser", "src/qrt/study/family.py"),
        # An import fails as soon as a job starts, before it trains.
        ("A regulariser", "src/qrt/engine/objective.py"),
        # A kind without a figure is no mistake.
        ("A kind of figure", "src/qrt/study/artifacts.py"),
        # A source that the schema does not know is refused when it is asked for.
        ("A source", "workflow/schemas/config.schema.yaml"),
    }
    several = {name: example for name, example in EXAMPLES.items() if len(example.steps) > 1}
    pairs = [(name, path) for name, example in several.items() for path in example.steps]
    return [pair for pair in pairs if pair not in silent]


@pytest.mark.parametrize(("name", "path"), omissions())
def test_forgotten_step_is_refused_before_anything_runs(
    name: str, path: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extend(project, EXAMPLES[name], without=path)
    # A module that is missing is named by its import, anything else by its file.
    module = ".".join(Path(path).with_suffix("").parts[1:])
    with pytest.raises(Exception, match=f"{re.escape(path)}|No module named '{module}'|^{module}$"):
        planned(project, monkeypatch)


def test_forgotten_cost_of_a_base_model_is_refused(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extend(project, EXAMPLES["A base model"])
    with pytest.raises(Exception, match=re.escape("src/qrt/study/cost.py")):
        planned(project, monkeypatch)


def test_claim_that_cannot_be_judged_is_refused_with_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise UserError("claim C999: unknown rule 'guess'")

    monkeypatch.setattr("qrt.claims.claim.paper_claims", refuse)
    with pytest.raises(UserError, match=r"src/qrt/claims/claims\.csv: claim C999"):
        refuse_unusable_claims()


def test_example_of_a_claim_can_be_judged() -> None:
    (row,) = re.findall(r"^```csv\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    header = (PROJECT / "src/qrt/claims/claims.csv").read_text(encoding="utf-8").splitlines()[0]
    (claim,) = parse_claims([header, row])
    assert claim.rule == "share_of_datasets"
    assert claim.settings["comparison"] == "fig09_map_size"
