"""Commands whose arguments follow from a signature."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qrt.engine.variant import Variant
from qrt_study.__main__ import add_arguments
from qrt_study.commands import COMMANDS
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family
from support.configured import study_with


def parsed(function: Any, *arguments: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_arguments(parser, function)
    return vars(parser.parse_args(list(arguments)))


def test_positional_arguments_options_and_switches_are_those_of_the_signature() -> None:
    def run(name: str, splits: list[int], *, max_rows: float, out: Path = Path("here"), brief: bool = False) -> None:
        pass

    given = parsed(run, "Yacht", "0", "1", "--max-rows", "2.5")
    assert given == {"name": "Yacht", "splits": [0, 1], "max_rows": 2.5, "out": Path("here"), "brief": False}
    assert parsed(run, "Yacht", "--max-rows", "2", "--brief", "--out", "a b")["out"] == Path("a b")
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parsed(run, "Yacht", "0")
    with pytest.raises((argparse.ArgumentError, SystemExit)):
        parsed(run, "Yacht", "zero", "--max-rows", "2")


def test_studies_families_and_entries_are_read_from_json() -> None:
    def run(*, study: StudyConfig, family: Family, own: Mapping[str, Any] | None = None) -> None:
        pass

    study = study_with(datasets=["Yacht"], protocols=["released"])
    family = Family("f", (Variant(),), (("none",),), False, {"resnet": "batchnorm_relu"})
    needed = ["--study", json.dumps(study.facts()), "--family", family.json]
    given = parsed(run, *needed, "--own", '{"path": "a", "target": "y"}')
    assert given["study"].facts() == study.facts()
    assert given["family"] == family
    assert given["own"] == {"path": "a", "target": "y"}
    assert parsed(run, *needed, "--own", "null")["own"] is None
    assert parsed(run, *needed)["own"] is None


def test_every_command_has_a_command_line() -> None:
    run = subprocess.run([sys.executable, "-m", "qrt_study", "--help"], capture_output=True, text=True, check=True)
    named = {line.split()[0] for line in run.stdout.splitlines() if line.startswith("    ") and line[4] != " "}
    assert named == set(COMMANDS)
