from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt.errors import UserError
from qrt_study.plan.compared import Compared
from qrt_study.statistics.comparison import compare
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.intervals import share_interval
from qrt_study.verdicts import measure_rules, rank_rules, rules, table_rules
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.evidence import PAPER_SETS
from qrt_study.verdicts.measure_rules import Measure
from qrt_study.verdicts.range import Range
from qrt_study.verdicts.rules import all_of, any_of
from qrt_study.verdicts.verdict import FEWEST, VERDICTS, NotRun, Verdict, Word, decide, nearest_limit
from support.mock_results import mock_discreteness, mock_methods
from support.rule_cases import (
    AB,
    ABOVE,
    BELOW,
    DISCRETE,
    cases,
    dataset_table,
    differences_of,
    even,
    measured,
    of_means,
    pair,
)
from support.simulated_studies import MIRROR


def test_verdicts_are_in_the_order_that_pages_rely_on() -> None:
    assert VERDICTS == (
        "confirmed",
        "leans confirmed",
        "inconclusive",
        "leans contradicted",
        "contradicted",
        "not run",
    )


@pytest.mark.parametrize(
    ("estimate", "interval", "claimed", "expected"),
    [
        (0.7, (0.55, 0.8), "(0.5, 1]", "confirmed"),
        (0.7, (0.45, 0.8), "(0.5, 1]", "leans confirmed"),
        (0.5, (0.35, 0.65), "(0.5, 1]", "inconclusive"),
        (0.4, (0.25, 0.55), "(0.5, 1]", "leans contradicted"),
        (0.3, (0.15, 0.45), "(0.5, 1]", "contradicted"),
        (0.7, (0.5, 0.8), "(0.5, 1]", "leans confirmed"),  # the limit itself is not claimed
        (1.0, (0.45, 1.0), "(0.5, 1]", "leans confirmed"),  # no share is above 1, so 1 is no limit
        (0.0, (-0.1, 0.1), "(-0.2, 0.2)", "confirmed"),
        (0.0, (-0.3, 0.1), "(-0.2, 0.2)", "leans confirmed"),
        (0.0, (-0.3, 0.3), "(-0.2, 0.2)", "inconclusive"),  # compatible with everything
        (0.3, (0.1, 0.5), "(-0.2, 0.2)", "leans contradicted"),
        (0.3, (0.2, 0.5), "(-0.2, 0.2)", "contradicted"),
        (13.0, (10.0, 20.0), "[13, 13]", "leans confirmed"),
        (14.0, (10.0, 20.0), "[13, 13]", "leans contradicted"),
        (0.7, (-math.inf, math.inf), "(0.5, 1]", "inconclusive"),
        (math.nan, (0.6, 0.7), "(0.5, 1]", "inconclusive"),
    ],
)
def test_verdict_follows_from_estimate_interval_and_claim(
    estimate: float, interval: tuple[float, float], claimed: str, expected: Word
) -> None:
    assert decide(estimate, interval, Range.parse(claimed)) == expected


@pytest.mark.parametrize(
    ("estimate", "claimed", "within", "limit"),
    [
        (0.7, "(0.5, 1]", (0, 1), 0.5),
        (0.9, "[0.05, 0.5]", (0, 1), 0.5),
        (0.1, "[0.05, 0.5]", (0, 1), 0.05),
        (-3.0, BELOW, (-math.inf, math.inf), 0.0),
        (0.2, "[0, 1]", (0, 1), None),
    ],
)
def test_limit_is_the_end_next_to_the_estimate_that_can_be_passed(
    estimate: float, claimed: str, within: tuple[float, float], limit: float | None
) -> None:
    assert nearest_limit(estimate, Range.parse(claimed), within) == limit


# Rules about ranks


def comparison(effects: Mapping[str, float], datasets: int, splits: int = 5) -> FigureStatistics:
    """The statistics of methods with these effects, in standard deviations of a run; the first is the baseline."""
    names = [f"dataset {number:02d}" for number in range(datasets)]
    methods = mock_methods(names, {("main", name): effect for name, effect in effects.items()}, splits)
    compared = [Compared("main", name, name) for name in effects]
    return compare(methods, compared[1:], compared[0], {"NLL": "nll"}, names, "pooled", mock_discreteness(names))


@pytest.mark.parametrize("below", [0, 5, 10, 15, 22, 30, 38, 44])
def test_significance_decides_who_is_ahead(below: int) -> None:
    """The oracle is SciPy's test; the sign of the rank share says which way it points."""
    found = rank_rules.ahead(pair(44, below), **AB)
    p_value = float(stats.wilcoxon(differences_of(44, below), zero_method="pratt").pvalue)
    better = found.estimate is not None and found.estimate > 0.5
    side: tuple[Word, Word] = ("confirmed", "leans confirmed") if better else ("contradicted", "leans contradicted")
    assert found.verdict == side[p_value >= 0.05]
    assert found.interval is not None
    assert (found.interval[0] <= 0.5 <= found.interval[1]) == (p_value >= 0.05)
    assert (found.datasets_for, found.datasets_against) == (below, 44 - below)


def test_rank_share_is_that_by_hand() -> None:
    # |differences| 1, 2, 3, 4 have ranks 1 to 4; below zero are those of rank 2 and 4; zero shares its rank.
    found = rank_rules.find_pair(of_means(A=[1, -2, 3, -4], B=[0, 0, 0, 0]), "NLL", "A", "B")
    assert found.rank_share == pytest.approx(6 / 10)
    swapped = rank_rules.find_pair(of_means(A=[1, -2, 3, -4], B=[0, 0, 0, 0]), "NLL", "B", "A")
    assert swapped.rank_share == pytest.approx(4 / 10)
    with_zero = rank_rules.find_pair(of_means(A=[0, -2, 3, -4], B=[0, 0, 0, 0]), "NLL", "A", "B")
    assert with_zero.rank_share == pytest.approx(6.5 / 10)


def test_correction_for_a_passage_asks_for_more() -> None:
    statistics = pair(44, 30)
    alone = rank_rules.significantly_better(statistics, **AB)
    assert alone.verdict == "confirmed"
    assert alone.p_value is not None
    among_many = rank_rules.significantly_better(statistics, **AB, correction=0.06 / alone.p_value)
    assert among_many.verdict == "leans confirmed"
    assert among_many.p_value == pytest.approx(0.06)
    assert among_many.interval is not None
    assert among_many.interval[0] <= 0.5


def test_a_wide_margin_confirms_what_a_narrow_one_does_not() -> None:
    statistics = pair(44, 22)
    words = [rank_rules.level(statistics, **AB, margin=margin).verdict for margin in (0.05, 0.15, 0.25)]
    assert words == ["inconclusive", "leans confirmed", "confirmed"]


def test_more_datasets_with_the_same_share_do_not_refute_level() -> None:
    """Significance grows with the number of datasets, a margin does not."""
    statistics = pair(1000, 560)
    assert rank_rules.ahead(statistics, **AB).verdict == "confirmed"
    assert rank_rules.level(statistics, **AB, margin=0.25).verdict == "confirmed"


def test_the_pair_farthest_from_level_decides_about_a_list() -> None:
    zeros, ones = np.zeros(44), np.ones(44)
    signs = np.where(np.arange(44) % 2, 1.0, -1.0) * (1 + 1e-6 * np.arange(44))
    statistics = of_means(A=zeros, B=signs, C=5 * ones)
    assert rank_rules.level(statistics, metric="NLL", among=["A", "B"], margin=0.25).verdict == "confirmed"
    among = rank_rules.level(statistics, metric="NLL", among=["A", "B", "C"], margin=0.25)
    against = rank_rules.level(statistics, metric="NLL", left="C", against=["A", "B"], margin=0.25)
    assert among.verdict == against.verdict == "contradicted"
    assert among.explanation.startswith("of 3 pairs")


@pytest.mark.parametrize(
    ("best", "datasets", "expected"),
    [
        (["A", "B"], 44, "confirmed"),
        (["B", "A"], 20, "confirmed"),
        (["A", "C"], 44, "contradicted"),
        (["C"], 20, "contradicted"),
        (["A", "B"], 5, "inconclusive"),
    ],
)
def test_ranking_knows_who_is_ahead(best: list[str], datasets: int, expected: Word) -> None:
    statistics = comparison({"BASE": 5.0, "A": -3.0, "B": -3.0, "C": 0.0, "D": 0.0}, datasets)
    found = rank_rules.ranking(statistics, metric="NLL", best=best, among=["A", "B", "C", "D"])
    assert found.verdict == expected, found


def test_rank_trend_is_pages_statistic() -> None:
    """Page's L is a sum of products of ranks, so the mean correlation follows from it in closed form."""
    generator = np.random.default_rng(0)
    means = generator.normal(size=(44, 4)) - np.arange(4)
    names = ["M8", "M32", "M128", "M512"]
    statistics = of_means(**dict(zip(names, means.T, strict=True)))
    found = rank_rules.rank_trend(statistics, metric="NLL", methods=names, at=[8, 32, 128, 512], correlation="[-1, 0)")
    page = stats.page_trend_test(means).statistic
    squares, product = (np.arange(1, 5) ** 2).sum(), 4 * 2.5**2
    assert found.estimate == pytest.approx((page / 44 - product) / (squares - product))
    assert found.verdict == "confirmed"
    backwards = rank_rules.rank_trend(
        statistics, metric="NLL", methods=names[::-1], at=[512, 128, 32, 8], correlation="[-1, 0)"
    )
    assert backwards.estimate == pytest.approx(found.estimate)


# Rules about measures


@pytest.mark.parametrize(
    ("below", "total", "share", "expected"),
    [
        (31, 44, "(0.5, 1]", "confirmed"),
        (26, 44, "(0.5, 1]", "leans confirmed"),
        (22, 44, "(0.5, 1]", "inconclusive"),
        (18, 44, "(0.5, 1]", "leans contradicted"),
        (10, 44, "(0.5, 1]", "contradicted"),
        (6, 6, "(0.5, 1]", "confirmed"),
        (5, 5, "(0.5, 1]", "inconclusive"),
    ],
)
def test_share_of_datasets_is_judged_by_its_interval(below: int, total: int, share: str, expected: Word) -> None:
    measure = measured([-1.0] * below + [1.0] * (total - below))
    found = measure_rules.share_of_datasets(measure, values=BELOW, share=share)
    assert found.verdict == expected
    assert (found.datasets_for, found.datasets_against, found.datasets) == (below, total - below, total)
    exact = stats.binomtest(below, total).proportion_ci(method="exact")
    assert found.interval == pytest.approx((exact.low, exact.high))


def test_a_margin_widens_the_claimed_share() -> None:
    measure = measured([-1.0] * 34 + [1.0])
    strict = measure_rules.share_of_datasets(measure, values=BELOW, share="[0.9, 1]")
    wider = measure_rules.share_of_datasets(measure, values=BELOW, share="[0.9, 1]", margin=0.1)
    assert (strict.verdict, wider.verdict) == ("leans confirmed", "confirmed")
    assert [strict.limit, wider.limit] == pytest.approx([0.9, 0.8])


def test_differences_of_zero_are_on_no_side() -> None:
    found = measure_rules.share_of_datasets(measured([0.0] * 44), values=BELOW, share="(0.5, 1]")
    assert (found.verdict, found.datasets_for) == ("contradicted", 0)


@pytest.mark.parametrize(("standard_errors", "count"), [(0, 3), (1, 2), (2, 1), (-1, 4), (-3, 5)])
def test_standard_errors_move_the_limit_of_what_is_counted(standard_errors: float, count: int) -> None:
    measure = measured([-0.25, -0.15, -0.05, 0.05, 0.25])
    found = measure_rules.share_of_datasets(measure, values=BELOW, share="(0.5, 1]", standard_errors=standard_errors)
    assert found.datasets_for == count


def test_published_estimate_is_that_of_the_same_datasets() -> None:
    values = [-1.0] * 20 + [1.0] * 10
    paper = [-2.0] * 12 + [2.0] * 18
    both = measured(values, published=paper)
    share = measure_rules.share_of_datasets(both, values=BELOW, share="(0.5, 1]")
    assert [share.estimate, share.published] == pytest.approx([20 / 30, 12 / 30])
    assert measure_rules.median_effect(both, median=BELOW).published == 2.0
    one_missing = measured(values, published=[math.nan, *paper[1:]])
    assert measure_rules.share_of_datasets(one_missing, values=BELOW, share="(0.5, 1]").published is None


@pytest.mark.parametrize(
    ("shift", "total", "expected"),
    [
        (-1.0, 44, "confirmed"),
        (1.0, 44, "contradicted"),
        (-0.05, 44, "leans confirmed"),
        (0.05, 44, "leans contradicted"),
        (0.0, 45, "inconclusive"),
        (-3.0, 6, "confirmed"),
        (-3.0, 5, "inconclusive"),
    ],
)
def test_median_effect_knows_the_truth(shift: float, total: int, expected: Word) -> None:
    values = np.linspace(-1, 1, total) + shift
    found = measure_rules.median_effect(measured(values), median=BELOW)
    assert found.verdict == expected
    assert found.estimate == pytest.approx(shift)


def test_a_loss_within_the_margin_is_negligible_and_a_gain_always_is() -> None:
    noise = np.linspace(-0.005, 0.005, 44)
    found = [
        measure_rules.median_within(measured(noise + shift), margin=0.02, side="above").verdict
        for shift in (-1.0, 0.0, 0.05)
    ]
    assert found == ["confirmed", "confirmed", "contradicted"]
    assert measure_rules.median_within(measured(noise - 1), margin=0.02).verdict == "contradicted"


def test_shift_on_the_same_datasets_is_the_median_of_the_differences() -> None:
    generator = np.random.default_rng(1)
    common, own = generator.normal(0, 10, 44), generator.normal(0, 0.1, 44)
    found = measure_rules.shift(measured(common - 0.2 + own), measured(common), difference=BELOW)
    assert found.verdict == "confirmed"  # though the medians differ by far less than their spread
    assert found.estimate == pytest.approx(np.median(own - 0.2))


def test_shift_of_other_datasets_is_hodges_and_lehmanns() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.normal(-1, 1, 13), generator.normal(0, 1, 44)
    table = measured(second).table.assign(dataset=[f"other {place}" for place in range(44)])
    found = measure_rules.shift(measured(first), Measure(table, "Y"), difference=BELOW)
    assert found.estimate == pytest.approx(np.median([one - two for one in first for two in second]))
    significant = stats.mannwhitneyu(first, second).pvalue < 0.05
    assert (found.verdict in ("confirmed", "contradicted")) == significant


@pytest.mark.parametrize("seed", range(20))
def test_value_on_one_dataset_is_decided_as_by_students_test(seed: int) -> None:
    generator = np.random.default_rng(seed)
    splits = int(generator.integers(2, 6))
    runs = generator.normal(generator.choice([-2.0, 0.0, 2.0]), 0.7, splits)
    measure = measured([runs.mean()], errors=float(stats.sem(runs)), splits=splits)
    found = measure_rules.value_on_dataset(measure, dataset="00", value=BELOW)
    p_value = float(stats.ttest_1samp(runs, 0).pvalue)
    side: tuple[Word, Word] = (
        ("confirmed", "leans confirmed") if runs.mean() < 0 else ("contradicted", "leans contradicted")
    )
    assert found.verdict == side[p_value >= 0.05]
    assert found.p_value == pytest.approx(p_value)


@pytest.mark.parametrize(("errors", "splits"), [(math.nan, 5), (math.nan, 1), (0.1, 1)])
def test_a_value_without_standard_error_decides_nothing(errors: float, splits: int) -> None:
    measure = measured([-9.0], errors=errors, splits=splits)
    assert measure_rules.value_on_dataset(measure, dataset="00", value=BELOW).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("place", "error", "expected"),
    [
        (0, 0.1, "confirmed"),
        (10, 0.1, "confirmed"),
        (10, 1.5, "leans confirmed"),
        (16, 1.5, "leans contradicted"),
        (30, 0.1, "contradicted"),
    ],
)
def test_place_among_the_lowest_allows_for_noise(place: int, error: float, expected: Word) -> None:
    measure = measured(np.arange(57, dtype=float), errors=error)
    found = measure_rules.among_lowest(measure, dataset=f"{place:02d}", quantile=0.25)
    assert found.verdict == expected
    assert found.datasets_against == place


def test_one_clear_dataset_refutes_never_and_shows_on_some() -> None:
    values = np.zeros(35)
    values[7] = 2.0
    never = measure_rules.extreme(measured(values), which="largest", value="(-inf, 0]", margin=0.01)
    some = measure_rules.extreme(measured(-values), which="smallest", value="(-inf, -0.1)")
    assert (never.verdict, some.verdict) == ("contradicted", "confirmed")
    assert "most clearly on 07" in never.explanation


@pytest.mark.parametrize("seed", range(10))
def test_never_is_refuted_exactly_where_holm_leaves_a_dataset(seed: int) -> None:
    """The oracle: one-sided t-tests against the margin with Bonferroni's first step of Holm's procedure."""
    generator = np.random.default_rng(seed)
    runs = generator.normal(0, 0.02, (35, 5))
    runs[3] += 0.05 * (seed % 4)
    measure = measured(runs.mean(axis=1), errors=stats.sem(runs, axis=1))
    found = measure_rules.extreme(measure, which="largest", value="(-inf, 0]", margin=0.01)
    p_values = stats.ttest_1samp(runs, 0.01, axis=1, alternative="greater").pvalue
    assert (found.verdict == "contradicted") == (35 * p_values.min() < 0.025)


def test_identity_is_decided_by_any_amount_of_data() -> None:
    rule = measure_rules.identity
    assert rule(measured([1e-7], splits=1), dataset="00", tolerance=1e-3).verdict == "confirmed"
    assert rule(measured([1e-2], splits=1), dataset="00", tolerance=1e-3).verdict == "contradicted"


@pytest.mark.parametrize(
    ("slope", "total", "falls", "none"),
    [
        (-1.0, 57, "confirmed", "contradicted"),
        (1.0, 57, "contradicted", "contradicted"),
        (-1.0, 20, "confirmed", "contradicted"),
        (-1.0, 6, "inconclusive", "inconclusive"),
    ],
)
def test_trend_with_discreteness_knows_the_truth(slope: float, total: int, falls: Word, none: Word) -> None:
    levels = np.linspace(0, 1, total)
    values = slope * levels + np.random.default_rng(1).normal(0, 0.2, total)
    measure = measured(values, discreteness=levels.tolist())
    found = measure_rules.trend(measure, correlation="[-1, 0)")
    assert found.verdict == falls
    assert found.estimate == pytest.approx(stats.spearmanr(levels, values).statistic)
    assert measure_rules.no_trend(measure, margin=0.4).verdict == none


@pytest.mark.parametrize(("total", "expected"), [(57, "confirmed"), (20, "leans confirmed"), (6, "inconclusive")])
def test_no_trend_is_shown_by_an_interval_within_the_margin(total: int, expected: Word) -> None:
    values = np.abs(np.linspace(-1, 1, total))  # symmetric: nearly no rank correlation
    measure = measured(values, discreteness=np.linspace(0, 1, total).tolist())
    assert measure_rules.no_trend(measure, margin=0.4).verdict == expected


def test_verdicts_about_measures_do_not_depend_on_the_order_of_datasets() -> None:
    generator = np.random.default_rng(3)
    measure = measured(generator.normal(-0.1, 1, 44), discreteness=generator.random(44).tolist())
    shuffled = Measure(measure.table.sample(frac=1, random_state=7), "X")
    of_rules: list[tuple[Callable[..., Verdict], dict[str, str]]] = [
        (measure_rules.trend, {"correlation": "[-1, 0)"}),
        (measure_rules.median_effect, {"median": BELOW}),
        (measure_rules.share_of_datasets, {"values": BELOW, "share": "(0.5, 1]"}),
    ]
    for rule, settings in of_rules:
        assert rule(shuffled, **settings) == rule(measure, **settings)


# Every rule can come to every verdict


def test_every_rule_can_come_to_every_verdict() -> None:
    found = {
        (rule, case): verdict.verdict for (rule, case), verdict in cases().items() if rule not in rules.JOINING_RULES
    }
    assert all(verdict == case for (_, case), verdict in found.items())
    expected = {rule: set(VERDICTS) for rule in (*rules.RANK_RULES, *rules.MEASURE_RULES, *rules.TABLE_RULES)}
    by_definition = {"identity": {"confirmed", "contradicted", "not run"}}
    assert {rule: {case for of, case in found if of == rule} for rule in expected} == expected | by_definition
    assert all(claim.by_definition for claim in paper_claims() if claim.rule == "identity")


SIZES = {group: len(names & set(MIRROR)) for group, names in PAPER_SETS.items()}


@pytest.mark.parametrize("size", ["paper", "mirror"])
def test_every_claim_about_a_share_can_be_confirmed_and_contradicted(size: str) -> None:
    """With as many datasets as the paper has, and as the mirror has."""
    for claim in paper_claims():
        for condition in claim.conditions:
            if condition["rule"] != "share_of_datasets":
                continue
            group = condition["datasets"]
            total = len(PAPER_SETS[group]) if size == "paper" else SIZES[group]
            margin = condition.get("margin", 0)
            claimed = Range.parse(condition["share"]).widened(margin, 0, 1)
            found = {
                decide(count / total, share_interval(count, total, 0.9 if margin else 0.95), claimed)
                for count in range(total + 1)
            }
            assert {"confirmed", "contradicted"} <= found, (claim.id, total, found)


@pytest.mark.parametrize("rule", ["ahead", "level", "share_of_datasets", "median_effect"])
def test_fewer_than_six_datasets_say_nothing_about_the_datasets(rule: str) -> None:
    few = FEWEST - 1
    found = {
        "ahead": lambda: rank_rules.ahead(pair(few, few), **AB),
        "level": lambda: rank_rules.level(even(few), **AB, margin=0.25),
        "share_of_datasets": lambda: measure_rules.share_of_datasets(
            measured([-1.0] * few), values=BELOW, share="(0.5, 1]"
        ),
        "median_effect": lambda: measure_rules.median_effect(measured([-1.0] * few), median=BELOW),
    }[rule]()
    assert found.verdict == "inconclusive"
    assert "fewer than 6" in found.explanation


@pytest.mark.parametrize(
    ("count", "where", "claimed", "expected"),
    [
        (57, DISCRETE, "[13, 13]", "confirmed"),
        (57, DISCRETE, "[14, 14]", "contradicted"),
        (6, DISCRETE, "[13, 13]", "leans confirmed"),  # the others by the paper's own table
        (6, DISCRETE, "[14, 14]", "leans contradicted"),
        (5, DISCRETE, "[13, 13]", "inconclusive"),
        (6, DISCRETE, "[0, 0]", "contradicted"),
        (12, [{"column": "group", "is": ["uci"]}], "[1, inf)", "confirmed"),
        (57, [{"column": "group", "is": ["oml_297", "oml_299"]}], "[27, 27]", "confirmed"),
    ],
)
def test_counts_allow_for_datasets_that_are_not_available(
    count: int, where: list[dict[str, Any]], claimed: str, expected: Word
) -> None:
    assert table_rules.dataset_count(dataset_table(count), where=where, count=claimed).verdict == expected


def test_counts_are_of_the_papers_datasets_alone() -> None:
    own = pd.DataFrame([{"dataset": "mine", "group": "uci", "top10": 0.9, "status": "not in the paper"}])
    with pytest.raises(NotRun, match="none of the paper's"):
        table_rules.dataset_count(own, where=DISCRETE, count="[13, 13]")


@pytest.fixture
def maps() -> pd.DataFrame:
    """Uniform PITs; a map with all its mass in the middle half, and one that leaves a tenth outside on each side."""
    z = np.linspace(0, 1, 101)
    cdfs = {
        "TRUE": z,
        "EMP": z,
        "REFL": z,
        "TRUNC": np.clip(2 * z - 0.5, 0, 1),
        "KDE": 0.1 + 0.8 * z,
    }
    return pd.concat([pd.DataFrame({"map": name, "z": z, "cdf": cdf}) for name, cdf in cdfs.items()])


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0, 0.1], [0.9, 1]]}, -0.2),
        ({"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0.4, 0.6]]}, 0.2),
        ({"quantity": "error_of_mass", "left": "REFL", "right": "TRUNC", "regions": [[0.4, 0.6]]}, -0.2),
        ({"quantity": "largest_distance", "left": "REFL", "right": "TRUNC"}, -0.25),
        ({"quantity": "mean_distance", "left": "REFL", "right": "TRUNC"}, -0.125),
        ({"quantity": "mass_outside", "left": "KDE"}, 0.2),
    ],
)
def test_map_values_are_those_by_hand(maps: pd.DataFrame, settings: dict[str, Any], value: float) -> None:
    claimed, opposite = (BELOW, ABOVE) if value < 0 else (ABOVE, BELOW)
    found = table_rules.map_value(maps, **settings, value=claimed)
    assert found.estimate == pytest.approx(value, abs=1e-3)
    assert found.verdict == "confirmed"
    assert table_rules.map_value(maps, **settings, value=opposite).verdict == "contradicted"


def test_a_small_sample_says_little_about_the_true_distribution(maps: pd.DataFrame) -> None:
    settings: dict[str, Any] = {"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0.4, 0.6]]}
    assert table_rules.map_value(maps, **settings, value=ABOVE, pits=10).verdict == "leans confirmed"


def test_a_missing_map_was_not_run(maps: pd.DataFrame) -> None:
    with pytest.raises(NotRun, match="DCP"):
        table_rules.map_value(maps, quantity="mass_outside", left="DCP", value=ABOVE)


@pytest.mark.parametrize(
    ("words", "both", "either"),
    [
        (("confirmed", "confirmed"), "confirmed", "confirmed"),
        (("confirmed", "leans confirmed"), "leans confirmed", "confirmed"),
        (("confirmed", "contradicted"), "contradicted", "confirmed"),
        (("contradicted", "not run"), "contradicted", "not run"),
        (("confirmed", "inconclusive"), "inconclusive", "confirmed"),
        (("confirmed", "not run"), "not run", "confirmed"),
        (("inconclusive", "not run"), "not run", "inconclusive"),
        (("leans contradicted", "inconclusive"), "leans contradicted", "inconclusive"),
        (("leans contradicted", "contradicted"), "contradicted", "leans contradicted"),
        (("leans contradicted", "leans confirmed"), "leans contradicted", "leans confirmed"),
        (("contradicted", "contradicted"), "contradicted", "contradicted"),
    ],
)
def test_conditions_join_in_any_order(words: tuple[Word, Word], both: Word, either: Word) -> None:
    for order in (words, words[::-1]):
        verdicts = [Verdict(word, f"because {word}", estimate=float(VERDICTS.index(word))) for word in order]
        joined = all_of(verdicts)
        assert (joined.verdict, any_of(verdicts).verdict) == (both, either)
        assert joined.estimate == VERDICTS.index(both)
        assert all(f"because {word}" in joined.explanation for word in words)


@pytest.mark.parametrize(
    ("text", "inside", "outside", "words"),
    [
        ("(0.5, 1]", (0.51, 1.0), (0.5, 1.01), "above 0.5 and at most 1"),
        ("(-inf, 0)", (-1e300, -1e-9), (0.0, 1.0), "below 0"),
        ("[13, 13]", (13.0,), (12.0, 14.0), "equal to 13"),
        ("[1e-3, inf)", (0.001, 5.0), (0.0009,), "at least 0.001"),
    ],
)
def test_range_holds_what_it_says(text: str, inside: tuple[float, ...], outside: tuple[float, ...], words: str) -> None:
    found = Range.parse(text)
    assert all(value in found for value in inside)
    assert not any(value in found for value in outside)
    assert found.words == words


@pytest.mark.parametrize("text", ["", "0.5", "(1, 0)", "(0.5, one]", "[0; 1]", "__import__('os')"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="must be like"):
        Range.parse(text)


def test_range_against_intervals() -> None:
    claimed = Range.parse("(0.5, 1]")
    assert claimed.holds(0.6, 1.0)
    assert not claimed.holds(0.5, 1.0)
    assert claimed.misses(0.0, 0.5)
    assert not claimed.misses(0.4, 0.6)
    assert Range.parse(BELOW).holds(-math.inf, -1)
    assert Range.parse(BELOW).misses(0.0, math.inf)
    assert claimed.words_within(0, 1) == "above 0.5"
    assert Range.parse("[0, 0]").words_within(0, 1) == "equal to 0"
