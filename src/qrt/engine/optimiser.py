"""AdamW for a stack of networks."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim.adamw import adamw

from qrt.engine.named_tensors import NamedTensors

BETAS = (0.9, 0.999)
EPSILON = 1e-8


class StackedAdamW:
    """torch.optim.AdamW on all tensors of all networks at once: one fused pass over their flat memory.

    AdamW works value by value, so that the networks of a stack do not touch each other. The tensors called `undecayed`
    are not pulled towards 0; they must be the last ones.
    """

    def __init__(
        self,
        parameters: NamedTensors,
        learning_rate: float,
        weight_decay: float,
        undecayed: frozenset[str] = frozenset(),
    ) -> None:
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.undecayed = undecayed
        self._first = NamedTensors(parameters.networks, parameters.shapes)
        self._second = NamedTensors(parameters.networks, parameters.shapes)
        self._steps = [torch.zeros(()), torch.zeros(())]

    def step(self, parameters: NamedTensors, gradients: NamedTensors) -> None:
        """Update `parameters` in place."""
        decayed = len(parameters.flat) - parameters.length(self.undecayed)
        flats = [tensors.flat for tensors in (parameters, gradients, self._first, self._second)]
        self._update([flat[:decayed] for flat in flats], self._steps[0], self.weight_decay)
        if decayed < len(parameters.flat):
            self._update([flat[decayed:] for flat in flats], self._steps[1], 0.0)

    def _update(self, tensors: list[Tensor], step: Tensor, weight_decay: float) -> None:
        parameters, gradients, first, second = tensors
        adamw(
            [parameters],
            [gradients],
            [first],
            [second],
            [],
            [step],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.learning_rate,
            weight_decay=weight_decay,
            eps=EPSILON,
            maximize=False,
        )

    def keep(self, positions: Tensor) -> None:
        """Forget all networks but those at these positions."""
        self._first = self._first.selected(positions)
        self._second = self._second.selected(positions)
