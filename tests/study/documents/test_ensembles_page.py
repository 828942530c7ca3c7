"""The page on the regressor's default is what its table gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from conftest import PROJECT
from qrt.engine.calibration_map import reflected_map
from qrt.engine.kernel import kernel_scale
from qrt_study.documents.written_block import rows_of_table


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module benchmarks/ensembles.py."""
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    import ensembles

    return ensembles


def test_page_is_written_from_the_table(tmp_path: Path) -> None:
    out = tmp_path / "ensembles.md"
    command = [sys.executable, "benchmarks/ensembles.py", "--page", "--out", str(out)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    assert out.read_text() == (PROJECT / "docs/ensembles.md").read_text()


def test_every_way_was_measured_on_the_same_splits(module: Any) -> None:
    rows = pd.read_csv(module.TABLE, dtype={"bandwidth": str}, keep_default_na=False)
    counts = rows.groupby(["bandwidth", "members", "maps"])[["dataset", "split", "first"]].apply(
        lambda found: frozenset(map(tuple, found.to_numpy()))
    )
    for members, of_members in counts.groupby("members"):
        assert len(set(of_members)) == 1
        assert len(of_members.iloc[0]) == module.MEMBERS / members * len(rows.drop_duplicates(["dataset", "split"]))


def test_leave_one_out_bandwidth_is_the_most_likely_by_maps_without_each_pit(module: Any) -> None:
    pits = torch.rand(60, generator=torch.Generator().manual_seed(0), dtype=torch.float64).square()

    def likelihood(bandwidth: float) -> float:
        scale = kernel_scale(bandwidth, len(pits), "variance")
        others = [torch.cat([pits[:place], pits[place + 1 :]]) for place in range(len(pits))]
        return sum(
            float(reflected_map(one, scale).log_density(pit[None])) for one, pit in zip(others, pits, strict=True)
        )

    assert module.leave_one_out_bandwidth(pits) == max(module.CANDIDATES, key=likelihood)


@pytest.fixture
def tables(module: Any) -> Any:
    """The module benchmarks/ensemble_tables.py."""
    import ensemble_tables

    return ensemble_tables


FAST: dict[str, Any] = {"max_epochs": 2}


def test_times_of_fits_are_measured_beside_each_other(tables: Any) -> None:
    head, *rows = rows_of_table(tables.times_table((60, 80), FAST))
    assert head[1:] == ["60 rows", "80 rows"]
    assert [row[0] for row in rows] == list(tables.TIMED)
    assert rows[0][1].endswith("(1.0 times)")
    assert tables.TIMED_ROWS == (5_000, 50_000)


def test_folds_are_measured_beside_the_split(
    tables: Any, shared_datasets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QRT_MIRROR", str(shared_datasets))
    _, *rows = rows_of_table(tables.folds_table(("CPU",), FAST))
    assert [row[0] for row in rows] == [name.strip() for name in tables.FOLDS]
    assert all(0 < float(row[5]) <= 100 and row[6] == "none" for row in rows)
    assert set(tables.FOLD_DATASETS) < set(pd.read_csv(PROJECT / "benchmarks/ensembles.csv")["dataset"])


def test_row_far_outside_is_looked_at_alone(tables: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(200, 3)).astype(np.float32)
    np.save(tmp_path / "y.npy", x[:, 0] + generator.normal(size=200).astype(np.float32))
    x[117, 2] = 1000.0
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(tables, "prepared_dataset", lambda name, folder: tmp_path)
    words = tables.far_table(120, 60, FAST | {"members": 1})
    assert "120 training rows" in words
    assert "61 others, among them the one with z = 1000.0" in words
    _, as_it_is, not_drawn_back, drawn_back = rows_of_table(words)
    ends = [[float(end) for end in row[1].split(" to ")] for row in (as_it_is, not_drawn_back, drawn_back)]
    assert max(map(abs, ends[2])) < 10 < max(map(abs, ends[1]))


def test_page_names_the_commands_of_its_tables(tables: Any) -> None:
    page = (PROJECT / "docs/ensembles.md").read_text(encoding="utf-8")
    assert all(f"--table {name}`" in page for name in tables.TABLES)
