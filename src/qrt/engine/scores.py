"""Scores of quantiles (docs/protocol.md, section 6)."""

from __future__ import annotations

import torch
from torch import Tensor

# The 19 levels 0.05, 0.10, .., 0.95 of the published study.
LEVELS = torch.arange(1, 20, dtype=torch.float64) / 20


def quantile_scores(quantiles: Tensor, levels: Tensor, y: Tensor) -> Tensor:
    """Pinball losses (N, L) of quantiles: (N, L) at levels: (L,) against y: (N,)."""
    gap = y.unsqueeze(1) - quantiles
    return torch.maximum(levels * gap, (levels - 1) * gap)


def weighted_interval_score(quantiles: Tensor, y: Tensor) -> Tensor:
    """The published CRPS, (N,), of quantiles (N, 19) at LEVELS against y: (N,).

    Twice the mean of 20 values: the 19 quantile scores, and 3/2 of the sum of the outer two for the tails.
    """
    scores = quantile_scores(quantiles, LEVELS, y)
    tails = 1.5 * (scores[:, 0] + scores[:, -1])
    return 2 * (scores.sum(dim=1) + tails) / (scores.shape[1] + 1)


def interval_scores(interval: Tensor, coverage: float, y: Tensor) -> Tensor:
    """Scores (N,) of central intervals (N, 2) with this probability: length, and 2 / alpha times what y is off.

    Gneiting and Raftery (2007), section 6.2, with alpha = 1 - coverage: 2 / alpha times both ends' quantile scores.
    """
    alpha = 1 - coverage
    levels = torch.tensor([alpha / 2, 1 - alpha / 2], dtype=torch.float64)
    return 2 / alpha * quantile_scores(interval, levels, y).sum(dim=1)
