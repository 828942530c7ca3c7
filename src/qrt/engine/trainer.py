"""Training of stacks of networks with early stopping: `train_stack` (docs/protocol.md, sections 2 and 4)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from qrt.engine.curves import CurveRecord, curve_records, curve_rows
from qrt.engine.memory import keep_freed_memory
from qrt.engine.network import MLP, Network
from qrt.engine.random_streams import Streams
from qrt.engine.resnet import ResNet
from qrt.engine.split import SplitData
from qrt.engine.stack import INITIAL_CENTRES, LEARNED_CENTRES, Stack
from qrt.engine.training_data import checked_part, checked_weights
from qrt.engine.training_step import TrainingStep
from qrt.engine.validation import (
    MAP_ROWS,
    Validation,
    map_rows,
    outputs_in_parts,
    reflected_into_unit_interval,
    training_map_rows,
)
from qrt.engine.variant import TrainingSettings, Variant
from qrt.engine.weights import RowWeights, drawn_rows
from qrt.errors import UserError

__all__ = [
    "CurveRecord",
    "TrainedNetwork",
    "TrainingSettings",
    "Variant",
    "build_network",
    "map_rows",
    "train_stack",
    "training_map_rows",
]

_SECONDS_BETWEEN_LINES = 5.0


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """A trained network: the parameters of its best validation.

    Epochs are counted as trained: `selected_epoch` 10 is the network after 10 epochs. A network whose loss was not
    finite has status "diverged", the epoch in which that happened as `epochs`, and the parameters of its best
    validation before it, or its initial ones (selected_epoch 0).
    """

    variant: Variant
    status: Literal["ok", "diverged"]
    reason: str
    epochs: int
    selected_epoch: int
    best_value: float
    train_seconds: float
    parameters: dict[str, Tensor]
    curves: list[CurveRecord] | None
    network: Network = field(repr=False)

    @property
    def own_centres(self) -> Tensor | None:
        """The centres (N,) float64 in [0, 1] of the training-time map where they are kept with the network.

        QRI: the PITs of the initial network. QRL: the free centres of the selected epoch. None for all others, whose
        centres are the PITs of the rows of `training_map_rows`.
        """
        for name in (INITIAL_CENTRES, LEARNED_CENTRES):
            if name in self.parameters:
                return reflected_into_unit_interval(self.parameters[name])
        return None

    def outputs(self, x: npt.NDArray[np.float32] | Tensor) -> Tensor:
        """Outputs (N, 3K) float32 in evaluation mode for standardised x: (N, features), in bounded memory."""
        rows = torch.as_tensor(x, dtype=torch.float32)
        tensors = {name: tensor.unsqueeze(0) for name, tensor in self.parameters.items()}
        with torch.no_grad():
            return outputs_in_parts(self.network, tensors, rows)[0].T.contiguous()


def build_network(variant: Variant, features: int, settings: TrainingSettings) -> Network:
    """The base model of a variant for x with so many features."""
    if variant.base_model == "mlp":
        return MLP(features, variant.components, settings.dropout)
    if variant.base_model == "resnet":
        return ResNet(features, variant.components, settings.resnet_form, settings.dropout)
    raise UserError(f"base model {variant.base_model!r} is never built: see build_network in src/qrt/engine/trainer.py")


def train_stack(
    data: SplitData,
    variants: Sequence[Variant],
    settings: TrainingSettings,
    seed: int,
    log: Callable[[str], None] = lambda line: None,
    *,
    seeds: Sequence[int] | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> list[TrainedNetwork]:
    """Train the networks of one dataset and split that share base model, components and training rows.

    They see the same initial weights, batches, dropout masks and map samples, all from `seed`, and what one network
    becomes does not depend on the others in the list. `seeds` gives each network one of its own instead, as the members
    of an ensemble have; it then becomes what it would become alone with that seed. `log` gets a line of progress now
    and then. As soon as `stop` says so, training ends after the next validation, with the best networks so far. The
    result is in the order of `variants`.
    """
    if not variants:
        return []
    if len({(v.base_model, v.components, v.trained_on) for v in variants}) > 1:
        raise ValueError(
            "the networks of a stack must share base_model, components and trained_on: "
            + ", ".join(v.id for v in variants)
        )
    keep_freed_memory()
    with torch.no_grad():
        return _Training(data, variants, settings, seeds or [seed] * len(variants), log).run(stop)


class _Training:
    """The run of one stack."""

    def __init__(
        self,
        data: SplitData,
        variants: Sequence[Variant],
        settings: TrainingSettings,
        seeds: Sequence[int],
        log: Callable[[str], None],
    ) -> None:
        x, y = checked_part(data, variants[0].trained_on)
        self.weights = RowWeights(checked_weights(data, variants[0].trained_on), checked_weights(data, "validation"))
        self.settings = settings
        self.network = build_network(variants[0], x.shape[1], settings)
        self.batch_rows = min(settings.batch_size, len(x))
        self.stack = Stack(
            self.network, variants, settings, seeds, batch_rows=self.batch_rows, map_rows=min(MAP_ROWS, len(x))
        )
        self.validation = Validation(checked_part(data, "validation"), (x, y), settings, seeds, self.weights)
        self.validation.fix_initial_centres(self.stack)
        self.step = TrainingStep(self.stack, x, y, settings, self.weights.train)
        self.orders = Streams(seeds, "order of the rows")
        self.best_values = [math.inf] * len(variants)
        self.selected_epochs = [0] * len(variants)
        self.curves: list[list[CurveRecord]] = [[] for _ in variants]
        self.curve_data = None
        if settings.record_curves:
            chosen = curve_rows(len(x), seeds[0], self.weights.train)
            self.curve_data = self.validation.curve_data(chosen)
        self.finished: dict[int, TrainedNetwork] = {}
        self.progress = _Progress(len(variants), settings, log)

    def run(self, stop: Callable[[], bool]) -> list[TrainedNetwork]:
        """Train until every network has stopped."""
        for epoch in range(1, self.settings.max_epochs + 1):
            self._leave(self._train_epoch(), epoch, "training loss")
            if len(self.stack) and epoch % self.settings.validate_every == 0:
                self._validate(epoch)
                if stop():
                    self._stop(list(range(len(self.stack))), epoch, "")
            if not len(self.stack):
                break
            self.progress.report(epoch, self._waits(epoch), self.best_values)
        self._stop(list(range(len(self.stack))), self.settings.max_epochs, "")
        return [self.finished[number] for number in sorted(self.finished)]

    def _train_epoch(self) -> Tensor:
        """One epoch. Gives the sum of each network's losses: (R,), not finite as soon as one of them is not."""
        count = len(self.step.x)
        draw = partial(drawn_rows, count, count, weights=self.weights.train)
        rows = self.orders.draw(self.stack.seeds, draw)
        total = torch.zeros(len(self.stack))
        # The incomplete last batch is dropped (docs/protocol.md, section 2).
        for batch in rows[..., : count // self.batch_rows * self.batch_rows].split(self.batch_rows, dim=-1):
            total += self.step(batch)
        return total

    def _validate(self, epoch: int) -> None:
        start = time.process_time()
        values = self.validation.values(self.stack)
        share = (time.process_time() - start) / len(self.stack)
        for number in self.stack.numbers:
            self.step.seconds[number] += share
        self._leave(values, epoch, "validation value")
        values = values[values.isfinite()]
        if self.curve_data is not None and len(self.stack):
            records = curve_records(self.stack, self.validation, self.curve_data, epoch)
            for number, of_network in zip(self.stack.numbers, records, strict=True):
                self.curves[number].extend(of_network)
        improved = []
        for position, (number, value) in enumerate(zip(self.stack.numbers, values.tolist(), strict=True)):
            if value < self.best_values[number]:
                self.best_values[number] = value
                self.selected_epochs[number] = epoch
                improved.append(position)
        if improved:
            self.stack.remember_best(improved)
        out_of_patience = [position for position, left in enumerate(self._waits(epoch)) if left <= 0]
        self._stop(out_of_patience, epoch, "")

    def _waits(self, epoch: int) -> list[int]:
        """Epochs each network of the stack may still train without improvement."""
        allowed = self.settings.patience * self.settings.validate_every
        return [self.selected_epochs[number] + allowed - epoch for number in self.stack.numbers]

    def _leave(self, values: Tensor, epoch: int, what: str) -> None:
        """Stop the networks whose value is not finite."""
        lost = torch.nonzero(~values.isfinite()).flatten().tolist()
        self._stop(lost, epoch, f"{what} is not finite in epoch {epoch}")

    def _stop(self, positions: list[int], epoch: int, failure: str) -> None:
        """Take networks out of the stack: finished, or diverged if there is a `failure`."""
        if not positions:
            return
        for position in positions:
            number = self.stack.numbers[position]
            self.finished[number] = TrainedNetwork(
                variant=self.stack.variants[position],
                status="diverged" if failure else "ok",
                reason=failure,
                epochs=epoch,
                selected_epoch=self.selected_epochs[number],
                best_value=self.best_values[number],
                train_seconds=self.step.seconds[number],
                parameters=self.stack.best_of(position),
                curves=self.curves[number] if self.curve_data is not None else None,
                network=self.network,
            )
        staying = [position for position in range(len(self.stack)) if position not in positions]
        self.stack.keep(staying)
        self.step.stack_changed()


class _Progress:
    """Lines for the log: epoch, best value, networks left, and how much longer."""

    def __init__(self, networks: int, settings: TrainingSettings, log: Callable[[str], None]) -> None:
        self.networks = networks
        self.max_epochs = settings.max_epochs
        self.log = log
        self.start = self.last_time = time.perf_counter()
        self.last_epoch = 0

    def report(self, epoch: int, waits: list[int], best_values: list[float]) -> None:
        """Log a line if the last is some seconds old. `waits`: epochs that each network left may still wait."""
        now = time.perf_counter()
        if now - self.last_time < _SECONDS_BETWEEN_LINES:
            return
        # The stack gets faster as networks leave it, so that only the last epochs tell how long one takes.
        per_epoch = (now - self.last_time) / (epoch - self.last_epoch)
        least = per_epoch * max(waits)
        most = per_epoch * (self.max_epochs - epoch)
        self.log(
            f"epoch {epoch}: {len(waits)} of {self.networks} networks left, best validation value "
            f"{min(best_values):.4f}, {now - self.start:.0f} s so far, about {min(least, most):.0f} s left if none "
            f"improves, {most:.0f} s at most"
        )
        self.last_time, self.last_epoch = now, epoch
