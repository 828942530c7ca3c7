"""From a user's table to the numbers that networks see: categories to columns of 0 and 1, everything standardised.

What cannot be used is refused with the name of its column.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from qrt.engine.scaling import mean_and_scale
from qrt.estimator.unusable_input import UnusableInput

Table: TypeAlias = "pd.DataFrame | npt.NDArray[Any]"
FloatArray = npt.NDArray[np.float64]

MAX_CATEGORIES = 1000  # of one column
_BLOCK_ROWS = 4096
_SHOWN = 5


@dataclass(frozen=True, eq=False)
class TableColumns:
    """How the columns of a table become features.

    `labels` has one text for each column, which messages show; `categories` has for each column its categories as
    texts, or None for a column of numbers; `means` and `scales`: (features,) are those of the training rows.
    """

    labels: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    means: FloatArray = field(default_factory=lambda: np.zeros(0))
    scales: FloatArray = field(default_factory=lambda: np.ones(0))

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, in their order: `rooms`, `colour=red`."""
        names: list[str] = []
        for label, found in zip(self.labels, self.categories, strict=True):
            names += [label] if found is None else [f"{label}={one}" for one in found]
        return tuple(names)

    def encoded(self, table: Table, first_row: int = 0) -> npt.NDArray[Any]:
        """The features (rows, features) of a table as floating-point numbers, not standardised.

        A category that was not there when the columns were learned has 0 in all columns of its kind, with a warning.
        `first_row` is the number of the table's first row in messages, where it is part of a larger one.
        """
        if all(found is None for found in self.categories):
            return _numbers_of_table(table, self.labels, first_row)
        parts: list[npt.NDArray[Any]] = []
        for number, (label, found) in enumerate(zip(self.labels, self.categories, strict=True)):
            values = _column(table, number)
            if found is None:
                parts.append(_numbers(values, label, first_row)[:, None])
            else:
                parts.append(_one_hot(values, label, found, first_row))
        return np.hstack(parts)

    def standardised(self, encoded: npt.NDArray[Any], first_row: int = 0) -> npt.NDArray[np.float32]:
        """Encoded rows as networks take them: (rows, features) float32."""
        result = np.empty(encoded.shape, dtype=np.float32)
        with np.errstate(over="ignore"):
            for start in range(0, len(encoded), _BLOCK_ROWS):
                block = slice(start, start + _BLOCK_ROWS)
                result[block] = (encoded[block] - self.means) / self.scales
        what = "too large for a network after standardisation"
        _refuse(~np.isfinite(result), encoded, self.features, what, first_row)
        return result

    def scaled_to(self, encoded: npt.NDArray[Any]) -> TableColumns:
        """The same columns with means and scales of these training rows, as `encoded` gives them."""
        with np.errstate(over="ignore", invalid="ignore"):
            means, scales = mean_and_scale(encoded)
        # In float64, the mean of equal numbers may differ from them by rounding, which would become their scale.
        constant = (encoded == encoded[:1]).all(axis=0)
        means, scales = np.where(constant, encoded[0], means), np.where(constant, 1.0, scales)
        bad = np.broadcast_to(~(np.isfinite(means) & np.isfinite(scales)), encoded.shape)
        _refuse(bad, encoded, self.features, "too large to compute their standard deviation")
        return TableColumns(self.labels, self.categories, means, scales)


def learned_columns(table: Table, categorical: Iterable[Hashable] | None) -> TableColumns:
    """The columns of a table of the user's and their categories.

    Texts and pandas categories are categories, numbers are numbers unless their column is among `categorical`: names
    of columns, or their positions where the table is an array.
    """
    names = list(table.columns) if isinstance(table, pd.DataFrame) else list(range(table.shape[1]))
    asked = set(_checked_categorical(categorical, names))
    labels = tuple(str(name) for name in names)
    if not asked and not isinstance(table, pd.DataFrame):
        return TableColumns(labels, (None,) * len(labels))
    found = []
    for number, (name, label) in enumerate(zip(names, labels, strict=True)):
        values = _column(table, number)
        found.append(_categories(values, label) if name in asked or _is_text(values, label) else None)
    return TableColumns(labels, tuple(found))


def _checked_categorical(categorical: Iterable[Hashable] | None, names: Sequence[Hashable]) -> Sequence[Hashable]:
    if categorical is None:
        return ()
    asked = [categorical] if isinstance(categorical, str) else list(categorical)
    unknown = [name for name in asked if name not in names]
    if unknown:
        shown = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
        raise UnusableInput(
            f"there is no column {unknown[0]!r}, which is listed as categorical; the columns are {shown}"
        )
    return asked


def _column(table: Table, number: int) -> pd.Series:
    return table.iloc[:, number] if isinstance(table, pd.DataFrame) else pd.Series(table[:, number])


def _is_text(values: pd.Series, label: str) -> bool:
    """Whether a column holds categories without being told so."""
    kind = values.dtype
    if pd.api.types.is_bool_dtype(kind) or pd.api.types.is_numeric_dtype(kind):
        if pd.api.types.is_complex_dtype(kind):
            raise UnusableInput(f"column {label!r} has complex numbers, which cannot be used; take their parts")
        return isinstance(kind, pd.CategoricalDtype)
    if isinstance(kind, pd.CategoricalDtype | pd.StringDtype):
        return True
    if not pd.api.types.is_object_dtype(kind):
        raise UnusableInput(
            f"column {label!r} has the type {kind}, which is neither numbers nor categories; turn it into numbers "
            "(of a date for example the year, or the days since a first one), or drop it"
        )
    return not all(isinstance(value, Real) or pd.isna(value) for value in values.unique())


def _labels(values: pd.Series, label: str, first_row: int = 0) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Values as numbers of distinct texts, and these texts. A whole number has one text, be it 1 or 1.0."""
    codes, distinct = pd.factorize(values)
    if bool((codes < 0).any()):
        raise _missing(label, first_row + int((codes < 0).argmax()))
    return codes, [_text_of(value) for value in distinct]


def _text_of(value: object) -> str:
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        return f"{float(value):.17g}"
    return str(value)


def _categories(values: pd.Series, label: str) -> tuple[str, ...]:
    texts = sorted(set(_labels(values, label)[1]))
    if len(texts) > MAX_CATEGORIES:
        raise UnusableInput(
            f"column {label!r} has {len(texts)} different categories, more than {MAX_CATEGORIES}: each would become a "
            "column of its own; drop the column, or sum its values up in fewer"
        )
    return tuple(texts)


def _one_hot(values: pd.Series, label: str, categories: tuple[str, ...], first_row: int) -> npt.NDArray[np.float32]:
    codes, texts = _labels(values, label, first_row)
    places = {text: place for place, text in enumerate(categories)}
    unseen = [text for text in texts if text not in places]
    if unseen:
        shown = ", ".join(map(repr, unseen[:_SHOWN])) + (", ..." if len(unseen) > _SHOWN else "")
        warnings.warn(
            f"column {label!r} has categories that the model was not fitted with: {shown}. It knows nothing about "
            "them and predicts as if the column had no category",
            UserWarning,
            stacklevel=2,
        )
    # One more column than there are categories takes up the unseen ones, and is left out.
    place_of = np.array([places.get(text, len(categories)) for text in texts], dtype=np.int64)
    result = np.zeros((len(codes), len(categories) + 1), dtype=np.float32)
    if len(codes):
        result[np.arange(len(codes)), place_of[codes]] = 1
    return result[:, :-1]


def _numbers_of_table(table: Table, labels: Sequence[str], first_row: int) -> npt.NDArray[Any]:
    if isinstance(table, pd.DataFrame):
        columns = [_numbers(table.iloc[:, number], label, first_row) for number, label in enumerate(labels)]
        return np.stack(columns, axis=1)
    numbers = table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)
    _refuse_not_finite(numbers, labels, first_row)
    return numbers


def _numbers(values: pd.Series, label: str, first_row: int) -> FloatArray:
    """A column of numbers: (rows,)."""
    try:
        numbers: FloatArray = values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        bad = int((pd.to_numeric(values, errors="coerce").isna() & values.notna()).to_numpy().argmax())
        raise UnusableInput(
            f"column {label!r} has {values.iloc[bad]!r} in row {first_row + bad} (counted from 0), but it held "
            "numbers when the model was fitted; correct the value"
        ) from error
    _refuse_not_finite(numbers[:, None], (label,), first_row)
    return numbers


def _refuse_not_finite(numbers: npt.NDArray[Any], labels: Sequence[str], first_row: int) -> None:
    if np.isfinite(numbers).all():
        return
    missing = np.isnan(numbers)
    if missing.any():
        column = int(missing.any(axis=0).argmax())
        raise _missing(labels[column], first_row + int(missing[:, column].argmax()))
    _refuse(np.isinf(numbers), numbers, labels, "infinite (inf)", first_row)


def _missing(label: str, row: int) -> UnusableInput:
    return UnusableInput(
        f"column {label!r} has missing values (NaN), the first in row {row} (counted from 0); remove such rows or fill "
        "them in, for example with sklearn.impute.SimpleImputer"
    )


def _refuse(
    bad: npt.NDArray[np.bool_], values: npt.NDArray[Any], labels: Sequence[str], what: str, first_row: int = 0
) -> None:
    """An error that names column, row and value of the first bad place, if there is one."""
    if not bad.any():
        return
    column = int(bad.any(axis=0).argmax())
    row = int(bad[:, column].argmax())
    raise UnusableInput(
        f"column {labels[column]!r} has values that are {what}: {values[row, column]} in row {first_row + row} "
        "(counted from 0); correct or remove them"
    )
