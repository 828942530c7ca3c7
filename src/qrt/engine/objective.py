"""The training objective for one batch: Algorithm 1 for any alpha, Algorithm 2, and the ablations.

It is that of docs/protocol.md, section 4:

    loss = -(1/B) sum_i [log f(y_i | x_i) + alpha log phi(Z_i)],    Z_i = F(y_i | x_i)

The variants differ in the centres of the reflected map phi (`registry.MapSource`) and in whether gradients flow through
them:

    batch     the Z_i themselves, in both roles (Algorithm 1), or PITs of the batch from a second forward pass with
              other dropout masks; gradients flow through both passes (docs/protocol.md, section 8, row 19)
    sample    the PITs of M training rows drawn at each step; gradients flow through them too (Algorithm 2)
    detached  the Z_i, no gradient through the centres (QRG)
    initial   PITs of the network before its first step, fixed (QRI)
    learned   B free parameters (QRL), or as many fixed numbers (row 14)

A map of the source `validation` (STOP) is not in this loss: such a network is trained as one with alpha 0.
"""

from __future__ import annotations

import torch
from torch import Tensor

from qrt.engine.mixture import GaussianMixture
from qrt.engine.mixture_terms import mixture_terms
from qrt.engine.reflected_density import MapFormula, log_density, own_log_density
from qrt.engine.vjp import ValueAndVjp, differentiable
from qrt.errors import UserError


def own_map_term(pit: Tensor, weight: Tensor, scale: float, formula: MapFormula = "fast") -> tuple[Tensor, Tensor]:
    """The second term of the loss: (R,), for pit: (R, B) that are also the map's centres, and its gradient: (R, B).

    `weight` is -alpha / B, the factor of each log phi(Z_i) in the loss: (R, B). The gradient flows through both roles.
    """
    value, vjp = own_log_density(pit, scale, formula)
    return (value * weight).sum(dim=1), vjp(weight)


def map_term(
    pit: Tensor, centres: Tensor, weight: Tensor, scale: float, formula: MapFormula = "fast"
) -> tuple[Tensor, Tensor, Tensor]:
    """The same term with other centres: (R, N); its gradients by the PITs: (R, B), and by the centres: (R, N)."""
    value, vjp = log_density(pit, centres, scale, formula)
    return (value * weight).sum(dim=1), *vjp(weight)


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
            term, to_pit = own_map_term(pit, torch.full_like(pit, -alpha / rows), scale)
            loss = loss + term
        gradients = mixture_vjp(-1 / rows, to_pit)

        def vjp(gradient: Tensor) -> tuple[Tensor, ...]:
            by_network = gradient.reshape(-1, 1, 1)
            return tuple((tensor * by_network).transpose(1, 2).reshape(mixture.means.shape) for tensor in gradients)

        return loss.reshape(leading), vjp

    return differentiable(value_and_vjp, *mixture)
