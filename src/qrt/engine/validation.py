"""The validation value: the training objective on the validation rows, in evaluation mode (spec, section 4)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from qrt.engine.calibration_map import KernelWidth, kernel_scale
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.network import Network, Tensors
from qrt.engine.random_streams import sample_rows, stream
from qrt.engine.reflected_density import log_density_value
from qrt.engine.stack import MapGroup, Stack

MAP_ROWS = 2048
_ROWS_AT_ONCE = 1024


def map_rows(training_rows: int, seed: int) -> Tensor:
    """Numbers of the min(2048, n) training rows that maps are built from at validation, drawn once per run.

    They stay the same from validation to validation, so that epochs are compared on the same rows.
    """
    return sample_rows(training_rows, MAP_ROWS, stream(seed, "map at validation"))


def outputs_in_parts(network: Network, tensors: Tensors, x: Tensor) -> Tensor:
    """Outputs (R, 3K, n) in evaluation mode for x: (n, features), computed in parts of bounded memory."""
    networks = len(next(iter(tensors.values())))
    together = 2 * _ROWS_AT_ONCE // min(max(len(x), 1), _ROWS_AT_ONCE)
    by_network = []
    for first in range(0, networks, together):
        some = {name: tensor[first : first + together] for name, tensor in tensors.items()}
        parts = [network.forward(some, part, None)[0] for part in x.split(_ROWS_AT_ONCE)]
        by_network.append(torch.cat(parts, dim=2))
    return torch.cat(by_network)


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The maps of one group of networks at validation: centres (R, N) and the kernel's scale."""

    group: MapGroup
    centres: Tensor
    scale: float


class Validation:
    """Validation rows x: (n, features), y: (n,), and the training rows that maps are built from."""

    def __init__(self, validation: tuple[Tensor, Tensor], training: tuple[Tensor, Tensor], width: KernelWidth) -> None:
        self.x, self.y = validation
        self.map_x, self.map_y = training
        self.width = width

    def terms(self, stack: Stack, x: Tensor, y: Tensor, first: int = 0, first_pit: int = 0) -> tuple[Tensor, Tensor]:
        """log f: (R - first, n) of rows x: (n, features), y: (n,), and PITs of the networks from `first_pit` on."""
        if first == len(stack):
            return torch.empty(0, len(y)), torch.empty(0, len(y))
        outputs = outputs_in_parts(stack.network, stack.tensors(first, len(stack)), x)
        log_density, pit, _ = mixture_terms(from_raw_outputs(outputs)[0], y, first_pit - first)
        return log_density, pit

    def maps(self, stack: Stack) -> list[GroupMap]:
        """The maps as they are now.

        QRI and QRL have centres of their own. All other maps are built from the training rows, also where training
        builds them from batches or from samples of another size.
        """
        first = stack.first_with_training_pits
        _, pits = self.terms(stack, self.map_x, self.map_y, first, first)
        maps = []
        for group in stack.groups():
            if group.source in ("initial", "learned"):
                centres = stack.own_centres(group)
            else:
                centres = pits[group.first - first : group.last - first]
            scale = kernel_scale(group.bandwidth, centres.shape[1], self.width)
            maps.append(GroupMap(group, centres, scale))
        return maps

    def log_map_density(self, stack: Stack, maps: list[GroupMap], pit: Tensor) -> Tensor:
        """log phi(Z) of the networks with a map: (R - first_with_map, n), for their PITs `pit` of that shape."""
        parts = []
        for one in maps:
            first, last = (position - stack.first_with_map for position in (one.group.first, one.group.last))
            parts.append(log_density_value(pit[first:last], one.centres, one.scale))
        return torch.cat(parts) if parts else pit

    def values(self, stack: Stack) -> Tensor:
        """Each network's validation value: (R,) float64."""
        log_density, pit = self.terms(stack, self.x, self.y, first_pit=stack.first_with_map)
        values = -log_density.double().mean(dim=1)
        log_phi = self.log_map_density(stack, self.maps(stack), pit)
        values[stack.first_with_map :] -= stack.alphas[stack.first_with_map :] * log_phi.double().mean(dim=1)
        return values

    def fix_initial_centres(self, stack: Stack) -> None:
        """QRI: the map's centres are the PITs of the networks as they are before their first step."""
        for group in stack.groups():
            if group.source == "initial":
                _, pits = self.terms(stack, self.map_x, self.map_y, group.first, group.first)
                stack.own_centres(group).copy_(pits[: group.last - group.first])
