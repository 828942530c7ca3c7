"""Weights of rows, as scikit-learn has them: a row of weight 2 counts like two rows, one of weight 0 like none."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils.validation import check_consistent_length, column_or_1d

from qrt.estimator.columns import Table
from qrt.estimator.unusable_input import UnusableInput

FloatArray = npt.NDArray[np.float64]


def checked_weights(weights: Any, rows: int, name: str = "sample_weight") -> FloatArray | None:
    """Weights (rows,) at least 0 and not all 0; None if all are the same, which is to have none."""
    if weights is None:
        return None
    try:
        values = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UnusableInput(f"{name} must be numbers, one for each row ({error})") from error
    if values.shape != (rows,):
        raise UnusableInput(f"{name} has the shape {values.shape}: give one weight for each of the {rows} rows")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(bad.argmax())
        raise UnusableInput(f"{name} is {values[row]} in row {row} (counted from 0): weights are finite and at least 0")
    if not values.any():
        raise UnusableInput(f"every {name} is zero: at least one weight must be above 0")
    return None if (values == values[0]).all() else values


class WeightedTable(NamedTuple):
    """A table, its targets, and weights: (rows,) above 0 that are not all the same, or None."""

    table: Table
    y: Any
    weights: FloatArray | None


def with_weight(table: Table, y: Any, sample_weight: Any = None, name: str = "sample_weight") -> WeightedTable:
    """The rows that count: those without weight are left out."""
    weights = checked_weights(sample_weight, table.shape[0], name)
    if weights is None or weights.all() or y is None:
        return WeightedTable(table, y, weights)
    y = column_or_1d(y, warn=True)
    check_consistent_length(weights, y)
    rows = np.flatnonzero(weights)
    kept = table.iloc[rows] if isinstance(table, pd.DataFrame) else table[rows]
    return WeightedTable(kept, y[rows], checked_weights(weights[rows], len(rows)))


def effective_rows(weights: FloatArray) -> float:
    """Kish's effective number of rows, (sum w)^2 / sum w^2: rows of equal weight that would tell as much."""
    return float(weights.sum() ** 2 / np.square(weights).sum())
