"""From a source's table to numbers: what is dropped, why, and what remains (docs/protocol.md, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.errors import UserError
from qrt.estimator.preparation import UsedTable, used_table
from qrt_study.data.raw_table import RawTable

MIN_ROWS = 100


@dataclass(frozen=True)
class PreparedTable:
    """Numbers only: x (rows, features) and y (rows,) in float32, and what happened on the way."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.float32]
    features: tuple[str, ...]
    dropped_columns: dict[str, str]  # name -> reason
    dropped_rows: int
    encoded_columns: dict[str, int]  # name -> number of categories, each of which is a feature


def prepare(table: RawTable) -> PreparedTable:
    """Apply the paper's preprocessing; UserError if the table cannot be used (the message says why)."""
    used = used_table(
        table.frame,
        table.target,
        categorical=table.categorical,
        unwanted=table.unwanted,
        rules=table.rules,
        missing_column_threshold=table.missing_column_threshold,
    )
    features = _one_hot(used)
    y = _transformed(used.target.to_numpy(dtype=np.float64), table.target_transform)
    x = features.to_numpy(dtype=np.float32)
    _check_usable(x, y)
    return PreparedTable(
        x=x,
        y=y.astype(np.float32),
        features=tuple(str(column) for column in features.columns),
        dropped_columns=used.dropped_columns,
        dropped_rows=used.dropped_rows,
        encoded_columns={column: len(levels) for column, levels in used.levels.items()},
    )


def _one_hot(used: UsedTable) -> pd.DataFrame:
    """One column per category, also for categories that only incomplete rows had (as the published study)."""
    if not used.levels:
        return used.features
    categories = {column: pd.CategoricalDtype(levels) for column, levels in used.levels.items()}
    return pd.get_dummies(used.features.astype(categories), columns=list(categories))


def _transformed(y: npt.NDArray[np.float64], transform: str) -> npt.NDArray[np.float64]:
    return np.sign(y) * np.log1p(np.abs(y)) if transform == "log1p" else y


def _check_usable(x: npt.NDArray[np.float32], y: npt.NDArray[np.float64]) -> None:
    rows, columns = x.shape
    if rows < MIN_ROWS:
        raise UserError(f"{rows} rows are left after preparation, at least {MIN_ROWS} are needed")
    if columns == 0:
        raise UserError("no feature column is left after preparation")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise UserError("there are infinite values (or ones too large for float32); correct or remove them")
    if np.ptp(y) == 0:
        raise UserError(f"the target is constant ({y[0]:g}); there is nothing to learn")
