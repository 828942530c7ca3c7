"""Tensors of a stack of networks in one piece of memory."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import torch
from torch import Tensor

_VECTOR = 16


class NamedTensors:
    """Named tensors (R, ...) of R networks, as views of one flat tensor.

    An operation on `flat` is one call for all tensors of all networks, and each view is contiguous.
    """

    def __init__(self, networks: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.networks = networks
        self.shapes = dict(shapes)
        sizes = [networks * math.prod(shape) for shape in self.shapes.values()]
        # Each tensor starts at a multiple of the vector length: at a ragged end, processors round differently, and
        # a network's values would depend on where in the stack it stands.
        padded = [-(-size // _VECTOR) * _VECTOR for size in sizes]
        self.flat = torch.zeros(sum(padded))
        self.views = {
            name: part[:size].view(networks, *shape)
            for (name, shape), part, size in zip(self.shapes.items(), self.flat.split(padded), sizes, strict=True)
        }

    def length(self, names: Collection[str]) -> int:
        """How many values of `flat` these tensors take up, padding included."""
        return sum(-(-self.views[name].numel() // _VECTOR) * _VECTOR for name in names)

    def selected(self, positions: Tensor) -> NamedTensors:
        """A copy that holds the networks at these positions only."""
        result = NamedTensors(len(positions), self.shapes)
        for name, view in self.views.items():
            torch.index_select(view, 0, positions, out=result.views[name])
        return result

    def copy_networks(self, source: NamedTensors, positions: Tensor) -> None:
        """Take over the networks at these positions from `source`."""
        for name, view in self.views.items():
            view.index_copy_(0, positions, source.views[name].index_select(0, positions))

    def between(self, first: int, last: int) -> dict[str, Tensor]:
        """Views (last - first, ...) of the networks from `first` up to but without `last`."""
        return {name: view[first:last] for name, view in self.views.items()}
