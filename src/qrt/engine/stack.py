"""A stack: the networks of one dataset, split and base model that train together, and their memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import torch
from torch import Tensor

from qrt.engine.named_tensors import NamedTensors
from qrt.engine.network import Network
from qrt.engine.optimiser import StackedAdamW
from qrt.engine.random_streams import stream
from qrt.engine.registry import MapSource
from qrt.engine.variant import TrainingSettings, Variant

LEARNED_CENTRES = "map.learned"  # of QRL, (batch rows,) per network: a parameter, or fixed if the settings say so
INITIAL_CENTRES = "map.initial"  # of QRI, (rows of the map's sample,) per network: fixed

# The order of networks in a stack: those without a map come first, then those with a map at validation alone, and those
# with the same kind of map are neighbours, by bandwidth and then by alpha. Each kind of work is then done on one slice.
_ORDER: tuple[MapSource | None, ...] = (None, "validation", "initial", "learned", "batch", "detached", "sample")
# Activations of so many rows of all networks of a pass together stay in the processor's cache.
_ROWS_AT_ONCE = 2048


@dataclass(frozen=True)
class MapGroup:
    """Neighbouring networks, from `first` up to but without `last`, whose maps are built in the same way."""

    first: int
    last: int
    source: MapSource
    bandwidth: float
    map_size: int | None


class Stack:
    """Networks in training. Networks with the same seed start from the same weights (common random numbers).

    `variants` and `seeds` are in the stack's own order, `numbers` are their numbers in the list that was asked for.
    """

    def __init__(
        self,
        network: Network,
        variants: Sequence[Variant],
        settings: TrainingSettings,
        seeds: Sequence[int],
        *,
        batch_rows: int,
        map_rows: int,
    ) -> None:
        order = sorted(range(len(variants)), key=lambda number: (_rank(variants[number]), variants[number], number))
        self.network = network
        self.numbers = order
        self.variants = [variants[number] for number in order]
        self.seeds = [seeds[number] for number in order]
        sources = {variant.map_source for variant in variants}
        free = {LEARNED_CENTRES: (batch_rows,)} if "learned" in sources else {}
        learned = free if settings.free_centres == "trained" else {}
        fixed = {INITIAL_CENTRES: (map_rows,)} if "initial" in sources else {}
        fixed |= free if settings.free_centres == "fixed" else {}
        self.parameters = NamedTensors(len(order), {**network.parameter_shapes, **learned})
        self.gradients = NamedTensors(len(order), self.parameters.shapes)
        self.statistics = NamedTensors(len(order), {**network.statistic_shapes, **fixed})
        for seed in dict.fromkeys(self.seeds):
            start = network.initial(stream(seed, "initial weights"))
            start |= {name: torch.rand(batch_rows, generator=stream(seed, "learned centres")) for name in free}
            positions = [position for position, of_network in enumerate(self.seeds) if of_network == seed]
            for name, tensor in start.items():
                views = (self.parameters if name in self.parameters.shapes else self.statistics).views
                views[name][positions] = tensor
        self.best_parameters = self.parameters.selected(torch.arange(len(order)))
        self.best_statistics = self.statistics.selected(torch.arange(len(order)))
        # Weight decay would pull the learned centres to 0, one end of the interval they live on.
        self.optimiser = StackedAdamW(
            self.parameters, settings.learning_rate, settings.weight_decay, frozenset(learned)
        )
        self.alphas = torch.tensor([variant.alpha for variant in self.variants])

    def __len__(self) -> int:
        return len(self.variants)

    @property
    def first_with_map(self) -> int:
        """Position of the first network with a map; the networks before it have none."""
        return sum(variant.map_source is None for variant in self.variants)

    @property
    def first_trained_with_map(self) -> int:
        """Position of the first network with a map in its training objective."""
        return sum(variant.map_source in (None, "validation") for variant in self.variants)

    def groups(self, positions: Iterable[int]) -> list[MapGroup]:
        """The groups of networks with maps among those at these positions, which ascend.

        A group must have no gap: of neighbours that differ in alpha alone, the first or the last ones may be left out.
        """
        with_map = [position for position in positions if self.variants[position].map_source is not None]
        runs = [list(run) for _, run in groupby(with_map, key=lambda position: _map_key(self.variants[position]))]
        assert all(run[-1] - run[0] < len(run) for run in runs)
        return [MapGroup(run[0], run[-1] + 1, *_map_key(self.variants[run[0]])) for run in runs]

    def passes(self, rows: int) -> list[tuple[int, int]]:
        """The stack cut into runs of networks that are computed together on batches of so many rows."""
        number = math.ceil(len(self) / max(1, _ROWS_AT_ONCE // rows))
        borders = [len(self) * part // number for part in range(number + 1)] if number else []
        return list(pairwise(borders))

    def tensors(self, first: int, last: int) -> dict[str, Tensor]:
        """Parameters and statistics of the networks from `first` up to but without `last`."""
        return self.parameters.between(first, last) | self.statistics.between(first, last)

    def own_centres(self, group: MapGroup) -> Tensor:
        """The centres (R, N) of maps that are kept with the networks: those of QRI and QRL."""
        name = INITIAL_CENTRES if group.source == "initial" else LEARNED_CENTRES
        return self.tensors(group.first, group.last)[name]

    def remember_best(self, positions: Sequence[int]) -> None:
        """Keep the present parameters of these networks as their best."""
        chosen = torch.tensor(positions, dtype=torch.int64)
        self.best_parameters.copy_networks(self.parameters, chosen)
        self.best_statistics.copy_networks(self.statistics, chosen)

    def best_of(self, position: int) -> dict[str, Tensor]:
        """Copies of one network's best parameters and statistics."""
        source = self.variants[position].map_source
        foreign = {LEARNED_CENTRES: source != "learned", INITIAL_CENTRES: source != "initial"}
        kept = self.best_parameters.views | self.best_statistics.views
        return {name: view[position].clone() for name, view in kept.items() if not foreign.get(name)}

    def keep(self, positions: Sequence[int]) -> None:
        """Drop all networks but those at these positions."""
        chosen = torch.tensor(positions, dtype=torch.int64)
        self.numbers = [self.numbers[position] for position in positions]
        self.variants = [self.variants[position] for position in positions]
        self.seeds = [self.seeds[position] for position in positions]
        self.alphas = self.alphas[chosen]
        self.optimiser.keep(chosen)
        self.parameters = self.parameters.selected(chosen)
        self.gradients = self.gradients.selected(chosen)
        self.statistics = self.statistics.selected(chosen)
        self.best_parameters = self.best_parameters.selected(chosen)
        self.best_statistics = self.best_statistics.selected(chosen)


def _rank(variant: Variant) -> int:
    return _ORDER.index(variant.map_source)


def _map_key(variant: Variant) -> tuple[MapSource, float, int | None]:
    assert variant.map_source is not None
    assert variant.bandwidth is not None
    return variant.map_source, variant.bandwidth, variant.map_size
