"""CRPS, mean and standard deviation of F': one quadrature for every method (spec, section 8, row 4).

All three are integrals of F' alone over a range [l, h] with all of its mass; no density is needed:

    CRPS = int (F'(t) - 1{t >= y})^2 dt,    E Y = h - int F'(t) dt,    E Y^2 = h^2 - 2 int t F'(t) dt

Three-point Gauss-Legendre between break points at y and at fixed quantiles of every component of the row's
mixture resolves components of any scale and any distance. Largest error of a single row, in its standard
deviations, as measured with 1,200 PITs: 5e-7 without a map, 1e-5 for b = 0.1, 2e-6 for b = 0.05, 2e-4 for b
= 0.01, 2e-3 for the CRPS of step functions; the metrics, being means over rows, are far closer.

A KDE or DCP map (and REFL with a kernel as wide as the interval) leaves mass at -inf and +inf, for which
none of the three exists. They are then those of F' on condition that the value is finite; for KDE that is
TRUNC, for DCP it is EMP.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap
from qrt.engine.mixture import GaussianMixture, mean
from qrt.engine.predictive import PredictiveDistribution

_GAUSS_POINTS, _GAUSS_WEIGHTS = (torch.from_numpy(values) for values in np.polynomial.legendre.leggauss(3))
_CORE_PANELS = (24, 64)  # least and most: equal shares of a component's probability
_TAIL_PANELS = 8
_TAIL_END = 8.5  # standard deviations of a component; its mass beyond is 1e-17
_CHUNK_NODES = 2**14  # a chunk's arrays stay in the processor's cache


class CrpsAndMoments(NamedTuple):
    """CRPS against y, mean and standard deviation of each row's predictive distribution, each (N,)."""

    crps: Tensor
    mean: Tensor
    standard_deviation: Tensor


def crps_and_moments(predictive: PredictiveDistribution, y: Tensor) -> CrpsAndMoments:
    """CRPS, mean and standard deviation of N predictive distributions and targets y: (N,)."""
    breaks = _break_points(min((m.resolution for m in predictive.maps), default=1.0))
    nodes_per_row = len(breaks) * predictive.mixture.means.shape[1] * len(_GAUSS_POINTS)
    rows = max(1, _CHUNK_NODES // nodes_per_row)
    chunks = zip(*(values.split(rows) for values in (*predictive.mixture, y)), strict=True)
    parts = [_integrate(GaussianMixture(m, s, w), predictive.maps, t, breaks) for m, s, w, t in chunks]
    return CrpsAndMoments(*(torch.cat(values) for values in zip(*parts, strict=True)))


def _break_points(resolution: float) -> Tensor:
    """Standard normal quantiles between which a map of that resolution is smooth, out to the far tails."""
    panels = min(max(_CORE_PANELS[0], math.ceil(0.3 / max(resolution, 1e-9))), _CORE_PANELS[1])
    core = torch.special.ndtri(torch.arange(1, panels, dtype=torch.float64) / panels)
    tail = torch.linspace(float(core[-1]), _TAIL_END, _TAIL_PANELS + 1, dtype=torch.float64)[1:]
    return torch.cat([-tail.flip(0), core, tail])


def _integrate(
    mixture: GaussianMixture, maps: tuple[CalibrationMap, ...], y: Tensor, breaks: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """CRPS, mean and standard deviation of a chunk of rows, each (n,)."""
    # Coordinates relative to the mixture's mean, so that a large offset of y costs no digits.
    origin = mean(mixture)
    means, target = mixture.means - origin.unsqueeze(1), (y - origin).unsqueeze(1)
    grid = (means.unsqueeze(-1) + mixture.scales.unsqueeze(-1) * breaks).flatten(start_dim=1)
    low, high = grid.amin(dim=1, keepdim=True), grid.amax(dim=1, keepdim=True)
    inside = target.clamp(low, high)
    grid = torch.cat([grid, inside], dim=1).sort(dim=1).values
    half = 0.5 * grid.diff(dim=1).unsqueeze(-1)
    t = (grid[:, :-1].unsqueeze(-1) + half * (1 + _GAUSS_POINTS)).flatten(start_dim=1)
    dt = (half * _GAUSS_WEIGHTS).flatten(start_dim=1)

    f = torch.full_like(t, 0.5)
    inverse = math.sqrt(0.5) / mixture.scales
    weights = 0.5 * mixture.log_weights.exp()
    for k in range(means.shape[1]):  # not (rows, nodes, K) at once: faster, and in the cache
        f.addcmul_(torch.erf((t - means[:, k : k + 1]) * inverse[:, k : k + 1]), weights[:, k : k + 1])
    f = _conditional(f.clamp_(0.0, 1.0), maps)

    crps = (dt * (f - (t >= target).double()).square()).sum(dim=1) + (target - inside).abs().squeeze(1)
    f *= dt
    high = high.squeeze(1)
    first = high - f.sum(dim=1)
    second = high.square() - 2 * (t * f).sum(dim=1)
    return crps, first + origin, (second - first.square()).clamp(min=0).sqrt()


def _conditional(f: Tensor, maps: tuple[CalibrationMap, ...]) -> Tensor:
    """F' at points where F is `f` (any shape), on condition that the value is finite."""
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    for calibration_map in maps:
        f, ends = calibration_map.tabulated_cdf(f), calibration_map.tabulated_cdf(ends)
    return (f - ends[0]) / (ends[1] - ends[0]) if maps else f
