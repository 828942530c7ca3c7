"""The rows of a fit: which train, validate and calibrate, standardised as docs/protocol.md, section 1 has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from qrt.engine.split import MAX_CALIBRATION_ROWS, SplitData
from qrt.estimator.columns import FloatArray, TableColumns
from qrt.estimator.feature_scale import Encoded
from qrt.estimator.unusable_input import UnusableInput


class Rows(NamedTuple):
    """Encoded x: (n, features), y: (n,), and weights: (n,) above 0, or None."""

    x: Encoded
    y: FloatArray
    weights: FloatArray | None = None

    def at(self, numbers: npt.NDArray[Any]) -> Rows:
        """The rows with these numbers."""
        return Rows(self.x[numbers], self.y[numbers], None if self.weights is None else self.weights[numbers])


@dataclass(frozen=True, eq=False)
class FitSets:
    """The sets of a fit, with features as `TableColumns.encoded` gives them and targets as they are."""

    train: Rows
    validation: Rows
    calibration: Rows

    def standardised(self, columns: TableColumns) -> tuple[SplitData, TableColumns]:
        """The sets as one split for the trainer, and the columns with the scales of the training rows."""
        columns = columns.scaled_to(self.train.x, self.train.weights)
        y_columns = TableColumns(("y",), (None,)).scaled_to(self.train.y[:, None], self.train.weights)
        parts = {"train": self.train, "calibration": self.calibration, "validation": self.validation}
        weights = [np.ones(len(rows.y)) if rows.weights is None else rows.weights for rows in parts.values()]
        data = SplitData(
            x=np.concatenate([columns.standardised(rows.x) for rows in parts.values()]),
            y=np.concatenate([y_columns.standardised(rows.y[:, None])[:, 0] for rows in parts.values()]),
            sizes={part: len(rows.y) for part, rows in parts.items()} | {"test": 0},
            y_mean=float(y_columns.means[0]),
            y_scale=float(y_columns.scales[0]),
            weights=None if all(rows.weights is None for rows in parts.values()) else np.concatenate(weights),
        )
        return data, columns


def drawn_sets(
    rows: Rows, validation: Rows | float, calibration: Rows | float, seed: int, *, needs_calibration: bool
) -> FitSets:
    """The sets of a fit: the user's own, or fractions of `rows` that are drawn at random.

    As in the study, a drawn calibration set has at most 2048 rows; what it would have had beyond that is shared equally
    by the other two.
    """
    y = rows.y
    fractions = tuple(part if isinstance(part, float) else 0.0 for part in (validation, calibration))
    draws_calibration = isinstance(calibration, float) and needs_calibration
    _check_fractions(fractions, draws_validation=isinstance(validation, float), draws_calibration=draws_calibration)
    sizes = _sizes(len(y), *fractions)
    if len(y) - sum(sizes) < 2:
        raise UnusableInput(
            f"{len(y)} {'sample is' if len(y) == 1 else 'samples are'} too few: after {sizes[0]} for validation and "
            f"{sizes[1]} for calibration, at least 2 must be left to train on (n_samples={len(y)})"
        )
    order = np.random.RandomState(seed).permutation(len(y)) if sum(sizes) else np.arange(len(y))
    of_validation, of_calibration, of_train = np.split(order, np.cumsum(sizes))
    sets = FitSets(
        train=rows.at(of_train) if sum(sizes) else rows,
        validation=rows.at(of_validation) if isinstance(validation, float) else validation,
        calibration=rows.at(of_calibration) if isinstance(calibration, float) else calibration,
    )
    _check(sets, needs_calibration=needs_calibration)
    return sets


def whole_set(rows: Rows, folds: Any) -> FitSets:
    """All rows to train on, for a fit whose `folds` validate and calibrate each other."""
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= len(rows.y) // 2:
        raise UnusableInput(
            f"cv is {folds!r}: it must be a whole number of folds from 2 to half of the {len(rows.y)} rows, such as 5, "
            f"or None (n_samples={len(rows.y)})"
        )
    nothing = rows.at(np.arange(0))
    sets = FitSets(train=rows, validation=nothing, calibration=nothing)
    _check_target(sets.train.y)
    return sets


def cross_fitting_splits(data: SplitData, folds: int, seed: int) -> list[SplitData]:
    """Splits of the rows of `data`, which all train: each fold in turn is the validation rows of the others."""
    order = np.random.RandomState(seed).permutation(len(data.y))
    parts = np.array_split(order, folds)
    splits = []
    for fold, held_out in enumerate(parts):
        others = np.concatenate([part for number, part in enumerate(parts) if number != fold])
        rows = np.concatenate([others, held_out])
        sizes = {"train": len(others), "calibration": 0, "validation": len(held_out), "test": 0}
        weights = None if data.weights is None else data.weights[rows]
        splits.append(replace(data, x=data.x[rows], y=data.y[rows], sizes=sizes, weights=weights))
    return splits


def _check_fractions(fractions: tuple[float, ...], *, draws_validation: bool, draws_calibration: bool) -> None:
    validation, calibration = fractions
    for name, value in (("validation_fraction", validation), ("calibration_fraction", calibration)):
        if not 0 <= value < 1:
            raise UnusableInput(f"{name} is {value}: it must be a share of the rows between 0 and 1, for example 0.1")
    if validation + calibration >= 1:
        raise UnusableInput(
            f"validation_fraction {validation} and calibration_fraction {calibration} leave no rows to train on: their "
            "sum must be below 1"
        )
    if draws_validation and validation == 0:
        raise UnusableInput(
            "validation_fraction is 0, but early stopping needs validation rows: give a share such as 0.1, or "
            "a validation set of your own to fit"
        )
    if draws_calibration and calibration == 0:
        raise UnusableInput(
            "calibration_fraction is 0, but this method has a post-hoc map, which needs calibration rows: give a share "
            "such as 0.15, or a calibration set of your own to fit, or posthoc_map='none'"
        )


def _sizes(rows: int, validation: float, calibration: float) -> tuple[int, int]:
    """Rows for validation and for calibration; a part that is asked for has one at least."""
    excess = max(0.0, calibration * rows - MAX_CALIBRATION_ROWS)
    for_validation = int(validation * rows + (excess / 2 if validation else 0.0))
    for_calibration = int(calibration * rows - excess)
    return max(int(validation > 0), for_validation), max(int(calibration > 0), for_calibration)


def _check(sets: FitSets, *, needs_calibration: bool) -> None:
    for name, rows, needed in (
        ("training", sets.train, 2),
        ("validation", sets.validation, 1),
        ("calibration", sets.calibration, int(needs_calibration)),
    ):
        if len(rows.y) < needed:
            raise UnusableInput(f"there are {len(rows.y)} {name} rows, but at least {needed} are needed")
    _check_target(sets.train.y)


def _check_target(y: FloatArray) -> None:
    if (y == y[0]).all():
        raise UnusableInput(
            f"the target is constant ({y[0]:g} in all {len(y)} training rows): there is nothing to learn"
        )
