"""Weights of rows: means, and rows that are drawn as often as their weights say. Weights None: all rows count alike.

Training takes weights by drawing: in an epoch of n draws, a row comes n w / sum(w) times, rounded up or down at random
so that the mean is right (systematic sampling). Batches, their maps and statistics are then those of a table in which
rows are repeated, and a training step knows nothing of weights.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from qrt.engine.random_streams import sample_rows


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Weights of the rows that train and of those that validate: (n,) float64 each."""

    train: Tensor | None = None
    validation: Tensor | None = None


def mean_over_rows(values: Tensor, weights: Tensor | None) -> Tensor:
    """The mean (...) over the last dimension of values: (..., n)."""
    if weights is None:
        return values.mean(dim=-1)
    return (values * weights).sum(dim=-1) / weights.sum()


def drawn_rows(rows: int, size: int, generator: torch.Generator, weights: Tensor | None) -> Tensor:
    """Numbers of min(size, rows) rows in random order; with weights: (rows,) as often as these say."""
    if weights is None:
        return sample_rows(rows, size, generator)
    # In random order, since systematic sampling would never take neighbours of small weight together.
    order = torch.randperm(rows, generator=generator)
    up_to = weights[order].double().cumsum(dim=0)
    points = (torch.arange(rows) + torch.rand(1, generator=generator, dtype=torch.float64)) * (up_to[-1] / rows)
    drawn = order[torch.searchsorted(up_to, points, right=True).clamp(max=rows - 1)]
    return drawn[torch.randperm(rows, generator=generator)[:size]]
