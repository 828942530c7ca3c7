"""Tensors of a stack of networks in one piece of memory."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor


class NamedTensors:
    """Named tensors (R, ...) of R networks, as views of one flat tensor.

    An operation on `flat` is one call for all tensors of all networks, and each view is contiguous.
    """

    def __init__(self, networks: int, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.networks = networks
        self.shapes = dict(shapes)
        sizes = [networks * math.prod(shape) for shape in self.shapes.values()]
        self.flat = torch.zeros(sum(sizes))
        self.views = {
            name: part.view(networks, *shape)
            for (name, shape), part in zip(self.shapes.items(), self.flat.split(sizes), strict=True)
        }

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
