"""The post-hoc step, and every metric of a finished model (docs/protocol.md, sections 5 and 6)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_error import pce_levels, pce_sorted
from qrt.engine.calibration_map import CalibrationMap, fit_map
from qrt.engine.kernel import KernelWidth
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution, log_densities_and_pits, quantiles_of_chains
from qrt.engine.quadrature import CrpsAndMoments, crps_and_moments
from qrt.engine.registry import METRICS, MapName
from qrt.engine.scores import LEVELS, weighted_interval_score
from qrt.engine.weights import mean_over_rows
from qrt.errors import UserError

BATCH_ROWS = 512  # of the metrics called `batched`
DIVERGED_NLL = 1000.0  # docs/protocol.md, section 7


def post_hoc_maps(
    predictive: PredictiveDistribution,
    y: Tensor,
    name: MapName,
    bandwidth: float,
    width: KernelWidth,
    *,
    weights: Tensor | None = None,
) -> tuple[CalibrationMap, ...]:
    """The maps of `predictive` and, on top, the map `name` fitted to its PITs of calibration rows y: (N,).

    Both readings of row 1 of docs/protocol.md, section 8: a predictive distribution without maps gives the paper's
    (one map on the PITs of F); one that has the training-time map already gives the released code's.
    """
    return (*predictive.maps, fit_map(name, calibration_pits(predictive, y), bandwidth, width, weights))


def calibration_pits(predictive: PredictiveDistribution, y: Tensor) -> Tensor:
    """PITs (N,) of calibration rows y: (N,), to which a post-hoc map is fitted."""
    return predictive.pit(_checked_targets(predictive.mixture, y))


def evaluate(predictive: PredictiveDistribution, y: Tensor, weights: Tensor | None = None) -> dict[str, float]:
    """Every metric (keys: `registry.METRICS`) of N predictive distributions against y: (N,), on their common scale.

    `nll` is NaN if a map is a step function (EMP, DCP), which has no density. If a map leaves 5 % or more
    of the mass on one side of [0, 1] (KDE with many PITs near an end, DCP with fewer than 19 PITs), the
    outer quantiles are infinite, and with them `crps_wis` and `length_90`; `sd_released` is then NaN.

    With weights of the rows: (N,), a row of weight 2 counts like two rows; `pce_sorted` and the metrics in batches,
    which go by numbers of rows, are left out.
    """
    (metrics,) = evaluate_chains(predictive.mixture, [predictive.maps], y, weights)
    return metrics


def evaluate_chains(
    mixture: GaussianMixture, chains: Sequence[tuple[CalibrationMap, ...]], y: Tensor, weights: Tensor | None = None
) -> list[dict[str, float]]:
    """What `evaluate` gives for N mixtures and targets y: (N,), under each of several chains of maps.

    The numbers are those of one `evaluate` for each chain, those from quantiles to rounding, all others to the last
    bit. What chains have in common is computed once: log-densities and PITs of the mixture and of maps that they begin
    with, the grid of the quadrature, the table that quantiles of the mixture start from.
    """
    y = _checked_targets(mixture, y)
    densities = log_densities_and_pits(mixture, chains, y)
    integrals = crps_and_moments(mixture, chains, y)
    quantiles = quantiles_of_chains(mixture, chains, LEVELS)
    return [
        _metrics(PredictiveDistribution(mixture, maps), y, density, integral, of_chain, weights=weights)
        for maps, density, integral, of_chain in zip(chains, densities, integrals, quantiles, strict=True)
    ]


def evaluate_many_rows(
    mixture: GaussianMixture, chains: Sequence[tuple[CalibrationMap, ...]], y: Tensor
) -> list[dict[str, float]]:
    """`nll`, `pce_levels` and `pce_sorted` under each chain, with interpolated maps, as on thousands of training rows.

    `nll` is within 1e-6 of the exact one, `pce_sorted` within 1e-7 for each map; `pce_levels` differs by 1/100 of a
    row's share for each PIT that is within 1e-7 of one of its levels.
    """
    y = _checked_targets(mixture, y)
    return [
        {"nll": float(-log_density.mean()), "pce_levels": float(pce_levels(pit)), "pce_sorted": float(pce_sorted(pit))}
        for log_density, pit in log_densities_and_pits(mixture, chains, y, tabulated=True)
    ]


def _metrics(
    predictive: PredictiveDistribution,
    y: Tensor,
    density: tuple[Tensor, Tensor],
    integrals: CrpsAndMoments,
    quantiles: Tensor,
    *,
    weights: Tensor | None,
) -> dict[str, float]:
    log_density, pit = density
    low, median, high = quantiles[:, 0], quantiles[:, len(LEVELS) // 2], quantiles[:, -1]
    interval_scores = weighted_interval_score(quantiles, y)
    # Row 4 of docs/protocol.md, section 8: exact for a base model, else from the 19 quantiles.
    released = quantiles.std(dim=1) if predictive.maps else gaussian.standard_deviation(predictive.mixture)
    mean = partial(mean_over_rows, weights=weights)
    values = {
        "nll": -mean(log_density),
        "pce_levels": pce_levels(pit, weights),
        "crps_wis": mean(interval_scores),
        "crps": mean(integrals.crps),
        "sd": mean(integrals.standard_deviation),
        "sd_released": mean(released),
        "coverage_90": mean(((low <= y) & (y <= high)).double()),
        "length_90": mean(high - low),
        "rmse": mean((y - integrals.mean).square()).sqrt(),
        "mae": mean((y - median).abs()),
        "pit_variance": pit.var(correction=0) if weights is None else mean((pit - mean(pit)).square()),
    }
    if weights is None:
        values |= {
            "pce_sorted": pce_sorted(pit),
            "nll_batched": _mean_over_batches(torch.mean, -log_density),
            "pce_levels_batched": _mean_over_batches(pce_levels, pit),
            "pce_sorted_batched": _mean_over_batches(pce_sorted, pit),
            "crps_wis_batched": _mean_over_batches(torch.mean, interval_scores),
        }
    return {name: float(values[name]) for name in METRICS if name in values}


def _mean_over_batches(metric: Callable[[Tensor], Tensor], values: Tensor) -> Tensor:
    """The plain mean of a metric over consecutive batches of 512 rows (docs/protocol.md, section 8, row 12).

    A short last batch counts like a full one, as released.
    """
    return torch.stack([metric(batch) for batch in values.split(BATCH_ROWS)]).mean()


def diverged(nll: float) -> bool:
    """Whether a run with this test NLL counts as diverged: not finite, or 1000 and more (docs/protocol.md, section 7).

    Other metrics that are not finite do not condemn a run: the outer quantiles of a KDE map may rightly be infinite.
    """
    return not math.isfinite(nll) or nll >= DIVERGED_NLL


def _checked_targets(mixture: GaussianMixture, y: Tensor) -> Tensor:
    rows = len(mixture.means)
    if y.shape != (rows,):
        raise ValueError(f"targets have shape {tuple(y.shape)}, but there are {rows} predictive distributions")
    if rows == 0:
        raise UserError("no rows to evaluate or calibrate on: at least one is needed")
    y = y.detach().double()
    if not bool(y.isfinite().all()):
        raise UserError(f"targets must be finite, but {int((~y.isfinite()).sum())} of {rows} are not")
    return y
