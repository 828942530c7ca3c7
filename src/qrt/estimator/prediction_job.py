"""From files of the user's to predictions: fit a model, check it, predict rows (`qrt predict`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch

from qrt.engine.split import split_rows
from qrt.errors import UserError
from qrt.estimator.asked_values import central_levels
from qrt.estimator.diagnosis import Diagnosis
from qrt.estimator.own_tables import KnownRows, NewRows
from qrt.estimator.regressor import QRTRegressor
from qrt.estimator.unusable_input import UnusableInput

LEAST_ROWS = 40
# What no model predicts that was fitted to data, but that a file can hold which somebody has made.
# Of the mass at one end: with more, the central 50 % interval has no end there, or the 95 % interval of a map that
# leaves no mass outside unless its kernel is far too wide.
_MOST_OUTSIDE, _MOST_OUTSIDE_OTHERS = 0.25, 0.025
_MOST_SCALES = 1e9  # of the target, from its mean: rows with typing errors are some 1e6 away
HeldOut = tuple[pd.DataFrame, pd.Series]


def fit_to_known_rows(
    path: Path, known: KnownRows, split: int, log: Callable[[str], None], **parameters: Any
) -> tuple[QRTRegressor, HeldOut]:
    """A model of known rows, and those that were held out to check it: the study's split of this number.

    65 % of the rows train, 10 % validate, 15 % calibrate and 10 % are held out (docs/protocol.md, section 1).
    """
    total = len(known.target)
    if total < LEAST_ROWS:
        raise UnusableInput(
            f"{path}: {total} rows are too few to fit, calibrate and check a model: {LEAST_ROWS} at least"
        )
    rows = split_rows(total, split)
    sets = {name: (known.features.iloc[numbers], known.target.iloc[numbers]) for name, numbers in vars(rows).items()}
    used = sum(len(y) for _, y in sets.values())
    log(f"{path}: {total} rows" + ("" if used == total else f", of which {used} are used, as in the paper"))
    with _about(path, log):
        model = QRTRegressor(random_state=split, verbose=1, categorical=known.categorical or None, **parameters)
        model.fit(*sets["train"], validation=sets["validation"], calibration=sets["calibration"])
    return model, sets["test"]


def checked_model(path: Path, model: QRTRegressor, held_out: HeldOut, log: Callable[[str], None]) -> Diagnosis:
    """The diagnosis of a model on the rows that were held out."""
    with _about(path, log):
        return model.diagnose(*held_out)


def predicted_rows(
    path: Path,
    model: QRTRegressor,
    new: NewRows,
    log: Callable[[str], None],
    *,
    coverage: float,
    levels: Sequence[float],
    loaded_from: Path | None = None,
) -> pd.DataFrame:
    """Mean, interval and quantiles of each new row, in the file's order; empty for rows with missing values.

    The first columns are `row`, the number of the data row counted from 1, and those of the file that are to be kept.
    A model that was `loaded_from` a file is refused if it predicts what no fitted one does.
    """
    names = ["mean", *(f"{end}_{coverage:.6g}" for end in ("lower", "upper")), *(f"q{level:.6g}" for level in levels)]
    values = np.full((len(new.complete), len(names)), np.nan)
    if new.complete.any():
        with _about(path, log):
            distribution = model.predict_distribution(new.features[new.complete])
            mean = distribution.mean()
            if not np.isfinite(mean).all():
                raise UnusableInput("predictions are not finite; fit the model again on a target in other units")
            parts = [mean[:, None], distribution.interval(coverage), distribution.ppf(list(levels))]
        values[new.complete] = np.hstack(parts)
        if loaded_from is not None:
            _check_predictions(loaded_from, model, [0.5, *central_levels(coverage), *levels], values[new.complete])
        if infinite := int(np.isinf(values).any(axis=1).sum()):
            log(f"{path}: {infinite} rows have infinite bounds: the model's map leaves less than asked for inside them")
    row = pd.DataFrame({"row": np.arange(1, len(values) + 1)})
    return pd.concat([row, new.kept, pd.DataFrame(values, columns=names)], axis=1)


def _check_predictions(
    path: Path, model: QRTRegressor, levels: Sequence[float], values: npt.NDArray[np.float64]
) -> None:
    """Refuse a model of a file whose predictions (rows, levels) are absurd.

    KDE and DCP maps honestly leave some mass outside, where their bounds are infinite: with few calibration rows or a
    wide kernel, several per cent at each end.
    """
    fitted = model.model_
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    for one in fitted.maps:
        ends = one.cdf(ends)
    low, high = ends.tolist()
    most = _MOST_OUTSIDE if {"KDE", "DCP"} & {one.name for one in fitted.maps} else _MOST_OUTSIDE_OTHERS
    if low > most or high < 1 - most:
        raise UnusableInput(
            f"{path}: its calibration map leaves {max(low, 1 - high):.0%} of the probability beyond all values, so "
            "that usual intervals have no ends; fit the model again, with a narrower kernel or more calibration rows"
        )
    inside = np.array([low < level <= high for level in levels])
    far = np.abs(values - fitted.y_mean) > _MOST_SCALES * fitted.y_scale
    absurd = (far & (np.isfinite(values) | inside)).any(axis=1)
    if absurd.any():
        row = int(absurd.argmax())
        raise UnusableInput(
            f"{path}: predicts values more than {_MOST_SCALES:g} standard deviations of its target away from its mean, "
            f"first for complete row {row + 1}; look for typing errors in that row, or fit the model again"
        )


def columns_of_numbers(model: QRTRegressor) -> list[str]:
    """The columns that a model knows as numbers."""
    pairs = zip(model.columns_.labels, model.columns_.categories, strict=True)
    return [label for label, categories in pairs if categories is None]


@contextmanager
def _about(path: Path, log: Callable[[str], None]) -> Iterator[None]:
    """Errors name the file, warnings become lines of the log, each once."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            yield
    except UserError as error:
        raise UnusableInput(f"{path}: {error}") from error
    for text in dict.fromkeys(str(one.message) for one in caught):
        log(f"{path}: {text}")
