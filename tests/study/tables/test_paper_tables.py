"""Tables 1 and 2: the methods as the experiments define them, and training times beside the published ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt.text.formats import to_latex, to_markdown
from qrt_study.plan.experiments import Experiment, plan_study
from qrt_study.published import table2
from qrt_study.statistics.times import OURS, QUANTITIES, RELEASED, TIMES, time_ratios, times_statistics
from qrt_study.tables.method_table import CAPTION, for_people, method_table
from qrt_study.tables.times_table import MEDIAN, RATIO, caption, times_table
from support.configured import study_with


def experiments(**config: Any) -> dict[str, Experiment]:
    return plan_study(study_with(**config)).experiments


def runs(dataset: str, method: str, seconds: list[float], epochs: list[int], selected: list[int]) -> pd.DataFrame:
    """Rows of the result table `times`."""
    return pd.DataFrame(
        {
            "dataset": dataset,
            "split": range(len(seconds)),
            "method": method,
            "status": "ok",
            "way": "ours",
            "train_seconds": seconds,
            "epochs": epochs,
            "selected_epoch": selected,
        }
    )


def measured() -> pd.DataFrame:
    """A dataset of the paper with all methods, one run of which failed, and one that is not in the paper."""
    failed = runs("Yacht", "QRTC", [1000.0], [5000], [5000]).assign(status="diverged")
    parts = [
        runs("Yacht", "BASE", [2.0, 4.0], [40, 80], [10, 50]),
        runs("Yacht", "QREGC", [3.0, 5.0], [50, 110], [20, 80]),
        runs("Yacht", "QRTC", [4.0, 14.0], [40, 80], [10, 50]),
        failed,
        runs("own_data", "BASE", [1.0], [10], [4]),
        runs("own_data", "QRTC", [3.0], [10], [4]),
    ]
    return pd.concat(parts, ignore_index=True)


def cell(statistics: pd.DataFrame, dataset: str, method: str) -> pd.Series:
    return statistics.query("dataset == @dataset and method == @method").iloc[0]


@pytest.mark.parametrize("protocol", ["paper", "released"])
def test_methods_are_those_of_the_published_table(protocol: str) -> None:
    table = method_table(experiments(protocols=[protocol]))
    assert table["method"].tolist() == ["BASE", "QRC", "QREG", "QREGC", "QRT", "QRTC"]
    assert table["alpha"].tolist() == ["0", "0", "tuned", "tuned", "1", "1"]
    assert table["C"].tolist() == [False, True] * 3
    assert set(table["status"]) == {"agrees"}
    assert table.set_index("method").loc["BASE", "trained_on"] == "train+calibration"


def test_grids_of_the_protocol_are_in_the_table() -> None:
    table = method_table(experiments()).set_index("method")
    assert table.loc["QREGC", "alphas"] == "0, -0.01, -0.05, -0.2, -1, -5"
    assert table.loc["QRTC", "bandwidths"] == "0.01, 0.05, 0.1, 0.2"
    assert table.loc["QRC", "bandwidths"] == ""


def test_method_that_the_study_leaves_out_is_said_to_be_missing() -> None:
    table = method_table(experiments(methods=["BASE", "QRTC"])).set_index("method")
    assert table.loc["QREGC", "status"] == "not in this study"
    assert table.loc["QRTC", "status"] == "agrees"
    shown = for_people(table.reset_index()).set_index("Method")
    assert shown.loc["QREGC", "alpha"] == "– (tuned)"


def test_method_that_differs_from_the_paper_is_found() -> None:
    ours = experiments()
    swapped = tuple(replace(method, posthoc="none") for method in ours["main"].methods)
    table = method_table({"main": replace(ours["main"], methods=swapped)}).set_index("method")
    assert table.loc["QRTC", "status"] == "differs"
    assert table.loc["QRT", "status"] == "agrees"


def test_published_time_per_epoch_is_the_mean_time_by_the_mean_epoch() -> None:
    published = table2()
    for method in ("BASE", "QREGC", "QRTC"):
        time, epochs, per_epoch = (published[f"{column}_{method}"] for column in QUANTITIES.values())
        # All three are rounded to two decimals.
        rounding = 0.005 + 0.005 / epochs + 0.005 * time / epochs**2
        assert (abs(time / epochs - per_epoch) <= rounding).all()


@pytest.mark.parametrize(("reading", "per_epoch"), [("trained", 9 / 60), ("selected", 9 / 30)])
def test_times_are_means_of_usable_runs_beside_the_published_ones(reading: Any, per_epoch: float) -> None:
    statistics = times_statistics(measured(), table2(), reading)
    assert list(statistics.columns) == list(TIMES)
    row = cell(statistics, "Yacht", "QRTC")
    assert row[["runs", "train_seconds", "epochs"]].tolist() == [2, 9.0, 30.0]
    assert row["seconds_per_epoch"] == pytest.approx(per_epoch)
    published = ["published_train_seconds", "published_epochs", "published_seconds_per_epoch"]
    assert row[published].tolist() == [11.13, 228.4, 0.05]
    assert cell(statistics, "own_data", "QRTC")[published].isna().all()


def test_ratio_is_that_of_the_times_per_epoch() -> None:
    ratios = time_ratios(times_statistics(measured(), table2(), "trained"), OURS).set_index("dataset")
    assert ratios.loc["Yacht", "ratio"] == pytest.approx((9 / 60) / (3 / 60))
    assert ratios.loc["Yacht", "published_ratio"] == pytest.approx((11.13 / 228.4) / (6.73 / 189.4))
    assert ratios.loc["own_data", "ratio"] == pytest.approx(3)
    assert np.isnan(ratios.loc["own_data", "published_ratio"])


def test_missing_runs_and_epochs_are_missing_values() -> None:
    never_selected = runs("Yacht", "BASE", [2.0], [30], [0])
    unavailable = pd.DataFrame([{"dataset": "fifa", "split": 0, "method": "BASE", "status": "unavailable"}])
    times = pd.concat([never_selected, unavailable], ignore_index=True)
    statistics = times_statistics(times, table2(), "selected")
    assert np.isnan(cell(statistics, "Yacht", "BASE")["seconds_per_epoch"])
    assert cell(statistics, "fifa", "QRTC")["runs"] == 0
    assert time_ratios(statistics, OURS)["ratio"].isna().all()
    assert times_table(statistics).iloc[1]["Time BASE"] == "– (392.70)"


def test_table_shows_ours_the_published_value_and_medians_over_both() -> None:
    times = measured()
    second = times[times["dataset"] == "Yacht"].assign(dataset="MPG")
    second["train_seconds"] *= 3
    table = times_table(times_statistics(pd.concat([times, second]), table2(), "trained")).set_index("Dataset")
    assert list(table.index) == ["Yacht", "own_data", "MPG", MEDIAN]
    assert table.loc["Yacht", "Time QRTC"] == "9.00 (11.13)"
    assert table.loc["Yacht", "Epochs QRTC"] == "30.0 (228.4)"
    assert table.loc["own_data", "Time QREGC"] == "–"
    assert table.loc["own_data", RATIO[OURS]] == "3.00"
    # own_data has no published value: the medians are over Yacht and MPG.
    assert table.loc[MEDIAN, "Time QRTC"] == f"{(9 + 27) / 2:.2f} ({(11.13 + 5.27) / 2:.2f})"
    yacht, mpg = (11.13 / 228.4) / (6.73 / 189.4), (5.27 / 73) / (3.54 / 64.2)
    assert table.loc[MEDIAN, RATIO[OURS]] == f"3.00 ({(yacht + mpg) / 2:.2f})"


def test_the_released_way_of_qrtc_has_a_ratio_of_its_own() -> None:
    as_released = measured()[lambda times: times["method"] != "QREGC"].assign(way=RELEASED)
    as_released.loc[as_released["method"] == "QRTC", "train_seconds"] *= 2
    statistics = times_statistics(pd.concat([measured(), as_released]), table2(), "trained")
    ours, released = (time_ratios(statistics, way).set_index("dataset")["ratio"] for way in (OURS, RELEASED))
    assert released.to_dict() == pytest.approx((2 * ours).to_dict())
    assert times_table(statistics).set_index("Dataset").loc["own_data", RATIO[RELEASED]] == "6.00"


def test_table_without_published_datasets_has_our_medians() -> None:
    times = measured()
    table = times_table(times_statistics(times[times["dataset"] == "own_data"], table2(), "trained"))
    assert table.set_index("Dataset").loc[MEDIAN, "Time QRTC"] == "3.00"


def test_table_of_no_times_is_empty() -> None:
    assert times_table(times_statistics(measured().iloc[:0], table2(), "trained")).empty


def test_published_ratios_are_those_of_the_reference_values() -> None:
    """The numbers that the notes on the published values state: median 1.33, at least 1.8 on 7 of 57, above 1 on 52."""
    every = pd.concat([runs(name, "BASE", [1.0], [1], [1]) for name in table2()["dataset"]], ignore_index=True)
    ratios = time_ratios(times_statistics(every, table2(), "selected"), OURS)["published_ratio"]
    assert len(ratios) == 57
    assert ratios.median() == pytest.approx(1.33, abs=0.005)
    assert ((ratios >= 1.8).sum(), (ratios > 1).sum()) == (7, 52)


@pytest.mark.parametrize("reading", ["trained", "selected"])
def test_tables_can_be_written_for_people(reading: Any) -> None:
    times = times_table(times_statistics(measured(), table2(), reading))
    methods = for_people(method_table(experiments()))
    for table, words in ((times, caption(reading)), (methods, CAPTION)):
        latex = to_latex(table, words, "tab:x")
        assert latex.count(r" \\") == len(table) + 2
        is_wide = table is times
        places = [latex.find(part) for part in (r"\begin{landscape}", r"\begin{longtable}", r"\end{landscape}")]
        assert (sorted(places) == places and places[0] > 0) == is_wide
        assert ("pdflscape" in latex) == is_wide
        assert to_markdown(table, words).count("\n| ") == len(table) + 2
    assert "cannot be compared" in caption(reading)
