"""The training objective for one batch: Algorithm 1 for any alpha, Algorithm 2, and the ablations (spec, section 4).

    loss = -(1/B) sum_i [log f(y_i | x_i) + alpha log phi(Z_i)],    Z_i = F(y_i | x_i)

The variants differ in the centres of the reflected map phi and in whether gradients flow through them:

    batch     the Z_i themselves, in both roles (Algorithm 1)
    sample    the PITs of M training rows drawn at each step; gradients flow through them too (Algorithm 2)
    detached  the Z_i, no gradient through the centres (QRG)
    initial   PITs of the network before its first step, fixed (QRI)
    learned   B free parameters (QRL)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import torch
from torch import Tensor

from qrt.engine.mixture import GaussianMixture
from qrt.engine.mixture_terms import mixture_terms
from qrt.engine.reflected_density import log_density, networks_at_once, own_log_density
from qrt.engine.vjp import ValueAndVjp, differentiable
from qrt.engine.workspace import Workspace
from qrt.errors import UserError

MapSource = Literal["batch", "sample", "detached", "initial", "learned"]


def own_map_term(pit: Tensor, alpha: Tensor, scale: float, workspace: Workspace | None = None) -> tuple[Tensor, Tensor]:
    """The second term of the loss, -alpha mean_i log phi(Z_i): (R,), for pit: (R, B) and alpha: (R,), and its gradient.

    The map's centres are the PITs themselves; the gradient (R, B) flows through both roles.
    """
    parts = []
    for some, weight in _runs(pit, alpha, scale, pit.shape[1]):
        value, vjp = own_log_density(pit[some], scale, workspace)
        parts.append(((value * weight).sum(dim=1), vjp(weight)))
    term, to_pit = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    return term, to_pit


def map_term(
    pit: Tensor, centres: Tensor, alpha: Tensor, scale: float, workspace: Workspace | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The same term with other centres: (R, N); its gradients by the PITs: (R, B), and by the centres: (R, N)."""
    parts = []
    for some, weight in _runs(pit, alpha, scale, max(pit.shape[1], centres.shape[1])):
        value, vjp = log_density(pit[some], centres[some], scale, workspace)
        parts.append(((value * weight).sum(dim=1), *vjp(weight)))
    term, to_pit, to_centres = (torch.cat(tensors) for tensors in zip(*parts, strict=True))
    return term, to_pit, to_centres


def _runs(pit: Tensor, alpha: Tensor, scale: float, rows: int) -> Iterator[tuple[slice, Tensor]]:
    """Runs of networks that fit into the cache together, each with the weight -alpha / B of its rows: (R, B)."""
    together = networks_at_once(scale, rows, pit.dtype)
    for first in range(0, len(pit), together):
        some = slice(first, first + together)
        yield some, (alpha[some] / -pit.shape[1]).unsqueeze(1).expand_as(pit[some])


def qrt_loss(mixture: GaussianMixture, y: Tensor, alpha: float, scale: float) -> Tensor:
    """The loss of Algorithm 1, (...,), for mixtures (..., B, K) and y: (B,) or (..., B); differentiable by autograd.

    `scale` is the map's kernel scale, `calibration_map.kernel_scale(b, B, width)`. This runs the code that the trainer
    runs, in the mixture's dtype.
    """
    leading, (rows, components) = mixture.means.shape[:-2], mixture.means.shape[-2:]
    if rows < 2:
        raise UserError(f"a batch of {rows} row has no calibration map to learn from: use at least 2 rows")
    targets = y.expand(*leading, rows).reshape(-1, 1, rows)

    def value_and_vjp(*parameters: Tensor) -> ValueAndVjp:
        flat = [tensor.reshape(-1, rows, components).transpose(1, 2) for tensor in parameters]
        log_f, pit, mixture_vjp = mixture_terms(GaussianMixture(*flat), targets)
        loss = -log_f.mean(dim=1)
        to_pit = torch.zeros_like(pit)
        if alpha != 0:
            term, to_pit = own_map_term(pit, pit.new_full((len(pit),), alpha), scale)
            loss = loss + term
        gradients = mixture_vjp(-1 / rows, to_pit)

        def vjp(gradient: Tensor) -> tuple[Tensor, ...]:
            by_network = gradient.reshape(-1, 1, 1)
            return tuple((tensor * by_network).transpose(1, 2).reshape(mixture.means.shape) for tensor in gradients)

        return loss.reshape(leading), vjp

    return differentiable(value_and_vjp, *mixture)
