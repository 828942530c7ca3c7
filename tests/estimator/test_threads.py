"""Distributions, diagnoses and maps are computed with one thread, whatever PyTorch is set to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from qrt import QuantileRecalibrator
from qrt.engine.calibration_map import KernelMap, fit_map
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.estimator.diagnosis import diagnose
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution

Y = np.linspace(-1, 1, 8)
PITS = np.random.default_rng(0).beta(2, 1.3, size=200)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[set[int]]:
    """How many threads the maps were evaluated with, where PyTorch is set to two."""
    found: set[int] = set()
    for name in ("_log_density_and_cdf", "tabulated_cdf"):
        method: Callable[..., Any] = getattr(KernelMap, name)

        def noted(self: KernelMap, points: Any, method: Callable[..., Any] = method) -> Any:
            found.add(torch.get_num_threads())
            return method(self, points)

        monkeypatch.setattr(KernelMap, name, noted)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield found
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)


def predicted() -> PredictedDistribution:
    zeros = torch.zeros(8, 1, dtype=torch.float64)
    maps = (fit_map("REFL", torch.from_numpy(PITS)),)
    return PredictedDistribution(PredictiveDistribution(GaussianMixture(zeros, zeros + 1, zeros), maps))


def recalibrated() -> RecalibratedDistribution:
    return QuantileRecalibrator().fit(PITS).transform(stats.norm(np.zeros(8)))


@pytest.mark.parametrize("distribution", [predicted, recalibrated])
@pytest.mark.parametrize("method", ["mean", "std", "crps", "log_score", "cdf", "ppf", "interval", "sample", "median"])
def test_distributions_take_one_thread(threads: set[int], distribution: Callable[[], Any], method: str) -> None:
    one = distribution()
    threads.clear()
    argument = {"crps": Y, "log_score": Y, "cdf": Y, "ppf": [0.1, 0.9]}
    getattr(one, method)(*([argument[method]] if method in argument else []))
    assert threads == {1}


def test_diagnosis_and_fit_of_a_map_take_one_thread(threads: set[int]) -> None:
    diagnose(predicted(), Y)
    recalibrated()
    QuantileRecalibrator().fit_distribution(stats.norm(np.zeros(200)), stats.norm.ppf(PITS))
    assert threads == {1}
