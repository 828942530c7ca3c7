from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from qrt_study.statistics.columns import CURVES
from qrt_study.statistics.curves import curve_statistics
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut
from support.per_epoch_tables import METRICS, PARTS, PLAIN, TRAINED, curve_rows, method_row, study


def statistics(
    curves: pd.DataFrame, methods: pd.DataFrame, datasets: Sequence[str], parts: Sequence[str] = PARTS
) -> FigureStatistics:
    return curve_statistics(curves, methods, datasets, parts=parts, metrics=METRICS, pce_column="pce_levels")


def rows_of(table: pd.DataFrame, **values: str) -> pd.DataFrame:
    for column, value in values.items():
        table = table[table[column] == value]
    return table


@pytest.fixture
def by_hand() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three runs of BASE that end after 3, 3 and 2 validations."""
    values = {0: [3.0, 1.0, 2.0], 1: [5.0, 2.0, 4.0], 2: [7.0, 6.0]}
    curves = [curve_rows("a", split, PLAIN, curve, selected_epoch=4) for split, curve in values.items()]
    rows = [method_row("BASE-TRAIN", "a", split, val_nll=0.0) for split in values]
    return pd.concat(curves, ignore_index=True), pd.DataFrame(rows)


def test_means_and_standard_errors_are_those_of_the_runs_alive(by_hand: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    table = statistics(*by_hand, ["a"]).tables["curves"]
    curve = rows_of(table, method="BASE", part="validation", metric="nll_recalibrated")
    assert curve["epoch"].tolist() == [2, 4, 6]
    assert curve["runs"].tolist() == [3, 3, 2]
    assert curve["mean"].tolist() == pytest.approx([5.0, 3.0, 3.0])
    # population variances: (4 + 0 + 4) / 3, (4 + 1 + 9) / 3 and (1 + 1) / 2
    assert curve["standard_error"].tolist() == pytest.approx([(8 / 9) ** 0.5, (14 / 9) ** 0.5, 0.5**0.5])
    assert curve["all_alive"].tolist() == [True, True, False]


def test_bar_is_the_mean_over_each_runs_own_selected_epoch() -> None:
    curves = pd.concat(
        [
            curve_rows("a", 0, PLAIN, [3.0, 1.0, 2.0], selected_epoch=4),
            curve_rows("a", 1, PLAIN, [9.0, 9.0, 9.0, 9.0, 5.0], selected_epoch=10),
        ]
    )
    rows = [method_row("BASE-TRAIN", "a", split, selected_epoch=epoch) for split, epoch in ((0, 4), (1, 10))]
    selected = statistics(curves, pd.DataFrame(rows), ["a"]).tables["selected"]
    bar = rows_of(selected, method="BASE", part="validation", metric="nll_recalibrated").iloc[0]
    assert (bar["mark"], bar["selected_epoch"], bar["value"], bar["runs"]) == ("bar", 7.0, 3.0, 2)
    assert bar["standard_error"] == pytest.approx(2 / 2**0.5)


@pytest.mark.parametrize("part", PARTS)
def test_star_of_a_map_that_does_nothing_is_at_the_bar(part: str) -> None:
    curves, methods = study(["a", "b"], log_scale=3.7)
    selected = statistics(curves, methods, ["a", "b"], [part]).tables["selected"]
    for star, bar in (("QRC", "BASE"), ("QRTC", "QRT")):
        for metric in ("nll_recalibrated", "pce"):
            stars, bars = (rows_of(selected, method=name, metric=metric, part=part) for name in (star, bar))
            columns = ["dataset", "selected_epoch", "value", "standard_error", "runs"]
            assert len(stars) == 2
            assert set(stars["mark"]) == {"star"}
            # QRTC stands for F' of QRT here, whose offset comes from BASE: it must be the same for both.
            pd.testing.assert_frame_equal(stars[columns].reset_index(drop=True), bars[columns].reset_index(drop=True))


def test_stars_are_of_the_metrics_that_the_map_changes() -> None:
    selected = statistics(*study(["a"]), ["a"]).tables["selected"]
    assert set(rows_of(selected, mark="star")["metric"]) == {"nll_recalibrated", "pce"}
    assert set(rows_of(selected, mark="bar")["metric"]) == set(METRICS)


def test_star_moves_by_what_the_map_gains() -> None:
    curves, methods = study(["a"])
    gained = methods.assign(val_nll=methods["val_nll"] - 0.25 * (methods["method"] == "QRTC"))
    before, after = (
        rows_of(statistics(curves, table, ["a"]).tables["selected"], part="validation", metric="nll_recalibrated")
        for table in (methods, gained)
    )
    change = (after["value"] - before["value"]).to_dict()
    moved = {method: change[index] for index, method in before["method"].items()}
    assert moved == pytest.approx({"BASE": 0, "QRT": 0, "QRC": 0, "QRTC": -0.25}, abs=1e-12)


def test_star_of_pce_comes_from_the_column_asked_for() -> None:
    curves, methods = study(["a"])
    methods["val_pce_sorted"] = 0.125
    table = curve_statistics(curves, methods, ["a"], parts=["validation"], metrics=["pce"], pce_column="pce_sorted")
    stars = rows_of(table.tables["selected"], mark="star")
    assert stars["value"].tolist() == [0.125, 0.125]


def test_curve_of_qrt_is_the_network_of_qrtc_and_a_note_tells_where_qrt_alone_has_another() -> None:
    curves, methods = study(["a", "b"])
    other = curves[curves["variant"] == TRAINED].assign(variant="other", nll_recalibrated=99.0)
    alone = methods[methods["method"] == "QRTC"].assign(method="QRT")
    alone.loc[alone["dataset"] == "b", "variant"] = "other"
    result = statistics(pd.concat([curves, other]), pd.concat([methods, alone]), ["a", "b"])
    assert rows_of(result.tables["curves"], method="QRT")["mean"].max() < 99
    assert len(result.notes) == 1
    assert "1 of 2 datasets" in result.notes[0]


def test_without_qrtc_the_curve_is_of_the_network_tuned_alone() -> None:
    curves, methods = study(["a"])
    methods = methods.replace({"method": {"QRTC": "QRT"}})
    result = statistics(curves, methods, ["a"])
    assert len(rows_of(result.tables["curves"], method="QRT"))
    assert "QRTC" not in set(result.tables["selected"]["method"])


def test_networks_of_another_kernel_width_do_not_enter() -> None:
    curves, methods = study(["a"])
    other = curves[curves["variant"] == TRAINED].assign(kernel_width="scale", nll_recalibrated=99.0)
    expected = statistics(curves, methods, ["a"]).tables["curves"]
    pd.testing.assert_frame_equal(statistics(pd.concat([other, curves]), methods, ["a"]).tables["curves"], expected)


def test_other_experiments_and_datasets_in_the_tables_do_not_enter() -> None:
    curves, methods = study(["a", "b"])
    more = methods.assign(experiment="main_mlp_1", val_nll=99.0)
    alone = statistics(*study(["a"]), ["a"])
    result = statistics(curves, pd.concat([methods, more]), ["a"])
    for name in ("curves", "selected"):
        pd.testing.assert_frame_equal(result.tables[name], alone.tables[name])


def test_runs_that_cannot_enter_are_left_out_and_counted() -> None:
    curves, methods = study(["a"], splits=5)
    qrt, base = methods["method"] == "QRTC", methods["method"] == "BASE-TRAIN"
    methods.loc[qrt & (methods["split"] == 0), ["status", "reason"]] = ["diverged", "test NLL is 1e+06"]
    methods.loc[base & (methods["split"] == 1), "selected_epoch"] = 0
    methods.loc[base & (methods["split"] == 2), "selected_epoch"] = np.nan
    methods = methods[~(qrt & (methods["split"] == 3))]
    curves = curves[~((curves["variant"] == TRAINED) & (curves["split"] == 4))]
    result = statistics(curves, methods, ["a"])
    runs = result.tables["curves"].groupby("method")["runs"].max()
    assert runs.to_dict() == {"BASE": 3, "QRT": 2}
    assert set(result.left_out) >= {
        LeftOut("QRT on a", 1, "diverged"),
        LeftOut("QRTC on a", 1, "diverged"),
        LeftOut("BASE on a", 2, "no epoch was selected"),
        LeftOut("QRT on a", 1, NOT_RUN_YET),
        LeftOut("QRT on a", 1, "no curve"),
    }
    assert result.splits == 5
    # The scale of y is unknown where BASE selected no epoch: the stars of these splits have no NLL.
    assert LeftOut("QRC on a, nll_recalibrated (train)", 2, "no finite value at the selected epoch") in result.left_out


def test_datasets_without_data_or_results_are_one_line_each() -> None:
    curves, methods = study(["a", "b"])
    methods.loc[methods["dataset"] == "b", ["status", "reason"]] = ["unavailable", "server is down"]
    result = statistics(curves[curves["dataset"] == "a"], methods, ["b", "a", "c"])
    assert list(result.datasets) == ["a"]
    assert result.asked == 3
    assert list(result.left_out) == [LeftOut("b", 1, "unavailable: server is down"), LeftOut("c", 1, NOT_RUN_YET)]


def test_values_that_are_not_finite_do_not_enter_their_epoch(by_hand: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    curves, methods = by_hand
    at = (curves["epoch"] == 2) & (curves["part"] == "validation")
    curves.loc[at & (curves["split"] == 0), "nll_base"] = np.inf
    curves.loc[at & (curves["split"] == 1), "nll_base"] = np.nan
    result = statistics(curves, methods, ["a"])
    curve = rows_of(result.tables["curves"], metric="nll_base", part="validation")
    assert curve["mean"].tolist() == pytest.approx([7.0, 3.0, 3.0])
    assert curve["runs"].tolist() == [1, 3, 2]
    assert curve["all_alive"].tolist() == [False, True, False]
    assert LeftOut("BASE on a, nll_base (validation)", 2, "not finite at some epochs") in result.left_out
    assert np.isfinite(result.tables["curves"]["standard_error"]).all()


def test_one_split_has_no_spread_and_equal_values_neither() -> None:
    one = statistics(*study(["a"], splits=1), ["a"])
    assert one.splits == 1
    assert (one.tables["curves"]["standard_error"] == 0).all()
    assert one.tables["curves"]["all_alive"].all()
    curves, methods = study(["a"])
    equal = statistics(curves.assign(**dict.fromkeys(METRICS, 0.1)), methods, ["a"]).tables["curves"]
    assert np.allclose(equal["mean"], 0.1, rtol=1e-15)
    assert np.allclose(equal["standard_error"], 0, atol=1e-15)


def test_empty_tables_give_empty_statistics_with_the_documented_columns() -> None:
    curves, methods = study(["a"])
    for empty in (methods.head(0), pd.DataFrame(columns=methods.columns)):
        result = statistics(curves.head(0), empty, ["a"])
        assert {name: list(table.columns) for name, table in result.tables.items()} == {
            name: list(columns) for name, columns in CURVES.items()
        }
        assert (result.splits, list(result.datasets)) == (0, [])
        assert list(result.left_out) == [LeftOut("a", 1, NOT_RUN_YET)]


def test_whole_study_agrees_with_a_loop_over_runs() -> None:
    """57 datasets with 5 splits and up to 300 epochs, some means by hand."""
    names = [f"data {number}" for number in range(57)]
    curves, methods = study(names, splits=5, epochs=150)
    result = statistics(curves, methods, names)
    table = result.tables["curves"]
    assert table["dataset"].drop_duplicates().tolist() == names
    assert table.groupby(["dataset", "method", "part", "metric"], sort=False)["epoch"].is_monotonic_increasing.all()
    for name, variant, method in (("data 3", PLAIN, "BASE"), ("data 41", TRAINED, "QRT")):
        own = curves[(curves["dataset"] == name) & (curves["variant"] == variant) & (curves["part"] == "train")]
        wanted = rows_of(table, dataset=name, method=method, part="train", metric="pce")
        for epoch in (2, 100, wanted["epoch"].max()):
            values = own.loc[own["epoch"] == epoch, "pce"].to_numpy()
            row = wanted[wanted["epoch"] == epoch].iloc[0]
            assert row["mean"] == pytest.approx(np.mean(values))
            assert row["standard_error"] == pytest.approx(np.std(values) / np.sqrt(len(values)), abs=1e-15)
            assert row["runs"] == len(values)
