"""One training step of a stack: loss, gradient and update of all its networks on one batch."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import Tensor

from qrt.engine.calibration_map import kernel_scale
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.objective import map_term, own_map_term
from qrt.engine.random_streams import sample_rows, stream
from qrt.engine.stack import LEARNED_CENTRES, MapGroup, Stack
from qrt.engine.variant import TrainingSettings


@dataclass(frozen=True, eq=False)
class _MapTerm:
    """What the map's term of the loss needs for one group of networks, made once and not at every step."""

    group: MapGroup
    networks: slice  # within the pass
    pits: slice  # within those networks of the pass that have a map
    weight: Tensor  # (R, B), -alpha / B


@dataclass(frozen=True, eq=False)
class _Pass:
    """Networks that are computed together, with views of their memory."""

    first: int
    last: int
    tensors: dict[str, Tensor]
    gradients: dict[str, Tensor]
    first_with_map: int  # counted from `first`
    maps: list[_MapTerm]


@dataclass(frozen=True, eq=False)
class _Sample:
    """Training rows drawn for the maps of Algorithm 2 at one step, and their dropout masks."""

    x: Tensor
    y: Tensor
    masks: list[Tensor]


class TrainingStep:
    """Trains a stack on batches of the rows x: (n, features), y: (n,).

    `seconds` has what each network (by its number) cost so far: an equal share of what is done for all, and all of its
    own map.
    """

    def __init__(self, stack: Stack, x: Tensor, y: Tensor, settings: TrainingSettings, seed: int) -> None:
        self.stack = stack
        self.x = x
        self.y = y
        self.width = settings.kernel_width
        self.batch_rows = min(settings.batch_size, len(x))
        self.seconds = [0.0] * len(stack)
        self._dropout = stream(seed, "dropout")
        self._sample = stream(seed, "map sample")
        # One stream per size: a network's masks must not depend on which other sizes are in the stack.
        sizes = {variant.map_size for variant in stack.variants if variant.map_size is not None}
        self._sample_dropout = {size: stream(seed, f"dropout of map sample {size}") for size in sizes}
        self._passes: list[_Pass] = []
        self.stack_changed()

    def stack_changed(self) -> None:
        """Make the passes anew, after networks have left the stack."""
        self._passes = [self._pass(first, last) for first, last in self.stack.passes(self.batch_rows)]

    def _pass(self, first: int, last: int) -> _Pass:
        stack = self.stack
        first_with_map = min(max(stack.first_with_map, first), last)
        maps = [
            _MapTerm(
                group,
                slice(group.first - first, group.last - first),
                slice(group.first - first_with_map, group.last - first_with_map),
                (stack.alphas[group.first : group.last, None] / -self.batch_rows).expand(-1, self.batch_rows),
            )
            for group in stack.groups(first, last)
        ]
        tensors, gradients = stack.tensors(first, last), stack.gradients.between(first, last)
        return _Pass(first, last, tensors, gradients, first_with_map - first, maps)

    def __call__(self, rows: Tensor) -> Tensor:
        """One step on the batch with these row numbers: (B,). Gives each network's loss: (R,)."""
        start, spent_on_maps = time.perf_counter(), 0.0
        x, y = self.x.index_select(0, rows), self.y.index_select(0, rows)
        masks = self.stack.network.masks(len(rows), self._dropout)
        samples = self._samples()
        self.stack.gradients.flat.zero_()
        losses = torch.empty(len(self.stack))
        for part in self._passes:
            outputs, backward = self.stack.network.forward(part.tensors, x, masks)
            mixture, to_outputs = from_raw_outputs(outputs)
            log_density, pit, to_mixture = mixture_terms(mixture, y, part.first_with_map)
            loss = torch.mean(log_density, dim=1, out=losses[part.first : part.last]).neg_()
            to_pit = torch.empty_like(pit)
            for term in part.maps:
                map_start = time.perf_counter()
                value, to_pit[term.pits] = self._map_term(term, pit[term.pits], samples)
                loss[term.networks].add_(value)
                group = term.group
                spent_on_maps += self._charge(group.first, group.last, time.perf_counter() - map_start)
            backward(to_outputs(to_mixture(-1 / len(rows), to_pit)), part.gradients)
        self.stack.optimiser.step(self.stack.parameters, self.stack.gradients)
        self._charge(0, len(self.stack), time.perf_counter() - start - spent_on_maps)
        return losses

    def _charge(self, first: int, last: int, seconds: float) -> float:
        """Share `seconds` equally among the networks from `first` up to but without `last`."""
        for number in self.stack.numbers[first:last]:
            self.seconds[number] += seconds / (last - first)
        return seconds

    def _samples(self) -> dict[int, _Sample]:
        """The samples of this step by their size M. Smaller ones are parts of larger ones: common random numbers."""
        sizes = {variant.map_size for variant in self.stack.variants if variant.map_size is not None}
        if not sizes:
            return {}
        order = sample_rows(len(self.x), len(self.x), self._sample)
        samples = {}
        for size in sizes:
            rows = order[:size]
            masks = self.stack.network.masks(len(rows), self._sample_dropout[size])
            samples[size] = _Sample(self.x[rows], self.y[rows], masks)
        return samples

    def _map_term(self, term: _MapTerm, pit: Tensor, samples: dict[int, _Sample]) -> tuple[Tensor, Tensor]:
        """The map's term of the loss (R,) and its gradient (R, B) by pit: (R, B), for one group of networks.

        What flows through centres that are not the batch's own PITs is added to the gradients here.
        """
        group = term.group
        if group.source == "batch":
            return own_map_term(pit, term.weight, kernel_scale(group.bandwidth, pit.shape[1], self.width))
        if group.map_size is not None:
            return self._sampled_map_term(term, pit, samples[group.map_size])
        centres = pit if group.source == "detached" else self.stack.own_centres(group)
        scale = kernel_scale(group.bandwidth, centres.shape[1], self.width)
        value, to_pit, to_centres = map_term(pit, centres, term.weight, scale)
        if group.source == "learned":
            self.stack.gradients.views[LEARNED_CENTRES][group.first : group.last].add_(to_centres)
        return value, to_pit

    def _sampled_map_term(self, term: _MapTerm, pit: Tensor, sample: _Sample) -> tuple[Tensor, Tensor]:
        """Algorithm 2: the map's centres are the PITs of M training rows, which need a pass of their own."""
        group, network = term.group, self.stack.network
        tensors = self.stack.tensors(group.first, group.last)
        outputs, backward = network.forward(tensors, sample.x, sample.masks)
        mixture, to_outputs = from_raw_outputs(outputs)
        _, centres, to_mixture = mixture_terms(mixture, sample.y)
        scale = kernel_scale(group.bandwidth, len(sample.y), self.width)
        value, to_pit, to_centres = map_term(pit, centres, term.weight, scale)
        gradients = self.stack.gradients.between(group.first, group.last)
        backward(to_outputs(to_mixture(0.0, to_centres)), gradients)
        return value, to_pit
