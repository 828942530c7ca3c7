"""Ours against the published values: by hand, by scipy, and where there is little or nothing to compare."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy import stats

from qrt_study import published
from qrt_study.figures import style
from qrt_study.figures.agreement import draw_agreement
from qrt_study.statistics.agreement import (
    FIGURE2_POINTS,
    Agreement,
    agreement_statistics,
    figure1_agreement,
    ordered_p_values,
    outliers,
    time_agreement,
)
from qrt_study.statistics.seeds import seed_differences

HOSTILE = "<img src=x onerror=alert(1)>"


def differences(rows: list[tuple[str, str, float, float]], splits: int = 5) -> pd.DataFrame:
    """A table per_dataset of Figure 2."""
    columns = ["dataset", "method", "difference", "difference_standard_error"]
    return pd.DataFrame(rows, columns=columns).assign(metric="NLL", common_splits=splits)


def theirs(rows: list[tuple[str, str, float, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["dataset", "method", "difference", "standard_error"])


def two_methods() -> Agreement:
    """Four datasets, known by hand: joint standard errors of 0.05, z-values of 0, 2, -4 and 20 for QRTC."""
    ours = [("a", -0.1, 0.03), ("b", 0.2, 0.03), ("c", -0.3, 0.03), ("d", 0.9, 0.03)]
    published_values = [("a", -0.1, 0.04), ("b", 0.1, 0.04), ("c", -0.1, 0.04), ("d", -0.1, 0.04)]
    return agreement_statistics(
        differences([(name, method, value, error) for name, value, error in ours for method in ("QRTC", "QRC")]),
        theirs([(name, "QRTC", value, error) for name, value, error in published_values] + [("a", "QRC", 5.0, 1.0)]),
    )


def as_published(**changes: float) -> pd.DataFrame:
    """The published values as if they were ours."""
    paper = published.figure2().rename(columns={"standard_error": "difference_standard_error"})
    return paper.assign(metric="NLL", common_splits=5, **changes)


def test_z_is_the_difference_in_joint_standard_errors() -> None:
    points = two_methods().points
    of_qrtc = points[points["method"] == "QRTC"].set_index("dataset")
    assert list(points.columns) == list(FIGURE2_POINTS)
    assert of_qrtc["z"].to_numpy() == pytest.approx([0, 2, -4, 20])
    assert of_qrtc["same_sign"].tolist() == [True, True, True, False]


@pytest.mark.parametrize("splits", [2, 5, 20])
def test_p_values_and_intervals_are_those_of_welch(splits: int) -> None:
    rows = [("a", "QRTC", -0.1, 0.03), ("b", "QRTC", 0.2, 0.11), ("c", "QRTC", -0.3, 1e-4)]
    paper = [("a", "QRTC", -0.14, 0.04), ("b", "QRTC", 0.1, 0.01), ("c", "QRTC", 0.1, 0.2)]
    points = agreement_statistics(differences(rows, splits), theirs(paper)).points
    for (_, _, mean, error), (_, _, other, other_error), point in zip(
        rows, paper, points.to_dict("records"), strict=True
    ):
        oracle = stats.ttest_ind_from_stats(
            mean, error * math.sqrt(splits), splits, other, other_error * math.sqrt(5), 5, equal_var=False
        )
        assert point["p_value"] == pytest.approx(oracle.pvalue)
        # The interval holds just the published values that the test would not reject.
        for end in (point["interval_low"], point["interval_high"]):
            at_the_end = stats.ttest_ind_from_stats(
                mean, error * math.sqrt(splits), splits, end, other_error * math.sqrt(5), 5, equal_var=False
            )
            assert at_the_end.pvalue == pytest.approx(0.05)
        assert point["inside"] == (point["interval_low"] <= other <= point["interval_high"])


def test_the_interval_holds_95_percent_of_replications_and_two_standard_errors_do_not() -> None:
    runs = np.random.default_rng(0).standard_normal((2, 20_000, 5))
    mean, error = runs.mean(axis=-1), runs.std(axis=-1, ddof=1) / math.sqrt(5)
    names = [str(number) for number in range(20_000)]
    points = agreement_statistics(
        differences([(name, "QRTC", *row) for name, *row in zip(names, mean[0], error[0], strict=True)]),
        theirs([(name, "QRTC", *row) for name, *row in zip(names, mean[1], error[1], strict=True)]),
    ).points
    assert points["inside"].mean() == pytest.approx(0.955, abs=0.007)
    assert (points["z"].abs() <= 2).mean() == pytest.approx(0.92, abs=0.007)
    values, expected = ordered_p_values(points)
    assert np.abs(values - expected).max() < 0.02


def test_holm_corrects_over_the_datasets_of_a_method() -> None:
    points = two_methods().points
    of_qrtc = points[points["method"] == "QRTC"].sort_values("p_value")
    by_hand = np.maximum.accumulate(of_qrtc["p_value"].to_numpy() * [4, 3, 2, 1]).clip(max=1)
    assert of_qrtc["p_holm"].to_numpy() == pytest.approx(by_hand)
    alone = points[points["method"] == "QRC"].iloc[0]
    assert alone["p_holm"] == pytest.approx(alone["p_value"])


def test_summary_counts_what_is_inside_and_what_to_expect() -> None:
    row = two_methods().summary.set_index("method").loc["QRTC"]
    assert (row["datasets"], row["same_sign"], row["tested"]) == (4, 3, 4)
    assert (row["inside"], row["outside"], row["outside_after_holm"]) == (2, 2, 2)  # z of 0 and 2; of -4 and 20
    assert row["expected_outside"] == pytest.approx(0.2)
    assert row["holds_zero"] == 1  # -0.1 +- 2.4 * 0.05; the others are farther from 0
    assert (row["same_sign_share"], row["inside_share"]) == pytest.approx((0.75, 0.5))
    assert row["median_absolute_difference"] == pytest.approx(0.15)
    oracle = stats.spearmanr([-0.1, 0.2, -0.3, 0.9], [-0.1, 0.1, -0.1, -0.1])
    assert (row["spearman"], row["spearman_p"]) == pytest.approx((oracle.statistic, oracle.pvalue))


def test_only_common_datasets_are_compared() -> None:
    points = two_methods().points
    assert points[points["method"] == "QRC"]["dataset"].tolist() == ["a"]


def test_outliers_are_sorted_by_p_value() -> None:
    far = outliers(two_methods().points)
    assert list(zip(far["dataset"], far["method"], strict=True)) == [("d", "QRTC"), ("c", "QRTC"), ("a", "QRC")]


def test_one_split_has_no_p_value_and_counts_nowhere_as_inside() -> None:
    agreement = agreement_statistics(
        pd.concat([differences([("a", "QRTC", -0.1, math.nan)], 1), differences([("b", "QRTC", -0.1, 0.1)])]),
        theirs([("a", "QRTC", -0.1, 0.1), ("b", "QRTC", -0.1, 0.1)]),
    )
    assert agreement.points["inside"].isna().tolist() == [True, False]
    assert agreement.points["p_holm"].isna().tolist() == [True, False]
    row = agreement.summary.iloc[0]
    assert (row["datasets"], row["tested"], row["inside"], row["outside"]) == (2, 1, 1, 0)


def test_four_published_means_are_carried_by_a_single_split() -> None:
    points = agreement_statistics(as_published(), published.figure2()).points
    carried = points[points["single_split"]]
    assert set(zip(carried["dataset"], carried["method"], strict=True)) == {
        ("yprop_4_1", "QRTC"),
        ("yprop_4_1", "QRC"),
        ("Mercedes_Benz_Greener_Manufacturing", "QRTC"),
        ("Allstate_Claims_Severity", "QRTC"),
    }


def main_runs(values: dict[str, list[float]], **changes: object) -> pd.DataFrame:
    """A result table of methods on one dataset: one value per split."""
    rows = [
        {"method": method, "dataset": "a", "split": split, "seed": 0, "status": "ok", "test_nll": value}
        for method, of_splits in values.items()
        for split, value in enumerate(of_splits)
    ]
    return pd.DataFrame(rows).assign(**changes)


def test_medians_and_means_without_one_split_come_from_differences_split_by_split() -> None:
    runs = main_runs({"BASE": [1.0, 2.0, 3.0, 4.0], "QRTC": [2.0, 2.0, 3.0, math.nan], "QRC": [1.5] * 4})
    runs.loc[runs["method"].eq("QRC") & runs["split"].eq(3), "status"] = "diverged"
    per_split = seed_differences(runs, {"NLL": "nll"})
    against_base = per_split[per_split["baseline"] == "BASE"]
    by_method = {method: rows["difference"].tolist() for method, rows in against_base.groupby("method")}
    assert by_method == {"QRTC": [1.0, 0.0, 0.0], "QRC": [0.5, -0.5, -1.5]}
    ours = differences([("a", "QRTC", 1 / 3, 1 / 3)], 3)
    point = agreement_statistics(ours, theirs([("a", "QRTC", 0.0, 0.1)]), per_split).points.iloc[0]
    assert point[["ours_median", "without_one_low", "without_one_high"]].tolist() == [0.0, 0.0, 0.5]


def test_without_runs_of_base_there_are_no_differences_split_by_split() -> None:
    per_split = seed_differences(main_runs({"QRTC": [1.0, 2.0]}), {"NLL": "nll"})
    assert per_split.empty
    points = agreement_statistics(differences([("a", "QRTC", 0.1, 0.1)]), theirs([("a", "QRTC", 0.0, 0.1)])).points
    assert points[["ours_median", "without_one_low", "without_one_high"]].isna().all(axis=None)


def test_few_datasets_have_a_note_and_no_rank_correlation() -> None:
    agreement = agreement_statistics(differences([("a", "QRTC", -0.1, 0.1)]), theirs([("a", "QRTC", -0.2, 0.1)]))
    assert math.isnan(agreement.summary["spearman"].iloc[0])
    assert agreement.note


def test_nothing_in_common_is_empty_with_a_note() -> None:
    ours = differences([("my_data", "QRTC", -0.1, 0.1)])
    for agreement in (
        agreement_statistics(ours, published.figure2()),
        agreement_statistics(ours.iloc[:0], published.figure2()),
    ):
        assert agreement.points.empty
        assert agreement.summary.empty
        assert agreement.summary.empty
        assert agreement.note


def test_other_metrics_and_missing_differences_do_not_enter() -> None:
    ours = pd.concat(
        [differences([("a", "QRTC", math.nan, 0.1), ("b", "QRTC", 1.0, 0.1)]),
         differences([("b", "QRTC", 2.0, 0.1)]).assign(metric="PCE")]
    )  # fmt: skip
    points = agreement_statistics(ours, theirs([("a", "QRTC", 0.0, 0.1), ("b", "QRTC", 0.0, 0.1)])).points
    assert points[["dataset", "ours"]].to_numpy().tolist() == [["b", 1.0]]


def test_published_values_agree_with_themselves() -> None:
    agreement = agreement_statistics(as_published(), published.figure2())
    assert agreement.summary["datasets"].tolist() == [44, 44]
    assert agreement.summary["inside"].tolist() == [44, 44]
    assert agreement.summary["expected_outside"].to_numpy() == pytest.approx(2.2)
    assert agreement.summary["spearman"].to_numpy() == pytest.approx(1)
    assert agreement.note == ""


def test_summary_does_not_depend_on_the_order_of_rows() -> None:
    paper, ours = published.figure2(), as_published()
    ours["difference"] += np.random.default_rng(0).normal(0, 0.1, len(ours))
    shuffled = agreement_statistics(ours.sample(frac=1, random_state=1), paper.sample(frac=1, random_state=2))
    straight = agreement_statistics(ours, paper)
    pd.testing.assert_frame_equal(
        shuffled.summary.sort_values("method", ignore_index=True),
        straight.summary.sort_values("method", ignore_index=True),
    )


def test_ratios_of_times_are_compared_by_factors() -> None:
    ratios = pd.DataFrame(
        {"dataset": list("abcd"), "ratio": [2.0, 1.0, 0.5, 3.0], "published_ratio": [1.0, 2.0, 0.5, math.nan]}
    )
    agreement = time_agreement(ratios)
    assert list(agreement.points.columns) == ["dataset", "ours", "published", "quotient", "same_side"]
    assert agreement.points["quotient"].tolist() == [2.0, 0.5, 1.0]
    assert agreement.points["same_side"].tolist() == [False, False, True]
    row = agreement.summary.iloc[0]
    assert (row["datasets"], row["median_ours"], row["median_published"]) == (3, 1.0, 1.0)
    assert row["median_factor"] == pytest.approx(2)  # a factor of 2 up and down, and one that agrees


def test_no_times_in_common_is_empty_with_a_note() -> None:
    agreement = time_agreement(pd.DataFrame({"dataset": ["a"], "ratio": [1.0], "published_ratio": [math.nan]}))
    assert agreement.points.empty
    assert agreement.summary.empty
    assert agreement.note


def selected_as_published() -> pd.DataFrame:
    marks = published.figure1_marks()
    return marks.assign(part="validation", standard_error=0.1, runs=5, selected_epoch=marks["selected_epoch"] + 1)


def test_marks_of_figure_1_agree_with_themselves_in_our_count_of_epochs() -> None:
    agreement = figure1_agreement(selected_as_published(), published.figure1_marks())
    assert list(agreement.points) == [
        *["dataset", "metric", "method", "ours", "ours_standard_error", "published"],
        *["difference", "our_epoch", "published_epoch"],
    ]
    assert len(agreement.points) == 24
    assert (agreement.points["difference"] == 0).all()
    assert (agreement.points["our_epoch"] == agreement.points["published_epoch"]).all()
    assert agreement.summary["same_order"].all()
    yacht = agreement.summary.query("dataset == 'Yacht' and metric == 'nll_recalibrated'").iloc[0]
    assert yacht["published_order"] == "QRTC < QRT < QRC < BASE"


def test_order_of_figure_1_differs_where_two_methods_change_places() -> None:
    ours = selected_as_published()
    swapped = (ours["dataset"] == "Yacht") & (ours["metric"] == "pce") & (ours["method"] == "QRC")
    ours.loc[swapped, "value"] = 0.5
    summary = figure1_agreement(ours, published.figure1_marks()).summary
    assert summary[~summary["same_order"]][["dataset", "metric"]].to_numpy().tolist() == [["Yacht", "pce"]]


def test_training_rows_of_figure_1_do_not_enter() -> None:
    agreement = figure1_agreement(selected_as_published().assign(part="train"), published.figure1_marks())
    assert agreement.points.empty
    assert agreement.summary.empty
    assert agreement.note


def test_figure_names_the_outliers_and_leaves_room_for_the_footer() -> None:
    points = two_methods().points.replace({"d": "price $100"})
    with style.paper_style():
        figure = draw_agreement(points)
        figure.canvas.draw()
        left, right, of_p_values = figure.axes
        names = {label.get_text() for label in left.texts}
        boxes = [box for axes in figure.axes if (box := axes.get_tightbbox()) is not None]
        bottom = min(box.y0 for box in boxes) / figure.dpi
        plt.close(figure)
    assert {r"price \$100", "c"} <= names
    assert "a" not in names
    assert [label.get_text() for label in right.texts] == ["a"]  # 5 against -0.1
    assert bottom > 0.25
    assert [len(line.get_xdata()) for line in of_p_values.lines[:2]] == [4, 1]  # type: ignore[arg-type]
    assert left.get_xlim() == left.get_ylim() == right.get_xlim()  # one diagonal for all


def test_figure_without_points_says_so_and_hostile_names_are_drawn() -> None:
    with style.paper_style():
        empty = draw_agreement(two_methods().points.iloc[:0])
        assert any("no dataset" in label.get_text() for label in empty.findobj(Text) if isinstance(label, Text))
        hostile = draw_agreement(two_methods().points.replace({"d": HOSTILE}).query("method == 'QRTC'"))
        hostile.canvas.draw()
        plt.close("all")


def test_names_of_many_outliers_do_not_cover_each_other() -> None:
    paper, ours = published.figure2(), as_published().query("method == 'QRTC'")
    ours["difference"] += 4 * np.hypot(1, 1) * ours["difference_standard_error"]
    with style.paper_style():
        figure = draw_agreement(agreement_statistics(ours.iloc[::6], paper).points)
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in figure.axes[0].texts]
        plt.close(figure)
    assert len(boxes) == 8
    overlaps = sum(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[:place])
    assert overlaps <= 2  # boxes here include the lines to the markers
