"""The probabilistic calibration error of PITs (docs/protocol.md, section 6).

Apart from the other scores, since training records it after every validation: a new score must not train again.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from qrt.errors import UserError


def pce_levels(pits: Tensor, weights: Tensor | None = None) -> Tensor:
    """PCE as in the paper: mean over the levels j/101 of |level - share of PITs <= level|, (...) for pits: (..., n).

    With weights: (n,) at least 0, the share of PITs is that of their weights.
    """
    ordered = _sorted_pits(pits)
    levels = torch.arange(1, 101, dtype=torch.float64) / 101
    counts = torch.searchsorted(ordered, levels.repeat(*ordered.shape[:-1], 1), right=True)
    if weights is None:
        shares = counts.double() / ordered.shape[-1]
    else:
        up_to = weights[pits.argsort(dim=-1)].cumsum(dim=-1).double()
        shares = pad(up_to, (1, 0)).gather(-1, counts) / up_to[..., -1:]
    return (shares - levels).abs().mean(dim=-1)


def pce_sorted(pits: Tensor) -> Tensor:
    """PCE as released: mean of |Z_(i) - i / (n + 1)| (docs/protocol.md, row 3)."""
    ordered = _sorted_pits(pits.flatten())
    expected = torch.arange(1, len(ordered) + 1, dtype=torch.float64) / (len(ordered) + 1)
    return (ordered - expected).abs().mean()


def _sorted_pits(pits: Tensor) -> Tensor:
    if pits.numel() == 0:
        raise UserError("the calibration error of no PITs is not defined: at least one row is needed")
    # NumPy sorts several times faster than torch, which also computes the order. NaN comes last.
    ordered = torch.from_numpy(np.sort(pits.detach().numpy(), axis=-1)).double()
    if not bool(((ordered[..., 0] >= 0) & (ordered[..., -1] <= 1)).all()):
        bad = pits[~((pits >= 0) & (pits <= 1))]
        raise UserError(f"PITs must be numbers in [0, 1], but one is {bad[0].item()}")
    return ordered
