"""A dataset as its source has it: the one form in which every source hands its table on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

    from qrt.estimator.preparation import Rules

TargetTransform = Literal["none", "log1p"]
OWN_SOURCE = "own"  # `source` in the provenance of a table of the user's


class SourceUnavailable(Exception):
    """A source does not have a dataset, cannot be reached, or sent something wrong; the message says which."""


@dataclass(frozen=True)
class RawTable:
    """A table before preparation.

    `frame` has numeric columns as numbers, all others as text, missing values as NaN / None, rows and columns
    in the source's order. `unwanted` columns are left out on the user's word. `provenance` says where the table came
    from and is copied into the record of the dataset.
    """

    frame: pd.DataFrame
    target: str
    categorical: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    rules: Rules = "openml"
    target_transform: TargetTransform = "none"
    missing_column_threshold: float = 0.2
    provenance: dict[str, str | int] = field(default_factory=dict)
