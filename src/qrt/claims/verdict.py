"""Verdicts, and the statistics that all rules share: exact intervals, and when a study is as strong as the paper's.

A claim is *inconclusive* if the results could have come out as they did whether or not it is true. The rules
reason as follows.

* The paper judges by its 44 or 57 datasets and five splits. A study with at least 80 % of both has *the paper's
  power*: it decides as the paper does, by the point estimate or by whether a difference is significant. Only such a
  study may take the absence of significance for an answer.
* A smaller study decides only what it can show in spite of its size: a difference that is significant, or an
  interval that lies wholly inside or wholly outside of what is claimed.
* A study with less than a quarter of the paper's datasets decides nothing about all of them. Its datasets are not
  drawn at random, so no interval or test speaks for the others; and with six datasets and six pairs Holm's correction
  makes every p-value at least 6 * 2^(1 - 6) = 0.19. The exceptions need no sample: one dataset refutes "never" and
  proves "on some".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from qrt.claims.range import Range

Word = Literal["confirmed", "contradicted", "inconclusive", "not run"]
PAPER_SPLITS = 5
ENOUGH = 0.8  # share of the paper's datasets, and of its splits, that makes a study as strong as the paper's
FEWEST = 0.25  # share of the paper's datasets below which a study decides nothing about all of them
COVERAGE = 0.95  # of the intervals


class NotRun(Exception):
    """A claim needs results that this study does not have; the message says which."""


@dataclass(frozen=True)
class Verdict:
    """What the results say about one claim."""

    verdict: Word
    explanation: str  # one plain sentence with the numbers
    estimate: float | None = None
    quantity: str = ""  # what the estimate is
    interval: tuple[float, float] | None = None  # of the estimate
    p_value: float | None = None
    datasets: int = 0
    datasets_for: int | None = None
    datasets_against: int | None = None
    splits: int = 0
    smallest_detectable: float | None = None  # the smallest effect that could have been seen, in units of the estimate
    detectable: str = ""  # what that is


def not_run(reason: str) -> Verdict:
    """The claim was not put to the test."""
    return Verdict("not run", reason)


@dataclass(frozen=True)
class Reach:
    """How much data a verdict stands on, beside the number of datasets that the paper had for the claim."""

    datasets: int
    splits: int
    paper_datasets: int

    @property
    def as_the_paper(self) -> bool:
        """Does the study have at least 80 % of the paper's datasets and splits?"""
        return self.datasets >= ENOUGH * self.paper_datasets and self.splits >= ENOUGH * PAPER_SPLITS

    @property
    def too_small(self) -> bool:
        """Does the study have less than a quarter of the paper's datasets?"""
        return self.datasets < FEWEST * self.paper_datasets

    @property
    def words(self) -> str:
        """For explanations."""
        return (
            f"{counted(self.datasets, 'dataset')} and {counted(self.splits, 'split')} "
            f"of the paper's {self.paper_datasets} and {PAPER_SPLITS}"
        )


def decide(estimate: float, interval: tuple[float, float], claimed: Range, reach: Reach) -> Word:
    """Is the estimate where it is claimed to be?

    With the paper's power the point estimate decides, as in the paper. Otherwise the interval must lie wholly inside
    the claimed range, or wholly outside; a study that is too small decides nothing.
    """
    if math.isnan(estimate) or reach.too_small:
        return "inconclusive"
    if reach.as_the_paper:
        return "confirmed" if estimate in claimed else "contradicted"
    return by_interval(interval, claimed)


def by_interval(interval: tuple[float, float], claimed: Range) -> Word:
    """Confirmed if all of the interval is in the claimed range, contradicted if nothing is."""
    if claimed.holds(*interval):
        return "confirmed"
    return "contradicted" if claimed.misses(*interval) else "inconclusive"


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Clopper and Pearson's exact 95 % interval of a share."""
    tail = (1 - COVERAGE) / 2
    low = special.betaincinv(count, total - count + 1, tail) if count else 0.0
    high = special.betaincinv(count + 1, total - count, 1 - tail) if count < total else 1.0
    return float(low), float(high)


def median_interval(values: ArrayLike) -> tuple[float, float]:
    """The 95 % interval of the median that belongs to the sign test; boundless for fewer than six values."""
    ordered = np.sort(np.asarray(values, dtype=float))
    outside = int(stats.binom.ppf((1 - COVERAGE) / 2, len(ordered), 0.5))
    # `outside` is the smallest count whose lower tail reaches 2.5 %: one fewer may lie beyond each end.
    if outside < 1:
        return -math.inf, math.inf
    return float(ordered[outside - 1]), float(ordered[-outside])


def smallest_significant_share(datasets: int, pairs: int, level: float) -> float | None:
    """The smallest share of datasets on one side that a sign test finds significant at `level` / `pairs`.

    That is the strictest step of Holm's correction. None if all datasets together would not be enough; then neither
    is Wilcoxon's test ever significant, since both have the p-value 2^(1 - n) where all differences have one sign.
    """
    counts = np.arange(datasets // 2 + 1, datasets + 1)  # more than half, so that twice the upper tail is the p-value
    significant = counts[2 * special.bdtrc(counts - 1, datasets, 0.5) < level / pairs]
    return float(significant[0]) / datasets if significant.size else None


def smallest_confirming_share(datasets: int, claimed: Range) -> float | None:
    """The share closest to one half whose exact interval would lie inside the claimed range; None if there is none."""
    shares = [count for count in range(datasets + 1) if claimed.holds(*share_interval(count, datasets))]
    return min(shares, key=lambda count: abs(2 * count - datasets)) / datasets if shares else None


def median_splits(splits: Sequence[int] | ArrayLike) -> int:
    """The splits that a typical dataset has."""
    counts = np.asarray(splits, dtype=float)
    return int(np.median(counts)) if counts.size else 0


def bounded(interval: tuple[float, float]) -> tuple[float, float] | None:
    """The interval, or None if it says nothing."""
    return None if any(math.isinf(end) or math.isnan(end) for end in interval) else interval


def counted(number: int, thing: str) -> str:
    """ "1 dataset", "6 datasets"."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def plain_p(p_value: float) -> str:
    """A p-value for a sentence."""
    return "p < 0.0001" if p_value < 1e-4 else f"p = {p_value:.2g}"
