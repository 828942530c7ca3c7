"""Rules about a measure: one number for each dataset, such as the difference of two methods.

What a study with fewer datasets than the paper may decide: `qrt.claims.verdict`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from qrt.claims.range import Range
from qrt.claims.verdict import (
    ENOUGH,
    PAPER_SPLITS,
    Reach,
    Verdict,
    Word,
    bounded,
    by_interval,
    counted,
    decide,
    median_interval,
    median_splits,
    plain_p,
    share_interval,
    smallest_confirming_share,
)
from qrt.statistics.rank_tests import LEVEL

_NEVER, _ON_SOME = Range.parse("[0, 0]"), Range.parse("(0, 1]")  # shares that one dataset decides
COLUMNS = ("dataset", "value", "standard_error", "splits", "discreteness")


@dataclass(frozen=True)
class Measure:
    """A number for each dataset, and what it is.

    `table` has the columns dataset, value, standard_error (over splits, or the rows shown; NaN where there is none),
    splits (what the standard error is over) and discreteness (top-10 share).
    """

    table: pd.DataFrame
    what: str  # "NLL of QRTC minus that of BASE"
    units: str = "split"  # what `splits` counts

    @property
    def known(self) -> pd.DataFrame:
        """The rows with a finite value, in the order of the datasets' names, so that no result depends on the order."""
        return self.table[np.isfinite(self.table["value"].astype(float))].sort_values("dataset", ignore_index=True)


def share_of_datasets(
    measure: Measure, *, values: str, share: str, paper_datasets: int, standard_errors: float = 0
) -> Verdict:
    """The share of datasets whose value is in the range `values` is in the range `share`.

    `standard_errors` above 0 counts a dataset only if its value is in the range by that many standard errors; below 0
    also if it is outside by less. The interval is Clopper and Pearson's. "Never" is the share [0, 0] and "on some"
    (0, 1]: one dataset refutes the first and proves the second, whatever the size of the study.
    """
    counted_in, claimed = Range.parse(values), Range.parse(share)
    known = measure.known
    if standard_errors:
        known = known[np.isfinite(known["standard_error"].astype(float))]
    total = len(known)
    if not total:
        return _nothing(measure)
    inside = [
        _inside(counted_in, float(value), float(error), standard_errors)
        for value, error in zip(known["value"], known["standard_error"], strict=True)
    ]
    count = sum(inside)
    reach = Reach(total, median_splits(known["splits"]), paper_datasets)
    estimate, interval = count / total, share_interval(count, total)
    word = decide(estimate, interval, claimed, reach)
    if count and claimed in (_NEVER, _ON_SOME):
        word = by_interval(interval, claimed)
    noise = f" by {_errors(standard_errors)}" if standard_errors else ""
    return Verdict(
        word,
        f"{measure.what} is {counted_in.words}{noise} on {count} of {total} datasets: a share of {estimate:.2f} "
        f"(95 % interval {interval[0]:.2f} to {interval[1]:.2f}), "
        f"claimed {claimed.words_within(0, 1)}{_size(word, reach)}",
        estimate=estimate,
        quantity=f"share of datasets where {measure.what} is {counted_in.words}{noise}",
        interval=interval,
        datasets=total,
        datasets_for=count,
        datasets_against=total - count,
        splits=reach.splits,
        smallest_detectable=smallest_confirming_share(total, claimed),
        detectable="share closest to one half whose interval would be inside the claimed range",
    )


def median_effect(measure: Measure, *, median: str, paper_datasets: int) -> Verdict:
    """The median over datasets is in the range `median`; the interval is that of the sign test."""
    claimed, known = Range.parse(median), measure.known
    if known.empty:
        return _nothing(measure)
    values = known["value"].to_numpy(float)
    estimate, interval = float(np.median(values)), median_interval(values)
    reach = Reach(len(values), median_splits(known["splits"]), paper_datasets)
    word = decide(estimate, interval, claimed, reach)
    count = sum(value in claimed for value in values)
    return Verdict(
        word,
        f"the median of {measure.what} over {counted(len(values), 'dataset')} is {estimate:.3g}"
        f"{_interval_words(interval)}, claimed {claimed.words}{_size(word, reach)}",
        estimate=estimate,
        quantity=f"median of {measure.what}",
        interval=bounded(interval),
        datasets=len(values),
        datasets_for=count,
        datasets_against=len(values) - count,
        splits=reach.splits,
        smallest_detectable=_half_width(estimate, interval),
        detectable="distance of the median from a limit at which its interval would leave the limit out",
    )


def difference_of_medians(measure: Measure, other: Measure, *, difference: str, paper_datasets: int) -> Verdict:
    """The median of a measure minus the median of another one is in the range `difference`.

    The two may be over different datasets. The interval joins the far ends of both sign-test intervals, so it is wider
    than need be where the datasets are the same.
    """
    claimed, first, second = Range.parse(difference), measure.known, other.known
    if first.empty or second.empty:
        return _nothing(measure if first.empty else other)
    medians = [float(np.median(known["value"].to_numpy(float))) for known in (first, second)]
    (low, high), (other_low, other_high) = (median_interval(known["value"]) for known in (first, second))
    estimate, interval = medians[0] - medians[1], (low - other_high, high - other_low)
    splits = min(median_splits(first["splits"]), median_splits(second["splits"]))
    reach = Reach(len(first), splits, paper_datasets)
    word = decide(estimate, interval, claimed, reach)
    return Verdict(
        word,
        f"the median of {measure.what} is {medians[0]:.3g} ({counted(len(first), 'dataset')}), that of {other.what} "
        f"{medians[1]:.3g} ({len(second)}): a difference of {estimate:.3g}{_interval_words(interval)}, "
        f"claimed {claimed.words}{_size(word, reach)}",
        estimate=estimate,
        quantity=f"median of {measure.what} minus median of {other.what}",
        interval=bounded(interval),
        datasets=len(first),
        splits=splits,
        smallest_detectable=_half_width(estimate, interval),
        detectable="distance from a limit at which the interval would leave the limit out",
    )


def value_on_dataset(measure: Measure, *, dataset: str, value: str, standard_errors: float | None = None) -> Verdict:
    """The value on one dataset is in the range `value`.

    Decided by an interval of the mean over splits: Student's with an error of 5 % on each side, or as many
    `standard_errors` as the claim itself names. All of it must be inside the range, or outside. Splits share rows and
    a split has one seed, so the standard errors understate the uncertainty. Values without a standard error, such as
    those of averaged curves, need four of the paper's five splits and are decided by the point.
    """
    claimed, known = Range.parse(value), measure.known
    row = known[known["dataset"] == dataset]
    if row.empty:
        return _nothing(measure, dataset)
    estimate, error, splits = (float(row.iloc[0][name]) for name in ("value", "standard_error", "splits"))
    sentence = f"{measure.what} on {dataset} is {estimate:.4g}"
    facts: dict[str, Any] = {
        "estimate": estimate,
        "quantity": f"{measure.what} on {dataset}",
        "datasets": 1,
        "splits": int(splits),
    }
    if not math.isfinite(error):
        words: tuple[Word, Word] = ("confirmed", "contradicted")
        enough = splits >= ENOUGH * PAPER_SPLITS
        word = words[estimate not in claimed] if enough else "inconclusive"
        return Verdict(
            word,
            f"{sentence} ({counted(int(splits), measure.units)}, no standard error), claimed {claimed.words}",
            **facts,
        )
    factor = float(stats.t.ppf(1 - LEVEL, splits - 1)) if standard_errors is None else standard_errors
    interval = (estimate - factor * error, estimate + factor * error)
    limit = claimed.high if math.isfinite(claimed.high) else claimed.low
    p_value = float(stats.t.sf(abs(estimate - limit) / error, splits - 1)) if error > 0 else None
    return Verdict(
        by_interval(interval, claimed),
        f"{sentence} with a standard error of {error:.2g} over {counted(int(splits), measure.units)}, "
        f"claimed {claimed.words} by {_errors(factor)}",
        interval=interval,
        p_value=p_value,
        smallest_detectable=factor * error,
        detectable="distance from the limit that would have been enough",
        **facts,
    )


def among_lowest(measure: Measure, *, dataset: str, quantile: float, paper_datasets: int) -> Verdict:
    """The value on one dataset is among the lowest `quantile` of all datasets.

    With fewer datasets than the paper its place among all is not known: contradicted only if so many are lower already
    that it cannot be among the lowest of the paper's, otherwise inconclusive.
    """
    known = measure.known
    row = known[known["dataset"] == dataset]
    if row.empty:
        return _nothing(measure, dataset)
    value, total = float(row.iloc[0]["value"]), len(known)
    lower = int((known["value"].astype(float) < value).sum())
    reach = Reach(total, median_splits(known["splits"]), paper_datasets)
    word: Word = "inconclusive"
    if reach.as_the_paper:
        word = "confirmed" if (lower + 1) / total <= quantile else "contradicted"
    elif lower + 1 > quantile * paper_datasets:
        word = "contradicted"
    return Verdict(
        word,
        f"{measure.what} on {dataset} is {value:.3g}, number {lower + 1} from below among "
        f"{counted(total, 'dataset')}, claimed among the lowest {quantile:.0%}{_size(word, reach)}",
        estimate=(lower + 1) / total,
        quantity=f"place of {dataset} by {measure.what}, as a share of the datasets",
        datasets=total,
        datasets_for=total - lower - 1,
        datasets_against=lower,
        splits=reach.splits,
    )


def identity(measure: Measure, *, dataset: str, tolerance: float) -> Verdict:
    """A gap that must be zero but for rounding is below the tolerance; any amount of data decides that."""
    row = measure.known[measure.known["dataset"] == dataset]
    if row.empty:
        return _nothing(measure, dataset)
    gap = float(row.iloc[0]["value"])
    return Verdict(
        "confirmed" if gap < tolerance else "contradicted",
        f"{measure.what} on {dataset} is {gap:.2g}, claimed below {tolerance:g}",
        estimate=gap,
        quantity=f"{measure.what} on {dataset}",
        datasets=1,
        splits=int(row.iloc[0]["splits"]),
    )


def trend(measure: Measure, *, correlation: str, paper_datasets: int) -> Verdict:
    """Spearman's correlation of the measure with the discreteness of the targets is in the range `correlation`."""
    claimed = Range.parse(correlation)
    rho, p_value, interval, reach = _spearman(measure, paper_datasets)
    word = decide(rho, interval, claimed, reach)
    return _trend_verdict(measure, word, (rho, p_value, interval), reach, f"claimed {claimed.words_within(-1, 1)}")


def no_trend(measure: Measure, *, paper_datasets: int) -> Verdict:
    """Spearman's correlation with discreteness is not significant at 5 %.

    Contradicted if it is significant; confirmed only with the paper's power.
    """
    rho, p_value, interval, reach = _spearman(measure, paper_datasets)
    word: Word = "inconclusive"
    if p_value < LEVEL and not reach.too_small:
        word = "contradicted"
    elif reach.as_the_paper:
        word = "confirmed"
    return _trend_verdict(measure, word, (rho, p_value, interval), reach, "claimed not significant")


def _spearman(measure: Measure, paper_datasets: int) -> tuple[float, float, tuple[float, float], Reach]:
    """Correlation, p-value, and Bonett and Wright's 95 % interval, which fewer than ten datasets are too few for."""
    known = measure.known
    known = known[np.isfinite(known["discreteness"].astype(float))]
    reach = Reach(len(known), median_splits(known["splits"]), paper_datasets)
    if len(known) < 3 or known["value"].nunique() < 2 or known["discreteness"].nunique() < 2:
        return 0.0, 1.0, (-math.inf, math.inf), reach
    result = stats.spearmanr(known["discreteness"], known["value"])
    rho, p_value = float(result.statistic), float(result.pvalue)
    if len(known) < 10:
        return rho, p_value, (-math.inf, math.inf), reach
    z = math.atanh(min(max(rho, -1 + 1e-12), 1 - 1e-12))
    width = float(stats.norm.ppf(0.975)) * math.sqrt((1 + rho**2 / 2) / (len(known) - 3))
    return rho, p_value, (math.tanh(z - width), math.tanh(z + width)), reach


def _trend_verdict(
    measure: Measure,
    word: Word,
    correlation: tuple[float, float, tuple[float, float]],
    reach: Reach,
    claimed: str,
) -> Verdict:
    rho, p_value, interval = correlation
    detectable = math.tanh(stats.norm.ppf(0.975) / math.sqrt(reach.datasets - 3)) if reach.datasets > 4 else None
    return Verdict(
        word,
        f"Spearman's correlation of {measure.what} with the discreteness of the targets is {rho:.2f} on "
        f"{counted(reach.datasets, 'dataset')}{_interval_words(interval)}, {plain_p(p_value)}, "
        f"{claimed}{_size(word, reach)}",
        estimate=rho,
        quantity=f"Spearman's correlation of {measure.what} with discreteness",
        interval=bounded(interval),
        p_value=p_value,
        datasets=reach.datasets,
        splits=reach.splits,
        smallest_detectable=detectable,
        detectable="correlation that is significant at 5 % (normal approximation)",
    )


def _inside(claimed: Range, value: float, error: float, standard_errors: float) -> bool:
    if not standard_errors:
        return value in claimed
    low, high = value - abs(standard_errors) * error, value + abs(standard_errors) * error
    return claimed.holds(low, high) if standard_errors > 0 else not claimed.misses(low, high)


def _errors(number: float) -> str:
    return "1 standard error" if number == 1 else f"{number:.2g} standard errors"


def _half_width(estimate: float, interval: tuple[float, float]) -> float | None:
    return max(estimate - interval[0], interval[1] - estimate) if bounded(interval) else None


def _interval_words(interval: tuple[float, float]) -> str:
    return f" (95 % interval {interval[0]:.3g} to {interval[1]:.3g})" if bounded(interval) else ""


def _size(word: Word, reach: Reach) -> str:
    return f" ({reach.words})" if word == "inconclusive" else ""


def _nothing(measure: Measure, dataset: str = "any dataset") -> Verdict:
    return Verdict("inconclusive", f"no usable value of {measure.what} on {dataset}")
