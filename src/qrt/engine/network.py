"""The base models as stacks: R networks of one shape, computed together on the same rows, or on rows of their own.

They are those of docs/protocol.md, section 2.

A network's parameters are a dict of tensors whose first dimension is the network's number. `forward` gives the
outputs and a function that adds to the gradients of the parameters, given the gradient of the outputs. Outputs
are (R, 3K, B), rows last, as `mixture_terms` wants them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import torch
from torch import Tensor

from qrt.engine.random_streams import dropout_mask, rows_of_networks

Shape = tuple[int, ...]
Tensors = Mapping[str, Tensor]
Backward = Callable[[Tensor, Tensors], None]
LayerBackward = Callable[[Tensor, Tensors], Tensor]
Repeat = Callable[[slice, list[Tensor]], tuple[Tensor, Backward]]


class Network(Protocol):
    """A base model: the shapes of one network's tensors, and how a stack of such networks is computed."""

    @property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Shapes of what the optimiser trains."""

    @property
    def statistic_shapes(self) -> dict[str, Shape]:
        """Shapes of what training records beside the parameters (running means of a normalisation)."""

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Initial parameters and statistics of one network, with PyTorch's default initialisation."""

    def masks(self, rows: int, generator: torch.Generator) -> list[Tensor]:
        """Dropout masks for one training pass over so many rows, common to all networks."""

    def forward(self, tensors: Tensors, x: Tensor, masks: list[Tensor] | None) -> tuple[Tensor, Backward]:
        """Outputs (R, 3K, B) for x: (B, features), and the function that adds to the gradients, to be called once.

        `masks` None is evaluation mode. Rows and masks may also be each network's own: (R, B, ...).
        """

    def forward_repeatable(self, tensors: Tensors, x: Tensor, masks: list[Tensor]) -> tuple[Tensor, Backward, Repeat]:
        """A training pass as `forward` does it, and a function that repeats it with other masks for some networks.

        The function takes a slice of the networks and their masks, and gives what `forward` gives for them. The
        gradients of all repetitions are to be taken before that of the pass itself: a network whose passes have layers
        in common need not compute them again, and goes back through them once. This one shares nothing.
        """
        outputs, backward = self.forward(tensors, x, masks)

        def repeat(networks: slice, masks: list[Tensor]) -> tuple[Tensor, Backward]:
            rows = rows_of_networks(x, networks.start, networks.stop)
            return self.forward(of_networks(tensors, networks), rows, masks)

        return outputs, backward, repeat


def of_networks(tensors: Tensors, networks: slice) -> dict[str, Tensor]:
    """Views of the tensors of some networks of a stack."""
    return {name: tensor[networks] for name, tensor in tensors.items()}


def linear_initial(shapes: Mapping[str, tuple[Shape, int]], generator: torch.Generator) -> dict[str, Tensor]:
    """Parameters uniform on +-1/sqrt(fan-in), as torch.nn.Linear has them; `shapes` gives shape and fan-in."""
    return {
        name: torch.empty(shape).uniform_(-1 / math.sqrt(inputs), 1 / math.sqrt(inputs), generator=generator)
        for name, (shape, inputs) in shapes.items()
    }


class MLP(Network):
    """Hidden layers of ReLU units, dropout before the output layer only (docs/protocol.md, section 2).

    Hidden weights are (inputs, units), so that their gradient is one product with long rows; the output layer's are
    (3K, units), which gives outputs with the rows last.
    """

    def __init__(self, features: int, components: int, dropout: float = 0.2, units: int = 128, layers: int = 3) -> None:
        self.dropout = dropout
        self.units = units
        self.layers = layers
        self._shapes: dict[str, tuple[Shape, int]] = {}
        inputs = features
        for layer in range(1, layers + 1):
            self._shapes[f"hidden{layer}.weight"] = ((inputs, units), inputs)
            self._shapes[f"hidden{layer}.bias"] = ((1, units), inputs)
            inputs = units
        self._shapes["output.weight"] = ((3 * components, units), units)
        self._shapes["output.bias"] = ((3 * components, 1), units)

    @property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Shapes of weights and biases."""
        return {name: shape for name, (shape, _) in self._shapes.items()}

    @property
    def statistic_shapes(self) -> dict[str, Shape]:
        """Nothing: this network has no statistics."""
        return {}

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Initial weights and biases."""
        return linear_initial(self._shapes, generator)

    def masks(self, rows: int, generator: torch.Generator) -> list[Tensor]:
        """One mask (rows, units) for the last hidden layer."""
        if self.dropout == 0:
            return []
        return [dropout_mask((rows, self.units), self.dropout, generator)]

    def forward(self, tensors: Tensors, x: Tensor, masks: list[Tensor] | None) -> tuple[Tensor, Backward]:
        """See `Network.forward`. The gradient is written out: autograd would take more time and twice the memory."""
        hidden = self._hidden(tensors, x)
        for mask in masks or []:
            hidden[-1].mul_(mask)
        outputs, to_hidden = self._output_layer(tensors, hidden[-1], dropped_out=bool(masks))

        def backward(to_outputs: Tensor, gradients: Tensors) -> None:
            self._hidden_backward(tensors, hidden, to_hidden(to_outputs, gradients), gradients)

        return outputs, backward

    def forward_repeatable(self, tensors: Tensors, x: Tensor, masks: list[Tensor]) -> tuple[Tensor, Backward, Repeat]:
        """See `Network.forward_repeatable`. A repetition takes the hidden layers from here: masks come after them."""
        hidden = self._hidden(tensors, x)
        outputs, to_hidden = self._output_layer(tensors, *_dropped_out(hidden[-1], masks))
        flows: list[tuple[slice, Tensor]] = []

        def backward(to_outputs: Tensor, gradients: Tensors) -> None:
            flow = to_hidden(to_outputs, gradients)
            for networks, repeated in flows:
                flow[networks].add_(repeated)
            self._hidden_backward(tensors, hidden, flow, gradients)

        def repeat(networks: slice, masks: list[Tensor]) -> tuple[Tensor, Backward]:
            last = hidden[-1][networks]
            repeated, to_last = self._output_layer(of_networks(tensors, networks), *_dropped_out(last, masks))

            def backward_of_repetition(to_outputs: Tensor, gradients: Tensors) -> None:
                flows.append((networks, to_last(to_outputs, gradients)))

            return repeated, backward_of_repetition

        return outputs, backward, repeat

    def _hidden(self, tensors: Tensors, x: Tensor) -> list[Tensor]:
        """x for each network, and after it the values of each hidden layer: (R, B, units)."""
        hidden = [x.expand(len(tensors["output.weight"]), -1, -1)]
        for layer in range(1, self.layers + 1):
            weight, bias = tensors[f"hidden{layer}.weight"], tensors[f"hidden{layer}.bias"]
            hidden.append(torch.baddbmm(bias, hidden[-1], weight).relu_())
        return hidden

    def _output_layer(self, tensors: Tensors, last: Tensor, dropped_out: bool) -> tuple[Tensor, LayerBackward]:
        """Outputs (R, 3K, B) for the last hidden layer after its mask: (R, B, units), and the way back through both."""
        weight = tensors["output.weight"]
        outputs = torch.baddbmm(tensors["output.bias"], weight, last.transpose(1, 2))

        def backward(to_outputs: Tensor, gradients: Tensors) -> Tensor:
            gradients["output.weight"].baddbmm_(to_outputs, last)
            gradients["output.bias"].add_(to_outputs.sum(dim=2, keepdim=True))
            # A unit that the mask kept was multiplied by 1 / (1 - p); one that it dropped is 0, like one at rest.
            upstream = to_outputs / (1 - self.dropout) if dropped_out else to_outputs
            return torch.bmm(upstream.transpose(1, 2), weight).mul_(last.sign())

        return outputs, backward

    def _hidden_backward(self, tensors: Tensors, hidden: list[Tensor], flow: Tensor, gradients: Tensors) -> None:
        """Add to the gradients of the hidden layers, given the gradient before the last one's ReLU: (R, B, units)."""
        for layer in range(self.layers, 0, -1):
            gradients[f"hidden{layer}.weight"].baddbmm_(hidden[layer - 1].transpose(1, 2), flow)
            gradients[f"hidden{layer}.bias"].add_(flow.sum(dim=1, keepdim=True))
            if layer > 1:
                weight = tensors[f"hidden{layer}.weight"].transpose(1, 2)
                flow = torch.bmm(flow, weight).mul_(hidden[layer - 1].sign_())


def _dropped_out(last: Tensor, masks: list[Tensor]) -> tuple[Tensor, bool]:
    """The last hidden layer after its mask, and whether there is one."""
    return (last * masks[0], True) if masks else (last, False)
