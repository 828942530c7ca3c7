"""Rules about the rank tests of a comparison (docs/protocol.md, section 7). Lower is better for every metric.

The estimate is the rank share: the part of Wilcoxon's sum of ranks that belongs to the datasets on which the left
method is lower, from 0 to 1. It is a share of datasets in which clear differences count more than close ones; above 1/2
the left method is ahead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from qrt.text.words import counted
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.intervals import (
    COVERAGE,
    mean_interval,
    rank_share,
    rank_share_deviation,
    rank_share_interval,
)
from qrt_study.verdicts.range import Range
from qrt_study.verdicts.verdict import (
    FEWEST,
    MARGIN_COVERAGE,
    NotRun,
    Verdict,
    decide_over_datasets,
    interval_words,
    median_splits,
    nearest_limit,
    plain_p,
    too_few_words,
)

AHEAD = Range.parse("(0.5, 1]")
# Metric -> differences to a common method that the paper publishes: datasets x labels of the comparison.
Published = Mapping[str, pd.DataFrame]


@dataclass(frozen=True)
class Pair:
    """One pair of methods in the rank tests of one metric, the left method first."""

    metric: str
    left: str
    right: str
    left_lower: int
    right_lower: int
    rank_share: float
    p_value: float
    p_holm: float  # corrected for all pairs of the figure
    datasets: int
    splits: int
    published: float | None

    def verdict(self, claimed: Range, coverage: float, *, p_value: float | None = None) -> Verdict:
        """The verdict on the claim that the rank share is in a range.

        `p_value` is Wilcoxon's, corrected if need be, where the claim is one of a significant difference.
        """
        level, tested = 1 - coverage, 1.0
        if p_value is not None and self.p_value > 0:
            # The interval leaves out 1/2 exactly where the corrected p-value is below the level.
            level, tested = level * min(1.0, self.p_value / p_value), self.p_value
        interval = rank_share_interval(self.rank_share, self.datasets, p_value=tested, level=level)
        word = decide_over_datasets(self.rank_share, interval, claimed, self.datasets)
        counts = f"{self.left_lower} of {counted(self.datasets, 'dataset')}"
        shown = self.p_value if p_value is None else p_value
        corrected = p_value is not None and p_value > self.p_value
        sentence = (
            f"{self.left} has the lower {self.metric} than {self.right} on {counts}, the higher on "
            f"{self.right_lower}; rank share {self.rank_share:.2f}{interval_words(interval, coverage)}, "
            f"claimed {claimed.words_within(0, 1)}; Wilcoxon {plain_p(shown)}"
            f"{' after correction' if corrected else ''}, "
            f"{plain_p(self.p_holm)} with Holm's correction for all pairs of the figure{too_few_words(self.datasets)}"
        )
        return Verdict(
            word,
            sentence,
            short=f"{self.left} is lower in {self.metric} than {self.right} on {counts}.",
            estimate=self.rank_share,
            quantity=f"share of the sum of ranks of the datasets where {self.left} has the lower {self.metric} than "
            f"{self.right}",
            limit=nearest_limit(self.rank_share, claimed, (0, 1)),
            published=self.published,
            interval=interval,
            p_value=shown,
            datasets=self.datasets,
            datasets_for=self.left_lower,
            datasets_against=self.right_lower,
            splits=self.splits,
            smallest_detectable=min(1.0, 0.5 + float(stats.norm.isf(level / 2)) * rank_share_deviation(self.datasets)),
            detectable="rank share whose interval would leave out one half",
        )


def find_pair(
    statistics: FigureStatistics, metric: str, left: str, right: str, published: Published | None = None
) -> Pair:
    """The pair in the rank tests, whichever method comes first there; NotRun without rank tests of both."""
    pairs = _pairs(statistics).get(metric, {})
    swapped = (left, right) not in pairs
    row = pairs.get((right, left) if swapped else (left, right))
    if row is None:
        raise NotRun(
            f"no rank test of {left} against {right} in {metric}: "
            f"{counted(len(statistics.datasets), 'dataset')} with usable runs"
        )
    lower, higher, share = int(row["left_lower"]), int(row["right_lower"]), float(row["rank_share"])
    datasets = int(row["datasets"])
    return Pair(
        metric,
        left,
        right,
        higher if swapped else lower,
        lower if swapped else higher,
        1 - share if swapped else share,
        float(row["p_value"]),
        float(row["p_holm"]),
        datasets,
        _splits(statistics, metric, (left, right)),
        _published_share(statistics, metric, (left, right), datasets, published or {}),
    )


def significantly_better(
    statistics: FigureStatistics,
    *,
    metric: str,
    left: str,
    right: str,
    published: Published | None = None,
    correction: float = 1.0,
) -> Verdict:
    """Left is ahead by Wilcoxon's test at 5 %; contradicted if right is.

    `correction` is what Holm's procedure multiplies the p-value by, over the claims of the same passage.
    """
    pair = find_pair(statistics, metric, left, right, published)
    return pair.verdict(AHEAD, COVERAGE, p_value=min(1.0, correction * pair.p_value))


def ahead(
    statistics: FigureStatistics, *, metric: str, left: str, right: str, published: Published | None = None
) -> Verdict:
    """Left is ahead of right, by a test of this pair alone."""
    return significantly_better(statistics, metric=metric, left=left, right=right, published=published)


def not_better(
    statistics: FigureStatistics,
    *,
    metric: str,
    left: str,
    right: str,
    margin: float,
    published: Published | None = None,
) -> Verdict:
    """Left is not better than right: its rank share is below 1/2 plus the margin."""
    claimed = Range(0, 0.5 + margin, with_low=True, with_high=False)
    return find_pair(statistics, metric, left, right, published).verdict(claimed, MARGIN_COVERAGE)


def level(
    statistics: FigureStatistics,
    *,
    metric: str,
    margin: float,
    left: str = "",
    right: str = "",
    among: Sequence[str] = (),
    against: Sequence[str] = (),
    published: Published | None = None,
) -> Verdict:
    """The rank share is within the margin of 1/2: of left and right, or left and each of `against`, or any two `among`.

    Of several pairs, the one that is farthest from level decides.
    """
    names = list(combinations(among, 2)) if among else [(left, other) for other in against or (right,)]
    claimed = Range(0.5 - margin, 0.5 + margin, with_low=False, with_high=False)
    pairs = [find_pair(statistics, metric, one, other, published) for one, other in names]
    farthest = max(pairs, key=lambda pair: abs(pair.rank_share - 0.5))
    verdict = farthest.verdict(claimed, MARGIN_COVERAGE)
    if len(pairs) == 1:
        return verdict
    return replace(
        verdict,
        explanation=f"of {len(pairs)} pairs, the one farthest from level in {metric}: {verdict.explanation}",
        short=f"Farthest from level of {len(pairs)} pairs: {verdict.short}",
    )


def ranking(
    statistics: FigureStatistics,
    *,
    metric: str,
    best: Sequence[str],
    among: Sequence[str] = (),
    published: Published | None = None,
) -> Verdict:
    """Each of the methods `best` is ahead of each of the others `among` these (default: of the figure).

    The pair that speaks most against it decides. To confirm, every pair must be ahead, so that no correction is needed;
    to contradict, one pair is enough, so that its p-value is corrected for their number.
    """
    ranks = _mean_ranks(statistics, metric)
    names = list(among) or list(ranks)
    others = [name for name in names if name not in best]
    pairs = [find_pair(statistics, metric, name, other, published) for name in best for other in others]
    if not pairs:
        raise NotRun(f"no rank tests of {', '.join(best)} in {metric}")
    worst = min(pairs, key=lambda pair: (pair.rank_share, pair.right))
    correction = len(pairs) if worst.rank_share < 0.5 else 1
    verdict = worst.verdict(AHEAD, COVERAGE, p_value=min(1.0, correction * worst.p_value))
    listed = [name for name in sorted(names, key=lambda name: (ranks.get(name, math.inf), name)) if name in ranks]
    order = ", ".join(f"{name} {ranks[name]:.2f}" for name in listed)
    return replace(
        verdict,
        explanation=f"mean ranks of {metric}, best first: {order}; the pair that speaks most against it: "
        f"{verdict.explanation}",
        short=f"Best by mean rank in {metric}: {', '.join(listed[: len(best)])}.",
    )


def rank_trend(
    statistics: FigureStatistics, *, metric: str, methods: Sequence[str], at: Sequence[float], correlation: str
) -> Verdict:
    """The mean over datasets of Spearman's correlation of the metric with the parameter `at` is in a range.

    That is Page's statistic of a trend, on the scale of a correlation; the interval is Student's over the datasets.
    """
    claimed = Range.parse(correlation)
    per_dataset = statistics.tables["per_dataset"]
    rows = per_dataset[(per_dataset["metric"] == metric) & per_dataset["method"].isin(list(methods))]
    means = rows.pivot_table(index="dataset", columns="method", values="mean").reindex(columns=list(methods)).dropna()
    if means.empty:
        raise NotRun(f"no dataset has {metric} of all of {', '.join(methods)}")
    ranks, parameter = stats.rankdata(means.to_numpy(float), axis=1), stats.rankdata(at)
    correlations = np.array([_correlation(row, parameter) for row in ranks])
    datasets = len(correlations)
    error = float(stats.sem(correlations)) if datasets > 1 else math.nan
    estimate, interval = float(correlations.mean()), mean_interval(float(correlations.mean()), error, datasets)
    listed = ", ".join(f"{name} {rank:.2f}" for name, rank in zip(methods, ranks.mean(axis=0), strict=True))
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, datasets),
        f"mean ranks of {metric}: {listed}; Spearman's correlation with the parameter is {estimate:.2f} in the mean "
        f"over {counted(datasets, 'dataset')}{interval_words(interval, COVERAGE)}, "
        f"claimed {claimed.words_within(-1, 1)}{too_few_words(datasets)}",
        short=f"The correlation of {metric} with the parameter is {estimate:.2f} in the mean over "
        f"{counted(datasets, 'dataset')}.",
        estimate=estimate,
        quantity=f"mean over datasets of Spearman's correlation of {metric} with the parameter",
        limit=nearest_limit(estimate, claimed, (-1, 1)),
        interval=interval if datasets >= FEWEST else None,
        datasets=datasets,
        datasets_for=int((correlations < 0).sum()),
        datasets_against=int((correlations > 0).sum()),
        splits=_splits(statistics, metric, methods),
    )


def _correlation(ranks: np.ndarray, parameter: np.ndarray) -> float:
    """Pearson's correlation of ranks, which is Spearman's; 0 if all are equal."""
    return 0.0 if np.ptp(ranks) == 0 else float(np.corrcoef(ranks, parameter)[0, 1])


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


def _published_share(
    statistics: FigureStatistics, metric: str, methods: tuple[str, str], datasets: int, published: Published
) -> float | None:
    """The rank share of the published differences; None unless the paper has all datasets of the test."""
    table = published.get(metric)
    if table is None or not set(methods) <= set(table.columns):
        return None
    splits = _splits_of(statistics)
    tested = set.intersection(*(set(splits.get((metric, name), {})) for name in _mean_ranks(statistics, metric)))
    if len(tested) != datasets or not tested <= set(table.index):
        return None
    rows = table.loc[sorted(tested)]
    return rank_share(rows[methods[0]] - rows[methods[1]])


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
