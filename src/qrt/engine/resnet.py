"""The ResNet base model in the paper's and in the released form (docs/protocol.md, section 2, and row 8 of section 8).

The backward pass is written out, as for the MLP. Three things make cheap what is not a matrix product: sums over the
rows are products with a row of ones, faster than reductions over the slow dimension; activations, masks and the
residual are written into memory that is there already; the gradients of weights are added up by the products.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import layer_norm

from qrt.engine.network import Backward, Network, Shape, Tensors, linear_initial
from qrt.engine.random_streams import dropout_mask

BLOCKS = 8
WIDTH = 256
INNER_WIDTH = 512
_EPSILON = 1e-5  # of both normalisations, PyTorch's default
_MOMENTUM = 0.1  # of the running statistics, PyTorch's default

_threshold_backward = torch.ops.aten.threshold_backward.grad_input

# The ways back through layers. Each takes the gradient by the layer's values, which norms and activations overwrite.
# Layers with parameters add to the gradients. A norm adds to the gradient by the residual stream, its last argument.
LinearBackward = Callable[[Tensor, Tensors], Tensor]
NormBackward = Callable[[Tensor, Tensors, Tensor], None]
ActivationBackward = Callable[[Tensor], Tensor]


class ResNet(Network):
    """Linear to 256, 8 blocks x + Dropout(Linear(Dropout(g(Linear(Norm(x)))))), head Linear(ReLU(Norm(x))).

    `paper`: BatchNorm, g = ReLU, inner width 512. `released`: LayerNorm and g = ReGLU, a * ReLU(b) of the two halves of
    an inner Linear that is twice as wide.

    BatchNorm subtracts the mean of each unit over the batch, and with it what `input.bias` has added to all rows alike:
    the gradient of that bias is 0. Computed, it would be rounding noise, on which AdamW takes steps of full size, so it
    is left at exactly 0. Without dropout the same holds for every `outer.bias`.
    """

    def __init__(
        self,
        features: int,
        components: int,
        form: Literal["paper", "released"] = "paper",
        dropout: float = 0.2,
    ) -> None:
        self.dropout = dropout
        self.form = form
        inner = INNER_WIDTH if form == "paper" else 2 * INNER_WIDTH
        self._linear: dict[str, tuple[Shape, int]] = {
            "input.weight": ((features, WIDTH), features),
            "input.bias": ((1, WIDTH), features),
        }
        for block in range(1, BLOCKS + 1):
            self._linear[f"block{block}.inner.weight"] = ((WIDTH, inner), WIDTH)
            self._linear[f"block{block}.inner.bias"] = ((1, inner), WIDTH)
            self._linear[f"block{block}.outer.weight"] = ((INNER_WIDTH, WIDTH), INNER_WIDTH)
            self._linear[f"block{block}.outer.bias"] = ((1, WIDTH), INNER_WIDTH)
        self._linear["output.weight"] = ((3 * components, WIDTH), WIDTH)
        self._linear["output.bias"] = ((3 * components, 1), WIDTH)
        self._norms = [*(f"block{block}.norm" for block in range(1, BLOCKS + 1)), "output.norm"]

    @property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Shapes of weights, biases and the normalisations' scales and shifts."""
        shapes = {name: shape for name, (shape, _) in self._linear.items()}
        for norm in self._norms:
            shapes[f"{norm}.weight"] = shapes[f"{norm}.bias"] = (1, WIDTH)
        return shapes

    @property
    def statistic_shapes(self) -> dict[str, Shape]:
        """Shapes of BatchNorm's running means and variances."""
        if self.form == "released":
            return {}
        return {f"{norm}.{what}": (1, WIDTH) for norm in self._norms for what in ("mean", "variance")}

    def initial(self, generator: torch.Generator) -> dict[str, Tensor]:
        """Initial weights and biases; normalisations start as the identity."""
        tensors = linear_initial(self._linear, generator)
        for norm in self._norms:
            tensors[f"{norm}.weight"] = torch.ones(1, WIDTH)
            tensors[f"{norm}.bias"] = torch.zeros(1, WIDTH)
        for name, shape in self.statistic_shapes.items():
            tensors[name] = torch.ones(shape) if name.endswith(".variance") else torch.zeros(shape)
        return tensors

    def masks(self, rows: int, generator: torch.Generator) -> list[Tensor]:
        """Masks (rows, 512) and (rows, 256) for each block."""
        if self.dropout == 0:
            return []
        return [
            dropout_mask((rows, width), self.dropout, generator)
            for block in range(1, BLOCKS + 1)
            for width in (INNER_WIDTH, WIDTH)
        ]

    def forward(self, tensors: Tensors, x: Tensor, masks: list[Tensor] | None) -> tuple[Tensor, Backward]:
        """See `Network.forward`. In training mode, this also moves BatchNorm's running statistics."""
        if masks is None:
            return self._evaluated(tensors, x), _no_gradient
        layers = _TrainingLayers(tensors, x, 1 / (1 - self.dropout) if masks else 1.0)
        norm, activation = (
            (layers.batch_norm, layers.relu) if self.form == "paper" else (layers.layer_norm, layers.reglu)
        )
        rows = x.expand(layers.networks, -1, -1)
        state = _linear("input", tensors, rows)
        blocks = []
        for number in range(1, BLOCKS + 1):
            block = f"block{number}"
            inner_mask, outer_mask = masks[2 * number - 2 : 2 * number] if masks else (None, None)
            hidden, norm_backward = norm(f"{block}.norm", state)
            hidden, inner_backward = layers.linear(f"{block}.inner", hidden)
            hidden, activation_backward = activation(hidden, inner_mask)
            # BatchNorm sees no difference if a bias reaches all rows alike; a dropout mask lets it through to some.
            seen = self.form == "released" or outer_mask is not None
            change, outer_backward = layers.linear(f"{block}.outer", hidden, bias_is_seen=seen)
            state = change.add_(state) if outer_mask is None else torch.addcmul(state, change, outer_mask, out=change)
            blocks.append((outer_mask, outer_backward, activation_backward, inner_backward, norm_backward))
        last, last_norm_backward = norm("output.norm", state)
        last.relu_()
        outputs = torch.baddbmm(tensors["output.bias"], tensors["output.weight"], last.transpose(1, 2))

        def backward(to_outputs: Tensor, gradients: Tensors) -> None:
            gradients["output.weight"].baddbmm_(to_outputs, last)
            gradients["output.bias"].add_(to_outputs.sum(dim=2, keepdim=True))
            flow = torch.bmm(to_outputs.transpose(1, 2), tensors["output.weight"])
            to_state = torch.zeros_like(flow)
            last_norm_backward(_through_relu(flow, last), gradients, to_state)
            for outer_mask, outer_backward, activation_backward, inner_backward, norm_backward in reversed(blocks):
                flow = to_state if outer_mask is None else to_state * outer_mask
                flow = activation_backward(outer_backward(flow, gradients))
                norm_backward(inner_backward(flow, gradients), gradients, to_state)
            gradients["input.weight"].baddbmm_(rows.transpose(1, 2), to_state)
            if self.form == "released":
                gradients["input.bias"].baddbmm_(layers.ones, to_state)

        return outputs, backward

    def _evaluated(self, tensors: Tensors, x: Tensor) -> Tensor:
        state = _linear("input", tensors, x.expand(len(tensors["input.weight"]), -1, -1))
        for number in range(1, BLOCKS + 1):
            block = f"block{number}"
            hidden = _linear(f"{block}.inner", tensors, self._normalised(f"{block}.norm", tensors, state))
            if self.form == "paper":
                hidden.relu_()
            else:
                value, gate = hidden.chunk(2, dim=-1)
                hidden = value * gate.relu_()
            state = _linear(f"{block}.outer", tensors, hidden).add_(state)
        last = self._normalised("output.norm", tensors, state).relu_()
        return torch.baddbmm(tensors["output.bias"], tensors["output.weight"], last.transpose(1, 2))

    def _normalised(self, norm: str, tensors: Tensors, state: Tensor) -> Tensor:
        """BatchNorm with the running statistics, or LayerNorm, of state: (R, B, 256), then scale and shift."""
        weight, bias = tensors[f"{norm}.weight"], tensors[f"{norm}.bias"]
        if self.form == "released":
            return torch.addcmul(bias, layer_norm(state, (WIDTH,), eps=_EPSILON), weight)
        scale = weight * torch.rsqrt(tensors[f"{norm}.variance"] + _EPSILON)
        return torch.addcmul(bias, state - tensors[f"{norm}.mean"], scale)


class _TrainingLayers:
    """The layers of R networks in training mode on the same rows x: (B, features).

    A layer gives its values and the way back of their gradient. `kept` is what dropout masks hold where they are not 0.
    """

    def __init__(self, tensors: Tensors, x: Tensor, kept: float) -> None:
        self.tensors = tensors
        self.networks = len(tensors["input.weight"])
        self.rows = x.shape[-2]
        self.ones = x.new_ones(1, 1, self.rows).expand(self.networks, -1, -1)
        self.kept = kept

    def linear(self, layer: str, inputs: Tensor, *, bias_is_seen: bool = True) -> tuple[Tensor, LinearBackward]:
        """Weight and bias; a bias that nothing after it sees has no gradient."""
        weight = self.tensors[f"{layer}.weight"]

        def backward(to_values: Tensor, gradients: Tensors) -> Tensor:
            gradients[f"{layer}.weight"].baddbmm_(inputs.transpose(1, 2), to_values)
            if bias_is_seen:
                gradients[f"{layer}.bias"].baddbmm_(self.ones, to_values)
            return torch.bmm(to_values, weight.transpose(1, 2))

        return _linear(layer, self.tensors, inputs), backward

    def relu(self, hidden: Tensor, mask: Tensor | None) -> tuple[Tensor, ActivationBackward]:
        """ReLU and the dropout mask, in place."""
        hidden.relu_()
        if mask is not None:
            hidden.mul_(mask)

        def backward(to_values: Tensor) -> Tensor:
            # What the mask dropped is 0, like a unit at rest.
            return _through_relu(to_values.mul_(self.kept), hidden)

        return hidden, backward

    def reglu(self, hidden: Tensor, mask: Tensor | None) -> tuple[Tensor, ActivationBackward]:
        """a * ReLU(b) of the two halves of `hidden`, and the dropout mask."""
        value, gate = hidden.chunk(2, dim=-1)
        gate.relu_()
        if mask is not None:
            gate.mul_(mask)

        def backward(to_values: Tensor) -> Tensor:
            flow = torch.empty_like(hidden)
            to_value, to_gate = flow.chunk(2, dim=-1)
            torch.mul(to_values, gate, out=to_value)
            torch.addcmul(to_values.new_zeros(()), to_values, value, value=self.kept, out=to_gate)
            _through_relu(to_gate, gate)
            return flow

        return value * gate, backward

    def batch_norm(self, norm: str, state: Tensor) -> tuple[Tensor, NormBackward]:
        """BatchNorm over the rows of state: (R, B, 256); the running statistics are moved."""
        weight, bias = self.tensors[f"{norm}.weight"], self.tensors[f"{norm}.bias"]
        mean = self._row_sum(state).div_(self.rows)
        centred = state - mean
        variance = self._row_sum(centred.square()).div_(self.rows)
        self.tensors[f"{norm}.mean"].lerp_(mean, _MOMENTUM)
        self.tensors[f"{norm}.variance"].lerp_(variance * (self.rows / (self.rows - 1)), _MOMENTUM)
        precision = torch.rsqrt(variance + _EPSILON)
        scale = precision * weight

        def backward(to_values: Tensor, gradients: Tensors, to_state: Tensor) -> None:
            total, along = self._row_sum(to_values), self._row_sum(to_values * centred)
            gradients[f"{norm}.bias"].add_(total)
            gradients[f"{norm}.weight"].addcmul_(along, precision)
            # The gradient by the state is what is left of the flow across the mean's and the variance's directions.
            flow = to_values.sub_(total / self.rows)
            flow.addcmul_(centred, along.mul_(precision.square()).div_(-self.rows))
            to_state.addcmul_(flow, scale)

        return torch.addcmul(bias, centred, scale), backward

    def layer_norm(self, norm: str, state: Tensor) -> tuple[Tensor, NormBackward]:
        """LayerNorm over the units of state: (R, B, 256)."""
        weight, bias = self.tensors[f"{norm}.weight"], self.tensors[f"{norm}.bias"]
        standard, _, precision = torch.native_layer_norm(state, (WIDTH,), None, None, _EPSILON)

        def backward(to_values: Tensor, gradients: Tensors, to_state: Tensor) -> None:
            along = to_values * standard
            gradients[f"{norm}.bias"].baddbmm_(self.ones, to_values)
            gradients[f"{norm}.weight"].baddbmm_(self.ones, along)
            by_unit = weight.transpose(1, 2) / -WIDTH
            total, projection = torch.bmm(to_values, by_unit), torch.bmm(along, by_unit)
            flow = to_values.mul_(weight).add_(total).addcmul_(standard, projection)
            to_state.addcmul_(flow, precision)

        return torch.addcmul(bias, standard, weight), backward

    def _row_sum(self, values: Tensor) -> Tensor:
        """The sum over the rows of values: (R, B, n) as (R, 1, n)."""
        return torch.bmm(self.ones, values)


def _linear(layer: str, tensors: Tensors, inputs: Tensor) -> Tensor:
    return torch.baddbmm(tensors[f"{layer}.bias"], inputs, tensors[f"{layer}.weight"])


def _through_relu(flow: Tensor, values: Tensor) -> Tensor:
    """`flow` with 0 where the ReLU's values are 0, in place."""
    return _threshold_backward(flow, values, 0.0, grad_input=flow)


def _no_gradient(to_outputs: Tensor, gradients: Tensors) -> None:
    raise ValueError("a pass in evaluation mode has no gradient")
