"""What a user may ask predicted distributions for: levels, coverages, numbers of draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.estimator.unusable_input import UnusableInput

FloatArray = npt.NDArray[np.float64]


def quantile_levels(p: npt.ArrayLike, rows: int | None) -> FloatArray:
    """Levels as an array of one number, (m,) or (rows, m); of any shape if `rows` is None."""
    levels = np.array(p, dtype=np.float64)
    usable = (levels >= 0) & (levels <= 1)
    if not usable.all():
        raise UnusableInput(f"a quantile level is {levels[~usable][0]}: levels are numbers from 0 to 1")
    if rows is not None and (levels.ndim > 2 or (levels.ndim == 2 and len(levels) != rows)):
        raise UnusableInput(
            f"quantile levels have the shape {levels.shape}: give one level, (m,) levels for all rows, or "
            f"({rows}, m) levels, m for each of the {rows} rows"
        )
    return levels


def central_levels(coverage: float) -> tuple[float, float]:
    """The levels of the ends of the central interval with this probability."""
    if not 0 < coverage < 1:
        raise UnusableInput(f"coverage is {coverage}: it must be between 0 and 1, for example 0.9")
    return (1 - coverage) / 2, (1 + coverage) / 2


def number_of_draws(n: Any) -> int:
    """A number of draws, 1 or more."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise UnusableInput(f"the number of draws is {n!r}: it must be a whole number, 1 or more")
    return int(n)
