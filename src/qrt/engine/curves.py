"""Per-epoch records (the paper's figures of metrics per epoch; docs/protocol.md, section 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from qrt.engine.calibration_error import pce_levels
from qrt.engine.random_streams import stream
from qrt.engine.reflected_density import log_density_and_cdf_value
from qrt.engine.stack import Stack
from qrt.engine.validation import Validation, reflected_into_unit_interval
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


def curve_records(
    stack: Stack, validation: Validation, training: tuple[Tensor, Tensor], epoch: int
) -> list[list[CurveRecord]]:
    """The records of each network of the stack after so many epochs, on training rows and on validation rows."""
    parts: tuple[tuple[Part, tuple[Tensor, Tensor]], ...] = (
        ("train", training),
        ("validation", (validation.x, validation.y)),
    )
    weights_of = {"train": None, "validation": validation.weights.validation}  # training rows are drawn by theirs
    terms = [validation.terms(stack, x, y) for _, (x, y) in parts]
    sizes = [len(y) for _, (_, y) in parts]
    log_density, pits = (torch.cat(values, dim=1) for values in zip(*terms, strict=True))
    log_phi, recalibrated = torch.zeros_like(pits), pits.clone()
    for one in validation.maps(stack):
        networks = slice(one.group.first, one.group.last)
        log_phi[networks], recalibrated[networks] = log_density_and_cdf_value(pits[networks], one.centres, one.scale)
        if one.group.source == "learned":
            inside = reflected_into_unit_interval(one.centres).to(one.centres.dtype)
            _, recalibrated[networks] = log_density_and_cdf_value(pits[networks], inside, one.scale)
    records: list[list[CurveRecord]] = [[] for _ in range(len(stack))]
    split = (values.double().split(sizes, dim=1) for values in (log_density, log_phi, recalibrated))
    for (part, _), *values in zip(parts, *split, strict=True):
        weights = weights_of[part]
        nlls, entropies = (-mean_over_rows(of_rows, weights) for of_rows in values[:2])
        for number, (nll, entropy) in enumerate(zip(nlls.tolist(), entropies.tolist(), strict=True)):
            weighted = stack.variants[number].alpha * entropy + 0.0  # never -0.0
            pce = float(pce_levels(values[2][number], weights)) if math.isfinite(nll) else math.nan
            records[number].append(CurveRecord(epoch, part, nll + entropy, nll, weighted, pce))
    return records
