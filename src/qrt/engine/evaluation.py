"""The post-hoc step, and every metric of a finished model (spec, sections 5 and 6)."""

from __future__ import annotations

import math

from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_map import CalibrationMap, KernelWidth, MapName, fit_map
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.quadrature import crps_and_moments
from qrt.engine.scores import LEVELS, pce_levels, pce_sorted, weighted_interval_score
from qrt.errors import UserError

METRICS = (
    "nll",
    "pce_levels",
    "pce_sorted",
    "crps_wis",
    "crps",
    "sd",
    "sd_released",
    "coverage_90",
    "length_90",
    "rmse",
    "mae",
    "pit_variance",
)
DIVERGED_NLL = 1000.0  # spec, section 7


def post_hoc_maps(
    predictive: PredictiveDistribution, y: Tensor, name: MapName, bandwidth: float, width: KernelWidth
) -> tuple[CalibrationMap, ...]:
    """The maps of `predictive` and, on top, the map `name` fitted to its PITs of calibration rows y: (N,).

    Both readings of row 1 of the spec's section 8: a predictive distribution without maps gives the paper's
    (one map on the PITs of F); one that has the training-time map already gives the released code's.
    """
    y = _checked_targets(predictive, y)
    return (*predictive.maps, fit_map(name, predictive.pit(y), bandwidth, width))


def evaluate(predictive: PredictiveDistribution, y: Tensor) -> dict[str, float]:
    """Every metric (keys: METRICS) of N predictive distributions against y: (N,), on their common scale.

    `nll` is NaN if a map is a step function (EMP, DCP), which has no density. If a map leaves 5 % or more
    of the mass on one side of [0, 1] (KDE with many PITs near an end, DCP with fewer than 19 PITs), the
    outer quantiles are infinite, and with them `crps_wis` and `length_90`; `sd_released` is then NaN.
    """
    y = _checked_targets(predictive, y)
    log_density, pit = predictive.log_density_and_pit(y)
    quantiles = predictive.quantile(LEVELS)
    low, median, high = quantiles[:, 0], quantiles[:, len(LEVELS) // 2], quantiles[:, -1]
    integrals = crps_and_moments(predictive, y)
    # Row 4 of the spec's section 8: exact for a base model, else from the 19 quantiles.
    released = quantiles.std(dim=1) if predictive.maps else gaussian.standard_deviation(predictive.mixture)
    values = {
        "nll": -log_density.mean(),
        "pce_levels": pce_levels(pit),
        "pce_sorted": pce_sorted(pit),
        "crps_wis": weighted_interval_score(quantiles, y).mean(),
        "crps": integrals.crps.mean(),
        "sd": integrals.standard_deviation.mean(),
        "sd_released": released.mean(),
        "coverage_90": ((low <= y) & (y <= high)).double().mean(),
        "length_90": (high - low).mean(),
        "rmse": (y - integrals.mean).square().mean().sqrt(),
        "mae": (y - median).abs().mean(),
        "pit_variance": pit.var(correction=0),
    }
    return {name: float(value) for name, value in values.items()}


def diverged(nll: float) -> bool:
    """Whether a run with this test NLL counts as diverged: not finite, or 1000 and more (spec, section 7).

    Other metrics that are not finite do not condemn a run: the outer quantiles of a KDE map may rightly be infinite.
    """
    return not math.isfinite(nll) or nll >= DIVERGED_NLL


def _checked_targets(predictive: PredictiveDistribution, y: Tensor) -> Tensor:
    rows = len(predictive.mixture.means)
    if y.shape != (rows,):
        raise ValueError(f"targets have shape {tuple(y.shape)}, but there are {rows} predictive distributions")
    if rows == 0:
        raise UserError("no rows to evaluate or calibrate on: at least one is needed")
    y = y.detach().double()
    if not bool(y.isfinite().all()):
        raise UserError(f"targets must be finite, but {int((~y.isfinite()).sum())} of {rows} are not")
    return y
