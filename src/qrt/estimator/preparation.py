"""Which columns and rows of a table are used: one definition, for `qrt predict` and for the study's datasets.

So what `qrt predict` fits is what the study compared on data of one's own (docs/protocol.md, section 1). How categories
become numbers is a matter of those who use them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from qrt.errors import UserError

if TYPE_CHECKING:
    import numpy.typing as npt

Rules = Literal["openml", "uci", "own"]

MAX_CATEGORIES = 20
MIN_DISTINCT_NUMBERS = 10
MISSING_COLUMN_THRESHOLD = 0.2


@dataclass(frozen=True, eq=False)
class UsedTable:
    """The complete rows and the columns that are used: numbers first, then categories."""

    features: pd.DataFrame
    target: pd.Series
    levels: dict[str, list[Any]]  # the categories of each categorical column, also those that only incomplete rows had
    dropped_columns: dict[str, str]  # name -> reason
    dropped_rows: int


def used_table(
    frame: pd.DataFrame,
    target: str,
    *,
    categorical: Sequence[str] = (),
    unwanted: Sequence[str] = (),
    rules: Rules = "own",
    missing_column_threshold: float = MISSING_COLUMN_THRESHOLD,
) -> UsedTable:
    """Apply the paper's rules (docs/data.md); UserError if the table cannot be used (the message says why).

    `categorical` are numbers that are categories, `unwanted` are left out on the user's word. Under the rules "own",
    for data of the user's, numeric columns with few values are kept unless they are constant.
    """
    frame, categorical = _wanted_columns(frame, target, categorical, unwanted, rules)
    numeric = [column for column in frame.columns if column not in categorical and column != target]
    dropped = dict.fromkeys(unwanted, "as asked for")
    if rules != "uci":
        for column in categorical:
            if (distinct := frame[column].nunique()) > MAX_CATEGORIES:
                dropped[column] = f"categorical with {distinct} distinct values, more than {MAX_CATEGORIES}"
        for column in numeric:
            distinct = frame[column].nunique()
            if rules == "own" and distinct == 1:
                dropped[column] = "the same value everywhere"
            elif rules == "openml" and distinct < MIN_DISTINCT_NUMBERS:
                dropped[column] = f"numeric with {distinct} distinct values, fewer than {MIN_DISTINCT_NUMBERS}"
    for column, share in frame.drop(columns=target).isna().mean().items():
        if share > missing_column_threshold:
            limit = missing_column_threshold
            dropped.setdefault(str(column), f"{share:.1%} missing, more than {limit:.0%}")
    frame = frame.drop(columns=[column for column in dropped if column in frame.columns])
    complete = frame.dropna()
    kept = [column for column in categorical if column in frame.columns]
    if rules == "uci":
        dropped |= dict.fromkeys((column for column in categorical if column not in dropped), "not numeric")
        complete, kept = complete.drop(columns=kept), []
    features = [column for column in complete.columns if column != target and column not in kept]
    return UsedTable(
        features=complete[[*features, *kept]],
        target=complete[target],
        levels={column: sorted(frame[column].dropna().unique()) for column in kept},
        dropped_columns=dropped,
        dropped_rows=len(frame) - len(complete),
    )


def _wanted_columns(
    frame: pd.DataFrame, target: str, listed: Sequence[str], unwanted: Sequence[str], rules: Rules
) -> tuple[pd.DataFrame, list[str]]:
    """The wanted columns with text in numeric places refused, and the names of the categorical ones."""
    all_columns = frame.columns
    if unknown := [column for column in unwanted if column not in frame.columns]:
        raise UserError(f"there is no column {unknown[0]!r}, which is to be dropped")
    if target in unwanted:
        raise UserError(f"the target {target!r} is to be dropped")
    frame = frame.drop(columns=list(unwanted))
    if target not in frame.columns:
        shown = ", ".join(map(repr, frame.columns[:10])) + (", ..." if len(frame.columns) > 10 else "")
        raise UserError(f"there is no target column {target!r}; the columns are {shown}")
    if unknown := [column for column in listed if column not in all_columns]:
        raise UserError(f"there is no column {unknown[0]!r}, which is listed as categorical")
    if target in listed:
        raise UserError(f"the target {target!r} is listed as categorical; regression needs numbers")
    categorical = [column for column in frame.columns if column in listed]
    converted = {}
    for column in frame.columns.difference(categorical, sort=False):
        if pd.api.types.is_bool_dtype(frame[column]) and column != target:
            categorical.append(column)
        if pd.api.types.is_numeric_dtype(frame[column]):
            continue
        text, numbers, is_text = numbers_in(frame[column])
        if not is_text.any():
            converted[column] = numbers
        elif column != target and (is_text.sum() == text.notna().sum() or rules == "uci"):
            converted[column] = text
            categorical.append(column)  # words only: a category without being told; UCI rules drop all text
        else:
            row = int(np.flatnonzero(is_text)[0])
            raise UserError(
                f"the numeric column {column!r} has the text {text.iloc[row]!r} in data row {row + 1}; correct "
                "the value, leave the field empty if it is missing, or list the column as categorical"
            )
    return frame.assign(**converted), categorical


def numbers_in(column: pd.Series) -> tuple[pd.Series, npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """A column as texts, as numbers, NaN where they are none, and where a text is no number."""
    text = column.astype("string")
    numbers = pd.to_numeric(text, errors="coerce").astype("Float64")
    is_text = (numbers.isna() & text.notna()).to_numpy(dtype=bool)
    return text, numbers.to_numpy(dtype=np.float64, na_value=np.nan), is_text
