"""Autograd for functions that come with their own gradient.

The engine's differentiable functions return a value and its "vjp" (vector-Jacobian product): a function that
takes the gradient of a loss with respect to the value and gives those with respect to the arguments. The
trainer chains them by hand; `differentiable` gives the same function to autograd.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

ValueAndVjp = tuple[Tensor, Callable[[Tensor], tuple[Tensor, ...]]]


class _Differentiable(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Callable[..., ValueAndVjp], *tensors: Tensor) -> Tensor:
        value, ctx.vjp = function(*tensors)
        return value

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return (None, *ctx.vjp(gradient))


def differentiable(function: Callable[..., ValueAndVjp], *tensors: Tensor) -> Tensor:
    """The value of `function(*tensors)`, with its vjp as the gradient of all `tensors` in autograd."""
    value: Tensor = _Differentiable.apply(function, *tensors)
    return value
