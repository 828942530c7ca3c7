from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from qrt_study.data.embedded import EMBEDDED, GeneratedDataset
from qrt_study.data.prepare import prepare

GENERATED = [dataset for dataset in EMBEDDED.values() if isinstance(dataset, GeneratedDataset)]


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_dataset_is_usable_and_repeats_itself(name: str) -> None:
    first, second = (prepare(EMBEDDED[name].table()) for _ in range(2))
    assert first.x.tobytes() == second.x.tobytes()
    assert first.y.tobytes() == second.y.tobytes()
    assert not first.dropped_columns


@pytest.mark.parametrize("dataset", GENERATED, ids=lambda dataset: dataset.name)
def test_true_density_is_one_in_total(dataset: GeneratedDataset) -> None:
    x, _ = dataset.draw(1, seed=3)
    if dataset.name == "counts":
        support = np.arange(200.0)
        total = np.exp(dataset.log_density(np.repeat(x, 200, axis=0), support)).sum()
    else:
        grid = np.linspace(-30, 30, 400_001)
        density = np.exp(dataset.log_density(np.repeat(x, len(grid), axis=0), grid))
        total = integrate.trapezoid(density, grid)
    assert total == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize("dataset", GENERATED, ids=lambda dataset: dataset.name)
def test_draws_follow_the_true_density(dataset: GeneratedDataset) -> None:
    # For one x: the share of draws below a point against the truth's own distribution function there.
    x, _ = dataset.draw(1, seed=5)
    rows = 4000
    components = dataset.conditional(np.repeat(x, rows, axis=0))
    point = float(np.mean([truth.mean().mean() for _, truth in components]))
    truth_below = sum((np.asarray(weight) * truth.cdf(point)).mean() for weight, truth in components)

    at_one_x = replace(dataset, levels=0, conditional=lambda _: components)
    _, y = at_one_x.draw(rows, seed=6)
    standard_error = np.sqrt(truth_below * (1 - truth_below) / rows)
    assert np.mean(y <= point) == pytest.approx(truth_below, abs=4 * standard_error)


def test_there_are_the_kinds_of_truth_the_tests_need() -> None:
    assert {"heteroscedastic", "bimodal", "skewed", "counts", "diabetes"} <= set(EMBEDDED)
    assert len(EMBEDDED) >= 8
