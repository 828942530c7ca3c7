"""Scores taken apart: how much of NLL and CRPS is calibration, and what a calibrated model would show. No torch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

Array = npt.NDArray[np.float64]

FOLDS = 5  # of cross-fitting, by the order of the rows, which the split has shuffled
# Standard deviations of the Gaussian kernel among which the best map is chosen; infinite: the map that changes nothing.
_WIDTHS = np.array([0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, np.inf])
_WAVES = np.arange(1, 401)  # the narrowest kernel leaves 3e-9 of the last one
_LEAST_DENSITY = 1e-6  # of a map where no PIT of the other folds is near
_THRESHOLDS = 128  # at equal steps of the target, and as many at equal steps of its probability


def best_map_gain(pits: Array) -> float:
    """The mean of log phi(Z) of the best map of PITs (n,): how far NLL falls when the PITs are made uniform.

    Cross-fitted: each fold is scored under a map of the others, whose width is chosen within these. So the gain is not
    optimistic; it is 0 in expectation for calibrated PITs, up to what estimation costs. The maps are densities of a
    Gaussian kernel reflected at both ends (of the heat equation), as series of cosines.
    """
    n = len(pits)
    if n < 2 * FOLDS:
        return 0.0
    fold = np.arange(n) % FOLDS
    waves = np.sqrt(2) * np.cos(np.pi * np.outer(pits, _WAVES))
    sums = np.stack([waves[fold == one].sum(axis=0) for one in range(FOLDS)])
    sizes = np.bincount(fold, minlength=FOLDS)
    damping = np.exp(-0.5 * (np.pi * np.outer(_WAVES, _WIDTHS[:-1])) ** 2)
    damping = np.column_stack([damping, np.zeros(len(_WAVES))])

    def log_densities(scored: int, left_out: set[int]) -> Array:
        """log phi of each width at the PITs of a fold: (n of the fold, widths), fitted without some folds."""
        used = [one for one in range(FOLDS) if one not in left_out]
        coefficients = sums[used].sum(axis=0) / sizes[used].sum()
        density: Array = 1 + waves[fold == scored] @ (coefficients[:, None] * damping)
        return np.log(np.maximum(density, _LEAST_DENSITY))

    total = 0.0
    for scored in range(FOLDS):
        inner = [log_densities(one, {scored, one}).sum(axis=0) for one in range(FOLDS) if one != scored]
        total += float(log_densities(scored, {scored})[:, int(np.argmax(np.sum(inner, axis=0)))].sum())
    return total / n


def thresholds(y: Array) -> Array:
    """Points (T,) at which the CRPS of targets (n,) is taken apart: between their least and their largest."""
    steps = np.linspace(0, 1, _THRESHOLDS)
    return np.unique(np.concatenate([np.quantile(y, steps), y.min() + steps * np.ptp(y)]))


def crps_parts(crps: float, cdf: Array, points: Array, y: Array) -> dict[str, float]:
    """Miscalibration, discrimination and uncertainty: CRPS = miscalibration - discrimination + uncertainty.

    `cdf` (n, T) has F'(t) of each row at `points`, `crps` is the mean over rows. At each threshold the Brier score of
    F'(t) is taken apart by isotonic regression (Dimitriadis, Gneiting and Jordan 2021; for the CRPS Arnold, Walz,
    Ziegel and Gneiting 2024), and the parts are integrated over thresholds. Beyond the targets all is miscalibration.
    """
    scores = np.array([_isotonic_score(forecast, point >= y) for forecast, point in zip(cdf.T, points, strict=True)])
    recalibrated = float(np.trapezoid(scores, points))
    ordered, n = np.sort(y), len(y)
    # Half of Gini's mean difference: the CRPS of the targets' own distribution.
    uncertainty = float((ordered * (2 * np.arange(1, n + 1) - n - 1)).sum() / n**2)
    return {
        "crps_miscalibration": crps - recalibrated,
        "crps_discrimination": uncertainty - recalibrated,
        "crps_uncertainty": uncertainty,
    }


def _isotonic_score(forecast: Array, happened: npt.NDArray[np.bool_]) -> float:
    """The Brier score of probabilities after isotonic regression; equal probabilities stay equal."""
    order = np.lexsort((~happened, forecast))  # within ties what happened comes first, so that they are pooled
    outcome = happened[order].astype(float)
    return float(np.square(optimize.isotonic_regression(outcome).x - outcome).mean())


def deviation_of_share(n: int, probability: Array | float) -> Array:
    """E|X / n - p| for X binomial (n, p): how far a share of n rows is from its probability (de Moivre's formula)."""
    p = np.asarray(probability, dtype=float)
    k = np.floor(n * p) + 1
    # The log of k C(n, k) p^k (1 - p)^(n - k + 1); twice that over n is the mean deviation.
    log_term = special.gammaln(n + 1) - special.gammaln(k) - special.gammaln(n - k + 1)
    log_term += special.xlogy(k, p) + special.xlog1py(n - k + 1, -p)
    return np.asarray(2 * np.exp(log_term) / n)


def calibrated_pce(n: int) -> dict[str, float]:
    """The PCE that a calibrated model shows on n rows on average, by both readings of row 3 of docs/protocol.md."""
    levels = np.arange(1, 101) / 101
    i = np.arange(1, n + 1)
    # The mean absolute deviation of a Beta(i, n + 1 - i), the distribution of the i-th of n uniform PITs.
    log_deviation = (
        i * np.log(i) + (n + 1 - i) * np.log(n + 1 - i) - (n + 2) * np.log(n + 1) - special.betaln(i, n + 1 - i)
    )
    return {
        "pce_levels_calibrated": float(deviation_of_share(n, levels).mean()),
        "pce_sorted_calibrated": float(2 * np.exp(log_deviation).mean()),
    }


def coverage_by_fifth(inside: npt.NDArray[np.bool_], sd: Array, coverage: float = 0.9) -> dict[str, float]:
    """The share of targets inside their interval among the rows of each fifth of the predicted standard deviation.

    `coverage_gap` is the mean distance of the five from `coverage`, beside that of a model that is calibrated in each.
    """
    fifths = [chosen for chosen in np.array_split(np.argsort(sd, kind="stable"), 5) if len(chosen)]
    shares = [float(inside[chosen].mean()) for chosen in fifths]
    expected = [float(deviation_of_share(len(chosen), coverage)) for chosen in fifths]
    return {
        **{f"coverage_sd{number}": share for number, share in enumerate(shares, start=1)},
        "coverage_gap": float(np.mean(np.abs(np.array(shares) - coverage))),
        "coverage_gap_calibrated": float(np.mean(expected)),
    }
