"""The range of the training rows: beyond it, networks are not asked to extrapolate, and users are told.

Beyond its training rows a network goes on in straight lines, and says with great certainty what is absurd. So a value
outside the range of its column is drawn back: as it is within, then ever slower, and never farther than one standard
deviation beyond. A column that was constant stays at its constant.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Standardised = npt.NDArray[np.float32]

_FAR = 1.0  # ranges of a column beyond its range
_LEAST = 1.0  # that a constant column may differ: as much as a category that is met for the first time
_FEW = 5
_DIGITS = 5  # of a shown value, from the first one of what it is compared with


@dataclass(frozen=True, eq=False)
class TrainingRange:
    """The least and the largest value (features,) of each standardised feature among the training rows."""

    lows: Standardised
    highs: Standardised

    @classmethod
    def of(cls, x: Standardised) -> TrainingRange:
        """The range of standardised rows x: (n, features)."""
        return cls(x.min(axis=0), x.max(axis=0))

    @classmethod
    def around(cls, ranges: Sequence[TrainingRange]) -> TrainingRange:
        """The range of all these together."""
        lows, highs = zip(*((one.lows, one.highs) for one in ranges), strict=True)
        return cls(np.minimum.reduce(lows), np.maximum.reduce(highs))

    def squashed(self, x: Standardised) -> Standardised:
        """Standardised rows x: (n, features), with values outside drawn back; the same array if none is."""
        beyond = self._beyond(x)
        if not beyond.any():
            return x
        inside = np.clip(x, self.lows, self.highs)
        drawn_back: Standardised = inside + np.sign(x - inside) * np.tanh(beyond)
        return np.where(self.lows < self.highs, drawn_back, inside)

    def far_outside(self, x: Standardised) -> npt.NDArray[np.bool_]:
        """Which values of standardised rows are farther outside than their column's range is wide: (n, features)."""
        return self._beyond(x) > np.maximum(_FAR * (self.highs - self.lows), _LEAST)

    def _beyond(self, x: Standardised) -> Standardised:
        return np.maximum(np.maximum(self.lows - x, x - self.highs), 0)


@dataclass(frozen=True)
class FarValue:
    """A value far outside the range of the training rows, in the units of its column."""

    row: int
    feature: str
    value: float
    low: float
    high: float
    scale: float  # standard deviation of the column

    def __str__(self) -> str:
        width = max(self.high - self.low, self.scale)
        low, high = _shown(self.low, width), _shown(self.high, width)
        value = _shown(self.value, max(width, abs(self.value - self.low)))
        return f"row {self.row}: {self.feature!r} is {value}, in training {low} to {high}"


def _shown(value: float, spread: float) -> str:
    """A number without the digits that float32 has lost: those far below the spread of what it is compared with."""
    return f"{round(value, _DIGITS - 1 - math.floor(math.log10(spread))) + 0.0:.12g}"


def warn_of_far_rows(found: Sequence[FarValue]) -> None:
    """Warn of rows with values far outside, each with its first one."""
    if not found:
        return
    shown = "; ".join(map(str, found[:_FEW]))
    more = f"; and {len(found) - _FEW} more" if len(found) > _FEW else ""
    warnings.warn(
        f"{len(found)} row{'s have' if len(found) > 1 else ' has'} values far outside the range of the training rows "
        f"(counted from 0; {shown}{more}). Do not trust their predictions, and look for errors in the data",
        UserWarning,
        stacklevel=4,
    )
