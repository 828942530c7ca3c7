"""The page that compares with other packages is what its table gives, and says what the table says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conftest import PROJECT

TABLE = PROJECT / "benchmarks/comparison.csv"


def comparison_page() -> Any:
    """The module benchmarks/comparison_page.py."""
    spec = importlib.util.spec_from_file_location("comparison_page", PROJECT / "benchmarks/comparison_page.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_written_from_the_table(tmp_path: Path) -> None:
    out = tmp_path / "comparison.md"
    command = [sys.executable, "benchmarks/comparison.py", "--page", "--out", str(out)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    assert out.read_text() == (PROJECT / "docs/comparison.md").read_text()


def test_every_method_was_measured_on_the_same_splits() -> None:
    table = pd.read_csv(TABLE)
    measured = table.groupby("method")[["dataset", "split"]].apply(lambda rows: set(map(tuple, rows.to_numpy())))
    assert len(measured) == 11
    assert all(keys == measured.iloc[0] for keys in measured)
    assert len(measured.iloc[0]) == table["dataset"].nunique() * table["split"].nunique()
    assert table["dataset"].nunique() == 6
    assert not table.duplicated(["dataset", "split", "method"]).any()


def test_wins_are_counted_against_other_packages_and_never_against_the_tuned_row() -> None:
    def row(dataset: str, split: int, **nll: float) -> list[dict[str, object]]:
        named = {"QRT": nll["tuned"], "QRT, b = 0.1": nll["plain"], "NGBoost": nll["ngboost"], "crepes": nll["crepes"]}
        return [{"dataset": dataset, "split": split, "method": name, "nll": value} for name, value in named.items()]

    nan = float("nan")
    rows = row("a", 0, tuned=1, plain=2, ngboost=3, crepes=nan) + row("a", 1, tuned=1, plain=2, ngboost=1.5, crepes=nan)
    rows += row("b", 0, tuned=1, plain=4, ngboost=2, crepes=nan) + row("b", 1, tuned=1, plain=4, ngboost=2, crepes=nan)
    table = pd.DataFrame(rows)
    found = [comparison_page().wins(table, name, "nll") for name in table["method"].unique()]
    assert found == ["2 (2)", "1 (0)", "1 (1)", ""]


def test_page_has_the_means_of_the_table() -> None:
    table = pd.read_csv(TABLE)
    lines = (PROJECT / "docs/comparison.md").read_text().splitlines()
    crps = lines[lines.index("### CRPS, in the units of the target") + 2 :]
    row = next(line for line in crps if line.startswith("| crepes |"))
    first = row.split("|")[2].replace("*", "").split("±")[0]
    chosen = table.query("dataset == 'Fish' and method == 'crepes'")["crps"]
    assert float(first) == pytest.approx(chosen.mean(), abs=5e-5)
