"""Rules about the rank tests of a comparison (spec, section 7). Lower is better for every metric.

A rule gets the statistics of the figure that its claim is about, so that Holm's family is all methods of that figure.
The estimate is the share of datasets on which the left method is lower. What a study with fewer datasets than the paper
may decide: `qrt.claims.verdict`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from qrt.claims.range import Range
from qrt.claims.verdict import (
    Reach,
    Verdict,
    Word,
    counted,
    median_splits,
    plain_p,
    share_interval,
    smallest_significant_share,
)
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.statistics.rank_tests import LEVEL


@dataclass(frozen=True)
class Pair:
    """One pair of methods in the rank tests of one metric, the left method first."""

    metric: str
    left: str
    right: str
    left_lower: int
    right_lower: int
    left_rank: float
    right_rank: float
    p_value: float
    p_holm: float
    significant: bool
    family: int  # pairs that Holm's correction is over
    reach: Reach

    @property
    def left_better(self) -> bool:
        """Is the left method significantly better: by the test, with the lower mean rank?"""
        return self.significant and self.left_rank < self.right_rank

    @property
    def right_better(self) -> bool:
        """Is the right method significantly better?"""
        return self.significant and self.right_rank < self.left_rank

    def verdict(self, word: Word, *, corrected: bool = True) -> Verdict:
        """The verdict with this pair as its evidence; inconclusive if the study is too small."""
        if self.reach.too_small:
            word = "inconclusive"
        datasets, p_value = self.reach.datasets, self.p_holm if corrected else self.p_value
        family = self.family if corrected else 1
        detectable = smallest_significant_share(datasets, family, LEVEL)
        sentence = (
            f"{self.left} has the lower {self.metric} than {self.right} on {self.left_lower} of {datasets} datasets, "
            f"the higher on {self.right_lower}; mean ranks {self.left_rank:.2f} and {self.right_rank:.2f}, "
            f"{'Holm-corrected ' if corrected else ''}Wilcoxon {plain_p(p_value)}"
        )
        if word == "inconclusive":
            sentence += f" ({self.reach.words}"
            if detectable is None:
                sentence += f"; even if all agreed, p could not be below {min(1.0, family * 2.0 ** (1 - datasets)):.2g}"
            sentence += ")"
        return Verdict(
            word,
            sentence,
            estimate=self.left_lower / datasets,
            quantity=f"share of datasets where {self.left} has the lower {self.metric} than {self.right}",
            interval=share_interval(self.left_lower, datasets),
            p_value=p_value,
            datasets=datasets,
            datasets_for=self.left_lower,
            datasets_against=self.right_lower,
            splits=self.reach.splits,
            smallest_detectable=detectable,
            detectable="share of datasets on one side that a sign test at Holm's strictest level finds significant",
        )


def find_pair(statistics: FigureStatistics, metric: str, left: str, right: str, paper_datasets: int) -> Pair | None:
    """The pair in the rank tests, whichever method comes first there; None without rank tests of both."""
    pairs = _pairs(statistics).get(metric, {})
    turned = (left, right) not in pairs
    row = pairs.get((right, left) if turned else (left, right))
    if row is None:
        return None
    ranks = _mean_ranks(statistics, metric)
    lower, higher = int(row["left_lower"]), int(row["right_lower"])
    return Pair(
        metric,
        left,
        right,
        higher if turned else lower,
        lower if turned else higher,
        ranks[left],
        ranks[right],
        float(row["p_value"]),
        float(row["p_holm"]),
        bool(row["significant"]),
        len(pairs),
        Reach(int(row["datasets"]), _splits(statistics, metric, (left, right)), paper_datasets),
    )


def significantly_better(
    statistics: FigureStatistics, *, metric: str, left: str, right: str, paper_datasets: int
) -> Verdict:
    """Left has the lower mean rank, and Wilcoxon's test with Holm's correction is significant at 5 %.

    Contradicted if right is significantly better, or if a study with the paper's power finds no significance.
    """
    pair = find_pair(statistics, metric, left, right, paper_datasets)
    if pair is None:
        return _without_tests(statistics, metric, left, right)
    if pair.left_better:
        return pair.verdict("confirmed")
    refuted = pair.right_better or pair.reach.as_the_paper
    return pair.verdict("contradicted" if refuted else "inconclusive")


def not_significantly_better(
    statistics: FigureStatistics, *, metric: str, left: str, right: str, paper_datasets: int
) -> Verdict:
    """Left is not significantly better than right.

    Contradicted if it is. Confirmed if right is significantly better, or if a study with the paper's power finds
    left not to be.
    """
    pair = find_pair(statistics, metric, left, right, paper_datasets)
    if pair is None:
        return _without_tests(statistics, metric, left, right)
    if pair.left_better:
        return pair.verdict("contradicted")
    shown = pair.right_better or pair.reach.as_the_paper
    return pair.verdict("confirmed" if shown else "inconclusive")


def no_significant_difference(
    statistics: FigureStatistics,
    *,
    metric: str,
    paper_datasets: int,
    left: str = "",
    right: str = "",
    among: Sequence[str] = (),
    against: Sequence[str] = (),
    corrected: bool = True,
) -> Verdict:
    """No significant difference: between left and right, or left and each of `against`, or any two `among` some.

    Contradicted if any of the pairs differs significantly, confirmed if none does in a study with the paper's power.
    The evidence shown is the pair with the smallest p-value. `corrected` false: Wilcoxon's test of each pair by itself.
    """
    names = list(combinations(among, 2)) if among else [(left, other) for other in against or (right,)]
    pairs = []
    for one, other in names:
        pair = find_pair(statistics, metric, one, other, paper_datasets)
        if pair is None:
            return _without_tests(statistics, metric, one, other)
        pairs.append(pair)
    different = [pair for pair in pairs if (pair.significant if corrected else pair.p_value < LEVEL)]
    closest = min(pairs, key=lambda pair: pair.p_value)
    word: Word = "inconclusive"
    if different:
        word = "contradicted"
    elif all(pair.reach.as_the_paper for pair in pairs):
        word = "confirmed"
    verdict = closest.verdict(word, corrected=corrected)
    if len(pairs) == 1:
        return verdict
    sentence = f"{len(different)} of {len(pairs)} pairs differ significantly in {metric}; the clearest: "
    return Verdict(**(vars(verdict) | {"explanation": sentence + verdict.explanation}))


def better_mean_rank(
    statistics: FigureStatistics,
    *,
    metric: str,
    left: str,
    right: str,
    paper_datasets: int,
    or_equal: bool = False,
) -> Verdict:
    """Left has the lower mean rank (`or_equal`: not the higher one), significant or not.

    With fewer datasets than the paper a lower mean rank may be chance: decided only if the pair differs significantly.
    """
    pair = find_pair(statistics, metric, left, right, paper_datasets)
    if pair is None:
        return _without_tests(statistics, metric, left, right)
    if not (pair.significant or pair.reach.as_the_paper):
        return pair.verdict("inconclusive")
    lower = pair.left_rank < pair.right_rank or (or_equal and pair.left_rank == pair.right_rank)
    return pair.verdict("confirmed" if lower else "contradicted")


def ranking(
    statistics: FigureStatistics,
    *,
    metric: str,
    best: Sequence[str],
    paper_datasets: int,
    among: Sequence[str] = (),
    by: str = "mean_rank",
) -> Verdict:
    """The methods `best`, in any order, are ahead of all others `among` these (default: of the figure).

    `by` is mean_rank, or median_cohens_d (against the figure's baseline). With fewer datasets than the paper: confirmed
    only if each of the best is significantly better than each of the others, contradicted only if one of the others is
    significantly better than one of the best.
    """
    values = _mean_ranks(statistics, metric) if by == "mean_rank" else _median_effects(statistics, metric)
    names = list(among) or list(values)
    others = [name for name in names if name not in best]
    pairs = [find_pair(statistics, metric, name, other, paper_datasets) for name in best for other in others]
    known = [pair for pair in pairs if pair is not None]
    if len(known) < len(pairs) or not known or not all(math.isfinite(values.get(name, math.nan)) for name in names):
        return _without_tests(statistics, metric, " and ".join(best), "the others")
    gap = min(values[name] for name in others) - max(values[name] for name in best)
    reach = min((pair.reach for pair in known), key=lambda reach: (reach.datasets, reach.splits))
    word: Word = "inconclusive"
    if reach.as_the_paper:
        word = "confirmed" if gap > 0 else "contradicted"
    elif not reach.too_small and all(pair.left_better for pair in known):
        word = "confirmed"
    elif not reach.too_small and any(pair.right_better for pair in known):
        word = "contradicted"
    order = ", ".join(f"{name} {values[name]:.2f}" for name in sorted(names, key=lambda name: (values[name], name)))
    kind = "mean ranks" if by == "mean_rank" else "medians of Cohen's d"
    return Verdict(
        word,
        f"{kind} of {metric} on {counted(reach.datasets, 'dataset')}, best first: {order}"
        + (f" ({reach.words})" if word == "inconclusive" else ""),
        estimate=gap,
        quantity=f"{kind} of {metric}: lowest of the others minus highest of {', '.join(best)}",
        p_value=max(pair.p_holm for pair in known),
        datasets=reach.datasets,
        splits=reach.splits,
    )


def rank_trend(
    statistics: FigureStatistics,
    *,
    metric: str,
    methods: Sequence[str],
    at: Sequence[float],
    correlation: str,
    paper_datasets: int,
) -> Verdict:
    """Spearman's correlation of the methods' mean ranks with the parameter values `at` is in the range `correlation`.

    The p-value is that of Page's test of a trend in the claimed direction, with the datasets as blocks. With fewer
    datasets than the paper the correlation of a few mean ranks is no evidence by itself: confirmed only if Page's test
    is significant too, contradicted only if it is significant in the opposite direction.
    """
    claimed = Range.parse(correlation)
    ranks = _mean_ranks(statistics, metric)
    per_dataset = statistics.tables["per_dataset"]
    rows = per_dataset[(per_dataset["metric"] == metric) & per_dataset["method"].isin(list(methods))]
    means = rows.pivot_table(index="dataset", columns="method", values="mean").reindex(columns=list(methods)).dropna()
    if len(means) < 2 or not all(name in ranks for name in methods):
        return _without_tests(statistics, metric, methods[0], methods[-1])
    of_ranks = [ranks[name] for name in methods]
    estimate = 0.0 if len(set(of_ranks)) == 1 else float(stats.spearmanr(list(at), of_ranks).statistic)
    falling = claimed.low + claimed.high < 0
    ordered = means[list(methods)].to_numpy()[:, np.argsort(at)]
    along, opposite = (ordered[:, ::-1], ordered) if falling else (ordered, ordered[:, ::-1])
    p_value, p_opposite = (float(stats.page_trend_test(blocks).pvalue) for blocks in (along, opposite))
    reach = Reach(len(means), _splits(statistics, metric, methods), paper_datasets)
    word: Word = "inconclusive"
    if reach.as_the_paper:
        word = "confirmed" if estimate in claimed else "contradicted"
    elif not reach.too_small and estimate in claimed and p_value < LEVEL:
        word = "confirmed"
    elif not reach.too_small and p_opposite < LEVEL:
        word = "contradicted"
    listed = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(methods, of_ranks, strict=True))
    in_words = claimed.words_within(-1, 1)
    return Verdict(
        word,
        f"mean ranks of {metric}: {listed}; Spearman's correlation {estimate:.2f}, claimed {in_words}; "
        f"Page's trend test {plain_p(p_value)} on {counted(reach.datasets, 'dataset')}"
        + (f" ({reach.words})" if word == "inconclusive" else ""),
        estimate=estimate,
        quantity=f"Spearman's correlation of the mean rank of {metric} with the parameter",
        p_value=p_value,
        datasets=reach.datasets,
        splits=reach.splits,
    )


# Dozens of claims ask the same statistics, so the tables are looked up as dictionaries.


@lru_cache(maxsize=100)
def _pairs(statistics: FigureStatistics) -> dict[str, dict[tuple[str, str], dict[str, Any]]]:
    """Metric -> left and right -> row of the table `pairs`."""
    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for row in statistics.tables["pairs"].to_dict("records"):
        found.setdefault(row["metric"], {})[row["left"], row["right"]] = row
    return found


@lru_cache(maxsize=1000)
def _mean_ranks(statistics: FigureStatistics, metric: str) -> dict[str, float]:
    ranks = statistics.tables["ranks"]
    ranks = ranks[ranks["metric"] == metric]
    return dict(zip(ranks["method"], ranks["mean_rank"].astype(float), strict=True))


def _median_effects(statistics: FigureStatistics, metric: str) -> dict[str, float]:
    values = statistics.tables["letter_values"]
    values = values[(values["metric"] == metric) & (values["quantile"] == 0.5)]
    return dict(zip(values["method"], values["value"].astype(float), strict=True))


def _splits(statistics: FigureStatistics, metric: str, methods: Sequence[str]) -> int:
    """The splits of a typical dataset, counted by the method that has fewest there."""
    fewest: dict[str, int] = {}
    for method in methods:
        for dataset, splits in _splits_of(statistics).get((metric, method), {}).items():
            fewest[dataset] = min(splits, fewest.get(dataset, splits))
    return median_splits(list(fewest.values()))


@lru_cache(maxsize=100)
def _splits_of(statistics: FigureStatistics) -> dict[tuple[str, str], dict[str, int]]:
    """Metric and method -> dataset -> number of splits, where there are any."""
    columns = (statistics.tables["per_dataset"][name] for name in ("metric", "method", "dataset", "splits"))
    found: dict[tuple[str, str], dict[str, int]] = {}
    for metric, method, dataset, splits in zip(*columns, strict=True):
        if splits > 0:
            found.setdefault((metric, method), {})[dataset] = int(splits)
    return found


def _without_tests(statistics: FigureStatistics, metric: str, left: str, right: str) -> Verdict:
    """Both methods were run, but there are too few datasets where all methods of the figure have a usable run."""
    datasets = len(statistics.datasets)
    reason = f"no rank test of {left} against {right} in {metric}: {counted(datasets, 'dataset')} with usable runs"
    return Verdict("inconclusive", reason, datasets=datasets, splits=statistics.splits)
