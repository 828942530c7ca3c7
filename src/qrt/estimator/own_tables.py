"""Tables of the user's for `qrt predict`: what is read from files, refused, left out, and told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.estimator.text_table import read_own_table
from qrt.estimator.unusable_input import UnusableInput
from qrt.text.suggestion import did_you_mean

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Rows whose target is known: features, targets, and what was done to the table, in words."""

    features: pd.DataFrame
    target: pd.Series
    notes: tuple[str, ...]

    @property
    def numbers(self) -> list[str]:
        """The names of the columns that hold numbers."""
        return [name for name in self.features if pd.api.types.is_numeric_dtype(self.features[name])]


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows to predict.

    `features` are the model's columns of all rows, `complete` says which rows have all values, `kept` are the columns
    to copy, `notes` what is to be told about the file.
    """

    features: pd.DataFrame
    complete: npt.NDArray[np.bool_]
    kept: pd.DataFrame
    notes: tuple[str, ...]


def read_known_rows(
    path: Path, target: str, *, drop: Iterable[str] = (), categorical: Iterable[str] = (), drop_missing: bool = False
) -> KnownRows:
    """The rows of a CSV or Parquet file with the column `target`, without the columns `drop`.

    Rows with missing values are refused, or left out with `drop_missing`.
    """
    table = _read(path)
    for name, option in ((target, "--target"), *((name, "--drop") for name in drop)):
        _check_name(path, name, table.columns, option)
    for name in categorical:
        _check_name(path, name, table.columns, "--categorical")
    dropped = dict.fromkeys(drop)
    if target in dropped:
        raise UnusableInput(f"{path}: the target {target!r} is among the columns to drop")
    table = table.drop(columns=list(dropped))
    missing = table.isna()
    notes = [f"dropped as asked: {', '.join(dropped)}"] if dropped else []
    if missing.to_numpy().any():
        table, note = _without_missing(path, table, missing, drop_missing=drop_missing)
        notes.append(note)
    table = table.assign(**{name: _typed(path, table[name], set(categorical)) for name in table.columns})
    if not pd.api.types.is_numeric_dtype(table[target]) or pd.api.types.is_bool_dtype(table[target]):
        raise UnusableInput(f"{path}: the target {target!r} is no number in any row; regression needs numbers")
    features = table.drop(columns=target)
    if features.shape[1] == 0:
        raise UnusableInput(f"{path}: no column is left beside the target {target!r}; at least one is needed")
    return KnownRows(features, table[target], (*notes, *_about_categories(features)))


def read_new_rows(path: Path, names: Sequence[str], numbers: Iterable[str], keep: Sequence[str] = ()) -> NewRows:
    """The rows of a file to predict, with the columns that a model has; `numbers` are those that hold numbers.

    Every row is kept; those with a missing value have no prediction.
    """
    table = _read(path)
    for name in names:
        _check_name(path, name, table.columns, "the model")
    for name in keep:
        _check_name(path, name, table.columns, "--keep")
    notes = []
    kept = table[list(keep)]
    ignored = [str(name) for name in table.columns if name not in names]
    if ignored:
        notes.append(f"{path}: columns that the model does not use: {', '.join(ignored)}")
    for name in numbers:
        table[name] = _typed(path, table[name], set())
        if not (pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().all()):
            raise UnusableInput(
                f"{path}: the column {name!r} has the text {table[name].dropna().iloc[0]!r}, but the model knows it as "
                "numbers; correct the column"
            )
    complete = ~table[list(names)].isna().any(axis=1).to_numpy()
    if not complete.all():
        first = int((~complete).argmax())
        where = ", ".join(str(name) for name in names if pd.isna(table[name].iloc[first]))
        notes.append(
            f"{path}: {int((~complete).sum())} of {len(table)} rows have missing values and get no prediction; the "
            f"first is data row {first + 1} ({where})"
        )
    return NewRows(table[list(names)], complete, kept, tuple(notes))


def _read(path: Path) -> pd.DataFrame:
    table = read_own_table(path)
    if len(table) == 0:
        raise UnusableInput(f"{path}: has no rows")
    return table


def _check_name(path: Path, name: str, names: Iterable[str], asked_by: str) -> None:
    if name in names:
        return
    known = [str(one) for one in names]
    shown = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
    raise UnusableInput(
        f"{path}: there is no column {name!r}, which {asked_by} asks for{did_you_mean(name, known)}. The columns are: "
        f"{shown}"
    )


def _without_missing(
    path: Path, table: pd.DataFrame, missing: pd.DataFrame, *, drop_missing: bool
) -> tuple[pd.DataFrame, str]:
    counts = missing.sum()
    worst = counts[counts > 0].sort_values(ascending=False, kind="stable")
    where = ", ".join(f"{name} ({count})" for name, count in worst.head(_SHOWN).items())
    incomplete = missing.any(axis=1).to_numpy()
    found = f"{int(incomplete.sum())} of {len(table)} rows have missing values, in {where}"
    if not drop_missing:
        raise UnusableInput(
            f"{path}: {found}; the first is data row {int(incomplete.argmax()) + 1}. Fill them in, or leave out these "
            f"rows with --drop-missing-rows, or columns with --drop, for example --drop {worst.index[0]}"
        )
    return table[~incomplete], f"left out as asked: {found}"


def _about_categories(features: pd.DataFrame) -> list[str]:
    """Which columns are categories, and which of them look like names of the rows."""
    columns = [name for name in features if not pd.api.types.is_numeric_dtype(features[name])]
    counts = {name: int(features[name].nunique()) for name in columns}
    if not counts:
        return []
    shown = ", ".join(f"{name} ({number})" for name, number in counts.items())
    notes = [f"categories, each a column of 0 and 1: {shown}"]
    # More than half of the rows have a category that hardly any other row has.
    names = [name for name, number in counts.items() if number > len(features) / 2]
    if names:
        notes.append(
            f"columns with a category for nearly each row: {', '.join(names)}; if they only name the rows, leave them "
            f"out with --drop {' '.join(names)}"
        )
    return notes


def _typed(path: Path, values: pd.Series, categorical: set[str]) -> pd.Series:
    """A column as numbers or as categories; one that is partly both is refused."""
    if values.name in categorical:
        return values.astype("category")
    if pd.api.types.is_numeric_dtype(values):
        return values
    if not (pd.api.types.is_object_dtype(values) or pd.api.types.is_string_dtype(values)):
        return values  # the regressor knows what to say about dates and the like
    numbers = pd.to_numeric(values, errors="coerce")
    is_text = (numbers.isna() & values.notna()).to_numpy()
    if not is_text.any():
        return numbers
    if is_text.sum() == values.notna().sum():
        return values
    row = int(is_text.argmax())
    raise UnusableInput(
        f"{path}: the column {values.name!r} has numbers, but the text {values.iloc[row]!r} in data row {row + 1}; "
        f"correct the value, or leave the field empty if it is missing, or say --categorical {values.name}"
    )
