"""The value by which training stops, on the validation rows in evaluation mode, and the maps it takes.

It is an NLL, or the training objective (docs/protocol.md, section 4 and row 18 of section 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.network import Network, Tensors
from qrt.engine.random_streams import rows_of_networks, stream
from qrt.engine.reflected_density import log_density_value
from qrt.engine.stack import MapGroup, Stack
from qrt.engine.variant import TrainingSettings, Variant
from qrt.engine.weights import RowWeights, drawn_rows, mean_over_rows

MAP_ROWS = 2048
_ROWS_AT_ONCE = 1024
_OWN_CENTRES = ("initial", "learned")
_NO_WEIGHTS = RowWeights()

Rows = tuple[Tensor, Tensor]  # x: (n, features) and y: (n,), or (R, n, features) and (R, 1, n) of each network's own


def map_rows(training_rows: int, seed: int, weights: Tensor | None = None) -> Tensor:
    """Numbers of the min(2048, n) training rows that maps are built from at validation, drawn once per run.

    They stay the same from validation to validation, so that epochs are compared on the same rows.
    """
    return drawn_rows(training_rows, MAP_ROWS, stream(seed, "map at validation"), weights)


def training_map_rows(
    variant: Variant, training_rows: int, settings: TrainingSettings, seed: int, weights: Tensor | None = None
) -> Tensor | None:
    """Numbers of the training rows whose PITs are the centres of a finished network's training-time map Phi_train.

    They are the rows of `map_rows`; for a variant with a map_size M that keeps it outside training, M rows drawn for
    the test (docs/protocol.md, section 8, row 15). None for QRI and QRL, whose centres are
    `TrainedNetwork.own_centres`, and without a map.
    """
    if variant.map_source is None or variant.map_source in _OWN_CENTRES:
        return None
    if variant.map_size is not None and settings.map_rows_outside == "map_size":
        return drawn_rows(training_rows, variant.map_size, stream(seed, "map of M rows at test"), weights)
    return map_rows(training_rows, seed, weights)


def reflected_into_unit_interval(centres: Tensor) -> Tensor:
    """Learned centres, which may leave [0, 1], as the map sees them: float64 of the same shape.

    The map has every centre with its reflections, so that they can come back.
    """
    return (1 - (1 - centres.double().abs()).abs()).clamp(0, 1)


def outputs_in_parts(network: Network, tensors: Tensors, x: Tensor) -> Tensor:
    """Outputs (R, 3K, n) in evaluation mode for x: (n, features) or (R, n, features), in parts of bounded memory."""
    networks = len(next(iter(tensors.values())))
    together = 2 * _ROWS_AT_ONCE // min(max(x.shape[-2], 1), _ROWS_AT_ONCE)
    by_network = []
    for first in range(0, networks, together):
        some = {name: tensor[first : first + together] for name, tensor in tensors.items()}
        rows = rows_of_networks(x, first, first + together)
        parts = [network.forward(some, part, None)[0] for part in rows.split(_ROWS_AT_ONCE, dim=-2)]
        by_network.append(torch.cat(parts, dim=2))
    return torch.cat(by_network)


@dataclass(frozen=True, eq=False)
class GroupMap:
    """The maps of one group of networks at validation: centres (R, N) and the kernel's scale."""

    group: MapGroup
    centres: Tensor
    scale: float


class Validation:
    """Validation rows `x`: (n, features), `y`: (n,), and training rows that maps are built from."""

    def __init__(
        self,
        validation: Rows,
        training: Rows,
        settings: TrainingSettings,
        seeds: Sequence[int],
        weights: RowWeights = _NO_WEIGHTS,
    ) -> None:
        self.x, self.y = validation
        self.settings = settings
        self.weights = weights
        self._training = training
        self._draws = {seed: stream(seed, "map of M rows at validation") for seed in seeds}
        standard = {seed: self._training_rows(map_rows(len(training[1]), seed, weights.train)) for seed in seeds}
        self._map_rows: dict[int | None, dict[int, Rows]] = {None: standard}  # by size, then by seed

    def values(self, stack: Stack) -> Tensor:
        """Each network's validation value: (R,) float64. Every call draws the rows of `map_rows_outside` again."""
        self._draw(stack)
        log_density, pit = self.terms(stack, self.x, self.y, first_pit=stack.first_with_map)
        values = -mean_over_rows(log_density.double(), self.weights.validation)
        weights = self._map_weights(stack)
        maps = self.maps(stack, torch.nonzero(weights).flatten().tolist())
        log_phi = self.log_map_density(stack, maps, pit)
        values[stack.first_with_map :] -= weights[stack.first_with_map :] * mean_over_rows(
            log_phi.double(), self.weights.validation
        )
        return values

    def _map_weights(self, stack: Stack) -> Tensor:
        """The weight of log phi(Z) in each network's validation value: (R,)."""
        if self.settings.early_stopping == "objective":
            return stack.alphas
        return (stack.alphas > 0).to(stack.alphas.dtype)

    def terms(self, stack: Stack, x: Tensor, y: Tensor, first_pit: int = 0) -> tuple[Tensor, Tensor]:
        """log f: (R, n) of rows x: (n, features), y: (n,), and PITs of the networks from `first_pit` on."""
        outputs = outputs_in_parts(stack.network, stack.tensors(0, len(stack)), x)
        log_density, pit, _ = mixture_terms(from_raw_outputs(outputs)[0], y, first_pit)
        return log_density, pit

    def maps(self, stack: Stack, positions: Sequence[int] | None = None) -> list[GroupMap]:
        """The maps of the networks at these positions (default: of all networks) as they are now.

        QRI and QRL have centres of their own. All other maps are built from training rows, also where training builds
        them from batches; those of Algorithm 2 from rows of the last validation, if `map_rows_outside` says so.
        """
        groups = stack.groups(range(len(stack)) if positions is None else positions)
        networks_of: dict[int | None, list[int]] = {}
        for group in groups:
            if group.source not in _OWN_CENTRES:
                networks_of.setdefault(self._size_outside(group.map_size), []).extend(range(group.first, group.last))
        pits: dict[int, Tensor] = {}
        for size, networks in networks_of.items():
            pits |= zip(networks, _pits(stack, networks, self._map_rows[size]), strict=True)
        maps = []
        for group in groups:
            if group.source in _OWN_CENTRES:
                centres = stack.own_centres(group)
            else:
                centres = torch.stack([pits[position] for position in range(group.first, group.last)])
            scale = kernel_scale(group.bandwidth, centres.shape[1], self.settings.kernel_width)
            maps.append(GroupMap(group, centres, scale))
        return maps

    def log_map_density(self, stack: Stack, maps: list[GroupMap], pit: Tensor) -> Tensor:
        """log phi(Z) of the networks from `first_with_map` on, for their PITs `pit`: (R - first_with_map, n).

        It is 0 for networks without a map among `maps`.
        """
        log_phi = torch.zeros_like(pit)
        for one in maps:
            networks = slice(one.group.first - stack.first_with_map, one.group.last - stack.first_with_map)
            log_phi[networks] = log_density_value(pit[networks], one.centres, one.scale)
        return log_phi

    def fix_initial_centres(self, stack: Stack) -> None:
        """QRI: the map's centres are the PITs of the networks as they are before their first step."""
        for group in stack.groups(range(len(stack))):
            if group.source == "initial":
                networks = range(group.first, group.last)
                stack.own_centres(group).copy_(_pits(stack, networks, self._map_rows[None]))

    def _size_outside(self, map_size: int | None) -> int | None:
        """The number of rows drawn for maps of this size at each validation; None for the rows that all others use."""
        return map_size if self.settings.map_rows_outside == "map_size" else None

    def _draw(self, stack: Stack) -> None:
        """Draw rows for each size in the stack. Smaller samples are parts of larger ones: common random numbers."""
        sizes = {self._size_outside(variant.map_size) for variant in stack.variants} - {None}
        if sizes:
            rows = len(self._training[1])
            orders = {
                seed: drawn_rows(rows, rows, self._draws[seed], self.weights.train)
                for seed in dict.fromkeys(stack.seeds)
            }
            for size in sizes:
                self._map_rows[size] = {seed: self._training_rows(order[:size]) for seed, order in orders.items()}

    def _training_rows(self, numbers: Tensor) -> Rows:
        x, y = self._training
        return x[numbers], y[numbers]


def _pits(stack: Stack, positions: Sequence[int], rows_of: Mapping[int, Rows]) -> Tensor:
    """PITs of some rows, by the networks' seeds, under the networks at these positions: (R, n)."""
    seeds = [stack.seeds[position] for position in positions]
    x, y = rows_of[seeds[0]]
    if len(set(seeds)) > 1:
        x, y = (torch.stack(values) for values in zip(*(rows_of[seed] for seed in seeds), strict=True))
        y = y.unsqueeze(1)
    tensors = {name: tensor[list(positions)] for name, tensor in stack.tensors(0, len(stack)).items()}
    return mixture_terms(from_raw_outputs(outputs_in_parts(stack.network, tensors, x))[0], y)[1]
