"""The page that compares with other packages is what its table gives, and says what the table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from conftest import PROJECT

TABLE = PROJECT / "benchmarks/comparison.csv"


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


def test_page_has_the_means_of_the_table() -> None:
    table = pd.read_csv(TABLE)
    lines = (PROJECT / "docs/comparison.md").read_text().splitlines()
    crps = lines[lines.index("### CRPS, in the units of the target") + 2 :]
    row = next(line for line in crps if line.startswith("| crepes |"))
    first = row.split("|")[2].replace("*", "").split("±")[0]
    chosen = table.query("dataset == 'Fish' and method == 'crepes'")["crps"]
    assert float(first) == pytest.approx(chosen.mean(), abs=5e-5)
