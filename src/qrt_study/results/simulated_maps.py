"""Figure 11: the calibration maps of simulated PITs, whose true distribution is known (paper, Appendix D)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy import stats

from qrt.engine.calibration_map import fit_map
from qrt.engine.kernel import KernelWidth
from qrt.engine.registry import MapName
from qrt.errors import UserError

PITS, SHAPE, BANDWIDTH = 512, 0.2, 0.1  # as in the caption of the figure
SEED = 11
COMPARED: tuple[MapName, ...] = ("EMP", "KDE", "TRUNC", "REFL")
TRUE = "TRUE"


def map_comparison(kernel_width: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of the tables `maps` and `sample`: the maps of one simulated sample, and the sample in increasing order.

    `kernel_width` is "variance" or "scale" (docs/protocol.md, row 2).
    """
    widths: dict[str, KernelWidth] = {"variance": "variance", "scale": "scale"}
    if kernel_width not in widths:
        raise UserError(f"kernel width {kernel_width!r} is unknown: use 'variance' (the paper's) or 'scale'")
    pits = np.sort(np.random.default_rng(SEED).beta(SHAPE, SHAPE, PITS))
    grid = _grid()
    rows: list[dict[str, Any]] = []
    for name in COMPARED:
        fitted = fit_map(name, torch.from_numpy(pits), BANDWIDTH, widths[kernel_width])
        cdf = fitted.cdf(torch.from_numpy(grid)).tolist()
        densities = fitted.log_density(torch.from_numpy(grid)).exp().tolist()
        for z, value, density in zip(grid.tolist(), cdf, densities, strict=True):
            rows.append({"map": name, "z": z, "cdf": value, "density": None if name == "EMP" else density})
    true = stats.beta(SHAPE, SHAPE)
    for z, value, density in zip(grid.tolist(), true.cdf(grid).tolist(), true.pdf(grid).tolist(), strict=True):
        rows.append({"map": TRUE, "z": z, "cdf": value, "density": density})
    return rows, [{"z": z} for z in pits.tolist()]


def _grid() -> np.ndarray:
    """Points of [0, 1], dense at the ends: nearly half of the PITs are within 0.01 of 0 or 1."""
    ends = np.geomspace(1e-6, 1e-3, 61)
    return np.unique(np.concatenate([np.linspace(0, 1, 1001), ends, 1 - ends]))
