"""The value by which training stops, on the validation rows in evaluation mode, and the maps it takes.

It is an NLL, or the training objective (docs/protocol.md, section 4 and row 18 of section 8).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.network import Network, Tensors
from qrt.engine.random_streams import rows_of_networks, stream
from qrt.engine.reflected_density import ReflectedMaps
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

    @cached_property
    def reflected(self) -> ReflectedMaps:
        """The maps themselves."""
        return ReflectedMaps(self.centres, self.scale)


@dataclass(frozen=True, eq=False)
class CurveData:
    """The training rows of per-epoch records: x (n, features), y (n,).

    The first of them are among the rows that all maps are built from, at these places: none where maps have rows of
    each network's own or weighted ones.
    """

    x: Tensor
    y: Tensor
    of_maps: Tensor


@dataclass(frozen=True, eq=False)
class _Seen:
    """Work of the last validation, of the networks with these numbers, that records can use.

    The networks' outputs (R, 3K, n) on validation rows; by a network's position those (3K, n) on the rows that all
    maps are built from; maps. Outputs are the same bits for a row wherever it stands. PITs would not be.
    """

    numbers: list[int]
    outputs: Tensor
    on_map_rows: dict[int, Tensor] = field(default_factory=dict)
    maps: list[GroupMap] = field(default_factory=list)


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
        self._seeds = tuple(dict.fromkeys(seeds))
        self._seen: _Seen | None = None
        self._draws = {seed: stream(seed, "map of M rows at validation") for seed in seeds}
        standard = {seed: self._training_rows(map_rows(len(training[1]), seed, weights.train)) for seed in seeds}
        self._map_rows: dict[int | None, dict[int, Rows]] = {None: standard}  # by size, then by seed

    def values(self, stack: Stack) -> Tensor:
        """Each network's validation value: (R,) float64. Every call draws the rows of `map_rows_outside` again."""
        self._draw(stack)
        seen = self._see(stack)
        log_density, pit, _ = mixture_terms(from_raw_outputs(seen.outputs)[0], self.y, stack.first_with_map)
        values = -mean_over_rows(log_density.double(), self.weights.validation)
        weights = self._map_weights(stack)
        seen.maps.extend(self.maps(stack, torch.nonzero(weights).flatten().tolist(), seen))
        log_phi = self.log_map_density(stack, seen.maps, pit)
        values[stack.first_with_map :] -= weights[stack.first_with_map :] * mean_over_rows(
            log_phi.double(), self.weights.validation
        )
        return values

    def _map_weights(self, stack: Stack) -> Tensor:
        """The weight of log phi(Z) in each network's validation value: (R,)."""
        if self.settings.early_stopping == "objective":
            return stack.alphas
        return (stack.alphas > 0).to(stack.alphas.dtype)

    def maps(self, stack: Stack, positions: Sequence[int] | None = None, seen: _Seen | None = None) -> list[GroupMap]:
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
            outputs, y = _outputs(stack, networks, self._map_rows[size])
            if seen is not None and size is None:
                seen.on_map_rows.update(zip(networks, outputs, strict=True))
            pits |= zip(networks, mixture_terms(from_raw_outputs(outputs)[0], y)[1], strict=True)
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
            log_phi[networks] = one.reflected.log_density(pit[networks])
        return log_phi

    def curve_data(self, rows: Tensor) -> CurveData:
        """The training rows with these numbers: (n,), in any order, for `curve_terms`."""
        if len(self._seeds) > 1 or self.weights.train is not None:
            return CurveData(*self._training_rows(rows), rows[:0])
        of_maps = map_rows(len(self._training[1]), self._seeds[0])
        recorded = torch.isin(of_maps, rows)
        order = torch.cat([of_maps[recorded], rows[~torch.isin(rows, of_maps)]])
        return CurveData(*self._training_rows(order), torch.nonzero(recorded).flatten())

    def curve_terms(self, stack: Stack, training: CurveData) -> tuple[list[tuple[Tensor, Tensor]], list[GroupMap]]:
        """log f and PITs, each (R, n), on training rows and on validation rows, and the maps of all networks.

        Of the networks as they were at the last call of `values`, whose work is used unless some of them left since.
        """
        seen, self._seen = self._seen, None
        if seen is None or seen.numbers != stack.numbers:
            seen = self._see(stack)
        mapped = {position for one in seen.maps for position in range(one.group.first, one.group.last)}
        seen.maps.extend(self.maps(stack, [position for position in range(len(stack)) if position not in mapped], seen))
        parts = ((self._training_outputs(stack, training, seen), training.y), (seen.outputs, self.y))
        return [mixture_terms(from_raw_outputs(outputs)[0], y)[:2] for outputs, y in parts], seen.maps

    def _see(self, stack: Stack) -> _Seen:
        """Outputs on validation rows; kept for records if there are any."""
        seen = _Seen(list(stack.numbers), outputs_in_parts(stack.network, stack.tensors(0, len(stack)), self.x))
        self._seen = seen if self.settings.record_curves else None
        return seen

    def _training_outputs(self, stack: Stack, training: CurveData, seen: _Seen) -> Tensor:
        """Outputs (R, 3K, n) on the training rows of the records: only what maps have not computed goes through."""
        known = sorted(seen.on_map_rows)
        if not len(training.of_maps) or not known:
            return outputs_in_parts(stack.network, stack.tensors(0, len(stack)), training.x)
        outputs = torch.stack([seen.on_map_rows[position].index_select(1, training.of_maps) for position in known])
        rest = training.x[len(training.of_maps) :]
        if len(rest):
            outputs = torch.cat([outputs, outputs_in_parts(stack.network, _tensors(stack, known), rest)], dim=2)
        others = [position for position in range(len(stack)) if position not in seen.on_map_rows]
        if not others:
            return outputs
        result = outputs.new_empty(len(stack), *outputs.shape[1:])
        result[known] = outputs
        result[others] = outputs_in_parts(stack.network, _tensors(stack, others), training.x)
        return result

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
    outputs, y = _outputs(stack, positions, rows_of)
    return mixture_terms(from_raw_outputs(outputs)[0], y)[1]


def _outputs(stack: Stack, positions: Sequence[int], rows_of: Mapping[int, Rows]) -> Rows:
    """Outputs of the networks at these positions (R, 3K, n) for some rows, by their seeds, and the rows' targets."""
    seeds = [stack.seeds[position] for position in positions]
    x, y = rows_of[seeds[0]]
    if len(set(seeds)) > 1:
        x, y = (torch.stack(values) for values in zip(*(rows_of[seed] for seed in seeds), strict=True))
        y = y.unsqueeze(1)
    return outputs_in_parts(stack.network, _tensors(stack, positions), x), y


def _tensors(stack: Stack, positions: Sequence[int]) -> Tensors:
    """Parameters and statistics of the networks at these positions."""
    return {name: tensor[list(positions)] for name, tensor in stack.tensors(0, len(stack)).items()}
