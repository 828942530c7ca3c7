"""Ours against the published values: by hand, by scipy, and where there is little or nothing to compare."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy import stats

from qrt import published
from qrt.figures import style
from qrt.figures.agreement import draw_agreement
from qrt.statistics.agreement import (
    FIGURE1_POINTS,
    FIGURE2_POINTS,
    FIGURE2_SUMMARY,
    TIME_POINTS,
    Agreement,
    agreement_statistics,
    figure1_agreement,
    outliers,
    time_agreement,
)

HOSTILE = "<img src=x onerror=alert(1)>"


def differences(rows: list[tuple[str, str, float, float]]) -> pd.DataFrame:
    """A table per_dataset of Figure 2."""
    columns = ["dataset", "method", "difference", "difference_standard_error"]
    return pd.DataFrame(rows, columns=columns).assign(metric="NLL")


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


def test_z_is_the_difference_in_joint_standard_errors() -> None:
    points = two_methods().points
    of_qrtc = points[points["method"] == "QRTC"].set_index("dataset")
    assert list(points.columns) == list(FIGURE2_POINTS)
    assert of_qrtc["joint_standard_error"].to_numpy() == pytest.approx(0.05)
    assert of_qrtc["z"].to_numpy() == pytest.approx([0, 2, -4, 20])
    assert of_qrtc["same_sign"].tolist() == [True, True, True, False]


def test_summary_counts_signs_and_points_within_two_joint_standard_errors() -> None:
    agreement = two_methods()
    row = agreement.summary.set_index("method").loc["QRTC"]
    # The point at exactly two may fall to either side of it in floating point.
    within = int((agreement.points.query("method == 'QRTC'")["z"].abs() <= 2).sum())
    assert (row["datasets"], row["same_sign"], row["within_two"]) == (4, 3, within)
    assert row["outliers"] == 4 - within
    assert row["same_sign_share"] == pytest.approx(0.75)
    assert row["median_absolute_difference"] == pytest.approx(0.15)
    oracle = stats.spearmanr([-0.1, 0.2, -0.3, 0.9], [-0.1, 0.1, -0.1, -0.1])
    assert (row["spearman"], row["spearman_p"]) == pytest.approx((oracle.statistic, oracle.pvalue))


def test_only_common_datasets_are_compared() -> None:
    points = two_methods().points
    assert points[points["method"] == "QRC"]["dataset"].tolist() == ["a"]


def test_outliers_are_sorted_by_distance() -> None:
    far = outliers(two_methods().points)
    assert list(zip(far["dataset"], far["method"], strict=True))[:3] == [("d", "QRTC"), ("a", "QRC"), ("c", "QRTC")]


def test_one_split_has_no_z_and_counts_nowhere_as_within() -> None:
    agreement = agreement_statistics(
        differences([("a", "QRTC", -0.1, math.nan), ("b", "QRTC", -0.1, 0.1)]),
        theirs([("a", "QRTC", -0.1, 0.1), ("b", "QRTC", -0.1, 0.1)]),
    )
    assert agreement.points["within_two"].isna().tolist() == [True, False]
    row = agreement.summary.iloc[0]
    assert (row["datasets"], row["with_standard_errors"], row["within_two"], row["outliers"]) == (2, 1, 1, 0)


def test_few_datasets_have_a_note_and_no_rank_correlation() -> None:
    agreement = agreement_statistics(differences([("a", "QRTC", -0.1, 0.1)]), theirs([("a", "QRTC", -0.2, 0.1)]))
    assert math.isnan(agreement.summary["spearman"].iloc[0])
    assert "too few" in agreement.note


def test_nothing_in_common_is_empty_with_a_note() -> None:
    ours = differences([("my_data", "QRTC", -0.1, 0.1)])
    for agreement in (
        agreement_statistics(ours, published.figure2()),
        agreement_statistics(ours.iloc[:0], published.figure2()),
    ):
        assert agreement.points.empty
        assert agreement.summary.empty
        assert list(agreement.summary.columns) == list(FIGURE2_SUMMARY)
        assert "none of the datasets" in agreement.note


def test_other_metrics_and_missing_differences_do_not_enter() -> None:
    ours = pd.concat(
        [differences([("a", "QRTC", math.nan, 0.1), ("b", "QRTC", 1.0, 0.1)]),
         differences([("b", "QRTC", 2.0, 0.1)]).assign(metric="PCE")]
    )  # fmt: skip
    points = agreement_statistics(ours, theirs([("a", "QRTC", 0.0, 0.1), ("b", "QRTC", 0.0, 0.1)])).points
    assert points[["dataset", "ours"]].to_numpy().tolist() == [["b", 1.0]]


def test_published_values_agree_with_themselves() -> None:
    paper = published.figure2()
    ours = paper.rename(columns={"standard_error": "difference_standard_error"}).assign(metric="NLL")
    agreement = agreement_statistics(ours, paper)
    assert agreement.summary["datasets"].tolist() == [44, 44]
    assert agreement.summary["within_two"].tolist() == [44, 44]
    assert agreement.summary["spearman"].to_numpy() == pytest.approx(1)
    assert agreement.note == ""


def test_summary_does_not_depend_on_the_order_of_rows() -> None:
    paper = published.figure2()
    ours = paper.rename(columns={"standard_error": "difference_standard_error"}).assign(metric="NLL")
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
    assert list(agreement.points.columns) == list(TIME_POINTS)
    assert agreement.points["quotient"].tolist() == [2.0, 0.5, 1.0]
    assert agreement.points["same_side"].tolist() == [False, False, True]
    row = agreement.summary.iloc[0]
    assert (row["datasets"], row["median_ours"], row["median_published"]) == (3, 1.0, 1.0)
    assert row["median_factor"] == pytest.approx(2)  # a factor of 2 up and down, and one that agrees


def test_no_times_in_common_is_empty_with_a_note() -> None:
    agreement = time_agreement(pd.DataFrame({"dataset": ["a"], "ratio": [1.0], "published_ratio": [math.nan]}))
    assert agreement.points.empty
    assert agreement.summary.empty
    assert "none" in agreement.note


def selected_as_published() -> pd.DataFrame:
    marks = published.figure1_marks()
    return marks.assign(part="validation", standard_error=0.1, runs=5, selected_epoch=marks["selected_epoch"] + 1)


def test_marks_of_figure_1_agree_with_themselves_in_our_count_of_epochs() -> None:
    agreement = figure1_agreement(selected_as_published(), published.figure1_marks())
    assert list(agreement.points.columns) == list(FIGURE1_POINTS)
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
    assert "none of the two datasets" in agreement.note


def test_figure_names_the_outliers_and_leaves_room_for_the_footer() -> None:
    points = two_methods().points.replace({"d": "price $100"})
    with style.paper_style():
        figure = draw_agreement(points)
        figure.canvas.draw()
        left, right = figure.axes
        names = {label.get_text() for label in left.texts}
        boxes = [box for axes in figure.axes if (box := axes.get_tightbbox()) is not None]
        bottom = min(box.y0 for box in boxes) / figure.dpi
        plt.close(figure)
    assert {r"price \$100", "c"} <= names
    assert "a" not in names
    assert [label.get_text() for label in right.texts] == ["a"]  # 5 against -0.1, five joint standard errors
    assert bottom > 0.25
    assert left.get_xlim() == left.get_ylim() == right.get_xlim()  # one diagonal for all


def test_figure_without_points_says_so_and_hostile_names_are_drawn() -> None:
    with style.paper_style():
        empty = draw_agreement(two_methods().points.iloc[:0])
        assert any("no dataset" in label.get_text() for label in empty.findobj(Text) if isinstance(label, Text))
        hostile = draw_agreement(two_methods().points.replace({"d": HOSTILE}).query("method == 'QRTC'"))
        hostile.canvas.draw()
        plt.close("all")


def test_names_of_many_outliers_do_not_cover_each_other() -> None:
    paper = published.figure2().query("method == 'QRTC'")
    ours = paper.rename(columns={"standard_error": "difference_standard_error"}).assign(metric="NLL")
    ours["difference"] += 3 * np.hypot(1, 1) * ours["difference_standard_error"]
    with style.paper_style():
        figure = draw_agreement(agreement_statistics(ours.iloc[::6], paper).points)
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in figure.axes[0].texts]
        plt.close(figure)
    assert len(boxes) == 8
    overlaps = sum(a.overlaps(b) for place, a in enumerate(boxes) for b in boxes[:place])
    assert overlaps <= 2  # boxes here include the lines to the markers
