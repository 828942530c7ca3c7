"""A dataset as its source has it: the one form in which every source hands its table on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pandas as pd

Rules = Literal["openml", "uci"]
TargetTransform = Literal["none", "log1p"]


class SourceUnavailable(Exception):
    """A source does not have a dataset, cannot be reached, or sent something wrong; the message says which."""


@dataclass(frozen=True)
class RawTable:
    """A table before preparation.

    `frame` has numeric columns as numbers, all others as text, missing values as NaN / None, rows and columns
    in the source's order. `provenance` says where it came from and is copied into the record of the dataset.
    """

    frame: pd.DataFrame
    target: str
    categorical: tuple[str, ...] = ()
    rules: Rules = "openml"
    target_transform: TargetTransform = "none"
    missing_column_threshold: float = 0.2
    provenance: dict[str, str | int] = field(default_factory=dict)
