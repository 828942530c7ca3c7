"""What the training objective needs of a mixture, log f(y | x) and the PIT F(y | x), with gradients in closed form.

`mixture` has the definitions; the same quantities are written out here because a training step would spend more
time on autograd's bookkeeping of them than on their arithmetic. Tensors are (R, K, B): K is 1 to 10 and B is 512,
and processors like long rows. With u = (y - mu) / sigma, g = Phi(u) and the components' responsibilities
r = w N(y; mu, sigma) / f, the gradients are

    d log f:  r u / sigma  by mu,   r (u^2 - 1) / sigma  by sigma,   r    by log w
    d F:     -f r          by mu,  -f r u                by sigma,   w g  by log w
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import softplus

from qrt.engine.mixture import MIN_SCALE, GaussianMixture

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)
_SQRT_HALF = math.sqrt(0.5)

TermsVjp = Callable[[Tensor | float, Tensor], GaussianMixture]


def mixture_terms(mixture: GaussianMixture, y: Tensor, first_pit: int = 0) -> tuple[Tensor, Tensor, TermsVjp]:
    """log f: (R, B), the PITs of the networks from `first_pit` on: (R - first_pit, B), and their vjp.

    The mixture's tensors are (R, K, B), y is (B,) or (R, 1, B). The vjp takes the gradients of a loss by log f:
    (R, B), or one number for all, and by the PITs, and gives those by means, scales and log-weights.
    """
    means, scales, log_weights = mixture
    precision = scales.reciprocal()
    u = (y - means).mul_(precision)
    joint = torch.addcmul(log_weights - scales.log(), u, u, value=-0.5)
    total = torch.logsumexp(joint, dim=1)
    log_density = total - _LOG_SQRT_2PI
    below = log_weights[first_pit:].exp().mul_(torch.erfc(u[first_pit:] * -_SQRT_HALF)).mul_(0.5)
    pit = below.sum(dim=1).clamp_max_(1.0)

    def vjp(to_log_density: Tensor | float, to_pit: Tensor) -> GaussianMixture:
        responsibility = (joint - total.unsqueeze(1)).exp_()
        if isinstance(to_log_density, Tensor):
            to_log_density = to_log_density.unsqueeze(1)
        direct = precision * to_log_density
        by_mean = u * direct
        by_log_weight = responsibility * to_log_density
        if len(pit):
            by_mean[first_pit:].sub_((log_density[first_pit:].exp() * to_pit).unsqueeze(1))
            by_log_weight[first_pit:].addcmul_(below, to_pit.unsqueeze(1))
        by_scale = torch.addcmul(-direct, by_mean, u).mul_(responsibility)
        return GaussianMixture(by_mean.mul_(responsibility), by_scale, by_log_weight)

    return log_density, pit, vjp


def from_raw_outputs(outputs: Tensor) -> tuple[GaussianMixture, Callable[[GaussianMixture], Tensor]]:
    """The mixtures (R, K, B) of network outputs (R, 3K, B), and the vjp back to the outputs.

    The layout is that of `mixture.from_outputs`, with the rows last.
    """
    means, rho, logits = outputs.chunk(3, dim=1)
    log_weights = torch.log_softmax(logits, dim=1)

    def vjp(gradient: GaussianMixture) -> Tensor:
        result = torch.empty_like(outputs)
        to_means, to_rho, to_logits = result.chunk(3, dim=1)
        to_means.copy_(gradient.means)
        torch.mul(gradient.scales, torch.sigmoid(rho), out=to_rho)
        total = gradient.log_weights.sum(dim=1, keepdim=True)
        torch.addcmul(gradient.log_weights, log_weights.exp(), total, value=-1, out=to_logits)
        return result

    return GaussianMixture(means, softplus(rho).add_(MIN_SCALE), log_weights), vjp
