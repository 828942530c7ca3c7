"""How good predicted distributions are on rows whose targets are known: metrics, PITs, coverage, two plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy import stats

from qrt.engine.evaluation import evaluate
from qrt.estimator.distribution import FloatArray, PredictedDistribution
from qrt.estimator.unusable_input import UnusableInput
from qrt.text.words import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COVERAGES = (0.5, 0.8, 0.9, 0.95)
BAND = 0.95  # probability of the bands around what a calibrated model shows
_INK, _BLUE, _GREY = "#222222", "#0072b2", "#8c8c8c"


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The quality of predicted distributions on rows that the model was not fitted with.

    `pit`: (rows,) are the probability integral transforms F'(y), which are uniform on [0, 1] if the predictions are
    calibrated. `metrics` has every metric of the study by its name there (docs/results.md): `nll`, `crps`,
    `pce_levels`, `sd`, `coverage_90`, `length_90`, `rmse`, `mae` and others. Shown or printed, it sums itself up.
    """

    pit: FloatArray
    metrics: dict[str, float]

    def __len__(self) -> int:
        return len(self.pit)

    @property
    def nll(self) -> float:
        """Negative log-likelihood, mean over rows; NaN for a map without density."""
        return self.metrics["nll"]

    @property
    def crps(self) -> float:
        """Continuous ranked probability score in the units of y, mean over rows."""
        return self.metrics["crps"]

    @property
    def pce(self) -> float:
        """Probabilistic calibration error: mean distance between levels and the shares of PITs below them."""
        return self.metrics["pce_levels"]

    def coverage(self, coverages: tuple[float, ...] = COVERAGES) -> pd.DataFrame:
        """For each nominal coverage the share of targets in the central interval, and the band of a calibrated model.

        Columns: `coverage`, `observed`, `lower`, `upper`.
        """
        nominal = np.array(coverages)
        inside = [((self.pit >= (1 - one) / 2) & (self.pit <= (1 + one) / 2)).mean() for one in coverages]
        lower, upper = self._band(nominal)
        return pd.DataFrame({"coverage": nominal, "observed": inside, "lower": lower, "upper": upper})

    def reliability(self, levels: npt.ArrayLike | None = None) -> pd.DataFrame:
        """For each level the share of PITs at or below it, and the band of a calibrated model.

        Columns: `level`, `observed`, `lower`, `upper`. Without levels: 0.01, 0.02, ..., 0.99.
        """
        chosen = np.arange(1, 100) / 100 if levels is None else np.asarray(levels, dtype=np.float64)
        observed = np.searchsorted(np.sort(self.pit), chosen, side="right") / len(self)
        lower, upper = self._band(chosen)
        return pd.DataFrame({"level": chosen, "observed": observed, "lower": lower, "upper": upper})

    def pit_histogram(self, bins: int = 10) -> pd.DataFrame:
        """The density of the PITs in bins of equal width, which is 1 if calibrated, and the band of a calibrated model.

        Columns: `left`, `right`, `density`, `lower`, `upper`.
        """
        counts, edges = np.histogram(self.pit, bins=bins, range=(0.0, 1.0))
        lower, upper = self._band(np.full(bins, 1 / bins))
        return pd.DataFrame(
            {
                "left": edges[:-1],
                "right": edges[1:],
                "density": bins * counts / len(self),
                "lower": bins * lower,
                "upper": bins * upper,
            }
        )

    def plot(self) -> Figure:
        """The PIT histogram and the reliability curve, both with the band of a calibrated model: a new figure."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need Matplotlib (pip install matplotlib)") from error
        figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
        self._draw_histogram(left)
        self._draw_reliability(right)
        for axes in (left, right):
            axes.spines[["top", "right"]].set_visible(False)
        figure.suptitle(
            f"{len(self)} rows: NLL {number(self.nll, 4)}, CRPS {number(self.crps, 4)}, PCE {number(self.pce)}, "
            f"90 % interval covers {percent(self.metrics['coverage_90'], 3)}",
            fontsize=10,
            color=_INK,
        )
        return figure

    def __repr__(self) -> str:
        inside = self.coverage((0.9,)).iloc[0]
        expected = f"{percent(inside['lower'], 3)} to {percent(inside['upper'], 3)}"
        crps, rmse, mae, length = (number(self.metrics[name], 4) for name in ("crps", "rmse", "mae", "length_90"))
        lines = [
            f"{len(self)} rows",
            f"NLL   {self.nll:.4f}",
            f"CRPS  {crps} (in the units of y)",
            f"PCE   {self.pce:.4f}",
            f"RMSE  {rmse} of the mean; MAE {mae} of the median",
            f"90 % interval: covers {percent(inside['observed'], 3)} (a calibrated model: {expected}), mean length "
            f"{length}",
        ]
        return "\n".join(lines)

    def _band(self, probability: npt.NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
        """Between which shares of the rows an event of this probability lies with probability BAND, at each point."""
        tail = (1 - BAND) / 2
        return (
            stats.binom.ppf(tail, len(self), probability) / len(self),
            stats.binom.ppf(1 - tail, len(self), probability) / len(self),
        )

    def _draw_histogram(self, axes: Any) -> None:
        bins = self.pit_histogram()
        width = bins["right"] - bins["left"]
        lower, upper = bins["lower"].iloc[0], bins["upper"].iloc[0]
        axes.axhspan(lower, upper, color=_GREY, alpha=0.25, linewidth=0)
        axes.bar(bins["left"], bins["density"], width, align="edge", color=_BLUE, alpha=0.6, edgecolor="white")
        # Over the bars, which hide the band's lower half.
        for end in (lower, upper):
            axes.axhline(end, color=_GREY, linewidth=0.8, linestyle="--")
        axes.axhline(1, color=_INK, linewidth=0.8)
        axes.set(xlim=(0, 1), xlabel="PIT", ylabel="density", title="PIT histogram")

    def _draw_reliability(self, axes: Any) -> None:
        curve = self.reliability()
        band = f"{100 * BAND:g} % band if calibrated"
        axes.fill_between(
            curve["level"], curve["lower"], curve["upper"], color=_GREY, alpha=0.25, linewidth=0, label=band
        )
        axes.plot([0, 1], [0, 1], color=_INK, linewidth=0.8)
        axes.plot(curve["level"], curve["observed"], color=_BLUE, label="predictions")
        axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="level", ylabel="share of PITs at or below", title="Reliability")
        axes.set_aspect("equal")
        axes.legend(frameon=False, fontsize=8, loc="upper left")


def diagnose(distribution: PredictedDistribution, y: npt.ArrayLike) -> Diagnosis:
    """The diagnosis of predicted distributions against the targets y: (rows,)."""
    targets = np.asarray(y, dtype=np.float64)
    if len(distribution) == 0:
        raise UnusableInput("there are no rows to diagnose: at least one is needed")
    if targets.shape != (len(distribution),):
        raise UnusableInput(
            f"y has the shape {targets.shape}: give one number for each of the {len(distribution)} rows"
        )
    pit = distribution.cdf(targets)
    values = evaluate(distribution.predictive, torch.from_numpy(targets.copy()))
    metrics = {name: value for name, value in values.items() if not name.endswith(("_batched", "_released"))}
    return Diagnosis(pit, metrics)
