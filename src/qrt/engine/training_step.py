"""One training step of a stack: loss, gradient and update of all its networks on one batch."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Literal

import torch
from torch import Tensor

from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture_terms import from_raw_outputs, mixture_terms
from qrt.engine.network import Backward, Repeat, Tensors
from qrt.engine.objective import map_term, own_map_term
from qrt.engine.random_streams import Streams, rows_of_networks
from qrt.engine.stack import LEARNED_CENTRES, MapGroup, Stack
from qrt.engine.variant import TrainingSettings
from qrt.engine.weights import drawn_rows

RowsOfCentres = int | Literal["batch"]  # M rows drawn at each step (Algorithm 2), or those of the batch once more


@dataclass(frozen=True, eq=False)
class _MapTerm:
    """What the map's term of the loss needs for one group of networks, made once and not at every step."""

    group: MapGroup
    networks: slice  # within the pass
    pits: slice  # within those networks of the pass that have a map
    weight: Tensor  # (R, B), -alpha / B


@dataclass(frozen=True, eq=False)
class _MapRun:
    """The map's term of one group, or of neighbouring groups whose centres come from one pass of their own."""

    first: int
    last: int
    terms: list[_MapTerm]
    centre_rows: RowsOfCentres | None


@dataclass(frozen=True, eq=False)
class _Pass:
    """Networks that are computed together, with views of their memory."""

    first: int
    last: int
    tensors: dict[str, Tensor]
    gradients: dict[str, Tensor]
    first_with_map: int  # counted from `first`
    maps: list[_MapRun]

    @property
    def has_repetition(self) -> bool:
        """Whether some of the networks take their centres from a second pass over the batch."""
        return any(run.centre_rows == "batch" for run in self.maps)


@dataclass(frozen=True, eq=False)
class _CentreRows:
    """Training rows whose PITs are the centres of maps at one step, and their dropout masks."""

    x: Tensor
    y: Tensor
    masks: list[Tensor]


class _CentrePass:
    """The pass that gives centres of maps, for the networks from `first` on.

    `outputs` (R, 3K, N) and `backward` come from that pass over rows with the targets y: (N,). `gradients` are those of
    its networks.
    """

    def __init__(self, outputs: Tensor, backward: Backward, y: Tensor, first: int, gradients: Tensors) -> None:
        mixture, self._to_outputs = from_raw_outputs(outputs)
        _, self._pits, self._to_mixture = mixture_terms(mixture, y)
        self._to_pits = torch.empty_like(self._pits)
        self._backward = backward
        self._first = first
        self._gradients = gradients

    def pits_of(self, group: MapGroup) -> Tensor:
        """The centres (R, N) of a group of these networks."""
        return self._pits[group.first - self._first : group.last - self._first]

    def gradient_of(self, group: MapGroup) -> Tensor:
        """Where the gradient by these centres is to be put: (R, N)."""
        return self._to_pits[group.first - self._first : group.last - self._first]

    def backward(self) -> None:
        """Add what flows through the centres to the networks' gradients, after all groups have put theirs."""
        self._backward(self._to_outputs(self._to_mixture(0.0, self._to_pits)), self._gradients)


class TrainingStep:
    """Trains a stack on batches of the rows x: (n, features), y: (n,), whose `weights` map samples are drawn by.

    Networks with the same seed see the same dropout masks and map samples; with several seeds in the stack, what a
    step draws is (R, ...), of each network's own.

    `seconds` has the CPU time that each network (by its number) took so far: an equal share of what is done for all,
    and all of its own map.
    """

    def __init__(
        self, stack: Stack, x: Tensor, y: Tensor, settings: TrainingSettings, weights: Tensor | None = None
    ) -> None:
        seeds = stack.seeds
        self.stack = stack
        self.x = x
        self.y = y
        self.weights = weights
        self.width = settings.kernel_width
        self.batch_rows = min(settings.batch_size, len(x))
        self.seconds = [0.0] * len(stack)
        self._dropout = Streams(seeds, "dropout")
        self._sample = Streams(seeds, "map sample")
        # One stream per size: a network's masks must not depend on which other sizes are in the stack.
        sizes = {variant.map_size for variant in stack.variants if variant.map_size is not None}
        self._sample_dropout = {size: Streams(seeds, f"dropout of map sample {size}") for size in sizes}
        self._formula = settings.map_formula
        self._takes_second_pass = settings.map_centres == "second_pass"
        self._learns_centres = settings.free_centres == "trained"
        self._second_dropout = Streams(seeds, "dropout of the second pass")
        self._passes: list[_Pass] = []
        self.stack_changed()

    def stack_changed(self) -> None:
        """Rebuild the passes, after networks have left the stack."""
        self._passes = [self._pass(first, last) for first, last in self.stack.passes(self.batch_rows)]

    def _pass(self, first: int, last: int) -> _Pass:
        stack = self.stack
        first_with_map = min(max(stack.first_trained_with_map, first), last)
        terms = [
            _MapTerm(
                group,
                slice(group.first - first, group.last - first),
                slice(group.first - first_with_map, group.last - first_with_map),
                (stack.alphas[group.first : group.last, None] / -self.batch_rows).expand(-1, self.batch_rows),
            )
            for group in stack.groups(range(first_with_map, last))
        ]
        tensors, gradients = stack.tensors(first, last), stack.gradients.between(first, last)
        return _Pass(first, last, tensors, gradients, first_with_map - first, self._runs(terms))

    def _runs(self, terms: list[_MapTerm]) -> list[_MapRun]:
        def rows_and_group(term: _MapTerm) -> tuple[RowsOfCentres | None, int | None]:
            group = term.group
            if group.source == "batch" and self._takes_second_pass:
                return "batch", None
            return group.map_size, group.first

        return [
            _MapRun(run[0].group.first, run[-1].group.last, run, rows)
            for (rows, _), run in ((key, list(run)) for key, run in groupby(terms, key=rows_and_group))
        ]

    def __call__(self, rows: Tensor) -> Tensor:
        """One step on the batch with these row numbers: (B,), or (R, B). Gives each network's loss: (R,)."""
        start, spent_on_maps = time.process_time(), 0.0
        x, y = self._rows(rows)
        masks = self._masks(self.batch_rows, self._dropout)
        centre_rows = self._centre_rows(x, y)
        self.stack.gradients.flat.zero_()
        losses = torch.empty(len(self.stack))
        for part in self._passes:
            outputs, backward, repeat = self._forward(part, *_of(part, x, masks))
            mixture, to_outputs = from_raw_outputs(outputs)
            targets = rows_of_networks(y, part.first, part.last)
            log_density, pit, to_mixture = mixture_terms(mixture, targets, part.first_with_map)
            loss = torch.mean(log_density, dim=1, out=losses[part.first : part.last]).neg_()
            to_pit = torch.empty_like(pit)
            for run in part.maps:
                map_start = time.process_time()
                centres = None
                if run.centre_rows is not None:
                    centres = self._centre_pass(part, run, centre_rows[run.centre_rows], repeat)
                for term in run.terms:
                    value, to_pit[term.pits] = self._map_term(term, pit[term.pits], centres)
                    loss[term.networks].add_(value)
                if centres is not None:
                    centres.backward()
                spent_on_maps += self._charge(run.first, run.last, time.process_time() - map_start)
            backward(to_outputs(to_mixture(-1 / self.batch_rows, to_pit)), part.gradients)
        self.stack.optimiser.step(self.stack.parameters, self.stack.gradients)
        self._charge(0, len(self.stack), time.process_time() - start - spent_on_maps)
        return losses

    def _forward(self, part: _Pass, x: Tensor, masks: list[Tensor]) -> tuple[Tensor, Backward, Repeat | None]:
        """The pass over the batch, and how to repeat it, if centres come from a repetition that may share its work."""
        network = self.stack.network
        if part.has_repetition and self._formula == "fast":
            return network.forward_repeatable(part.tensors, x, masks)
        return *network.forward(part.tensors, x, masks), None

    def _centre_pass(self, part: _Pass, run: _MapRun, rows: _CentreRows, repeat: Repeat | None) -> _CentrePass:
        """The pass that gives the centres of a run of maps: a repetition of the pass over the batch, or another."""
        stack = self.stack
        x, masks = _of(run, rows.x, rows.masks)
        if run.centre_rows == "batch" and repeat is not None:
            outputs, backward = repeat(slice(run.first - part.first, run.last - part.first), masks)
        else:
            outputs, backward = stack.network.forward(stack.tensors(run.first, run.last), x, masks)
        y = rows_of_networks(rows.y, run.first, run.last)
        return _CentrePass(outputs, backward, y, run.first, stack.gradients.between(run.first, run.last))

    def _charge(self, first: int, last: int, seconds: float) -> float:
        """Share `seconds` equally among the networks from `first` up to but without `last`."""
        for number in self.stack.numbers[first:last]:
            self.seconds[number] += seconds / (last - first)
        return seconds

    def _centre_rows(self, x: Tensor, y: Tensor) -> dict[RowsOfCentres, _CentreRows]:
        """The rows of this step, with the batch x: (B, features), y: (B,), whose PITs are centres of maps."""
        rows_of = dict[RowsOfCentres, _CentreRows]()
        if any(part.has_repetition for part in self._passes):
            rows_of["batch"] = _CentreRows(x, y, self._masks(self.batch_rows, self._second_dropout))
        sizes = {variant.map_size for variant in self.stack.variants if variant.map_size is not None}
        if sizes:
            # Smaller samples are parts of larger ones: common random numbers.
            draw = partial(drawn_rows, len(self.x), len(self.x), weights=self.weights)
            order = self._sample.draw(self.stack.seeds, draw)
            for size in sizes:
                rows = order[..., :size]
                rows_of[size] = _CentreRows(*self._rows(rows), self._masks(rows.shape[-1], self._sample_dropout[size]))
        return rows_of

    def _rows(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        """x and y of rows with these numbers: (n, features) and (n,); of (R, n) rows (R, n, features) and (R, 1, n)."""
        if numbers.dim() == 1:
            return self.x.index_select(0, numbers), self.y.index_select(0, numbers)
        return self.x[numbers], self.y[numbers].unsqueeze(1)

    def _masks(self, rows: int, streams: Streams) -> list[Tensor]:
        """Dropout masks for a pass over so many rows."""
        return streams.draw_lists(self.stack.seeds, partial(self.stack.network.masks, rows))

    def _map_term(self, term: _MapTerm, pit: Tensor, passed: _CentrePass | None) -> tuple[Tensor, Tensor]:
        """The map's term of the loss (R,) and its gradient (R, B) by pit: (R, B), for one group of networks.

        The gradient by centres that are not the batch's own PITs goes to `passed`, the pass that they come from, or, if
        they are parameters, to their gradient.
        """
        group = term.group
        if group.source == "batch" and passed is None:
            return own_map_term(
                pit, term.weight, kernel_scale(group.bandwidth, pit.shape[1], self.width), self._formula
            )
        if passed is not None:
            centres = passed.pits_of(group)
        else:
            centres = pit if group.source == "detached" else self.stack.own_centres(group)
        scale = kernel_scale(group.bandwidth, centres.shape[1], self.width)
        value, to_pit, to_centres = map_term(pit, centres, term.weight, scale, self._formula)
        if passed is not None:
            passed.gradient_of(group).copy_(to_centres)
        elif group.source == "learned" and self._learns_centres:
            self.stack.gradients.views[LEARNED_CENTRES][group.first : group.last].add_(to_centres)
        return value, to_pit


def _of(networks: _Pass | _MapRun, x: Tensor, masks: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
    """What some of a stack's networks see of its rows and masks."""
    first, last = networks.first, networks.last
    return rows_of_networks(x, first, last), [rows_of_networks(mask, first, last) for mask in masks]
