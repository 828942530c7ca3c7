"""The predictive distribution F' = Phi_r o ... o Phi_1 o F of a base model and its calibration maps.

No map: the base model F itself. One map: the recalibrated model of Algorithm 1. Two maps: the released
code's reading, where the post-hoc map stands on top of the training-time map (docs/protocol.md, section 8, row 1).
Everything is float64.

A KDE or DCP map does not reach 0 and 1 at the ends of [0, 1], so F' then has mass at -inf and +inf. PITs,
densities and quantiles (some then infinite) take F' as it is. For mean, standard deviation and CRPS see
`quadrature`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_map import CalibrationMap, KernelMap
from qrt.engine.mixture import GaussianMixture
from qrt.errors import UserError


@dataclass(frozen=True, eq=False)
class PredictiveDistribution:
    """N predictive distributions: a mixture (N, K) and the maps on top of it, the innermost first."""

    mixture: GaussianMixture
    maps: tuple[CalibrationMap, ...] = ()

    def log_density_and_pit(self, y: Tensor) -> tuple[Tensor, Tensor]:
        """log f'(y | x), NaN if a map is a step function, and F'(y | x); each (N,) for y: (N,)."""
        return log_densities_and_pits(self.mixture, [self.maps], y)[0]

    def pit(self, y: Tensor) -> Tensor:
        """F'(y | x), (N,) for y: (N,)."""
        pit = gaussian.cdf(self.mixture, y)
        for calibration_map in self.maps:
            pit = calibration_map.cdf(pit)
        return pit

    def quantile(self, levels: Tensor) -> Tensor:
        """Quantiles (N, L) at levels: (L,) in (0, 1): the maps once per level, then each row's mixture."""
        if not bool(((levels > 0) & (levels < 1)).all()):
            raise UserError(f"quantile levels must lie between 0 and 1, both excluded, but are {levels.tolist()}")
        return gaussian.quantile(self.mixture, _levels_of_the_mixture(self.maps, tuple(levels.tolist())))


def quantiles_of_chains(
    mixture: GaussianMixture, chains: Sequence[tuple[CalibrationMap, ...]], levels: Tensor
) -> list[Tensor]:
    """Quantiles (N, L) under each chain of maps at levels: (L,) in (0, 1), of the mixture for all chains at once.

    The maps are inverted by their tables, which the quadrature needs as well.
    """
    asked = tuple(levels.tolist())
    of_mixture = torch.cat([_levels_of_the_mixture(maps, asked, by_table=True) for maps in chains])
    return list(gaussian.quantile(mixture, of_mixture).split(len(levels), dim=1))


def log_densities_and_pits(
    mixture: GaussianMixture, chains: Sequence[tuple[CalibrationMap, ...]], y: Tensor, *, tabulated: bool = False
) -> list[tuple[Tensor, Tensor]]:
    """log f'(y | x) and F'(y | x) under each chain of maps; each (N,) for y: (N,).

    What chains begin with in common is computed once. `tabulated` interpolates the maps, for many rows: with each map,
    PITs are then good to 1e-7 and log-densities of single rows to 1e-5, their means to 1e-6.
    """
    found: dict[tuple[CalibrationMap, ...], tuple[Tensor, Tensor]] = {
        (): (gaussian.log_density(mixture, y), gaussian.cdf(mixture, y))
    }

    def of_chain(maps: tuple[CalibrationMap, ...]) -> tuple[Tensor, Tensor]:
        if maps not in found:
            *below, top = maps
            if isinstance(top, KernelMap) and top.plain is not None:
                found[maps] = top.from_plain(*of_chain((*below, top.plain)))
            else:
                log_density, pit = of_chain(tuple(below))
                both = top.tabulated_log_density_and_cdf if tabulated else top.log_density_and_cdf
                log_phi, recalibrated = both(pit)
                # Chain rule: the density of Phi o F is phi(F) f (paper, section 3.1, equation f_Z).
                found[maps] = log_density + log_phi, recalibrated
        return found[maps]

    return [of_chain(maps) for maps in chains]


@lru_cache(maxsize=64)  # validation and test rows of a network follow each other, and ask for the same levels
def _levels_of_the_mixture(
    maps: tuple[CalibrationMap, ...], levels: tuple[float, ...], *, by_table: bool = False
) -> Tensor:
    """The levels (L,) at which quantiles of the mixture are those of F' at `levels`."""
    found = torch.tensor(levels, dtype=torch.float64)
    for calibration_map in reversed(maps):
        if by_table and isinstance(calibration_map, KernelMap):
            found = calibration_map.inverse(found, by_table=True)
        else:
            found = calibration_map.inverse(found)
    return found


def predictive_from_outputs(
    outputs: Tensor, y_mean: float = 0.0, y_scale: float = 1.0, maps: tuple[CalibrationMap, ...] = ()
) -> PredictiveDistribution:
    """The predictive distributions of network outputs (N, 3K) on the original scale y_mean + y_scale * y."""
    if outputs.dim() != 2 or outputs.shape[1] == 0 or outputs.shape[1] % 3:
        raise ValueError(f"network outputs have shape {tuple(outputs.shape)}, not (N, 3K)")
    if not bool(outputs.isfinite().all()):
        bad = int((~outputs.isfinite()).any(dim=1).sum())
        raise UserError(f"network outputs are not finite in {bad} of {len(outputs)} rows: the network has diverged")
    mixture = gaussian.from_outputs(outputs.detach().double())
    return PredictiveDistribution(gaussian.affine(mixture, y_mean, y_scale), maps)
