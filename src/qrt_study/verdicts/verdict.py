"""Verdicts, and how an estimate, its interval and what is claimed make one.

No point estimate decides. A claim is a range for an estimate; it is *confirmed* if the whole interval of the estimate
lies inside, *contradicted* if all of it lies outside, and *leans* to the side of the estimate in between; for readers:
docs/verdict.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from qrt.text.words import counted
from qrt_study.statistics.intervals import Interval
from qrt_study.verdicts.range import Range

Word = Literal["confirmed", "leans confirmed", "inconclusive", "leans contradicted", "contradicted", "not run"]
NOT_RUN: Word = "not run"
VERDICTS: tuple[Word, ...] = (
    "confirmed",
    "leans confirmed",
    "inconclusive",
    "leans contradicted",
    "contradicted",
    NOT_RUN,
)
FEWEST = 6  # datasets: with five, no interval of a share or median can leave out one half or zero
# Margins are judged by two one-sided tests at 5 %, whose interval has 90 %; everything else by 95 %.
MARGIN_COVERAGE = 0.90


class NotRun(Exception):
    """A claim needs results that this study does not have; the message says which."""


@dataclass(frozen=True)
class Verdict:
    """What the results say about one claim."""

    verdict: Word
    explanation: str  # with all numbers
    short: str = ""  # one short sentence: what was found
    estimate: float | None = None
    quantity: str = ""  # what the estimate is
    limit: float | None = None  # that the rule sets for the estimate
    published: float | None = None  # the same estimate from the paper's numbers on the same datasets
    interval: Interval | None = None  # of the estimate
    p_value: float | None = None
    datasets: int = 0
    datasets_for: int | None = None
    datasets_against: int | None = None
    splits: int = 0
    smallest_detectable: float | None = None  # the smallest effect that could have been seen, in units of the estimate
    detectable: str = ""  # what that is


def not_run(reason: str) -> Verdict:
    """The claim was not put to the test."""
    return Verdict(NOT_RUN, reason, short=f"Not run: {reason}.")


def decide(estimate: float, interval: Interval, claimed: Range) -> Word:
    """The verdict on the claim that what was estimated is in the range `claimed`.

    Inconclusive if there is no interval, if the estimate is exactly at an end of the range, or if the interval reaches
    beyond both ends of it, so that the results are compatible with everything. (A range that is one number, as of a
    count, has no inside to reach beyond.)
    """
    if math.isnan(estimate) or bounded(interval) is None:
        return "inconclusive"
    low, high = interval
    if claimed.holds(low, high):
        return "confirmed"
    if claimed.misses(low, high):
        return "contradicted"
    passed = [end for end in (claimed.low, claimed.high) if low < end < high]
    if claimed.low < claimed.high and (estimate in passed or len(passed) == 2):
        return "inconclusive"
    return "leans confirmed" if estimate in claimed else "leans contradicted"


def decide_over_datasets(estimate: float, interval: Interval, claimed: Range, datasets: int) -> Word:
    """The verdict on a claim about "the datasets", of which at least FEWEST are needed to say anything."""
    return "inconclusive" if datasets < FEWEST else decide(estimate, interval, claimed)


def nearest_limit(estimate: float, claimed: Range, within: Interval = (-math.inf, math.inf)) -> float | None:
    """The end of the claimed range next to the estimate; ends that no estimate can pass (`within`) are no limits."""
    ends = [end for end in (claimed.low, claimed.high) if within[0] < end < within[1]]
    return min(ends, key=lambda end: abs(end - estimate)) if ends else None


def median_splits(splits: Sequence[int] | ArrayLike) -> int:
    """The splits that a typical dataset has."""
    counts = np.asarray(splits, dtype=float)
    return int(np.median(counts)) if counts.size else 0


def bounded(interval: Interval) -> Interval | None:
    """The interval, or None if it says nothing."""
    return None if any(math.isinf(end) or math.isnan(end) for end in interval) else interval


def plain_p(p_value: float) -> str:
    """A p-value for a sentence."""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"


def interval_words(interval: Interval, coverage: float) -> str:
    """The interval for a sentence, in brackets; nothing if it says nothing."""
    return f" ({coverage:.0%} interval {interval[0]:.3g} to {interval[1]:.3g})" if bounded(interval) else ""


def too_few_words(datasets: int) -> str:
    """Why nothing is said about "the datasets"; nothing where there are enough."""
    return f" ({counted(datasets, 'dataset')}: fewer than {FEWEST} decide nothing)" if datasets < FEWEST else ""
