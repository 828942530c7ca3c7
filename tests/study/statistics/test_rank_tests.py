"""Ranks, Friedman's and Wilcoxon's tests, Holm's correction and groups (docs/protocol.md, section 7)."""

from __future__ import annotations

import itertools
import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from qrt_study.statistics.rank_tests import friedman, groups, holm, mean_ranks, rank_tables, wilcoxon

# Demsar (2006), Table 6: AUC (in thousandths) of C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 datasets.
DEMSAR = np.array(
    [
        [763, 768, 771, 798],
        [599, 591, 590, 569],
        [954, 971, 968, 967],
        [628, 661, 654, 657],
        [882, 888, 886, 898],
        [936, 931, 916, 931],
        [661, 668, 609, 685],
        [583, 583, 563, 625],
        [775, 838, 866, 875],
        [1000, 1000, 1000, 1000],
        [940, 962, 965, 962],
        [619, 666, 614, 669],
        [972, 981, 975, 974.9],  # both 975 in print, but his mean ranks tell them apart
        [957, 978, 946, 970],
    ],
    dtype=float,
)
LOWER_IS_BETTER = -DEMSAR

few_differences = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


def signed_rank_p_value(differences: np.ndarray) -> float:
    """Two-sided p-value of the signed-rank test with Pratt's zeros, from all signs."""
    ranks = stats.rankdata(np.abs(differences))[differences != 0]
    signs = np.sign(differences[differences != 0])
    observed = ranks[signs > 0].sum()
    sums = np.array([ranks @ np.array(flips) for flips in itertools.product([0, 1], repeat=len(ranks))])
    return float(min(1.0, 2 * min((sums <= observed).mean(), (sums >= observed).mean())))


def largest_groups(names: list[str], different: set[frozenset[str]]) -> set[frozenset[str]]:
    """All sets of two and more names without a difference inside that are in no larger one."""
    without = [
        frozenset(chosen)
        for size in range(2, len(names) + 1)
        for chosen in itertools.combinations(names, size)
        if not any(frozenset(pair) in different for pair in itertools.combinations(chosen, 2))
    ]
    return {one for one in without if not any(one < other for other in without)}


def test_mean_ranks_of_demsars_example() -> None:
    np.testing.assert_allclose(mean_ranks(LOWER_IS_BETTER), [3.143, 2.000, 2.893, 1.964], atol=0.0005)


def test_friedman_of_demsars_example_is_his_statistic_corrected_for_ties() -> None:
    datasets, methods = DEMSAR.shape
    ranks = mean_ranks(LOWER_IS_BETTER)
    plain = 12 * datasets / (methods * (methods + 1)) * ((ranks**2).sum() - methods * (methods + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)
    # Three rows with one tie of two and a row with all four equal: 3 (2^3 - 2) + (4^3 - 4) = 78.
    correction = 1 - 78 / (datasets * methods * (methods**2 - 1))
    statistic, p_value = friedman(LOWER_IS_BETTER)
    assert statistic == pytest.approx(plain / correction)
    assert p_value == pytest.approx(stats.chi2.sf(statistic, methods - 1))


def test_wilcoxon_of_demsars_example() -> None:
    # His Table 2 has min(93, 12); he shares the ranks of the two zeros (3), Pratt leaves them out.
    statistic, _ = wilcoxon(LOWER_IS_BETTER[:, 1] - LOWER_IS_BETTER[:, 0])
    assert statistic == 12 - 1.5


def test_ties_share_their_mean_rank() -> None:
    means = np.array([[1.0, 1.0, 2.0], [3.0, 3.0, 3.0], [5.0, 4.0, 5.0]])
    np.testing.assert_allclose(mean_ranks(means), [(1.5 + 2 + 2.5) / 3, (1.5 + 2 + 1) / 3, (3 + 2 + 2.5) / 3])


def test_friedman_is_that_of_scipy() -> None:
    means = np.random.default_rng(1).normal(size=(20, 5))
    expected = stats.friedmanchisquare(*means.T)
    assert friedman(means) == pytest.approx((expected.statistic, expected.pvalue))


@pytest.mark.parametrize("shape", [(10, 2), (1, 4), (0, 4)])
def test_friedman_needs_three_methods_and_two_datasets(shape: tuple[int, int]) -> None:
    assert all(math.isnan(value) for value in friedman(np.random.default_rng(0).normal(size=shape)))


def test_equal_methods_do_not_differ() -> None:
    means = np.repeat([[0.1], [0.2], [1e6]], 3, axis=1)
    assert friedman(means) == (0, 1)
    assert wilcoxon(np.zeros(3)) == (0, 1)


@settings(deadline=None, max_examples=50)
@given(differences=few_differences)
def test_wilcoxon_of_few_datasets_is_exact_with_zeros_and_ties(differences: list[float]) -> None:
    values = np.array(differences)
    assert wilcoxon(values)[1] == pytest.approx(signed_rank_p_value(values), abs=1e-12)


@pytest.mark.parametrize("differences", [[0, 1, 1, -2, 3], [1, -1, 2, 2, 4, 7], [0, 0, 5], [-1, -1]])
def test_wilcoxon_of_few_datasets_is_that_of_scipy(differences: list[float]) -> None:
    expected = stats.wilcoxon(differences, zero_method="pratt")
    assert wilcoxon(np.array(differences, dtype=float)) == pytest.approx((expected.statistic, expected.pvalue))


@settings(deadline=None, max_examples=50)
@given(differences=st.lists(st.integers(-3, 9).map(float), min_size=14, max_size=80).filter(any))
def test_wilcoxon_of_many_datasets_with_ties_is_the_normal_limit(differences: list[float]) -> None:
    values = np.array(differences)
    ranks = stats.rankdata(np.abs(values))[values != 0]
    spread = math.sqrt((ranks**2).sum() / 4)  # of a sum of ranks with random signs
    z = (ranks[values[values != 0] > 0].sum() - ranks.sum() / 2) / spread
    statistic, p_value = wilcoxon(values)
    assert p_value == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-9)
    assert statistic == pytest.approx(ranks.sum() / 2 - abs(z) * spread, abs=1e-6)


@settings(deadline=None)
@given(differences=st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=70))
def test_wilcoxon_is_the_same_for_left_and_right_exchanged(differences: list[float]) -> None:
    values = np.array(differences)
    assert wilcoxon(values) == pytest.approx(wilcoxon(-values), rel=1e-12)


@pytest.mark.parametrize("pairs", [1, 2, 6, 78])
def test_holm_is_that_of_statsmodels(pairs: int) -> None:
    generator = np.random.default_rng(pairs)
    for decimals in (1, 3, 12):  # with and without equal p-values
        p_values = np.round(generator.random(pairs) ** 3, decimals)
        expected = multipletests(p_values, method="holm")[1]
        np.testing.assert_allclose(holm(p_values), expected, rtol=1e-12, atol=0)


def test_holm_by_hand() -> None:
    # Steps 0.01 * 4, 0.02 * 3, then 0.02 * 2, which may not be below the step before, then 0.9.
    np.testing.assert_allclose(holm(np.array([0.02, 0.9, 0.01, 0.02])), [0.06, 0.9, 0.04, 0.06])


@settings(deadline=None, max_examples=60)
@given(size=st.integers(2, 7), data=st.data())
def test_groups_are_the_largest_sets_without_a_difference(size: int, data: st.DataObject) -> None:
    names = list("abcdefg"[:size])
    pairs = [frozenset(pair) for pair in itertools.combinations(names, 2)]
    different = data.draw(st.sets(st.sampled_from(pairs)))
    found = groups(names, different)
    assert len(found) == len({frozenset(group) for group in found})
    assert {frozenset(group) for group in found} == largest_groups(names, different)


def test_groups_and_their_methods_come_best_first() -> None:
    different = {frozenset("ad"), frozenset("bd"), frozenset("cd"), frozenset("ac")}
    assert groups(["a", "b", "c", "d"], different) == [["a", "b"], ["b", "c"]]


@pytest.mark.parametrize("seed", range(4))
def test_groups_are_the_bars_of_scikit_posthocs(seed: int) -> None:
    generator = np.random.default_rng(seed)
    names = [f"m{number}" for number in range(8)]
    means = pd.DataFrame(generator.normal(size=(30, 8)) + np.linspace(0, 1.4, 8), columns=names)
    tables = rank_tables(means)
    p_values = pd.DataFrame(1.0, index=names, columns=names)
    for pair in tables["pairs"].itertuples():
        p_values.loc[pair.left, pair.right] = p_values.loc[pair.right, pair.left] = pair.p_holm
    ranks = tables["ranks"].set_index("method")["mean_rank"]
    figure, axes = plt.subplots()
    bars = scikit_posthocs.critical_difference_diagram(ranks, p_values, ax=axes)["crossbars"]
    plt.close(figure)
    drawn = {frozenset(line.get_xdata().tolist()) for (line,) in bars}
    members = tables["groups"].groupby("group")["method"].agg(list)
    assert {frozenset(ranks[group].tolist()) for group in members} == drawn
    assert len(drawn) > 1


def test_pairs_are_those_of_scikit_posthocs() -> None:
    means = pd.DataFrame(np.random.default_rng(3).normal(size=(44, 5)) + np.arange(5) / 3, columns=list("abcde"))
    means.iloc[:3, 1] = means.iloc[:3, 0]  # zeros
    pairs = rank_tables(means)["pairs"]
    expected = scikit_posthocs.posthoc_wilcoxon(
        means.melt(), val_col="value", group_col="variable", zero_method="pratt", p_adjust="holm"
    )
    assert len(pairs) == 10
    for pair in pairs.itertuples():
        assert pair.p_holm == pytest.approx(expected.loc[pair.left, pair.right])


def test_pair_counts_and_median_by_hand() -> None:
    means = pd.DataFrame({"one": [1.0, 2.0, 3.0, 4.0], "two": [2.0, 2.0, 1.0, 1e6]})
    pair = rank_tables(means)["pairs"].iloc[0]
    assert (pair["left"], pair["right"], pair["datasets"]) == ("one", "two", 4)
    assert (pair["left_lower"], pair["right_lower"], pair["median_difference"]) == (2, 1, -0.5)


def test_two_methods_need_no_friedman_test_to_differ() -> None:
    means = pd.DataFrame({"good": np.arange(10.0), "bad": np.arange(10.0) + np.arange(1, 11)})
    tables = rank_tables(means)
    assert tables["friedman"]["p_value"].isna().all()
    assert tables["pairs"]["p_value"].tolist() == [2 / 2**10]
    assert tables["pairs"]["significant"].tolist() == [True]
    assert tables["groups"].empty


def test_no_pair_is_significant_where_friedman_finds_nothing() -> None:
    # `d` is above `c` by very little on every dataset, but the ranks of all five methods look random.
    generator = np.random.default_rng(0)
    means = pd.DataFrame(generator.normal(size=(16, 3)), columns=list("abc"))
    means["d"] = means["c"] + 1e-6 * (1 + generator.random(16))
    means.loc[::2, "a"] = means.loc[::2, "c"] + 1
    means.loc[::2, "b"] = means.loc[::2, "c"] - 1
    means.loc[1::2, "a"] = means.loc[1::2, "c"] - 1
    means.loc[1::2, "b"] = means.loc[1::2, "c"] + 1
    tables = rank_tables(means)
    assert tables["friedman"]["p_value"].item() > 0.05
    assert tables["pairs"]["p_holm"].min() < 0.05
    assert not tables["pairs"]["significant"].any()
    assert tables["groups"]["group"].tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("shape", [(1, 3), (5, 1), (0, 3), (5, 0)])
def test_too_few_methods_or_datasets_have_no_rank_tables(shape: tuple[int, int]) -> None:
    assert rank_tables(pd.DataFrame(np.zeros(shape))) == {}
