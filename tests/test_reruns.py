"""Touch X, see which rules run: the fingerprints of the rules on a copy of the package that is changed in one place."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import PROJECT
from qrt import code_version as fingerprints
from qrt.code_version import code_version

# The entry of each rule's fingerprint, as the workflow has it: qrt.commands.train, ...
ENTRIES = sorted(
    {
        entry
        for file in (PROJECT / "workflow/rules").glob("*.smk")
        for entry in re.findall(r'code_version\("([\w.]+)"\)', file.read_text())
    }
)


class Package:
    """A copy of the package in which modules are found as Python finds them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def spec(self, module: str) -> SimpleNamespace | None:
        place = self.folder.joinpath(*module.split(".")[1:])
        if (package := place / "__init__.py").is_file():
            return SimpleNamespace(origin=str(package), submodule_search_locations=[str(place)])
        if (source := place.with_suffix(".py")).is_file():
            return SimpleNamespace(origin=str(source), submodule_search_locations=None)
        return None

    def versions(self) -> dict[str, str]:
        """The fingerprint of every rule, by the last part of its entry's name."""
        code_version.cache_clear()
        return {entry.rpartition(".")[2]: code_version(entry) for entry in ENTRIES}

    def edit(self, file: str, old: str, new: str) -> None:
        text = (self.folder / file).read_text()
        assert old in text, f"{file} has changed: {old!r} is not there"
        (self.folder / file).write_text(text.replace(old, new, 1))

    def append(self, file: str, text: str) -> None:
        with (self.folder / file).open("a") as content:
            content.write(text)

    def move(self, old: str, new: str) -> None:
        """Move a module, as one does in an editor: with all imports of it."""
        shutil.move(self.folder / f"{old.replace('.', '/')}.py", self.folder / f"{new.replace('.', '/')}.py")
        for path in self.folder.rglob("*.py"):
            path.write_text(path.read_text().replace(f"from qrt.{old} import", f"from qrt.{new} import"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    copy = Package(tmp_path / "qrt")
    shutil.copytree(PROJECT / "src/qrt", copy.folder)
    monkeypatch.setattr(fingerprints, "find_spec", copy.spec)
    return copy


ROBUST = {"robustness"}
DRAWN = {"agreement", "figure", "seeds"} | ROBUST
JUDGED = {"verdicts", "scorecard"}
OWN = {"own_data"}
PAGES = {"agreement", "scorecard", "seeds"} | ROBUST
TABLES = {"table1_methods", "table2_times", "table3_datasets"}


def new_line(file: str) -> Callable[[Package], None]:
    """A further row or rule at the end of a file."""
    return lambda package: package.append(file, "\nnew\n")


def new_function(file: str) -> Callable[[Package], None]:
    return lambda package: package.append(file, "\n\ndef new() -> int:\n    return 1\n")


def version_number(package: Package) -> None:
    package.edit("__init__.py", '__version__ = "', '__version__ = "9')


def docstring_and_comment(package: Package) -> None:
    package.edit("engine/optimiser.py", '"""', '"""Other words: ')
    package.append("engine/trainer.py", "\n# A comment.\n")


def log_line(package: Package) -> None:
    package.edit(
        "training/family_job.py", '        log(f"{network.variant.id}: ', '        log(f"Network {network.variant.id}: '
    )


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        pytest.param(new_line("claims/claims.csv"), JUDGED, id="a claim"),
        pytest.param(
            new_line("published/figure2.csv"), (DRAWN - ROBUST) | JUDGED | {"table2_times"}, id="a published value"
        ),
        pytest.param(new_line("pages/page.css"), PAGES | OWN, id="the style of pages"),
        pytest.param(
            new_line("data/datasets.csv"),
            DRAWN | JUDGED | TABLES | OWN | {"tune", "collect"},
            id="a row of the datasets",
        ),
        pytest.param(
            new_function("statistics/rank_tests.py"),
            {"agreement", "figure", "robustness"} | JUDGED | OWN,
            id="a statistic",
        ),
        pytest.param(new_function("statistics/own_data.py"), OWN, id="a statistic of own data"),
        pytest.param(new_function("figures/critical_difference.py"), {"figure"}, id="a plot"),
        pytest.param(new_function("tables/table_files.py"), TABLES, id="the writer of tables"),
        pytest.param(new_function("claims/rank_rules.py"), JUDGED, id="a rule of the verdict"),
        pytest.param(new_function("engine/evaluation.py"), {"evaluate"}, id="a metric"),
        pytest.param(new_function("engine/calibration_map.py"), {"evaluate", "maps"}, id="a calibration map"),
        pytest.param(new_function("engine/optimiser.py"), {"train", "evaluate", "time"}, id="the optimiser"),
        pytest.param(new_function("data/prepare.py"), {"prepare"}, id="the preparation"),
        pytest.param(
            new_function("data/embedded.py"),
            DRAWN | JUDGED | OWN | {"embedded", "tune", "collect", "table1_methods"},
            id="a generator",
        ),
        pytest.param(version_number, set(), id="the version number"),
        pytest.param(docstring_and_comment, set(), id="a docstring"),
        pytest.param(log_line, set(), id="a log line"),
        pytest.param(
            lambda package: package.move("engine.optimiser", "training.optimiser"), set(), id="a moved module"
        ),
        pytest.param(
            lambda package: package.move("data.scaling", "engine.scaling"), set(), id="a module moved to another room"
        ),
    ],
)
def test_change_runs_exactly_these_rules(package: Package, change: Callable[[Package], None], rules: set[str]) -> None:
    before = package.versions()
    change(package)
    after = package.versions()
    assert {name for name in before if after[name] != before[name]} == rules


def test_every_rule_but_fetch_has_the_fingerprint_of_its_command() -> None:
    commands = {path.stem for path in (PROJECT / "src/qrt/commands").glob("*.py")}
    known = {entry.removeprefix("qrt.commands.") for entry in ENTRIES if entry.startswith("qrt.commands.")}
    by_hand = {"predict", "publish", "restore", "status"}
    assert commands - known == {"__init__", "arguments", "fetch"} | by_hand
