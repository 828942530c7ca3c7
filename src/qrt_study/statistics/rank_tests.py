"""Rank tests of methods over datasets: Friedman, then Wilcoxon for each pair with Holm's correction.

See docs/protocol.md, section 7. `means` is a table with a row for each dataset and a column for each method, complete;
lower is better.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from qrt_study.statistics.intervals import rank_shares

Array = NDArray[np.float64]

LEVEL = 0.05  # of significance
# Datasets up to which a test is exact with ties, and without, as in SciPy.
SMALL, MOST_EXACT = 13, 50


def rank_tables(means: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tables ranks, friedman, pairs and groups of one metric; none with fewer than two methods or two datasets."""
    datasets, methods = means.shape
    if datasets < 2 or methods < 2:
        return {}
    return dict(_rank_tables(tuple(means.columns), means.to_numpy().tobytes()))


@lru_cache(maxsize=1000)  # the readings of a study share most of their numbers
def _rank_tables(labels: tuple[str, ...], numbers: bytes) -> dict[str, pd.DataFrame]:
    means = np.frombuffer(numbers).reshape(-1, len(labels))
    datasets, methods = means.shape
    ranks = mean_ranks(means)
    statistic, p_value = friedman(means)
    pairs = _pairs(labels, means, may_differ=methods == 2 or p_value < LEVEL)
    different = {
        frozenset(pair)
        for pair in pairs.loc[pairs["significant"], ["left", "right"]].itertuples(index=False, name=None)
    }
    best_first = [labels[place] for place in np.argsort(ranks, kind="stable")]
    return {
        "ranks": pd.DataFrame({"method": list(labels), "mean_rank": ranks, "datasets": datasets}),
        "friedman": pd.DataFrame(
            {"methods": [methods], "datasets": [datasets], "statistic": [statistic], "p_value": [p_value]}
        ),
        "pairs": pairs,
        "groups": pd.DataFrame(
            [(number, name) for number, names in enumerate(groups(best_first, different)) for name in names],
            columns=["group", "method"],
        ),
    }


def mean_ranks(means: Array) -> Array:
    """The mean rank (M,) of each method over the datasets, means (D, M); 1 is best, ties share their mean rank."""
    return stats.rankdata(means, axis=1).mean(axis=0)


def friedman(means: Array) -> tuple[float, float]:
    """Friedman's statistic, corrected for ties, and its p-value; NaN with fewer than three methods or two datasets."""
    datasets, methods = means.shape
    if methods < 3 or datasets < 2:
        return np.nan, np.nan
    if (means == means[:, :1]).all():  # SciPy divides 0 by 0 here
        return 0.0, 1.0
    result = stats.friedmanchisquare(*means.T)
    return float(result.statistic), float(result.pvalue)


def wilcoxon(differences: Array) -> tuple[float, float]:
    """Wilcoxon's signed-rank statistic and two-sided p-value, zeros ranked as Pratt does; p is 1 if all are zero.

    The p-value is exact for up to 13 datasets, and for up to 50 without ties and zeros; else it is the normal limit.
    """
    (statistic,), (p_value,) = wilcoxon_tests(differences[None])
    return float(statistic), float(p_value)


def wilcoxon_tests(differences: Array) -> tuple[Array, Array]:
    """The same of several pairs, (P, D): statistics and p-values (P,). Calling SciPy takes longer than the tests."""
    sizes, datasets = np.sort(np.abs(differences), axis=1), differences.shape[1]
    some = sizes[:, -1] > 0
    tied = (sizes[:, 0] == 0) | (np.diff(sizes, axis=1) == 0).any(axis=1)
    statistics, p_values = np.zeros(len(differences)), np.ones(len(differences))
    by_hand = some & tied & (datasets <= SMALL)
    exact = some & ~tied & (datasets <= MOST_EXACT)
    for pair in np.flatnonzero(by_hand):
        statistics[pair], p_values[pair] = _exact_wilcoxon(differences[pair])
    for chosen, method in ((exact, "exact"), (some & ~by_hand & ~exact, "asymptotic")):
        if chosen.any():
            result = stats.wilcoxon(differences[chosen], zero_method="pratt", axis=1, method=method)
            statistics[chosen], p_values[chosen] = result.statistic, result.pvalue
    return statistics, p_values


def _exact_wilcoxon(differences: Array) -> tuple[float, float]:
    """Wilcoxon's test from all signs of the differences, as SciPy has it, which takes seconds for a pair of methods."""
    doubled = np.rint(2 * stats.rankdata(np.abs(differences))).astype(int)  # whole numbers also with ties
    plus, minus = doubled[differences > 0].sum(), doubled[differences < 0].sum()
    sums = np.zeros(1, dtype=int)
    for rank in doubled[differences != 0]:
        sums = np.concatenate([sums, sums + rank])
    tail = min((sums <= plus).mean(), (sums >= plus).mean())
    return min(plus, minus) / 2, min(1.0, 2 * tail)


def holm(p_values: Array) -> Array:
    """Holm's step-down correction of the p-values (P,)."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def groups(best_first: Sequence[str], different: set[frozenset[str]]) -> list[list[str]]:
    """The largest sets of two and more methods without a significant difference inside, best first.

    The maximal cliques of the graph "not different", as critical-difference diagrams join them with bars.
    """
    place = {name: number for number, name in enumerate(best_first)}
    neighbours = {
        name: {other for other in best_first if other != name and frozenset((name, other)) not in different}
        for name in best_first
    }
    cliques = _maximal_cliques(neighbours, set(), set(best_first), set())
    found = [sorted(clique, key=place.__getitem__) for clique in cliques if len(clique) > 1]
    return sorted(found, key=lambda names: [place[name] for name in names])


def _maximal_cliques(
    neighbours: dict[str, set[str]], clique: set[str], candidates: set[str], seen: set[str]
) -> Iterator[set[str]]:
    """Bron and Kerbosch's algorithm with a pivot."""
    if not candidates and not seen:
        yield clique
        return
    pivot = max(candidates | seen, key=lambda name: len(neighbours[name] & candidates))
    for name in sorted(candidates - neighbours[pivot]):
        yield from _maximal_cliques(neighbours, clique | {name}, candidates & neighbours[name], seen & neighbours[name])
        candidates = candidates - {name}
        seen = seen | {name}


def _pairs(labels: Sequence[str], means: Array, may_differ: bool) -> pd.DataFrame:
    left, right = np.array(list(combinations(range(len(labels)), 2))).T
    differences = np.ascontiguousarray((means[:, left] - means[:, right]).T)
    statistics, p_values = wilcoxon_tests(differences)
    p_holm = holm(p_values)
    return pd.DataFrame(
        {
            "left": [labels[place] for place in left],
            "right": [labels[place] for place in right],
            "datasets": len(means),
            "left_lower": (differences < 0).sum(axis=1),
            "right_lower": (differences > 0).sum(axis=1),
            "rank_share": rank_shares(differences),
            "median_difference": np.median(differences, axis=1),
            "statistic": statistics,
            "p_value": p_values,
            "p_holm": p_holm,
            "significant": may_differ & (p_holm < LEVEL),
        }
    )
