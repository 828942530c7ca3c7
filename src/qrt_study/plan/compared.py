"""The methods that a figure compares, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Compared:
    """One method of a figure: where its results are, and its name in the figure."""

    experiment: str
    method: str
    label: str
