"""Per-epoch records (the paper's figures of metrics per epoch; spec, section 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from qrt.engine.calibration_map import fit_map
from qrt.engine.random_streams import sample_rows, stream
from qrt.engine.scores import pce_levels
from qrt.engine.stack import Stack
from qrt.engine.validation import Validation

CURVE_ROWS = 8192


@dataclass(frozen=True)
class CurveRecord:
    """One network's state at one validation, on one part of the data; y standardised, as in the published curves.

    `epoch` is the number of epochs trained so far (2, 4, 6, ...; the published curves count from 0: 1, 3, 5, ...). F' is F
    with the map that validation uses, and F itself for alpha 0, so that nll_recalibrated = nll_base + H(Z).
    """

    epoch: int
    part: Literal["train", "validation"]
    nll_recalibrated: float
    nll_base: float
    alpha_entropy_pit: float
    pce: float


def curve_rows(training_rows: int, seed: int) -> Tensor:
    """Numbers of the training rows on which curves are recorded: all, or 8192 drawn once per run."""
    return sample_rows(training_rows, CURVE_ROWS, stream(seed, "curves"))


def curve_records(
    stack: Stack, validation: Validation, training: tuple[Tensor, Tensor], epoch: int
) -> list[list[CurveRecord]]:
    """The records of each network of the stack after so many epochs, on training rows and on validation rows."""
    records: list[list[CurveRecord]] = [[] for _ in range(len(stack))]
    maps = validation.maps(stack)
    for part, (x, y) in (("train", training), ("validation", (validation.x, validation.y))):
        terms = validation.terms(stack, x, y)
        pits = terms.pit
        if stack.first_with_map:
            pits = torch.cat([validation.pits(stack, 0, x, y)[: stack.first_with_map], pits])
        log_phi = torch.zeros_like(terms.log_density)
        log_phi[stack.first_with_map :] = validation.log_map_density(stack, maps, terms.pit)
