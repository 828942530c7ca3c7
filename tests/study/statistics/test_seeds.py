"""The seeds of a study: variance components against known ones, conclusions by hand, the figure, the page, the rule."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from matplotlib.collections import PathCollection
from matplotlib.text import Text
from numpy.typing import NDArray
from scipy import stats

from conftest import PROJECT
from qrt_study import published
from qrt_study.figures import style
from qrt_study.figures.seeds import draw_seeds
from qrt_study.pages.seeds import NOTHING, seeds_page
from qrt_study.plan.artifacts import FIGURES
from qrt_study.plan.config import load_study
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.seeds import (
    COMPARISONS,
    PER_DATASET,
    PER_SEED,
    SUMMARY,
    SeedStatistics,
    conclusion,
    seed_differences,
    seed_statistics,
)
from qrt_study.statistics.variance_components import variance_components
from support.mock_verdicts import mock_study
from support.seed_tables import METRICS, methods_table, noisy_table

NLL = {"NLL": "nll"}


def drawn_values(count: int, between: float, within: float, sizes: Sequence[int]) -> NDArray[np.float64]:
    """`count` studies with these standard deviations and numbers of runs per group: (count, groups, runs)."""
    generator = np.random.default_rng(0)
    runs = max(sizes)
    groups = between * generator.standard_normal((count, len(sizes), 1))
    values = 3.0 + groups + within * generator.standard_normal((count, len(sizes), runs))
    values[:, np.arange(runs) >= np.array(sizes)[:, None]] = np.nan
    return values


def first(statistics: SeedStatistics, dataset: str) -> dict[str, object]:
    """The row of QRTC - BASE, NLL."""
    table = statistics.per_dataset.query("metric == 'NLL' and method == 'QRTC' and baseline == 'BASE'")
    row: dict[str, object] = table.set_index("dataset").loc[dataset].to_dict()
    return row


# --- variance components ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5, 5), (2, 2, 2), (5, 5, 3, 1, 4)])
@pytest.mark.parametrize(("between", "within"), [(0.0, 1.0), (0.6, 1.0), (2.0, 0.5)])
def test_components_are_unbiased_also_with_missing_runs(sizes: Sequence[int], between: float, within: float) -> None:
    components = variance_components(drawn_values(20_000, between, within, sizes))
    for estimates, true in ((components.between, between**2), (components.within, within**2)):
        assert estimates.mean() == pytest.approx(true, abs=4 * estimates.std() / math.sqrt(20_000))


def test_components_are_those_of_the_table_of_the_analysis_of_variance() -> None:
    values = np.array([[1.0, 2.0, 6.0], [2.0, 4.0, np.nan], [8.0, 9.0, 7.0], [5.0, np.nan, np.nan]])
    # By hand: means 3, 3, 8, 5 with 3, 2, 3, 1 runs; grand mean 44 / 9.
    within = (4 + 1 + 9 + 1 + 1 + 0 + 1 + 1) / (9 - 4)
    grand = 44 / 9
    between_square = (3 * (3 - grand) ** 2 + 2 * (3 - grand) ** 2 + 3 * (8 - grand) ** 2 + (5 - grand) ** 2) / 3
    size = (9 - (9 + 4 + 9 + 1) / 9) / 3
    components = variance_components(values)
    assert float(components.within) == pytest.approx(within)
    assert float(components.between) == pytest.approx((between_square - within) / size)
    oracle = stats.f_oneway(*(row[np.isfinite(row)] for row in values))
    assert (float(components.between) * size + within) / within == pytest.approx(oracle.statistic)


def test_balanced_components_are_those_of_a_mixed_model() -> None:
    values = drawn_values(1, 1.0, 0.7, (6,) * 12)[0]
    long = pd.DataFrame({"y": values.ravel(), "split": np.repeat(np.arange(12), 6)})
    fitted = smf.mixedlm("y ~ 1", long, groups=long["split"]).fit(reml=True)  # REML is ANOVA for balanced data
    components = variance_components(values)
    assert float(components.between) == pytest.approx(float(fitted.cov_re.iloc[0, 0]), rel=1e-3)
    assert float(components.within) == pytest.approx(fitted.scale, rel=1e-3)


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5, 5), (5, 5, 3, 2, 4)])
def test_interval_of_the_share_holds_95_percent(sizes: Sequence[int]) -> None:
    low, high = variance_components(drawn_values(20_000, 0.5, 1.0, sizes)).within_share_interval
    assert ((low <= 0.8) & (high >= 0.8)).mean() == pytest.approx(0.95, abs=0.007)


def test_negative_variance_counts_as_none_and_nothing_varying_has_no_share() -> None:
    alike = variance_components(np.array([[0.0, 2.0], [2.0, 0.0]]))  # equal means
    assert float(alike.between) == pytest.approx(-1.0)
    assert (float(alike.between_deviation), float(alike.within_share)) == (0.0, 1.0)
    constant = variance_components(np.full((3, 2), 0.1))
    assert (float(constant.between), float(constant.within)) == (0.0, 0.0)
    assert math.isnan(float(constant.within_share))


def test_components_need_two_groups_and_a_second_run() -> None:
    one_group = variance_components(np.array([[1.0, 2.0]]))
    assert float(one_group.within) == pytest.approx(0.5)
    assert math.isnan(float(one_group.between))
    one_run = variance_components(np.array([[1.0, np.nan], [2.0, np.nan]]))
    assert math.isnan(float(one_run.within))
    assert math.isnan(float(one_run.within_share))


# --- conclusions -----------------------------------------------------------------------------------------------------


def test_conclusions_are_those_of_a_t_test_over_splits() -> None:
    for shift in (-2.0, -0.8, 0.0, 0.8, 2.0):
        values = shift + np.array([0.3, -0.9, 1.1, 0.2, -0.7])
        test = stats.ttest_1samp(values, 0.0)
        expected = "neither" if test.pvalue >= 0.05 else "better" if test.statistic < 0 else "worse"
        error = float(values.std(ddof=1) / math.sqrt(5))
        assert conclusion(float(values.mean()), error, 5) == expected
    assert conclusion(-1.0, math.nan, 1) is None
    assert conclusion(0.0, 0.0, 5) == "neither"


def test_each_seed_is_reported_as_the_paper_does_and_all_together_by_means_over_seeds() -> None:
    values = np.array([[-1.0, -0.5, 0.4], [-1.2, 0.6, -0.1], [-0.9, -0.7, 0.3], [-1.1, 0.5, 0.1]])
    statistics = seed_statistics(methods_table({"a": values.tolist()}), NLL)
    row = first(statistics, "a")
    per_seed = statistics.per_seed.query("method == 'QRTC' and baseline == 'BASE'")
    assert per_seed["mean"].to_numpy() == pytest.approx(values.mean(axis=0))
    assert per_seed["standard_error"].to_numpy() == pytest.approx(stats.sem(values, axis=0))
    assert per_seed["conclusion"].tolist() == ["better", "neither", "neither"]
    over_seeds = values.mean(axis=1)
    together = stats.ttest_1samp(over_seeds, 0.0)
    assert (row["mean"], row["standard_error"]) == pytest.approx((over_seeds.mean(), stats.sem(over_seeds)))
    assert (row["interval_low"], row["interval_high"]) == pytest.approx(together.confidence_interval(0.95))
    assert row["conclusion"] == "better"  # p < 0.05
    assert together.pvalue < 0.05
    assert (row["seed0_mean"], row["seed0_conclusion"]) == (pytest.approx(-1.05), "better")
    assert (row["tested_seeds"], row["same_as_all"], row["same_as_seed0"], row["opposite"]) == (3, 1, 0, 0)
    assert row["spread_of_means"] == pytest.approx(values.mean(axis=0).std(ddof=1))
    assert row["reported_standard_error"] == pytest.approx(math.sqrt(np.mean(stats.sem(values, axis=0) ** 2)))


def test_summary_counts_what_survives_over_datasets() -> None:
    noise = np.array([0.1, -0.1, 0.05, -0.05])  # of the splits; a mean over them has an interval of +- 0.145
    shifts = {
        "kept": (-1.0, -1.1, -0.9),  # every seed: better
        "lost": (-0.2, 0.1, 0.1),  # seed 0: better; all together: neither
        "opposite": (0.5, -2.0, -2.0),  # seed 0: worse; all together: better
        "never": (0.01, 0.0, -0.01),
    }
    tables = {name: np.add.outer(noise, means) for name, means in shifts.items()}
    statistics = seed_statistics(methods_table({name: table.tolist() for name, table in tables.items()}), METRICS)
    assert list(statistics.per_dataset.columns) == list(PER_DATASET)
    assert list(statistics.per_seed.columns) == list(PER_SEED)
    assert list(statistics.summary.columns) == list(SUMMARY)
    assert len(statistics.summary) == len(METRICS) * len(COMPARISONS)
    row = statistics.summary.iloc[0]
    assert (row["datasets"], row["tested"], row["conclusions"]) == (4, 4, 12)
    assert row["same_as_all"] == 3 + 2 + 2 + 3
    assert row["same_as_all_share"] == pytest.approx(10 / 12)
    assert row["opposite"] == 1
    assert (row["compared_with_seed0"], row["same_as_seed0"]) == (8, 2 + 0 + 0 + 2)
    assert (row["seed0_same"], row["seed0_tested"]) == (2, 4)
    assert (row["seed0_decided"], row["seed0_survives"]) == (3, 1)


def test_spread_of_the_means_over_their_standard_error_is_the_root_of_the_seeds_share() -> None:
    generator = np.random.default_rng(3)
    splits = generator.normal(0, 1.0, (5, 1))
    tables = {
        f"d{number}": (generator.permutation(splits) + generator.normal(0, 0.75, (5, 8))).tolist()
        for number in range(60)
    }
    statistics = seed_statistics(methods_table(tables), NLL)
    rows = statistics.per_dataset.query("method == 'QRTC' and baseline == 'BASE'")
    squares = (rows["spread_of_means"] ** 2).mean() / (rows["reported_standard_error"] ** 2).mean()
    true = 0.75**2 / (0.75**2 + splits.var(ddof=1))
    assert squares == pytest.approx(true, rel=0.12)
    assert rows["seed_share"].mean() == pytest.approx(true, rel=0.12)


# --- what counts -----------------------------------------------------------------------------------------------------


def test_failed_and_infinite_runs_are_missing_cells() -> None:
    table = methods_table({"a": [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]})
    place = table["method"].eq("QRTC") & table["split"].eq(0) & table["seed"].eq(1)
    table.loc[place, "status"] = "diverged"
    table.loc[table["method"].eq("BASE") & table["split"].eq(2) & table["seed"].eq(0), "test_nll"] = math.inf
    differences = seed_differences(table, NLL).query("method == 'QRTC' and baseline == 'BASE'")
    cells = {(row.split, row.seed): row.difference for row in differences.itertuples()}
    assert cells == {(0, 0): 1.0, (1, 0): 3.0, (1, 1): 4.0, (2, 1): 7.0}
    row = first(seed_statistics(table, NLL), "a")
    assert (row["runs"], row["splits"], row["seeds"]) == (4, 3, 2)
    assert row["mean"] == pytest.approx((1.0 + 3.5 + 7.0) / 3)
    assert row["seed_sd"] == pytest.approx(math.sqrt(0.5))


def test_datasets_with_one_seed_are_left_out_and_named() -> None:
    statistics = seed_statistics(
        pd.concat([noisy_table(["a", "b"]), noisy_table(["only one"], seeds=1)], ignore_index=True), METRICS
    )
    assert statistics.datasets == ["a", "b"]
    assert statistics.left_out == ("only one",)
    assert (statistics.summary["datasets"] == 2).all()


def test_one_split_has_no_conclusion_and_counts_nowhere() -> None:
    statistics = seed_statistics(noisy_table(["a"], splits=1), NLL)
    row, summary = first(statistics, "a"), statistics.summary.iloc[0]
    assert row["conclusion"] is None
    assert (row["tested_seeds"], summary["tested"], summary["conclusions"], summary["seed0_tested"]) == (0, 0, 0, 0)
    assert math.isnan(summary["same_as_all_share"])


@pytest.mark.parametrize("methods", [noisy_table(["a"]).iloc[:0], noisy_table(["a"]).query("method == 'QRC'")])
def test_without_differences_everything_is_empty_and_says_so(methods: pd.DataFrame) -> None:
    statistics = seed_statistics(methods, METRICS)
    assert statistics.datasets == []
    assert list(statistics.summary.columns) == list(SUMMARY)
    assert NOTHING in seeds_page(statistics, mock_study()).html
    with style.paper_style():
        figure = draw_seeds(statistics.per_dataset, statistics.per_seed)
        assert any("two seeds" in label.get_text() for label in figure.findobj(Text) if isinstance(label, Text))
        plt.close(figure)


# --- figure and page -------------------------------------------------------------------------------------------------


def test_figure_sorts_datasets_and_marks_seeds_means_and_published_values() -> None:
    tables = {
        "Yacht": [[0.3, 0.1], [0.2, 0.2]],
        "CPU": [[-0.4, -0.6], [-0.5, -0.5]],
        "price $100": [[0.0, 0.1], [0.1, 0.0]],
    }
    statistics = seed_statistics(methods_table(tables), METRICS)
    with style.paper_style():
        figure = draw_seeds(statistics.per_dataset, statistics.per_seed, published.figure2())
        figure.canvas.draw()
        panels = figure.axes
        labels = [label.get_text() for label in panels[-1].get_xticklabels()]
        marks = [
            [np.asarray(points.get_offsets()) for points in axes.collections if isinstance(points, PathCollection)]
            for axes in panels
        ]
        bottom = min(box.y0 for axes in panels if (box := axes.get_tightbbox()) is not None) / figure.dpi
        plt.close(figure)
    assert labels == ["CP1", r"price \$100", "YAC"]
    other, seed0, together, paper = marks[0]
    assert sorted(seed0[:, 1]) == pytest.approx([-0.45, 0.05, 0.25])
    assert sorted(other[:, 1]) == pytest.approx([-0.55, 0.05, 0.15])
    assert sorted(together[:, 1]) == pytest.approx([-0.5, 0.05, 0.2])
    values = published.figure2().query("method == 'QRTC' and dataset in ('Yacht', 'CPU')")["difference"]
    assert sorted(paper[:, 1]) == pytest.approx(sorted(values))
    assert len(marks[2][3]) == 0  # nothing is published of QRTC - QRC
    assert bottom > 0.25


def test_figures_use_seed_0_alone() -> None:
    files = StudyFiles(load_study({"datasets": ["Yacht"], "seeds": 2}, PROJECT))
    shown = [place for name in FIGURES for place in (*files.shown_places(name), *files.example_places(name))]
    assert {place.seed for place in shown} == {0}
    tuned = [path for name in FIGURES for path in files.comparison_inputs(name).get("methods", [])]
    assert tuned
    assert not [path for path in tuned if "/seed0/" not in path]
