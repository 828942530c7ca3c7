"""Standardisation of x, in both ways of row 13 of docs/protocol.md.

`unit`: columns are divided by their standard deviation in the training rows; one that is constant there stays as it is.
`epsilon`, as released: every column is divided by its standard deviation + 1e-7, so that a rare category that no
training row has becomes 1e7 in other rows.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from qrt.errors import UserError

XScale = Literal["unit", "epsilon"]
USUAL_X_SCALE: XScale = "unit"
EPSILON = 1e-7
_BLOCK_ROWS = 1024
# A column of which so many rows differ from the others is constant in the training rows (65 %) of a split with
# probability 0.35 ** 20 < 1e-9 at most.
_ENOUGH_OTHERS = 20
_ENOUGH_SPREAD = 1000 * EPSILON  # of a column, so that EPSILON changes its scale by a thousandth at most


def mean_and_scale(
    x: npt.NDArray[np.float32], x_scale: XScale = USUAL_X_SCALE
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean of each column of x: (n, features) and what it is divided by, in float64, in blocks of bounded memory."""
    mean = x.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(x), _BLOCK_ROWS):
        squares += np.square(x[start : start + _BLOCK_ROWS] - mean).sum(axis=0)
    deviation = np.sqrt(squares / len(x))
    if x_scale == "epsilon":
        return mean, deviation + EPSILON
    if x_scale != "unit":
        raise UserError(f"x_scale {x_scale!r} is unknown: use 'unit' (the paper's) or 'epsilon' (as released)")
    return mean, np.where(deviation > 0, deviation, 1.0)


def x_scale_matters(x: npt.NDArray[np.float32]) -> bool:
    """Whether the two ways can differ by more than a thousandth in any split of x: (n, features)."""
    for column in np.asarray(x, dtype=np.float64).T:
        counts = np.unique(column, return_counts=True)[1]
        others = len(column) - int(counts.max())
        if others and (others < _ENOUGH_OTHERS or column.std() < _ENOUGH_SPREAD):
            return True
    return False
