"""Weights of rows in the engine: a row of weight 2 is two rows, exactly in maps and metrics, by draws in training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from qrt.engine.calibration_map import fit_map
from qrt.engine.evaluation import evaluate, post_hoc_maps
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.random_streams import sample_rows, stream
from qrt.engine.registry import MAP_NAMES, MapName
from qrt.engine.split import SplitData
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, Variant, train_stack, training_map_rows
from qrt.engine.weights import drawn_rows
from qrt.errors import UserError
from support.generated_splits import heteroscedastic

BASE, QRT = Variant(), Variant(alpha=1.0, bandwidth=0.1)
SAMPLED, LEARNED = Variant(alpha=1.0, bandwidth=0.1, map_size=16), Variant(alpha=1.0, bandwidth=0.1, ablation="QRL")


def whole_weights(rows: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).integers(0, 4, rows)).double()


@pytest.mark.parametrize("name", MAP_NAMES)
@pytest.mark.parametrize(("count", "bandwidth"), [(30, 0.2), (400, 0.02), (3000, 0.1)])
def test_map_of_whole_weights_is_that_of_repeated_pits(name: MapName, count: int, bandwidth: float) -> None:
    pits = torch.rand(count, generator=torch.Generator().manual_seed(1), dtype=torch.float64) ** 1.5
    weights = whole_weights(count)
    weighted = fit_map(name, pits, bandwidth, weights=weights)
    repeated = fit_map(name, pits.repeat_interleave(weights.long()), bandwidth)
    points = torch.cat([torch.linspace(0, 1, 500, dtype=torch.float64), pits[:20]])
    for method in ("cdf", "tabulated_cdf", "log_density"):
        found, expected = getattr(weighted, method)(points), getattr(repeated, method)(points)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    levels = torch.linspace(0, 1, 101, dtype=torch.float64)
    np.testing.assert_allclose(weighted.inverse(levels), repeated.inverse(levels), atol=1e-9)


def test_metrics_of_whole_weights_are_those_of_repeated_rows() -> None:
    generator = torch.Generator().manual_seed(0)
    outputs, y = torch.randn(90, 9, generator=generator), torch.randn(90, generator=generator).double()
    weights = whole_weights(90)
    rows = torch.arange(90).repeat_interleave(weights.long())
    base = predictive_from_outputs(outputs)
    maps = post_hoc_maps(base, y, "REFL", 0.1, "variance", weights=weights)
    repeated = post_hoc_maps(predictive_from_outputs(outputs[rows]), y[rows], "REFL", 0.1, "variance")
    found = evaluate(PredictiveDistribution(base.mixture, maps), y, weights)
    expected = evaluate(PredictiveDistribution(predictive_from_outputs(outputs[rows]).mixture, repeated), y[rows])
    assert {"nll", "crps", "pce_levels", "coverage_90", "rmse", "mae", "sd", "length_90"} <= set(found)
    assert "pce_sorted" not in found
    for name, value in found.items():
        assert value == pytest.approx(expected[name], rel=1e-9), name


def test_rows_are_drawn_as_often_as_their_weights_say() -> None:
    weights = torch.tensor([0.2, 3.7, 1.0, 0.0, 1.1], dtype=torch.float64)
    generator = stream(0, "test")
    counts = torch.stack([torch.bincount(drawn_rows(5, 5, generator, weights), minlength=5) for _ in range(4000)])
    expected = 5 * weights / weights.sum()
    assert (counts >= expected.floor()).all()
    assert (counts <= expected.ceil()).all()
    # Five standard errors of a share that is rounded up or down at random, at most 0.5 / sqrt(4000).
    np.testing.assert_allclose(counts.double().mean(dim=0), expected, atol=5 * 0.5 / 4000**0.5)


def test_neighbours_of_small_weight_are_drawn_together_as_often_as_any() -> None:
    weights = torch.cat([torch.full((20,), 0.5), torch.full((20,), 1.5)]).double()
    generator = stream(1, "test")
    drawn = torch.stack([torch.bincount(drawn_rows(40, 40, generator, weights), minlength=40) for _ in range(3000)])
    together = (drawn[:, 0] * drawn[:, 1]).double().mean(), (drawn[:, 0] * drawn[:, 13]).double().mean()
    assert together[0] == pytest.approx(float(together[1]), abs=5 * 0.5 / 3000**0.5)
    assert together[0] > 0.15


def test_rows_without_weights_are_drawn_as_ever() -> None:
    one, other = stream(0, "test"), stream(0, "test")
    assert torch.equal(drawn_rows(50, 20, one, None), sample_rows(50, 20, other))
    assert torch.equal(torch.rand(3, generator=one), torch.rand(3, generator=other))


def split_of(rows: int, weights: np.ndarray | None = None, validation: int = 60) -> SplitData:
    x, y, _ = heteroscedastic(rows + validation)
    sizes = {"train": rows, "calibration": 0, "validation": validation, "test": 0}
    return SplitData(
        y=y.astype(np.float32), sizes=sizes, y_mean=0.0, y_scale=1.0, x=x.astype(np.float32), weights=weights
    )


def trained(data: SplitData, *variants: Variant, epochs: int = 8, curves: bool = False) -> list[TrainedNetwork]:
    settings = TrainingSettings(max_epochs=epochs, batch_size=64, record_curves=curves)
    return train_stack(data, variants, settings, 0)


@pytest.mark.parametrize("ratio", [1.0, 3.0, 1000.0])
def test_networks_learn_the_distribution_of_the_weighted_rows(ratio: float) -> None:
    """Half of the rows say 1 and half say -1, whatever x: their probabilities are as their weights."""
    x, noise, _ = heteroscedastic(600)
    high = np.arange(600) % 2 == 0
    weights = np.where(high, ratio, 1.0)
    data = replace(split_of(500, weights, 100), x=x.astype(np.float32))
    data = replace(data, y=(np.where(high, 1.0, -1.0) + 0.1 * noise).astype(np.float32))
    for network in trained(data, BASE, QRT, SAMPLED, epochs=40):
        predictive = predictive_from_outputs(network.outputs(data.x))
        rows = training_map_rows(network.variant, 500, TrainingSettings(), 0, torch.from_numpy(weights[:500]))
        if rows is not None:  # F' = Phi o F is what such a network learns
            pits = predictive.pit(torch.from_numpy(data.y).double())[rows]
            predictive = PredictiveDistribution(predictive.mixture, (fit_map("REFL", pits, 0.1),))
        low = predictive.pit(torch.zeros(600, dtype=torch.float64))
        assert float(low.mean()) == pytest.approx(1 / (1 + ratio), abs=0.05)


def test_scale_of_the_weights_is_no_matter() -> None:
    weights = np.random.default_rng(0).uniform(0.1, 2, 260)
    (one,), (other,) = (trained(split_of(200, scale * weights), QRT) for scale in (1.0, 2.0**-10))
    for name, values in one.parameters.items():
        torch.testing.assert_close(values, other.parameters[name], rtol=0, atol=0)


def test_curves_and_choice_of_the_epoch_follow_the_weights_of_the_validation_rows() -> None:
    weights = np.concatenate([np.ones(200), np.repeat([1e-9, 1.0], 30)])
    data = split_of(200, weights)
    (network,) = trained(data, BASE, curves=True)
    x, y = data.part("validation")
    last = [record for record in network.curves or [] if record.part == "validation"][-1]
    alone = replace(
        data,
        x=np.concatenate([data.x[:200], x[30:]]),
        y=np.concatenate([data.y[:200], y[30:]]),
        sizes=data.sizes | {"validation": 30},
        weights=None,
    )
    (same,) = trained(alone, BASE, curves=True)  # equal weights of the training rows, without those of weight 1e-9
    expected = [record for record in same.curves or [] if record.part == "validation"][-1]
    assert network.selected_epoch > 0
    assert last.nll_base == pytest.approx(expected.nll_base, abs=0.2)
    assert network.best_value == pytest.approx(same.best_value, abs=0.2)


def test_weights_that_are_none_are_refused() -> None:
    for wrong in (0.0, -1.0, np.nan):
        weights = np.ones(260)
        weights[3] = wrong
        with pytest.raises(UserError, match="weights of rows must be finite"):
            trained(split_of(200, weights), BASE)
