"""The page on the regressor's default is what its table gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from conftest import PROJECT
from qrt.engine.calibration_map import reflected_map
from qrt.engine.kernel import kernel_scale


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
