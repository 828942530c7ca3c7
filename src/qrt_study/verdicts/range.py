"""Ranges of numbers in the notation of mathematics: "(0.5, 1]", "(-inf, 0)", "[13, 13]"."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from qrt.errors import UserError

_NUMBER = r"[-+]?(?:inf|\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
_NOTATION = re.compile(rf"([\[(])\s*({_NUMBER})\s*,\s*({_NUMBER})\s*([\])])")


@dataclass(frozen=True)
class Range:
    """All numbers between two ends, each of which belongs to it or not."""

    low: float
    high: float
    with_low: bool
    with_high: bool

    @classmethod
    def parse(cls, text: str) -> Range:
        """The range that `text` writes; round brackets leave the end out."""
        found = _NOTATION.fullmatch(text.strip())
        if found is None or float(found[2]) > float(found[3]):
            raise UserError(f"range {text!r}: must be like (0.5, 1], (-inf, 0) or [13, 13]")
        return cls(float(found[2]), float(found[3]), found[1] == "[", found[4] == "]")

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self.with_low else value > self.low
        below = value <= self.high if self.with_high else value < self.high
        return above and below

    def holds(self, low: float, high: float) -> bool:
        """Does every number from `low` to `high` belong to the range?"""
        return self._end_in(low) and self._end_in(high)

    def misses(self, low: float, high: float) -> bool:
        """Does no number from `low` to `high` belong to the range?"""
        too_low = high < self.low or (high == self.low and not self.with_low)
        too_high = low > self.high or (low == self.high and not self.with_high)
        return too_low or too_high

    def widened(self, margin: float, lowest: float = -math.inf, highest: float = math.inf) -> Range:
        """The range with both ends moved out by the margin, though not beyond what is possible."""
        return replace(self, low=max(lowest, self.low - margin), high=min(highest, self.high + margin))

    def _end_in(self, end: float) -> bool:
        return end in self or (math.isinf(end) and end in (self.low, self.high))

    def words_within(self, lowest: float, highest: float) -> str:
        """In plain words, for a quantity that cannot leave these limits anyway."""
        if self.low == self.high:
            return self.words
        low = -math.inf if self.low == lowest and self.with_low else self.low
        high = math.inf if self.high == highest and self.with_high else self.high
        return replace(self, low=low, high=high).words

    @property
    def words(self) -> str:
        """In plain words."""
        if self.low == self.high:
            return f"equal to {self.low:g}"
        lower = "" if math.isinf(self.low) else f"{'at least' if self.with_low else 'above'} {self.low:g}"
        upper = "" if math.isinf(self.high) else f"{'at most' if self.with_high else 'below'} {self.high:g}"
        return " and ".join(part for part in (lower, upper) if part)
