"""From a user's table to the numbers that networks see: categories to columns of 0 and 1, everything standardised.

A column with missing values gets a feature that says where they are; a missing number is the mean of the training rows,
a missing category none of the others. What cannot be used is refused with the name of its column.
"""

from __future__ import annotations

import datetime
import re
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from qrt.estimator.feature_scale import Encoded, blocks, means_and_scales
from qrt.estimator.unusable_input import UnusableInput

Table: TypeAlias = Any  # pd.DataFrame, npt.NDArray[Any] or scipy.sparse.csr_array
FloatArray = npt.NDArray[np.float64]

MAX_CATEGORIES = 1000  # of one column
_FEW_ROWS = 5  # for each category, in the mean
_SOME_CATEGORIES = 20  # that a column may have whatever its rows
_SHOWN = 5
_INFINITE = "infinite (inf)"
_DAY, _YEAR = r"(0?[1-9]|[12]\d|3[01])", r"[12]\d{3}"
_MONTH = r"(0?[1-9]|1[0-2]|(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?)"
_DATES = (
    rf"{_YEAR}[-/. ]{_MONTH}[-/. ]{_DAY}",
    rf"{_DAY}[-/. ]+{_MONTH}[-/. ,]+{_YEAR}",
    rf"{_MONTH}[-/. ]+{_DAY}[-/. ,]+{_YEAR}",
)
_DATE = re.compile(rf"\s*({'|'.join(_DATES)})([T ,]+\d{{1,2}}:\d{{2}}.*)?\s*", re.IGNORECASE)
_LOOKED_AT, _NEARLY_ALL = 1000, 0.9  # of a column's distinct texts


@dataclass(frozen=True, eq=False)
class TableColumns:
    """How the columns of a table become features.

    `labels` has one text for each column, which messages show; `categories` has for each column its categories as
    texts, or None for a column of numbers; `means` and `scales`: (features,) are those of the training rows; `missing`
    says which columns have a feature that tells missing values, and is empty if none has.
    """

    labels: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]
    means: FloatArray = field(default_factory=lambda: np.zeros(0))
    scales: FloatArray = field(default_factory=lambda: np.ones(0))
    missing: tuple[bool, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """The names of the features, in their order: `rooms`, `rooms is missing`, `colour=red`."""
        names: list[str] = []
        for label, found, has_missing in self._columns():
            names += [label] if found is None else [f"{label}={one}" for one in found]
            names += [f"{label} is missing"] * has_missing
        return tuple(names)

    def encoded(self, table: Table, first_row: int = 0) -> Encoded:
        """The features (rows, features) of a table as floating-point numbers, not standardised; missing ones are NaN.

        A category that was not there when the columns were learned has 0 in all columns of its kind, with a warning; so
        has a missing value of a column that had none. `first_row` is the number of the table's first row in messages,
        where it is part of a larger one.
        """
        numbers_alone = not any(self.missing) and all(found is None for found in self.categories)
        if sparse.issparse(table):
            if numbers_alone:
                return _checked_sparse(table, self.labels, first_row)
            table = table.toarray()
        if numbers_alone:
            numbers = _numbers_of_table(table, self.labels, first_row)
            for column in np.flatnonzero(np.isnan(numbers).any(axis=0)):
                _warn_of_missing(self.labels[column])
            return numbers
        parts: list[npt.NDArray[Any]] = []
        for number, (label, found, has_missing) in enumerate(self._columns()):
            values = _column(table, number)
            if found is None:
                parts.append(_numbers(values, label, first_row)[:, None])
            else:
                parts.append(_one_hot(values, label, found))
            is_missing = values.isna().to_numpy()
            if has_missing:
                parts.append(is_missing[:, None].astype(np.float32))
            elif is_missing.any():
                _warn_of_missing(label)
        return np.hstack(parts)

    def standardised(self, encoded: Encoded, first_row: int = 0) -> npt.NDArray[np.float32]:
        """Encoded rows as networks take them: (rows, features) float32, dense."""
        result = np.empty(encoded.shape, dtype=np.float32)
        with np.errstate(over="ignore"):
            for start, block in blocks(encoded):
                part = result[start : start + len(block)]
                part[:] = (block - self.means) / self.scales
                part[np.isnan(block)] = 0  # the mean
                what = "too large for a network after standardisation"
                _refuse(~np.isfinite(part), block, self.features, what, first_row + start)
        return result

    def scaled_to(self, encoded: Encoded, weights: FloatArray | None = None) -> TableColumns:
        """The same columns with means and scales of these training rows, as `encoded` gives them."""
        with np.errstate(over="ignore", invalid="ignore"):
            means, scales = means_and_scales(encoded, weights)
        bad = ~(np.isfinite(means) & np.isfinite(scales))
        for start, block in blocks(encoded) if bad.any() else ():
            what = "too large to compute their standard deviation"
            _refuse(np.broadcast_to(bad, block.shape), block, self.features, what, start)
        return replace(self, means=means, scales=scales)

    def _columns(self) -> Iterator[tuple[str, tuple[str, ...] | None, bool]]:
        """Label, categories, and whether there is a feature for missing values, of each column."""
        missing = self.missing or (False,) * len(self.labels)
        return zip(self.labels, self.categories, missing, strict=True)


def learned_columns(table: Table, categorical: Iterable[Hashable] | None) -> TableColumns:
    """The columns of a table of the user's, their categories, and which of them have missing values.

    Texts and pandas categories are categories, numbers are numbers unless their column is among `categorical`: names
    of columns, or their positions where the table is an array.
    """
    names = list(table.columns) if isinstance(table, pd.DataFrame) else list(range(table.shape[1]))
    asked = set(_checked_categorical(categorical, names))
    labels = tuple(str(name) for name in names)
    if sparse.issparse(table):
        if asked:
            raise UnusableInput("a sparse X has numbers only: encode its categories, or leave out `categorical`")
        return TableColumns(labels, (None,) * len(labels))
    if not asked and not isinstance(table, pd.DataFrame):
        missing = list(np.isnan(table).any(axis=0)) if table.dtype.kind == "f" else []
        return TableColumns(labels, (None,) * len(labels), missing=_if_any(missing))
    found, has_missing = [], []
    for number, (name, label) in enumerate(zip(names, labels, strict=True)):
        values = _column(table, number)
        is_category = name in asked or _is_text(values, label)
        found.append(_categories(values, label, as_asked=name in asked) if is_category else None)
        has_missing.append(bool(values.isna().any()))
    return TableColumns(labels, tuple(found), missing=_if_any(has_missing))


def _if_any(missing: Sequence[bool]) -> tuple[bool, ...]:
    return tuple(bool(one) for one in missing) if any(missing) else ()


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
        raise _neither(label, f"the type {kind}")
    distinct = values.dropna().unique()
    if any(isinstance(value, datetime.date | datetime.timedelta | np.datetime64) for value in distinct):
        raise _neither(label, f"dates such as {distinct[0]}")
    return not all(isinstance(value, Real) for value in distinct)


def _neither(label: str, what: str) -> UnusableInput:
    return UnusableInput(
        f"column {label!r} has {what}, which is neither numbers nor categories; turn it into numbers, or drop it. Of a "
        f"date {_numbers_of_dates(label)}"
    )


def _numbers_of_dates(label: str) -> str:
    return (
        f"t = pd.to_datetime(X[{label!r}]), for example: t.dt.year, t.dt.month, t.dt.dayofweek, or the days since a "
        "first one, (t - t0).dt.days"
    )


def date_among(values: pd.Series) -> str | None:
    """A text of the column that looks like a date, if nearly all of its texts do."""
    distinct = [value for value in values.dropna().unique()[:_LOOKED_AT].tolist() if isinstance(value, str)]
    dates = [value for value in distinct if _DATE.fullmatch(value)]
    return dates[0] if len(dates) > _NEARLY_ALL * len(distinct) else None


def _labels(values: pd.Series) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Values as numbers of distinct texts, -1 if missing, and these texts. A number has one text, be it 1 or 1.0."""
    codes, distinct = pd.factorize(values)
    return codes, [_text_of(value) for value in distinct]


def _text_of(value: object) -> str:
    if isinstance(value, Real) and not isinstance(value, bool | np.bool_):
        return f"{float(value):.17g}"
    return str(value)


def _categories(values: pd.Series, label: str, *, as_asked: bool) -> tuple[str, ...]:
    of_numbers = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    texts = sorted(set(_labels(values)[1]), key=float if of_numbers else None)
    what, date = f"column {label!r} has {len(texts)} different categories", date_among(values)
    if len(texts) > MAX_CATEGORIES:
        raise UnusableInput(
            f"{what}, more than {MAX_CATEGORIES}: each would become a column of its own; drop the column, or sum its "
            "values up in fewer" + (f". Of dates such as {date!r}: {_numbers_of_dates(label)}" if date else "")
        )
    if date and not as_asked:
        warnings.warn(
            f"column {label!r} has texts that look like dates, such as {date!r}, and each of {len(texts)} becomes a "
            f"category without order. Turn them into numbers: {_numbers_of_dates(label)}; or list the column as "
            "categorical",
            UserWarning,
            stacklevel=4,
        )
    elif len(texts) > max(_SOME_CATEGORIES, len(values) / _FEW_ROWS):
        warnings.warn(
            f"{what} in {len(values)} rows, and each becomes a column of its own. If they only name the rows, drop the "
            "column; else sum them up in fewer",
            UserWarning,
            stacklevel=4,
        )
    return tuple(texts)


def _one_hot(values: pd.Series, label: str, categories: tuple[str, ...]) -> npt.NDArray[np.float32]:
    codes, texts = _labels(values)
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
    # One more column than there are categories takes up the unseen and the missing ones, and is left out. The place of
    # the missing ones, whose code is -1, comes last.
    place_of = np.array([*(places.get(text, len(categories)) for text in texts), len(categories)], dtype=np.int64)
    result = np.zeros((len(codes), len(categories) + 1), dtype=np.float32)
    if len(codes):
        result[np.arange(len(codes)), place_of[codes]] = 1
    return result[:, :-1]


def _numbers_of_table(table: Table, labels: Sequence[str], first_row: int) -> npt.NDArray[Any]:
    if isinstance(table, pd.DataFrame):
        columns = [_numbers(table.iloc[:, number], label, first_row) for number, label in enumerate(labels)]
        return np.stack(columns, axis=1)
    numbers = table if table.dtype in (np.float32, np.float64) else table.astype(np.float64)
    _refuse(np.isinf(numbers), numbers, labels, _INFINITE, first_row)
    return numbers


def _checked_sparse(table: sparse.csr_array, labels: Sequence[str], first_row: int) -> sparse.csr_array:
    """A sparse table of finite floating-point numbers."""
    bad = ~np.isfinite(table.data)
    if bad.any():
        place = int(bad.argmax())
        row = int(np.searchsorted(table.indptr, place, side="right")) - 1
        raise UnusableInput(
            f"column {labels[table.indices[place]]!r} of a sparse X has {table.data[place]} in row {first_row + row} "
            "(counted from 0): fill in missing values, or give a dense table, which may have them"
        )
    return table


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
    _refuse(np.isinf(numbers)[:, None], numbers[:, None], (label,), _INFINITE, first_row)
    return numbers


def _warn_of_missing(label: str) -> None:
    warnings.warn(
        f"column {label!r} has missing values (NaN), but had none when the model was fitted. It knows nothing about "
        "them and predicts as for the mean of the column, or for no category",
        UserWarning,
        stacklevel=3,
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
