"""Scores of quantiles, and the probabilistic calibration error of PITs (docs/protocol.md, section 6)."""

from __future__ import annotations

import torch
from torch import Tensor

from qrt.errors import UserError

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


def pce_levels(pits: Tensor) -> Tensor:
    """PCE as in the paper: mean over the levels j/101 of |level - share of PITs <= level|."""
    ordered = _sorted_pits(pits)
    levels = torch.arange(1, 101, dtype=torch.float64) / 101
    shares = torch.searchsorted(ordered, levels, right=True).double() / len(ordered)
    return (shares - levels).abs().mean()


def pce_sorted(pits: Tensor) -> Tensor:
    """PCE as released: mean of |Z_(i) - i / (n + 1)| (docs/protocol.md, row 3)."""
    ordered = _sorted_pits(pits)
    expected = torch.arange(1, len(ordered) + 1, dtype=torch.float64) / (len(ordered) + 1)
    return (ordered - expected).abs().mean()


def _sorted_pits(pits: Tensor) -> Tensor:
    if pits.numel() == 0:
        raise UserError("the calibration error of no PITs is not defined: at least one row is needed")
    pits = pits.detach().double().flatten()
    bad = ~((pits >= 0) & (pits <= 1))
    if bool(bad.any()):
        raise UserError(f"PITs must be numbers in [0, 1], but one is {pits[bad][0].item()}")
    return pits.sort().values
