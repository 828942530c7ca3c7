"""From a source's table to numbers: what is dropped, why, and what remains (docs/protocol.md, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.errors import UserError
from qrt_study.data.raw_table import RawTable

MIN_ROWS = 100
MAX_CATEGORIES = 20
MIN_DISTINCT_NUMBERS = 10


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
    """Apply the paper's preprocessing; UserError if the table cannot be used (the message says why).

    Under the rules "own", for data of the user's, numeric columns with few values are kept unless they are constant.
    """
    frame, categorical = _check_columns(table)
    numeric = [column for column in frame.columns if column not in categorical and column != table.target]
    dropped = dict.fromkeys(table.unwanted, "as asked for")
    if table.rules != "uci":
        for column in categorical:
            if (distinct := frame[column].nunique()) > MAX_CATEGORIES:
                dropped[column] = f"categorical with {distinct} distinct values, more than {MAX_CATEGORIES}"
        for column in numeric:
            distinct = frame[column].nunique()
            if table.rules == "own" and distinct == 1:
                dropped[column] = "the same value everywhere"
            elif table.rules == "openml" and distinct < MIN_DISTINCT_NUMBERS:
                dropped[column] = f"numeric with {distinct} distinct values, fewer than {MIN_DISTINCT_NUMBERS}"
    for column, share in frame.drop(columns=table.target).isna().mean().items():
        if share > table.missing_column_threshold:
            limit = table.missing_column_threshold
            dropped.setdefault(str(column), f"{share:.1%} missing, more than {limit:.0%}")
    frame = frame.drop(columns=[column for column in dropped if column in frame.columns])
    complete = frame.dropna()
    encoded: dict[str, int] = {}
    if table.rules == "uci":
        for column in categorical:
            if column not in dropped:
                dropped[column] = "not numeric"
        features = complete.drop(columns=[table.target, *(c for c in categorical if c in complete.columns)])
    else:
        encoded = {column: frame[column].nunique() for column in categorical if column in frame.columns}
        features = _one_hot(complete.drop(columns=table.target), frame, categorical)
    y = _transformed(complete[table.target].to_numpy(dtype=np.float64), table.target_transform)
    x = features.to_numpy(dtype=np.float32)
    _check_usable(x, y)
    return PreparedTable(
        x=x,
        y=y.astype(np.float32),
        features=tuple(str(column) for column in features.columns),
        dropped_columns=dropped,
        dropped_rows=len(frame) - len(complete),
        encoded_columns=encoded,
    )


def _check_columns(table: RawTable) -> tuple[pd.DataFrame, list[str]]:
    """The wanted columns with text in numeric places refused, and the names of the categorical ones."""
    frame = table.frame
    if unknown := [column for column in table.unwanted if column not in frame.columns]:
        raise UserError(f"there is no column {unknown[0]!r}, which is to be dropped")
    if table.target in table.unwanted:
        raise UserError(f"the target {table.target!r} is to be dropped")
    frame = frame.drop(columns=list(table.unwanted))
    if table.target not in frame.columns:
        shown = ", ".join(map(repr, frame.columns[:10])) + (", ..." if len(frame.columns) > 10 else "")
        raise UserError(f"there is no target column {table.target!r}; the columns are {shown}")
    if unknown := [column for column in table.categorical if column not in table.frame.columns]:
        raise UserError(f"there is no column {unknown[0]!r}, which is listed as categorical")
    if table.target in table.categorical:
        raise UserError(f"the target {table.target!r} is listed as categorical; regression needs numbers")
    categorical = [column for column in frame.columns if column in table.categorical]
    converted = {}
    for column in frame.columns.difference(categorical, sort=False):
        if pd.api.types.is_bool_dtype(frame[column]) and column != table.target:
            categorical.append(column)
        if pd.api.types.is_numeric_dtype(frame[column]):
            continue
        text = frame[column].astype("string")
        numbers = pd.to_numeric(text, errors="coerce").astype("Float64")
        is_text = (numbers.isna() & text.notna()).to_numpy(dtype=bool)
        if not is_text.any():
            converted[column] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        elif column != table.target and (is_text.sum() == text.notna().sum() or table.rules == "uci"):
            converted[column] = text
            categorical.append(column)  # words only: a category without being told; UCI rules drop all text
        else:
            row = int(np.flatnonzero(is_text)[0])
            raise UserError(
                f"the numeric column {column!r} has the text {text.iloc[row]!r} in data row {row + 1}; correct "
                "the value, leave the field empty if it is missing, or list the column as categorical"
            )
    return frame.assign(**converted), categorical


def _one_hot(features: pd.DataFrame, before: pd.DataFrame, categorical: list[str]) -> pd.DataFrame:
    """One column per category, also for categories that only incomplete rows had (as the published study)."""
    kept = [column for column in categorical if column in features.columns]
    levels = {column: pd.CategoricalDtype(sorted(before[column].dropna().unique())) for column in kept}
    return pd.get_dummies(features.astype(levels), columns=kept) if kept else features


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
