"""How good predicted distributions are on rows whose targets are known: metrics, PITs, coverage, two plots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from scipy import stats

from qrt.engine.evaluation import evaluate
from qrt.estimator.distribution import FloatArray, PredictedDistribution
from qrt.estimator.threads import one_thread
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import checked_weights, effective_rows
from qrt.text.words import number, percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COVERAGES = (0.5, 0.8, 0.9, 0.95)
BAND = 0.95  # probability of the bands around what a calibrated model shows
_MOST_CARRIERS = 5
_FAR_SCORES = 10  # times the interquartile range of the log scores, of 1 nat at least, above their median
_INK, _BLUE, _GREY = "#222222", "#0072b2", "#8c8c8c"


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The quality of predicted distributions on rows that the model was not fitted with.

    `pit`: (rows,) are the probability integral transforms F'(y), which are uniform on [0, 1] if the predictions are
    calibrated. `metrics` has every metric of the study by its name there (docs/results.md): `nll`, `crps`,
    `pce_levels`, `sd`, `coverage_90`, `length_90`, `rmse`, `mae` and others. `log_scores`: (rows,) are -log f'(y) of
    the `targets` y, their mean is the NLL; `index` is that of the pandas table that was predicted, or None. Shown or
    printed, it sums itself up.

    With `weights`: (rows,), a row of weight 2 counts like two rows, but the bands are those of Kish's effective number
    of rows, since a repeated row tells nothing new.
    """

    pit: FloatArray
    metrics: dict[str, float]
    weights: FloatArray | None = None
    log_scores: FloatArray = field(default_factory=lambda: np.empty(0))
    targets: FloatArray = field(default_factory=lambda: np.empty(0))
    index: pd.Index | None = None

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

    def worst(self, rows: int = 5) -> pd.DataFrame:
        """The rows with the largest log scores, which carry the NLL.

        Columns: `row` (counted from 0), `target`, `log_score`, `pit`, `nll_without`: the NLL without this row and those
        above it. The index is that of the table that was predicted, if it was a pandas table.
        """
        order = np.argsort(-self.log_scores, kind="stable")[:rows]
        weights = np.ones(len(self)) if self.weights is None else self.weights
        without = []
        for place in range(len(order)):
            left = np.delete(np.arange(len(self)), order[: place + 1])
            without.append(np.average(self.log_scores[left], weights=weights[left]) if len(left) else np.nan)
        columns = {
            "row": order,
            "target": self.targets[order],
            "log_score": self.log_scores[order],
            "pit": self.pit[order],
            "nll_without": np.array(without),
        }
        return pd.DataFrame(columns, index=None if self.index is None else self.index[order])

    def coverage(self, coverages: tuple[float, ...] = COVERAGES) -> pd.DataFrame:
        """For each nominal coverage the share of targets in the central interval, and the band of a calibrated model.

        Columns: `coverage`, `observed`, `lower`, `upper`.
        """
        nominal = np.array(coverages)
        inside = [
            np.average((self.pit >= (1 - one) / 2) & (self.pit <= (1 + one) / 2), weights=self.weights)
            for one in coverages
        ]
        lower, upper = self._band(nominal)
        return pd.DataFrame({"coverage": nominal, "observed": inside, "lower": lower, "upper": upper})

    def reliability(self, levels: npt.ArrayLike | None = None) -> pd.DataFrame:
        """For each level the share of PITs at or below it, and the band of a calibrated model.

        Columns: `level`, `observed`, `lower`, `upper`. Without levels: 0.01, 0.02, ..., 0.99.
        """
        chosen = np.arange(1, 100) / 100 if levels is None else np.asarray(levels, dtype=np.float64)
        order = self.pit.argsort()
        weights = np.ones(len(self)) if self.weights is None else self.weights[order]
        up_to = np.concatenate([[0.0], weights.cumsum()])
        observed = up_to[np.searchsorted(self.pit[order], chosen, side="right")] / up_to[-1]
        lower, upper = self._band(chosen)
        return pd.DataFrame({"level": chosen, "observed": observed, "lower": lower, "upper": upper})

    def pit_histogram(self, bins: int = 10) -> pd.DataFrame:
        """The density of the PITs in bins of equal width, which is 1 if calibrated, and the band of a calibrated model.

        Columns: `left`, `right`, `density`, `lower`, `upper`.
        """
        counts, edges = np.histogram(self.pit, bins=bins, range=(0.0, 1.0), weights=self.weights)
        lower, upper = self._band(np.full(bins, 1 / bins))
        return pd.DataFrame(
            {
                "left": edges[:-1],
                "right": edges[1:],
                "density": bins * counts / counts.sum(),
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
        if carriers := self._carriers():
            lines.insert(2, carriers)
        return "\n".join(lines)

    def _carriers(self) -> str:
        """Which few rows carry the NLL, if some do."""
        if len(self.log_scores) <= _MOST_CARRIERS:
            return ""
        worst = self.worst(_MOST_CARRIERS)
        carrying = worst[worst["log_score"] > self._much]
        if carrying.empty:
            return ""
        numbers = ", ".join(str(row) for row in carrying["row"])
        left = carrying["nll_without"].iloc[-1]
        few = f"row {numbers}" if len(carrying) == 1 else f"rows {numbers}"
        return f"      {left:.4f} without {few} (counted from 0): far from their predictions, see worst()"

    @property
    def _much(self) -> float:
        """Log scores above this are far from those of other rows."""
        low, middle, high = np.quantile(self.log_scores, [0.25, 0.5, 0.75])
        return float(middle + _FAR_SCORES * max(high - low, 1.0))

    def _band(self, probability: npt.NDArray[np.float64]) -> tuple[FloatArray, FloatArray]:
        """Between which shares of the rows an event of this probability lies with probability BAND, at each point."""
        rows = len(self) if self.weights is None else max(1, round(effective_rows(self.weights)))
        return calibrated_band(probability, rows)

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


def calibrated_band(probability: FloatArray, rows: int) -> tuple[FloatArray, FloatArray]:
    """Between which shares of independent rows an event lies with probability BAND: each probability on its own."""
    tail = (1 - BAND) / 2
    return stats.binom.ppf(tail, rows, probability) / rows, stats.binom.ppf(1 - tail, rows, probability) / rows


@one_thread()
def diagnose(
    distribution: PredictedDistribution, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
) -> Diagnosis:
    """The diagnosis of predicted distributions against the targets y: (rows,), by the weights of the rows."""
    targets = np.asarray(y, dtype=np.float64)
    if len(distribution) == 0:
        raise UnusableInput("there are no rows to diagnose: at least one is needed")
    if targets.shape != (len(distribution),):
        raise UnusableInput(
            f"y has the shape {targets.shape}: give one number for each of the {len(distribution)} rows"
        )
    weights = checked_weights(sample_weight, len(targets))
    pit = distribution.cdf(targets)
    values = evaluate(
        distribution.predictive,
        torch.from_numpy(targets.copy()),
        None if weights is None else torch.from_numpy(weights),
    )
    metrics = {name: value for name, value in values.items() if not name.endswith(("_batched", "_released"))}
    return Diagnosis(pit, metrics, weights, distribution.log_score(targets), targets, distribution.index)
