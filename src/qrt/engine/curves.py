"""Per-epoch records (the paper's figures of metrics per epoch; docs/protocol.md, section 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from qrt.engine.calibration_error import pce_levels
from qrt.engine.random_streams import stream
from qrt.engine.reflected_density import ReflectedMaps
from qrt.engine.stack import Stack
from qrt.engine.validation import CurveData, Validation, reflected_into_unit_interval
from qrt.engine.weights import drawn_rows, mean_over_rows

CURVE_ROWS = 8192
Part = Literal["train", "validation"]


@dataclass(frozen=True)
class CurveRecord:
    """One network's state at one validation, on one part of the data; y standardised, as in the published curves.

    `epoch` is the number of epochs trained so far (2, 4, 6, ...; the published curves count from 0: 1, 3, 5, ...).
    F' is F with the map that validation uses, and F itself for alpha 0. nll_recalibrated = nll_base + H(Z).
    """

    epoch: int
    part: Part
    nll_recalibrated: float
    nll_base: float
    alpha_entropy_pit: float
    pce: float


def curve_rows(training_rows: int, seed: int, weights: Tensor | None = None) -> Tensor:
    """Numbers of the training rows on which curves are recorded: all, or 8192 drawn once per run."""
    return drawn_rows(training_rows, CURVE_ROWS, stream(seed, "curves"), weights)


def curve_records(stack: Stack, validation: Validation, training: CurveData, epoch: int) -> list[list[CurveRecord]]:
    """The records of each network of the stack after so many epochs, on training rows and on validation rows."""
    # Training rows are drawn by their weights.
    weights_of: dict[Part, Tensor | None] = {"train": None, "validation": validation.weights.validation}
    terms, maps = validation.curve_terms(stack, training)
    sizes = [len(training.y), len(validation.y)]
    log_density, pits = (torch.cat(values, dim=1) for values in zip(*terms, strict=True))
    log_phi, recalibrated = torch.zeros_like(pits), pits.clone()
    for one in maps:
        networks = slice(one.group.first, one.group.last)
        log_phi[networks], recalibrated[networks] = one.reflected.log_density_and_cdf(pits[networks])
        if one.group.source == "learned":
            inside = reflected_into_unit_interval(one.centres).to(one.centres.dtype)
            _, recalibrated[networks] = ReflectedMaps(inside, one.scale).log_density_and_cdf(pits[networks])
    records: list[list[CurveRecord]] = [[] for _ in range(len(stack))]
    split = (values.split(sizes, dim=1) for values in (log_density.double(), log_phi.double(), recalibrated))
    for (part, weights), *values in zip(weights_of.items(), *split, strict=True):
        nlls, entropies = (-mean_over_rows(of_rows, weights) for of_rows in values[:2])
        pces, finite = torch.full_like(nlls, math.nan), nlls.isfinite()
        if bool(finite.any()):
            pces[finite] = pce_levels(values[2][finite], weights)
        of_networks = zip(nlls.tolist(), entropies.tolist(), pces.tolist(), strict=True)
        for number, (nll, entropy, pce) in enumerate(of_networks):
            weighted = stack.variants[number].alpha * entropy + 0.0  # never -0.0
            records[number].append(CurveRecord(epoch, part, nll + entropy, nll, weighted, pce))
    return records
