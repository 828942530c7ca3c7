"""The rows of a fit: which train, validate and calibrate, standardised as docs/protocol.md, section 1 has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.engine.split import MAX_CALIBRATION_ROWS, SplitData
from qrt.estimator.columns import FloatArray, TableColumns
from qrt.estimator.unusable_input import UnusableInput

Rows = tuple[npt.NDArray[Any], FloatArray]  # encoded x: (n, features) and y: (n,)


@dataclass(frozen=True, eq=False)
class FitSets:
    """The sets of a fit, with features as `TableColumns.encoded` gives them and targets as they are."""

    train: Rows
    validation: Rows
    calibration: Rows

    def standardised(self, columns: TableColumns) -> tuple[SplitData, TableColumns]:
        """The sets as one split for the trainer, and the columns with the scales of the training rows."""
        columns = columns.scaled_to(self.train[0])
        y_columns = TableColumns(("y",), (None,)).scaled_to(self.train[1][:, None])
        parts = {"train": self.train, "calibration": self.calibration, "validation": self.validation}
        data = SplitData(
            x=np.concatenate([columns.standardised(x) for x, _ in parts.values()]),
            y=np.concatenate([y_columns.standardised(y[:, None])[:, 0] for _, y in parts.values()]),
            sizes={part: len(y) for part, (_, y) in parts.items()} | {"test": 0},
            y_mean=float(y_columns.means[0]),
            y_scale=float(y_columns.scales[0]),
        )
        return data, columns


def drawn_sets(
    rows: Rows, validation: Rows | float, calibration: Rows | float, seed: int, *, needs_calibration: bool
) -> FitSets:
    """The sets of a fit: the user's own, or fractions of `rows` that are drawn at random.

    As in the study, a drawn calibration set has at most 2048 rows; what it would have had beyond that is shared equally
    by the other two.
    """
    x, y = rows
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
        train=(x[of_train], y[of_train]) if sum(sizes) else rows,
        validation=(x[of_validation], y[of_validation]) if isinstance(validation, float) else validation,
        calibration=(x[of_calibration], y[of_calibration]) if isinstance(calibration, float) else calibration,
    )
    _check(sets, needs_calibration=needs_calibration)
    return sets


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
            "validation_fraction is 0, but training stops when the validation rows tell: give a share such as 0.1, or "
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
    for name, (_, y), needed in (
        ("training", sets.train, 2),
        ("validation", sets.validation, 1),
        ("calibration", sets.calibration, int(needs_calibration)),
    ):
        if len(y) < needed:
            raise UnusableInput(f"there are {len(y)} {name} rows, but at least {needed} are needed")
    y = sets.train[1]
    if (y == y[0]).all():
        raise UnusableInput(
            f"the target is constant ({y[0]:g} in all {len(y)} training rows): there is nothing to learn"
        )
