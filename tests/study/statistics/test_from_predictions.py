"""The extensions' numbers: the scores of predictions as runs, against sums written out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.engine.registry import METRICS
from qrt_study.plan.artifacts import FROM_SCORES
from qrt_study.plan.compared import Compared
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.tables import CONDITIONAL, SCORES
from qrt_study.statistics.columns import INTERVALS, WAYS
from qrt_study.statistics.comparison import compare
from qrt_study.statistics.from_predictions import (
    COVERAGE_METRICS,
    GAIN_METRICS,
    intervals_table,
    runs_of_scores,
    ways_table,
)

DATASETS = {"small": 100, "middle": 1000, "large": 30_000}
METHODS = {"BASE": ("base", "none"), "QRC": ("base", "REFL"), "QRT": ("training_map", "none"), "QRTC": ("base", "REFL")}
PAPER = PROTOCOLS["paper"]


def scores() -> pd.DataFrame:
    """A row for each method, dataset and split, and for F of QRTC's network; every number is another one."""
    rng = np.random.default_rng(1)
    rows: list[dict[str, Any]] = []
    numbers = [name for name, (kind, _) in SCORES.items() if name.startswith(("test_", "pce_")) and kind == "double"]
    for method, dataset, split in product(METHODS, DATASETS, range(3)):
        ways = [METHODS[method], *([("base", "none")] if method == "QRTC" else [])]
        for on, name in ways:
            place = {"dataset": dataset, "split": split, "seed": 0, "method": method, "posthoc_on": on}
            place |= {"posthoc_map": name, "as_tuned": int((on, name) == METHODS[method]), "status": "ok"}
            rows.append(place | dict(zip(numbers, rng.uniform(size=len(numbers)), strict=True)))
    return pd.DataFrame(rows, columns=list(SCORES))


def conditional() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [
        {"dataset": dataset, "split": split, "seed": 0, "method": method, "status": "ok"}
        | {name: rng.uniform() for name in CONDITIONAL if name.startswith("test_")}
        for method, dataset, split in product(METHODS, DATASETS, range(3))
    ]
    return pd.DataFrame(rows, columns=list(CONDITIONAL))


@pytest.fixture(scope="module")
def runs() -> pd.DataFrame:
    return runs_of_scores(scores(), conditional(), PAPER)


def test_every_tuned_run_is_there_once(runs: pd.DataFrame) -> None:
    assert len(runs) == len(METHODS) * len(DATASETS) * 3
    assert not runs.duplicated(["method", "dataset", "split"]).any()


def test_parts_of_gains_add_up_to_them(runs: pd.DataFrame) -> None:
    # As the scores have them (qrt_study.results.score_job); here they are random.
    whole = runs.assign(test_nll_refined=runs["test_nll"] - runs["test_nll_map_gain"])
    compared = [Compared("main", name, name) for name in METHODS if name != "BASE"]
    found = compare(whole, compared, Compared("main", "BASE", "BASE"), GAIN_METRICS, list(DATASETS), "pooled", {})
    wide = found.tables["per_dataset"].pivot(index=["method", "dataset"], columns="metric", values="difference")
    wide = wide.dropna()
    assert len(wide) == len(compared) * len(DATASETS)
    for score in ("NLL", "CRPS"):
        np.testing.assert_allclose(wide[score], wide[f"refined {score}"] + wide[f"{score} to calibrate"], rtol=1e-9)


def test_run_that_diverged_is_left_out_and_named() -> None:
    lost = scores()
    lost.loc[(lost["method"] == "QRT") & (lost["dataset"] == "small") & (lost["split"] == 1), "status"] = "diverged"
    runs = runs_of_scores(lost, conditional(), PAPER)
    compared = [Compared("main", "QRT", "QRT")]
    found = compare(runs, compared, Compared("main", "BASE", "BASE"), GAIN_METRICS, list(DATASETS), "pooled", {})
    assert [(entry.what, entry.count, entry.reason) for entry in found.left_out] == [("QRT on small", 1, "diverged")]


def test_without_scores_there_is_nothing_to_compare() -> None:
    nothing, no_x = scores().iloc[:0], conditional().iloc[:0]
    runs = runs_of_scores(nothing, no_x, PAPER)
    compared = [Compared("main", "QRT", "QRT")]
    found = compare(runs, compared, Compared("main", "BASE", "BASE"), GAIN_METRICS, list(DATASETS), "pooled", {})
    assert found.tables["per_dataset"].empty
    assert intervals_table(runs, "BASE", DATASETS).empty
    assert ways_table(nothing, PAPER, DATASETS).empty


def test_metrics_of_the_extensions_are_columns_of_the_runs(runs: pd.DataFrame) -> None:
    for metrics in (GAIN_METRICS, COVERAGE_METRICS):
        assert {f"test_{column}" for column in metrics.values()} <= set(runs)
    assert set(FROM_SCORES) == {"gains", "coverage"}
    assert set(METRICS) <= {name.removeprefix("test_") for name in runs}


def test_intervals_are_means_over_datasets_of_means_over_splits(runs: pd.DataFrame) -> None:
    table = intervals_table(runs, "BASE", DATASETS)
    assert list(table) == list(INTERVALS)
    assert table.groupby("size", sort=False)["datasets"].first().tolist() == [3, 1, 1, 1]
    row = table[(table["size"] == "all") & (table["method"] == "QRTC")].iloc[0]
    own = runs[runs["method"] == "QRTC"]
    assert row["coverage"] == pytest.approx(own["test_coverage_90"].mean())
    assert row["worst_slab_calibrated"] == pytest.approx(own["test_worst_slab_calibrated"].mean())
    assert row["pce"] == pytest.approx(own["test_pce_levels"].mean())
    ratios = [
        own[own["dataset"] == name]["test_length_90"].mean()
        / runs[(runs["method"] == "BASE") & (runs["dataset"] == name)]["test_length_90"].mean()
        for name in DATASETS
    ]
    assert row["relative_length"] == pytest.approx(np.exp(np.log(ratios).mean()))


def test_ways_of_a_network_stand_beside_each_other(runs: pd.DataFrame) -> None:
    every = scores()
    table = ways_table(every, PAPER, DATASETS)
    assert list(table) == list(WAYS)
    of_all = table[table["size"] == "all"].set_index("way")
    assert len(of_all) == 4  # BASE, QRC's map, and F and the map of QRTC's network
    f = every[(every["method"] == "QRTC") & (every["posthoc_map"] == "none")]
    assert of_all.loc["QRTC's network: F", "pit_variance"] == pytest.approx(12 * f["test_pit_variance"].mean())
    assert of_all.loc["QRTC's network: F", "coverage"] == pytest.approx(f["test_coverage_90"].mean())


def test_dataset_on_which_a_method_is_missing_does_not_count(runs: pd.DataFrame) -> None:
    incomplete = runs[(runs["method"] != "QRT") | (runs["dataset"] != "large")]
    table = intervals_table(incomplete, "BASE", DATASETS)
    assert set(table.loc[table["size"] == "all", "datasets"]) == {2}
