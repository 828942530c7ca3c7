"""The ResNet base model in the paper's and in the released form (spec, section 2, and row 8 of section 8)."""

from __future__ import annotations

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


class ResNet(Network):
    """Linear to 256, 8 blocks x + Dropout(Linear(Dropout(g(Linear(Norm(x)))))), head Linear(ReLU(Norm(x))).

    `paper`: BatchNorm, g = ReLU, inner width 512. `released`: LayerNorm and g = ReGLU, a * ReLU(b) of the two halves of
    an inner Linear that is twice as wide.

    A training step is tens of times as much arithmetic as an MLP's, so autograd's bookkeeping does not show, and
    the gradient is left to it.
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
        names = list(self.parameter_shapes)
        if masks is None:
            return self._outputs(tensors, x, None), _no_gradient
        with torch.enable_grad():
            leaves = {key: tensors[key].detach().requires_grad_() for key in names}
            outputs = self._outputs({**tensors, **leaves}, x, masks)

        def backward(to_outputs: Tensor, gradients: Tensors) -> None:
            # The gradient of this sum is that of `grad(outputs, leaves, to_outputs)`, which imports SymPy to compare
            # two shapes: a second of every job.
            with torch.enable_grad():
                weighted = (outputs * to_outputs).sum()
            found = torch.autograd.grad(weighted, [leaves[key] for key in names])
            for key, gradient in zip(names, found, strict=True):
                gradients[key].add_(gradient)

        return outputs.detach(), backward

    def _outputs(self, tensors: Tensors, x: Tensor, masks: list[Tensor] | None) -> Tensor:
        training = masks is not None
        left = iter(masks or [])

        def dropped(hidden: Tensor) -> Tensor:
            mask = next(left, None)
            return hidden if mask is None else hidden * mask

        def linear(layer: str, hidden: Tensor) -> Tensor:
            return torch.baddbmm(tensors[f"{layer}.bias"], hidden, tensors[f"{layer}.weight"])

        state = linear("input", x.expand(len(tensors["input.weight"]), -1, -1))
        for block in range(1, BLOCKS + 1):
            hidden = linear(f"block{block}.inner", self._normalised(f"block{block}.norm", tensors, state, training))
            if self.form == "paper":
                hidden = hidden.relu()
            else:
                value, gate = hidden.chunk(2, dim=-1)
                hidden = value * gate.relu()
            state = state + dropped(linear(f"block{block}.outer", dropped(hidden)))
        last = self._normalised("output.norm", tensors, state, training).relu()
        return torch.baddbmm(tensors["output.bias"], tensors["output.weight"], last.transpose(1, 2))

    def _normalised(self, norm: str, tensors: Tensors, state: Tensor, training: bool) -> Tensor:
        """BatchNorm over the rows or LayerNorm over the units of state: (R, B, 256), then scale and shift."""
        if self.form == "released":
            standard = layer_norm(state, (WIDTH,), eps=_EPSILON)
        else:
            mean, variance = tensors[f"{norm}.mean"], tensors[f"{norm}.variance"]
            if training:
                running_mean, running_variance = mean, variance
                variance, mean = torch.var_mean(state, dim=1, correction=0, keepdim=True)
                with torch.no_grad():
                    rows = state.shape[1]
                    running_mean.lerp_(mean, _MOMENTUM)
                    running_variance.lerp_(variance * (rows / (rows - 1)), _MOMENTUM)
            standard = (state - mean) * torch.rsqrt(variance + _EPSILON)
        return torch.addcmul(tensors[f"{norm}.bias"], standard, tensors[f"{norm}.weight"])


def _no_gradient(to_outputs: Tensor, gradients: Tensors) -> None:
    raise ValueError("a pass in evaluation mode has no gradient")
