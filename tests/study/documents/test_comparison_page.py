"""The pages that compare with other packages are what their table gives, and say what the table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scipy import stats

from conftest import PROJECT

TABLE = PROJECT / "benchmarks/comparison.csv"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module benchmarks/comparison_page.py."""
    monkeypatch.syspath_prepend(str(PROJECT / "benchmarks"))
    import comparison_page

    return comparison_page


def test_pages_are_written_from_the_table(tmp_path: Path) -> None:
    command = [sys.executable, "benchmarks/comparison.py", "--page", "--out", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    for name in ("comparison.md", "comparison_datasets.md"):
        assert (tmp_path / name).read_text() == (PROJECT / "docs" / name).read_text()
    assert (tmp_path / "comparison.png").stat().st_size > 10_000


def test_only_splits_count_on_which_all_were_measured(module: Any) -> None:
    table = pd.read_csv(TABLE)
    assert not table.duplicated(["dataset", "split", "method"]).any()
    rows = module.complete(table)
    unlimited = {one.name for one in module.CONTENDERS if one.most_rows == float("inf")}
    measured = rows[rows["method"].isin(unlimited)].groupby("method")[["dataset", "split"]]
    keys = [set(map(tuple, of_method.to_numpy())) for _, of_method in measured]
    assert len(keys) == len(unlimited)
    assert all(one == keys[0] for one in keys)
    (last, *_) = table[["dataset", "split"]].itertuples(index=False, name=None)
    lacking = table[~((table["method"] == "NGBoost") & (table["dataset"] == last[0]) & (table["split"] == last[1]))]
    assert last not in set(module.complete(lacking)[["dataset", "split"]].itertuples(index=False, name=None))


def test_split_of_a_small_dataset_that_the_comparison_has_is_not_measured_again(
    module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import comparison

    def nothing_to_do(*arguments: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(comparison, "RESULTS", tmp_path)
    monkeypatch.setattr(comparison, "prepared_dataset", nothing_to_do)
    comparison._measure("CPU", 0, tmp_path, whole=True)
    with pytest.raises(AssertionError, match="measured again"):
        comparison._measure("CPU", 10_000, tmp_path, whole=True)


def simulated(module: Any, **nll: float) -> pd.DataFrame:
    rows = []
    for dataset in ("CPU", "Yacht", "MPG"):
        for method in ("QRT", "QRT, cv = 5", "QRTC", "QRC", "NGBoost"):
            row: dict[str, Any] = {"dataset": dataset, "split": 0, "method": method, "nll": nll.get(method, 1.0)}
            rows.append(
                row
                | {"crps": row["nll"], "pce": 0.05}
                | {f"coverage_{level}": float(level) / 100 for level in module._LEVELS}
            )
    return pd.DataFrame(rows)


@pytest.mark.parametrize(("ours", "verdict"), [(0.5, "met"), (2.0, "missed")])
def test_goal_is_met_or_missed_as_the_table_has_it(ours: float, verdict: str, module: Any) -> None:
    table = simulated(module, QRT=ours)
    goals = module._goals(table, table).splitlines()
    by_goal = {line.split(" | ")[0].removeprefix("| "): line.split(" | ")[1] for line in goals[2:]}
    assert by_goal["lowest mean rank in NLL"] == verdict
    assert by_goal["mean rank in CRPS ahead of NGBoost"] == verdict
    assert by_goal["mean coverage within one point at each level, below 600 (3 datasets, 3 splits)"] == "met"
    assert by_goal["PCE at most QRC's on half of the datasets, below 600 (3 datasets, 3 splits)"] == "met"
    assert by_goal["PCE at most QRC's on half of the datasets, all"] == "met"


def test_mean_ranks_are_those_of_the_means_over_splits(module: Any) -> None:
    rows = module.complete(pd.read_csv(TABLE))
    means = rows.groupby(["dataset", "method"])["nll"].mean().unstack().dropna(axis="columns")
    expected = dict(zip(means.columns, stats.rankdata(means, axis=1).mean(axis=0), strict=True))
    lines = (PROJECT / "docs/comparison.md").read_text().splitlines()
    row = next(line for line in lines[lines.index("## Ranks") :] if line.startswith("| NGBoost |"))
    assert float(row.split("|")[2].split()[0]) == pytest.approx(expected["NGBoost"], abs=0.005)


def test_page_of_datasets_has_the_means_of_the_table(module: Any) -> None:
    rows = module.complete(pd.read_csv(TABLE))
    dataset = rows["dataset"].iloc[0]
    lines = (PROJECT / "docs/comparison_datasets.md").read_text().splitlines()
    head, _, *body = lines[lines.index("## CRPS, in the units of the target") + 2 :]
    cells = dict(
        zip(head.split(" | "), next(line for line in body if f"| {dataset} |" in line).split(" | "), strict=True)
    )
    chosen = rows[(rows["dataset"] == dataset) & (rows["method"] == "NGBoost")]["crps"]
    assert float(cells["NGBoost"]) == pytest.approx(chosen.mean(), abs=5e-5)
