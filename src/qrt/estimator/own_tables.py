"""Tables of the user's for `qrt predict`: what is read from files, refused, left out, and told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.errors import UserError
from qrt.estimator.columns import date_among
from qrt.estimator.preparation import Rules, UsedTable, numbers_in, used_table
from qrt.estimator.text_table import read_own_table, retyped
from qrt.estimator.unusable_input import UnusableInput
from qrt.text.suggestion import did_you_mean

_SHOWN = 10


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Complete rows whose target is known: features, targets, and what was done to the table, in words.

    `categorical` are the names of the features that are categories.
    """

    features: pd.DataFrame
    target: pd.Series
    categorical: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def numbers(self) -> list[str]:
        """The names of the columns that hold numbers."""
        return [name for name in self.features if name not in self.categorical]


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
    path: Path,
    target: str,
    *,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    drop_few_valued: bool = False,
) -> KnownRows:
    """The rows and columns of a CSV or Parquet file that are used to predict the column `target`, as the study has it.

    `drop_few_valued` leaves out columns of numbers with fewer than ten values, as the paper does.
    """
    table = _read(path)
    for names, option in (((target,), "--target"), (drop, "--drop"), (categorical, "--categorical")):
        for name in names:
            _check_name(path, name, table.columns, option)
    try:
        rules: Rules = "openml" if drop_few_valued else "own"
        used = used_table(table, target, categorical=categorical, unwanted=drop, rules=rules)
    except UserError as error:
        raise UnusableInput(f"{path}: {error}") from error
    if len(used.target) == 0:
        counts = table.drop(columns=list(used.dropped_columns)).isna().sum().sort_values(ascending=False, kind="stable")
        where = ", ".join(f"{name} ({count})" for name, count in counts.head(_SHOWN).items() if count)
        others = counts.drop(index=target)
        advice = f", or leave out columns with --drop, for example --drop {others.idxmax()}" if others.any() else ""
        raise UnusableInput(
            f"{path}: no rows are left: each of {len(table)} rows has a missing value, in {where}. Fill them in{advice}"
        )
    if used.features.shape[1] == 0:
        raise UnusableInput(f"{path}: no column is left beside the target {target!r}; at least one is needed")
    return KnownRows(used.features, used.target, tuple(used.levels), tuple(_about(used, table, drop)))


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
    formulas = [name for name in kept if kept[name].map(_looks_like_a_formula).any()]
    if formulas:
        notes.append(
            f"{path}: texts that a spreadsheet takes for formulas are copied as they are, in {', '.join(formulas)}; "
            "read the predictions as text if the file comes from strangers"
        )
    used = set(names)
    ignored = [str(name) for name in table.columns if name not in used]
    if ignored:
        notes.append(f"{path}: columns that the model does not use: {', '.join(ignored)}")
    known = set(numbers)
    table = retyped(table[list(names)], lambda column: _numbers(path, column) if column.name in known else column)
    complete = ~table.isna().any(axis=1).to_numpy()
    if not complete.all():
        first = int((~complete).argmax())
        where = ", ".join(str(name) for name in names if pd.isna(table[name].iloc[first]))
        notes.append(
            f"{path}: {int((~complete).sum())} of {len(table)} rows have missing values and get no prediction; the "
            f"first is data row {first + 1} ({where})"
        )
    return NewRows(table, complete, kept, tuple(notes))


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


def _about(used: UsedTable, table: pd.DataFrame, unwanted: Sequence[str]) -> Iterator[str]:
    """What was done to the table, in words."""
    for name, reason in used.dropped_columns.items():
        yield f"column {name} left out: {reason}"
    for name in [*used.dropped_columns, *used.levels]:
        if name not in unwanted and (date := date_among(table[name])):
            yield (
                f"column {name} has texts that look like dates, such as {date!r}: put numbers into the file in their "
                "place, such as the year, the month, the day of the week, or the days since a first one"
            )
    if used.dropped_rows:
        total = used.dropped_rows + len(used.target)
        yield f"{used.dropped_rows} of {total} rows left out: they have missing values"
    if used.levels:
        shown = ", ".join(f"{name} ({len(levels)})" for name, levels in used.levels.items())
        yield f"categories, each a column of 0 and 1: {shown}"


def _looks_like_a_formula(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))


def _numbers(path: Path, column: pd.Series) -> pd.Series:
    """A column of new rows as numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return column
    text, numbers, is_text = numbers_in(column)
    if is_text.any():
        row = int(is_text.argmax())
        raise UnusableInput(
            f"{path}: the column {column.name!r} has the text {text.iloc[row]!r} in data row {row + 1}, but the model "
            "knows it as numbers; correct the value, or leave the field empty if it is missing"
        )
    return pd.Series(numbers, index=column.index, name=column.name)
