"""Small datasets that need no download: generated ones whose conditional distribution is known, and diabetes.

Each generated dataset draws features x and then y from a known mixture of scipy distributions given x, so that
tests can compare a trained model with the best possible one. The same name always gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy  # its parts load when they are first used, so that knowing the names of the datasets costs nothing

from qrt_study.data.raw_table import RawTable

FloatArray = npt.NDArray[np.float64]
# (weight of the component given x, its scipy distribution given x), one per component of the truth.
Components = Sequence[tuple[FloatArray | float, Any]]


@dataclass(frozen=True)
class GeneratedDataset:
    """A dataset with a known truth: `conditional` maps x (rows, features) to the components of y given x."""

    name: str
    description: str
    seed: int
    rows: int
    features: int
    conditional: Callable[[FloatArray], Components]
    levels: int = 0  # above 0: the last feature is categorical with that many levels

    def draw(self, rows: int, seed: int) -> tuple[FloatArray, FloatArray]:
        """Draw x (rows, features) and y (rows,)."""
        generator = np.random.default_rng(seed)
        x = generator.uniform(-1.0, 1.0, size=(rows, self.features))
        if self.levels:
            x[:, -1] = generator.integers(self.levels, size=rows)
        components = self.conditional(x)
        weights = np.stack([np.broadcast_to(weight, rows) for weight, _ in components])
        chosen = (generator.uniform(size=rows) > np.cumsum(weights, axis=0)[:-1]).sum(axis=0)
        draws = np.stack([truth.rvs(size=rows, random_state=generator) for _, truth in components])
        return x, draws[chosen, np.arange(rows)].astype(float)

    def log_density(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Log of the true density of y (rows,) given x (rows, features); of the probability for counts."""
        terms = [
            np.log(weight) + (truth.logpdf(y) if hasattr(truth.dist, "logpdf") else truth.logpmf(y))
            for weight, truth in self.conditional(x)
        ]
        log_density: FloatArray = scipy.special.logsumexp(np.stack(np.broadcast_arrays(*terms)), axis=0)
        return log_density

    def table(self) -> RawTable:
        """The dataset's table as the sources hand tables on."""
        x, y = self.draw(self.rows, self.seed)
        import pandas as pd

        frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(self.features)])
        categorical: tuple[str, ...] = ()
        if self.levels:
            last = frame.columns[-1]
            frame[last] = [f"level {int(level)}" for level in frame[last]]
            categorical = (last,)
        frame["y"] = y
        return RawTable(frame, target="y", categorical=categorical, provenance=_provenance(self.name))


@dataclass(frozen=True)
class DiabetesDataset:
    """The diabetes data that ships with scikit-learn: real rows without a known truth."""

    name: str = "diabetes"
    description: str = "disease progression of 442 patients (Efron et al. 2004), shipped with scikit-learn"

    def table(self) -> RawTable:
        """The dataset's table as the sources hand tables on."""
        from sklearn.datasets import load_diabetes

        frame = load_diabetes(as_frame=True, scaled=False).frame
        frame["sex"] = frame["sex"].astype(int).astype(str)
        return RawTable(frame, target="target", categorical=("sex",), provenance=_provenance(self.name))


def _provenance(name: str) -> dict[str, str | int]:
    return {"source": "embedded", "address": f"qrt_study.data.embedded: {name}"}


def _heteroscedastic(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.norm(np.sin(3 * x[:, 0]) + x[:, 1], 0.1 + 0.5 * np.abs(x[:, 0])))]


def _bimodal(x: FloatArray) -> Components:
    upper = scipy.special.expit(3 * x[:, 1])
    gap = 1.0 + 0.5 * x[:, 0]
    return [(1 - upper, scipy.stats.norm(x[:, 2] - gap, 0.2)), (upper, scipy.stats.norm(x[:, 2] + gap, 0.2))]


def _skewed(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.lognorm(s=0.4 + 0.3 * (x[:, 1] > 0), scale=np.exp(x[:, 0])))]


def _counts(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.poisson(np.exp(0.5 + x[:, 0] + 0.5 * x[:, 1])))]


def _heavy_tails(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.t(df=3, loc=2 * x[:, 0] * x[:, 1], scale=0.3))]


def _linear(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.norm(x @ np.array([1.0, -2.0, 0.5, 0.0]), 0.5))]


def _wide(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.norm(x[:, :5].sum(axis=1), 0.3))]


def _waiting_times(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.gamma(a=1.5, scale=np.exp(0.8 * x[:, 0])))]


def _shifted_groups(x: FloatArray) -> Components:
    return [(1.0, scipy.stats.norm(2 * x[:, 2] + x[:, 0], 0.2 + 0.2 * x[:, 2]))]


EMBEDDED: dict[str, GeneratedDataset | DiabetesDataset] = {
    dataset.name: dataset
    for dataset in (
        GeneratedDataset("heteroscedastic", "Gaussian noise whose size depends on x", 11, 600, 2, _heteroscedastic),
        GeneratedDataset("bimodal", "two peaks whose distance and weights depend on x", 12, 600, 3, _bimodal),
        GeneratedDataset("skewed", "log-normal with two degrees of skewness", 13, 500, 2, _skewed),
        GeneratedDataset("counts", "Poisson counts: a discrete target", 14, 600, 2, _counts),
        GeneratedDataset("heavy_tails", "Student t noise with 3 degrees of freedom", 15, 500, 2, _heavy_tails),
        GeneratedDataset("linear", "a linear model with Gaussian noise", 16, 400, 4, _linear),
        GeneratedDataset("wide", "40 features of which 5 matter", 17, 400, 40, _wide),
        GeneratedDataset("waiting_times", "gamma waiting times, positive and skewed", 18, 500, 2, _waiting_times),
        GeneratedDataset(
            "shifted_groups",
            "four groups with their own level and noise",
            19,
            500,
            3,
            _shifted_groups,
            levels=4,
        ),
        DiabetesDataset(),
    )
}
