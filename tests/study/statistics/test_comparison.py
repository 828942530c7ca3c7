"""Comparisons of methods over datasets, from hand-made tables of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from conftest import PROJECT
from qrt_study.plan.compared import Compared
from qrt_study.plan.config import load_config, read_schema
from qrt_study.plan.experiments import plan_study
from qrt_study.results.tables import METHODS
from qrt_study.statistics.columns import COMPARISON
from qrt_study.statistics.comparison import compare
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut
from support.mock_results import (
    EXTENSIONS,
    PAPER_METHODS,
    Effect,
    mock_discreteness,
    mock_main_study,
    mock_methods,
    paper_names,
)

ALL_METRICS = {"NLL": "nll", "PCE": "pce_levels", "CRPS": "crps_wis", "SD": "sd"}
NLL = {"NLL": "nll"}
BASE, QRC, QRTC = (Compared("main", name, name) for name in ("BASE", "QRC", "QRTC"))
EFFECTS: dict[tuple[str, str], Effect] = {("main", "BASE"): 0, ("main", "QRC"): -0.5, ("main", "QRTC"): -3}
RANK_TABLES = ("ranks", "friedman", "pairs", "groups")


def mock(datasets: Sequence[str], splits: int = 5, seed: int = 0) -> pd.DataFrame:
    return mock_methods(datasets, EFFECTS, splits=splits, seed=seed)


def compared(
    methods: pd.DataFrame, datasets: Sequence[str], metrics: Mapping[str, str] = NLL, form: str = "pooled"
) -> FigureStatistics:
    return compare(methods, [QRC, QRTC], BASE, metrics, datasets, form, mock_discreteness(datasets))


def here(methods: pd.DataFrame, **place: Any) -> pd.Series:
    """Which rows are there."""
    return pd.concat([methods[name] == value for name, value in place.items()], axis=1).all(axis=1)


def only(table: pd.DataFrame, **place: Any) -> pd.Series:
    """The one row that is there."""
    (index,) = table.index[here(table, **place)]
    return table.loc[index]


def hand_made(values: Mapping[str, Mapping[str, Sequence[float]]]) -> pd.DataFrame:
    """NLL by dataset and method, one value for each split."""
    frame = mock(list(values), splits=max(len(runs) for of in values.values() for runs in of.values()))
    keep = pd.Series(False, index=frame.index)
    for dataset, of_dataset in values.items():
        for method, runs in of_dataset.items():
            for split, value in enumerate(runs):
                rows = here(frame, dataset=dataset, method=method, split=split)
                frame.loc[rows, "test_nll"] = value
                keep |= rows
    return frame[keep]


def test_numbers_of_a_dataset_by_hand() -> None:
    nan = np.nan  # not finite: not usable
    methods = hand_made({"Yacht": {"BASE": [-1, -3, nan], "QRC": [1, nan, 4], "QRTC": [-2, -6, -1]}})
    table = compared(methods, ["Yacht"]).tables["per_dataset"]

    qrtc = only(table, method="QRTC")
    assert (qrtc["splits"], qrtc["common_splits"], qrtc["baseline"]) == (3, 2, "BASE")
    assert qrtc["mean"] == -3
    assert qrtc["standard_error"] == pytest.approx(np.sqrt((1 + 9 + 4) / 2 / 3))
    assert qrtc["difference"] == -2  # of -1 and -3
    assert qrtc["difference_standard_error"] == pytest.approx(1)
    assert qrtc["relative_difference"] == -1  # -2 over |-2|
    assert qrtc["cohens_d_pooled"] == pytest.approx(-1 / np.sqrt((14 + 2) / 3))
    assert qrtc["cohens_d_released"] == pytest.approx(-1 / np.sqrt((14 / 3 + 2 / 2) / 3))
    assert qrtc["discreteness"] == 0.11

    qrc = only(table, method="QRC")
    assert (qrc["splits"], qrc["common_splits"], qrc["difference"]) == (2, 1, 2)
    assert np.isnan(qrc["difference_standard_error"])

    base = only(table, method="BASE")
    assert (base["splits"], base["mean"]) == (2, -2)
    assert base[["difference", "relative_difference", "cohens_d", "cohens_d_released"]].isna().all()


@pytest.mark.parametrize("form", ["pooled", "released"])
def test_the_protocols_form_of_cohens_d_is_shown(form: str) -> None:
    tables = compared(mock(["Yacht", "CPU"]), ["Yacht", "CPU"], ALL_METRICS, form).tables
    shown = tables["per_dataset"]
    pd.testing.assert_series_equal(shown["cohens_d"], shown[f"cohens_d_{form}"], check_names=False)
    median = only(tables["letter_values"], metric="PCE", method="QRTC", quantile=0.5)
    d = shown.loc[here(shown, metric="PCE", method="QRTC"), f"cohens_d_{form}"]
    assert median["value"] == pytest.approx(d.median())
    assert median["datasets"] == 2


def test_all_datasets_and_thirteen_methods_against_pandas_and_scipy() -> None:
    names = paper_names()
    methods = mock_main_study(names)
    labels = ["BASE", *PAPER_METHODS["alpha"]]
    shown = [Compared("alpha", method, method) for method in PAPER_METHODS["alpha"]]
    statistics = compare(methods, shown, BASE, ALL_METRICS, names, "pooled", mock_discreteness(names))
    assert list(statistics.tables) == ["per_dataset", "letter_values", "circles", *RANK_TABLES]
    assert all(list(table) == list(COMPARISON[name]) for name, table in statistics.tables.items())
    assert (statistics.datasets, statistics.asked, statistics.splits) == (tuple(names), 57, 5)
    assert not statistics.left_out
    assert not statistics.notes

    rows = methods[(methods["experiment"] == "alpha") | here(methods, experiment="main", method="BASE")]
    values = rows.pivot_table(index="dataset", columns="method", values="test_crps_wis", sort=False)[labels]
    table = statistics.tables["per_dataset"]
    table = table[table["metric"] == "CRPS"]
    assert len(statistics.tables["per_dataset"]) == 4 * 13 * 57
    found = table.pivot_table(index="dataset", columns="method", values="mean", sort=False)
    pd.testing.assert_frame_equal(found, values, check_names=False)

    ranks = statistics.tables["ranks"]
    ranks = ranks[ranks["metric"] == "CRPS"].set_index("method")["mean_rank"]
    pd.testing.assert_series_equal(ranks, values.rank(axis=1).mean(), check_names=False)
    friedman = only(statistics.tables["friedman"], metric="CRPS")
    assert friedman["statistic"] == pytest.approx(stats.friedmanchisquare(*values.to_numpy().T).statistic)
    pairs = statistics.tables["pairs"]
    assert pairs.groupby("metric").size().to_dict() == dict.fromkeys(ALL_METRICS, 78)
    pair = only(pairs, metric="CRPS", left="alpha=-5", right="alpha=2")
    expected = stats.wilcoxon(values["alpha=-5"], values["alpha=2"], zero_method="pratt").pvalue
    assert pair["p_value"] == pytest.approx(expected)


def test_effects_show_in_groups() -> None:
    names = paper_names(44)
    effects: dict[tuple[str, str], Effect] = {("main", "BASE"): 0.0, ("main", "QRC"): {"nll": -3}, ("main", "QRTC"): 0}
    statistics = compared(mock_methods(names, effects), names, ALL_METRICS)
    groups = statistics.tables["groups"].groupby(["metric", "group"])["method"].agg(set).to_dict()
    assert groups["NLL", 0] == {"BASE", "QRTC"}
    assert groups["SD", 0] == {"BASE", "QRC", "QRTC"}
    nll = statistics.tables["ranks"].query("metric == 'NLL'").set_index("method")["mean_rank"]
    assert nll["QRC"] < 1.1


def test_baseline_is_first_and_only_once() -> None:
    methods = mock(["Yacht", "CPU"])
    statistics = compare(methods, [QRTC, BASE], BASE, NLL, ["Yacht", "CPU"], "pooled", {})
    assert statistics.tables["ranks"]["method"].tolist() == ["BASE", "QRTC"]
    assert statistics.tables["pairs"]["left"].tolist() == ["BASE"]
    assert statistics.tables["per_dataset"]["discreteness"].isna().all()


def test_one_run_may_stand_under_two_labels() -> None:
    methods = mock(["Yacht", "CPU"])
    again = Compared("main", "QRTC", "QRTC-REFL")
    statistics = compare(methods, [QRTC, again], BASE, NLL, ["Yacht", "CPU"], "pooled", {})
    pair = only(statistics.tables["pairs"], left="QRTC", right="QRTC-REFL")
    assert (pair["median_difference"], pair["p_value"]) == (0, 1)


def test_rank_tests_stand_on_splits_that_all_methods_have() -> None:
    # Over its own splits QRC would be the best on both datasets; in the common split 1 it is the worst.
    nan = np.nan
    runs = {"BASE": [5.0, 1.0, nan], "QRC": [nan, 2.0, -9.0], "QRTC": [0.0, 0.0, 0.0]}
    statistics = compared(hand_made({"Yacht": runs, "CPU": runs}), ["Yacht", "CPU"])
    ranks = statistics.tables["ranks"].set_index("method")["mean_rank"]
    assert ranks.to_dict() == {"BASE": 2, "QRC": 3, "QRTC": 1}


def test_incomplete_datasets_are_left_out_of_the_rank_tests_and_counted() -> None:
    names = ["Yacht", "CPU", "MPG"]
    methods = mock(names)
    diverged = here(methods, dataset="CPU", method="QRC")
    methods.loc[diverged, ["status", "reason"]] = ["diverged", "test NLL is 2000"]
    statistics = compared(methods, names, ALL_METRICS)
    assert set(statistics.tables["ranks"]["datasets"]) == {2}
    assert statistics.datasets == ("Yacht", "CPU", "MPG")
    assert statistics.left_out == (
        LeftOut("QRC on CPU", 5, "diverged: test NLL is 2000"),
        LeftOut("rank tests of NLL, PCE, CRPS, SD", 1, "no split in which all methods have a usable run: CPU"),
    )
    assert only(statistics.tables["per_dataset"], dataset="CPU", method="QRC", metric="NLL")["splits"] == 0
    assert only(statistics.tables["per_dataset"], dataset="CPU", method="QRTC", metric="NLL")["splits"] == 5


def test_boxes_show_the_datasets_that_all_methods_have() -> None:
    names = paper_names(9)
    methods = mock(names)
    methods = methods[~(here(methods, method="QRC") & methods["dataset"].isin(names[:3]))]
    methods.loc[here(methods, method="QRTC", dataset=names[8]), "test_crps_wis"] = np.inf
    tables = compared(methods, names, ALL_METRICS).tables
    shown = {"NLL": names[3:], "CRPS": names[3:8]}
    for metric, method in product(shown, ("QRC", "QRTC")):
        effects, circles = (
            tables[name][here(tables[name], metric=metric, method=method)] for name in ("per_dataset", "circles")
        )
        effects = effects[effects["dataset"].isin(shown[metric])]
        median = only(tables["letter_values"], metric=metric, method=method, quantile=0.5)
        assert median["datasets"] == len(shown[metric])
        assert median["value"] == effects["cohens_d"].median()
        assert circles["dataset"].tolist() == shown[metric], "few datasets are all circles"
        assert circles["cohens_d"].tolist() == effects["cohens_d"].tolist()


def test_circles_of_many_datasets_are_those_beyond_the_boxes() -> None:
    names = paper_names(20)
    tables = compared(mock(names), names).tables
    quantile = tables["letter_values"].pivot(index="method", columns="quantile", values="value")
    effects = tables["per_dataset"][tables["per_dataset"]["method"] != "BASE"]
    low, high = (effects["method"].map(quantile[level]) for level in (1 / 8, 7 / 8))
    beyond = effects[(effects["cohens_d"] < low) | (effects["cohens_d"] > high)]
    pd.testing.assert_frame_equal(tables["circles"], beyond[list(tables["circles"])].reset_index(drop=True))


def test_methods_without_a_common_dataset_have_no_boxes() -> None:
    names = paper_names(4)
    methods = mock(names)
    methods = methods[~(here(methods, method="QRC") & methods["dataset"].isin(names[:2]))]
    methods = methods[~(here(methods, method="QRTC") & methods["dataset"].isin(names[2:]))]
    statistics = compared(methods, names)
    assert statistics.tables["letter_values"]["value"].isna().all()
    assert statistics.tables["circles"].empty
    assert statistics.notes[0] == "NLL: there is no dataset on which all methods have a Cohen's d"


def test_a_method_without_any_effect_does_not_empty_the_boxes() -> None:
    names = paper_names(4)
    methods = mock(names)
    one_run = (methods["method"] != "QRTC") & (methods["split"] > 0)
    counts = compared(methods[~one_run], names).tables["letter_values"].groupby("method")["datasets"].max()
    assert counts.to_dict() == {"QRC": 0, "QRTC": 4}


def test_a_diverged_run_is_left_out_even_if_it_has_values() -> None:
    methods = mock(["Yacht", "CPU"])
    rows = here(methods, dataset="CPU", method="QRC", split=3)
    methods.loc[rows, ["status", "reason", "test_nll"]] = ["diverged", "test NLL is 5000", 5000.0]
    statistics = compared(methods, ["Yacht", "CPU"])
    row = only(statistics.tables["per_dataset"], dataset="CPU", method="QRC")
    assert (row["splits"], row["common_splits"]) == (4, 4)
    assert row["mean"] < 1000
    assert statistics.left_out == (LeftOut("QRC on CPU", 1, "diverged: test NLL is 5000"),)


def test_a_method_without_results_does_not_empty_the_blocks() -> None:
    names = ["Yacht", "CPU"]
    statistics = compare(
        mock(names), [QRC, QRTC, Compared("regularised", "QREGC", "QREGC")], BASE, NLL, names, "pooled", {}
    )
    assert set(statistics.tables["per_dataset"]["method"]) == {"BASE", "QRC", "QRTC"}
    assert set(statistics.tables["letter_values"]["method"]) == {"QRC", "QRTC"}
    assert statistics.tables["friedman"][["methods", "datasets"]].to_numpy().tolist() == [[3, 2]]
    assert statistics.left_out == (LeftOut("QREGC", 10, NOT_RUN_YET),)


def test_a_method_that_always_diverged_is_dropped_and_counted_once() -> None:
    names = ["Yacht", "CPU"]
    methods = mock(names)
    methods.loc[here(methods, method="QRC"), "status"] = "diverged"
    statistics = compared(methods, names)
    assert statistics.tables["ranks"]["method"].tolist() == ["BASE", "QRTC"]
    assert statistics.left_out == (LeftOut("QRC", 10, "no usable run"),)


def test_missing_runs_are_counted() -> None:
    names = ["Yacht", "CPU"]
    methods = mock(names)
    methods = methods[~(here(methods, dataset="CPU", method="QRC") & (methods["split"] > 2))]
    statistics = compared(methods, names)
    assert statistics.left_out == (LeftOut("QRC on CPU", 2, NOT_RUN_YET),)
    assert set(statistics.tables["ranks"]["datasets"]) == {2}


def test_datasets_that_cannot_be_had_are_left_out_with_their_reason() -> None:
    names = ["Yacht", "CPU", "MPG", "Energy", "Naval"]
    methods = mock(names[:4])
    for dataset, status, reason in (("CPU", "unavailable", "no source has it"), ("MPG", "invalid", "")):
        rows = here(methods, dataset=dataset)
        methods.loc[rows, ["status", "reason"]] = [status, reason]
        methods.loc[rows, [name for name in METHODS if name.startswith("test_")]] = np.nan
    statistics = compared(methods, names, ALL_METRICS)
    assert statistics.datasets == ("Yacht", "Energy")
    assert statistics.asked == 5
    assert statistics.left_out == (
        LeftOut("CPU", 1, "unavailable: no source has it"),
        LeftOut("MPG", 1, "invalid"),
        LeftOut("Naval", 1, NOT_RUN_YET),
    )
    assert set(statistics.tables["per_dataset"]["dataset"]) == {"Yacht", "Energy"}


def test_values_that_are_infinite_are_left_out_of_their_metric_only() -> None:
    names = ["Yacht", "CPU", "MPG"]
    methods = mock(names)
    methods.loc[here(methods, dataset="CPU", method="QRTC"), "test_crps_wis"] = np.inf
    methods.loc[here(methods, dataset="MPG", method="QRTC", split=1), "test_crps_wis"] = np.inf
    statistics = compared(methods, names, ALL_METRICS)
    datasets = statistics.tables["friedman"].set_index("metric")["datasets"].to_dict()
    assert datasets == {"NLL": 3, "PCE": 3, "CRPS": 2, "SD": 3}
    table = statistics.tables["per_dataset"]
    assert np.isfinite(only(table, metric="CRPS", dataset="MPG", method="QRTC")["cohens_d"])
    assert statistics.left_out == (
        LeftOut("QRTC on CPU, CRPS", 5, "value is not finite"),
        LeftOut("QRTC on MPG, CRPS", 1, "value is not finite"),
        LeftOut("rank tests of CRPS", 1, "no split in which all methods have a usable run: CPU"),
    )


def test_a_metric_without_values_of_a_method_compares_the_others() -> None:
    names = ["Yacht", "CPU"]
    methods = mock(names)
    methods.loc[here(methods, method="QRC"), "test_crps_wis"] = np.inf
    tables = compared(methods, names, ALL_METRICS).tables
    shown = tables["ranks"].groupby("metric")["method"].agg(list).to_dict()
    assert shown["CRPS"] == ["BASE", "QRTC"]
    assert shown["NLL"] == ["BASE", "QRC", "QRTC"]
    assert not here(tables["per_dataset"], metric="CRPS", method="QRC").any()


def test_without_the_baseline_the_others_are_ranked() -> None:
    names = ["Yacht", "CPU"]
    methods = mock(names)
    statistics = compared(methods[methods["method"] != "BASE"], names)
    assert statistics.tables["per_dataset"]["difference"].isna().all()
    assert statistics.tables["letter_values"]["datasets"].eq(0).all()
    assert statistics.tables["pairs"][["left", "right"]].to_numpy().tolist() == [["QRC", "QRTC"]]
    assert statistics.notes == ["NLL: no usable run of BASE, so there are no differences to it"]


def test_one_dataset_has_effects_but_no_rank_tests() -> None:
    statistics = compared(mock(["Yacht"]), ["Yacht"], ALL_METRICS)
    for name in RANK_TABLES:
        assert list(statistics.tables[name]) == list(COMPARISON[name])
        assert statistics.tables[name].empty
    assert statistics.tables["letter_values"]["value"].notna().all()
    (note,) = statistics.notes
    assert note.startswith("NLL, PCE, CRPS, SD: rank tests need two methods and two datasets")
    assert note.endswith("here 3 and 1")


def test_one_split_has_rank_tests_but_no_cohens_d() -> None:
    names = paper_names(8)
    statistics = compared(mock(names, splits=1), names)
    assert statistics.splits == 1
    assert statistics.tables["per_dataset"]["cohens_d"].isna().all()
    assert statistics.tables["per_dataset"]["standard_error"].isna().all()
    assert statistics.tables["letter_values"]["value"].isna().all()
    assert statistics.tables["per_dataset"].loc[lambda table: table["method"] != "BASE", "difference"].notna().all()
    assert statistics.tables["ranks"].set_index("method")["mean_rank"].idxmin() == "QRTC"
    assert statistics.notes == [
        "NLL: Cohen's d is not defined on any dataset (it needs two splits, and runs that are not all equal)"
    ]


def test_equal_values_differ_nowhere() -> None:
    names = paper_names(5)
    methods = mock(names).assign(test_nll=0.1)
    tables = compared(methods, names).tables
    others = tables["per_dataset"][tables["per_dataset"]["method"] != "BASE"]
    assert others[["difference", "cohens_d", "cohens_d_released"]].eq(0).all(axis=None)
    assert tables["letter_values"]["value"].eq(0).all()
    assert tables["ranks"]["mean_rank"].eq(2).all()
    assert tables["friedman"][["statistic", "p_value"]].to_numpy().tolist() == [[0, 1]]
    assert tables["pairs"][["p_value", "p_holm"]].eq(1).all(axis=None)
    assert tables["groups"]["group"].tolist() == [0, 0, 0]


def test_an_outlier_of_a_million_changes_ranks_of_its_dataset_only() -> None:
    names = paper_names(20)
    methods = mock(names)
    before = compared(methods, names, {"CRPS": "crps_wis"}).tables
    methods.loc[here(methods, dataset="Yacht", method="QRTC", split=0), "test_crps_wis"] *= 1e6
    after = compared(methods, names, {"CRPS": "crps_wis"}).tables
    moved = after["ranks"]["mean_rank"] - before["ranks"]["mean_rank"]
    assert (moved.abs() <= 2 / 20 + 1e-12).all()
    assert np.isfinite(after["per_dataset"].loc[after["per_dataset"]["method"] == "QRTC", "cohens_d"]).all()
    unchanged = after["per_dataset"]["dataset"] != "Yacht"
    pd.testing.assert_frame_equal(after["per_dataset"][unchanged], before["per_dataset"][unchanged])


@pytest.mark.parametrize("methods", [mock(["Yacht"]).iloc[:0], pd.DataFrame(columns=list(METHODS))])
def test_no_results_give_empty_tables_that_say_so(methods: pd.DataFrame) -> None:
    statistics = compared(methods, ["Yacht", "CPU"], ALL_METRICS)
    for name, table in statistics.tables.items():
        assert list(table) == list(COMPARISON[name])
        assert table.empty
    assert (statistics.datasets, statistics.asked, statistics.splits) == ((), 2, 0)
    assert [entry.what for entry in statistics.left_out] == ["Yacht", "CPU"]
    assert statistics.notes == [NOT_RUN_YET]


def test_two_rows_for_one_run_are_refused() -> None:
    methods = mock(["Yacht"])
    with pytest.raises(ValueError, match="two rows for one method, dataset and split"):
        compared(pd.concat([methods, methods]), ["Yacht"])


def test_two_methods_with_one_label_are_refused() -> None:
    with pytest.raises(ValueError, match="same label"):
        compare(mock(["Yacht"]), [Compared("main", "QRC", "BASE")], BASE, NLL, ["Yacht"], "pooled", {})


@settings(deadline=None, max_examples=15)
@given(data=st.data(), seed=st.integers(0, 1000))
def test_order_of_rows_and_datasets_changes_nothing(data: st.DataObject, seed: int) -> None:
    names = paper_names(9)
    methods = mock(names, splits=3, seed=seed)
    generator = np.random.default_rng(seed)
    holes = generator.random(len(methods)) < 0.1
    methods.loc[holes, "test_nll"] = np.inf
    methods["test_nll"] = methods["test_nll"].round(1)  # ties
    shuffled = methods.iloc[generator.permutation(len(methods))]
    one = compared(methods, names)

    again = compared(shuffled, names)
    assert again.left_out == one.left_out
    for name, table in one.tables.items():
        pd.testing.assert_frame_equal(again.tables[name], table, check_exact=True)

    reordered = data.draw(st.permutations(names))
    other = compared(shuffled, reordered)
    # The reason of the rank tests names datasets in the order of the study.
    assert {(entry.what, entry.count) for entry in other.left_out} == {
        (entry.what, entry.count) for entry in one.left_out
    }
    by_dataset = [
        statistics.tables["per_dataset"].sort_values(["method", "dataset"], ignore_index=True)
        for statistics in (one, other)
    ]
    pd.testing.assert_frame_equal(*by_dataset, check_exact=True)
    for name in ("letter_values", *RANK_TABLES):
        pd.testing.assert_frame_equal(other.tables[name], one.tables[name], rtol=1e-12)


def test_mock_study_has_every_documented_column_and_no_missing_metric() -> None:
    methods = mock_main_study(paper_names(2), {("main", "QRTC"): -40})
    assert list(methods) == list(METHODS)
    metrics = [name for name in METHODS if name.startswith(("val_", "test_"))]
    assert np.isfinite(methods[metrics]).all(axis=None)
    positive = [name for name in metrics if not name.endswith("_nll")]
    assert (methods[positive] > 0).all(axis=None)


def test_mock_study_has_the_experiments_and_methods_of_the_default_study() -> None:
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    experiments = plan_study(load_config({}, schema, PROJECT)).experiments
    assert {name: {method.name for method in experiment.methods} for name, experiment in experiments.items()} == {
        name: set(methods) for name, methods in (PAPER_METHODS | EXTENSIONS).items()
    }
