from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import special, stats
from torch import Tensor

from qrt.engine import mixture as gaussian
from qrt.engine.calibration_error import pce_levels, pce_sorted
from qrt.engine.calibration_map import CalibrationMap, fit_map, fit_maps
from qrt.engine.evaluation import (
    calibration_pits,
    diverged,
    evaluate,
    evaluate_chains,
    evaluate_many_rows,
    post_hoc_maps,
)
from qrt.engine.kernel import kernel_scale
from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution, predictive_from_outputs
from qrt.engine.registry import MAP_NAMES, METRICS, MapName
from qrt.errors import UserError

ROWS = 300


def some_outputs(seed: int, components: int = 3, rows: int = ROWS) -> Tensor:
    return torch.randn(rows, 3 * components, generator=torch.Generator().manual_seed(seed))


def some_targets(seed: int, rows: int = ROWS) -> Tensor:
    return 1.5 * torch.randn(rows, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def recalibrated(name: MapName = "REFL", bandwidth: float = 0.1) -> tuple[CalibrationMap, ...]:
    return post_hoc_maps(predictive_from_outputs(some_outputs(0)), some_targets(1), name, bandwidth, "variance")


def standard_normals(rows: int) -> GaussianMixture:
    zeros = torch.zeros(rows, 1, dtype=torch.float64)
    return GaussianMixture(zeros, zeros + 1, zeros)


@pytest.mark.parametrize("maps", [(), recalibrated("REFL"), recalibrated("TRUNC"), recalibrated("KDE", 0.01)])
def test_metrics_are_equivariant_to_a_change_of_the_targets_scale(maps: tuple[CalibrationMap, ...]) -> None:
    shift, scale = 1234.5, 37.0
    outputs, y = some_outputs(2), some_targets(3)
    plain = evaluate(predictive_from_outputs(outputs, maps=maps), y)
    changed = evaluate(predictive_from_outputs(outputs, shift, scale, maps), shift + scale * y)
    assert tuple(plain) == tuple(changed) == tuple(METRICS)
    assert all(math.isfinite(value) for value in plain.values())
    for name in ("nll", "nll_batched"):
        assert changed.pop(name) == pytest.approx(plain.pop(name) + math.log(scale), rel=1e-11)
    for name, value in plain.items():
        factor = 1 if name.startswith(("pce", "coverage", "pit")) else scale
        assert changed[name] == pytest.approx(factor * value, rel=1e-9), name


@pytest.mark.parametrize("width", ["variance", "scale"])
def test_nll_of_the_recalibrated_model_is_the_nll_of_the_base_plus_the_entropy_of_the_pits(
    width: str,
) -> None:
    calibration, base = predictive_from_outputs(some_outputs(0)), predictive_from_outputs(some_outputs(2))
    y = some_targets(3)
    maps = post_hoc_maps(calibration, some_targets(1), "REFL", 0.1, width)  # type: ignore[arg-type]
    centres, z = calibration.pit(some_targets(1)).numpy(), base.pit(y).numpy()[:, None]
    scale = kernel_scale(0.1, ROWS, width)  # type: ignore[arg-type]
    images = np.concatenate([centres, -centres, 2 - centres])
    log_phi = special.logsumexp(stats.logistic.logpdf(z, images, scale), axis=1) - math.log(ROWS)
    found = evaluate(PredictiveDistribution(base.mixture, maps), y)["nll"]
    assert found == pytest.approx(evaluate(base, y)["nll"] - np.mean(log_phi), rel=1e-12)


def test_density_of_the_recalibrated_model_integrates_to_one_and_to_its_pit() -> None:
    predictive = predictive_from_outputs(some_outputs(2, rows=1), maps=recalibrated())
    grid = torch.linspace(-30, 30, 60_001, dtype=torch.float64)
    rows = PredictiveDistribution(
        GaussianMixture(*(v.expand(len(grid), -1) for v in predictive.mixture)), recalibrated()
    )
    log_density, pit = rows.log_density_and_pit(grid)
    density = log_density.exp().numpy()
    cumulative = np.concatenate([[0], np.cumsum(0.5 * (density[1:] + density[:-1]) * 1e-3)])
    assert cumulative[-1] == pytest.approx(1, abs=1e-6)
    assert pit.numpy() == pytest.approx(cumulative, abs=1e-5)
    assert torch.equal(rows.pit(grid), pit)


@pytest.mark.parametrize("names", [(), ("REFL",), ("TRUNC",), ("REFL", "REFL"), ("REFL", "KDE")])
def test_pit_of_a_quantile_is_its_level(names: tuple[MapName, ...]) -> None:
    maps: tuple[CalibrationMap, ...] = ()
    for seed, name in enumerate(names):
        predictive = predictive_from_outputs(some_outputs(seed), maps=maps)
        maps = post_hoc_maps(predictive, some_targets(seed + 10), name, 0.05 + 0.1 * seed, "variance")
    predictive = predictive_from_outputs(some_outputs(5), 10.0, 3.0, maps)
    levels = torch.tensor([0.05, 0.3, 0.5, 0.95], dtype=torch.float64)
    quantiles = predictive.quantile(levels)
    for column, level in enumerate(levels.tolist()):
        assert predictive.pit(quantiles[:, column]).numpy() == pytest.approx(level, abs=1e-9)


def test_post_hoc_step_follows_both_readings_of_the_paper() -> None:
    outputs, y = some_outputs(0), some_targets(1)
    training_map = fit_map("REFL", torch.rand(100, generator=torch.Generator().manual_seed(7)) ** 2, 0.05)
    base = predictive_from_outputs(outputs)
    points = torch.linspace(0, 1, 20, dtype=torch.float64)

    (paper,) = post_hoc_maps(base, y, "REFL", 0.1, "scale")
    on_base = fit_map("REFL", gaussian.cdf(base.mixture, y), 0.1, "scale")
    assert torch.equal(paper.cdf(points), on_base.cdf(points))

    with_training_map = PredictiveDistribution(base.mixture, (training_map,))
    inner, released = post_hoc_maps(with_training_map, y, "REFL", 0.1, "scale")
    on_top = fit_map("REFL", training_map.cdf(gaussian.cdf(base.mixture, y)), 0.1, "scale")
    assert inner is training_map
    assert torch.equal(released.cdf(points), on_top.cdf(points))
    assert not torch.allclose(released.cdf(points), paper.cdf(points), atol=1e-3)


@pytest.mark.parametrize("name", MAP_NAMES)
def test_post_hoc_step_calibrates_the_rows_it_was_fitted_to(name: MapName) -> None:
    outputs, y = some_outputs(0), some_targets(1)
    before = evaluate(predictive_from_outputs(outputs), y)
    after = evaluate(predictive_from_outputs(outputs, maps=recalibrated(name, 0.02)), y)
    assert after["pce_levels"] < 0.3 * before["pce_levels"]
    assert after["pce_sorted"] < 0.3 * before["pce_sorted"]


def test_metrics_of_the_true_model_are_those_of_the_normal_distribution() -> None:
    y = torch.from_numpy(np.random.default_rng(0).normal(size=4000))
    found = evaluate(PredictiveDistribution(standard_normals(4000)), y)
    values = y.numpy()
    assert found["nll"] == pytest.approx(-stats.norm.logpdf(values).mean(), rel=1e-12)
    assert found["sd"] == pytest.approx(1, rel=1e-6)
    assert found["sd_released"] == pytest.approx(1, rel=1e-12)
    assert found["length_90"] == pytest.approx(2 * stats.norm.ppf(0.95), rel=1e-12)
    assert found["coverage_90"] == np.mean(np.abs(values) <= stats.norm.ppf(0.95))
    assert found["rmse"] == pytest.approx(math.sqrt(np.mean(values**2)), rel=1e-6)
    assert found["mae"] == pytest.approx(np.mean(np.abs(values)), rel=1e-9)
    z = np.abs(values)
    crps = values * (2 * stats.norm.cdf(values) - 1) + 2 * stats.norm.pdf(z) - 1 / math.sqrt(math.pi)
    assert found["crps"] == pytest.approx(crps.mean(), rel=1e-6)
    assert found["crps_wis"] == pytest.approx(crps.mean(), rel=0.1)
    assert found["pce_levels"] < 0.02


def test_one_estimator_of_sd_serves_all_methods_and_the_released_one_favours_the_post_hoc_step() -> None:
    y = torch.zeros(5, dtype=torch.float64)
    identity = fit_map("REFL", torch.arange(1, 2000, dtype=torch.float64) / 2000, 0.05)
    base = evaluate(PredictiveDistribution(standard_normals(5)), y)
    same = evaluate(PredictiveDistribution(standard_normals(5), (identity,)), y)
    assert same["sd"] == pytest.approx(base["sd"], rel=3e-3)
    assert base["sd_released"] == pytest.approx(1, rel=1e-12)
    assert same["sd_released"] == pytest.approx(np.std(stats.norm.ppf(np.arange(1, 20) / 20), ddof=1), rel=1e-2)
    assert same["sd_released"] < 0.95 * base["sd_released"]


@pytest.mark.parametrize("name", ["EMP", "DCP"])
def test_step_maps_have_every_metric_but_the_nll(name: MapName) -> None:
    found = evaluate(predictive_from_outputs(some_outputs(2), maps=recalibrated(name)), some_targets(3))
    assert math.isnan(found.pop("nll"))
    assert math.isnan(found.pop("nll_batched"))
    assert all(math.isfinite(value) for value in found.values())


def test_mass_outside_the_unit_interval_is_not_hidden() -> None:
    y = some_targets(3)
    kde = evaluate(predictive_from_outputs(some_outputs(2), maps=recalibrated("KDE", 2.0)), y)
    trunc = evaluate(predictive_from_outputs(some_outputs(2), maps=recalibrated("TRUNC", 2.0)), y)
    assert kde["crps_wis"] == kde["length_90"] == math.inf
    # These do not exist with mass at infinity; they are given on condition of a finite value.
    for name in ("crps", "sd", "rmse"):
        assert kde[name] == pytest.approx(trunc[name], rel=1e-7)


def test_a_target_forty_standard_deviations_away_has_finite_metrics() -> None:
    y = torch.tensor([40.0, -40.0], dtype=torch.float64)
    maps = (fit_map("REFL", torch.rand(50, generator=torch.Generator().manual_seed(0)), 0.01),)
    for predictive in (
        PredictiveDistribution(standard_normals(2)),
        PredictiveDistribution(standard_normals(2), maps),
    ):
        found = evaluate(predictive, y)
        assert all(math.isfinite(value) for value in found.values())
        assert found["nll"] == pytest.approx(800 + 0.5 * math.log(2 * math.pi), rel=0.2)


def chains_of_a_network() -> list[tuple[CalibrationMap, ...]]:
    """What a trained network is read with: no map, its training map, and post-hoc maps on either."""
    training_map = fit_map("REFL", torch.rand(400, generator=torch.Generator().manual_seed(7)) ** 1.3, 0.05)
    chains: list[tuple[CalibrationMap, ...]] = [(), (training_map,)]
    for below in ((), (training_map,)):
        calibration = predictive_from_outputs(some_outputs(0), maps=below)
        for name in MAP_NAMES:
            for bandwidth in (0.02, 0.1):
                chains.append(post_hoc_maps(calibration, some_targets(1), name, bandwidth, "variance"))
    return chains


@pytest.mark.parametrize("components", [1, 10])
def test_metrics_of_a_chain_depend_on_the_others_by_rounding_only(components: int) -> None:
    mixture, y = predictive_from_outputs(some_outputs(2, components)).mixture, some_targets(3)
    chains = chains_of_a_network()
    together = evaluate_chains(mixture, chains, y)
    backwards = evaluate_chains(mixture, chains[::-1], y)[::-1]
    for maps, found, other in zip(chains, together, backwards, strict=True):
        alone = evaluate(PredictiveDistribution(mixture, maps), y)
        assert found == pytest.approx(alone, rel=1e-12, nan_ok=True)
        assert found == pytest.approx(other, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("below", [(), ("REFL",), ("KDE",)])
def test_metrics_of_trunc_are_the_same_with_and_without_the_work_of_kde(below: tuple[MapName, ...]) -> None:
    predictive, y = predictive_from_outputs(some_outputs(2)), some_targets(3)
    inner = tuple(fit_map(name, torch.rand(200, generator=torch.Generator().manual_seed(7))) for name in below)
    pits = calibration_pits(predictive_from_outputs(some_outputs(0), maps=inner), some_targets(1))
    alone = [(*inner, fit_map(name, pits, 0.2, "scale")) for name in ("TRUNC", "KDE")]
    shared = [(*inner, one) for one in fit_maps(("TRUNC", "KDE"), pits, 0.2, "scale").values()]
    for evaluated in (evaluate_chains, evaluate_many_rows):
        for one, other in zip(*(evaluated(predictive.mixture, chains, y) for chains in (alone, shared)), strict=True):
            assert one == pytest.approx(other, rel=1e-9, nan_ok=True)


def test_metrics_on_many_rows_are_close_to_the_exact_ones() -> None:
    rows = 4000
    mixture, y = predictive_from_outputs(some_outputs(2, rows=rows)).mixture, some_targets(3, rows)
    chains = [maps for maps in chains_of_a_network() if not any(m.name in ("EMP", "DCP") for m in maps)]
    for maps, found in zip(chains, evaluate_many_rows(mixture, chains, y), strict=True):
        log_density, pit = PredictiveDistribution(mixture, maps).log_density_and_pit(y)
        assert found["nll"] == pytest.approx(float(-log_density.mean()), abs=1e-6)
        assert found["pce_sorted"] == pytest.approx(float(pce_sorted(pit)), abs=1e-7)
        assert found["pce_levels"] == pytest.approx(float(pce_levels(pit)), abs=2 / (100 * rows))


def test_batched_metrics_are_plain_means_over_batches_of_512_rows_in_their_order() -> None:
    rows = 2 * 512 + 100
    predictive = predictive_from_outputs(some_outputs(2, rows=rows), maps=recalibrated())
    y = some_targets(3, rows) + torch.linspace(-1, 1, rows, dtype=torch.float64)  # so that batches differ
    whole = evaluate(predictive, y)
    batches = []
    for first, last in ((0, 512), (512, 1024), (1024, 1124)):
        part = GaussianMixture(*(values[first:last] for values in predictive.mixture))
        batches.append(evaluate(PredictiveDistribution(part, predictive.maps), y[first:last]))
    for name in ("nll", "pce_levels", "pce_sorted", "crps_wis"):
        by_hand = (batches[0][name] + batches[1][name] + batches[2][name]) / 3
        assert whole[f"{name}_batched"] == pytest.approx(by_hand, rel=1e-12)
        assert whole[f"{name}_batched"] != pytest.approx(whole[name], rel=1e-3)
        assert batches[0][f"{name}_batched"] == pytest.approx(batches[0][name], rel=1e-14)


def test_order_of_rows_does_not_matter() -> None:
    outputs, y = some_outputs(2), some_targets(3)
    order = torch.randperm(ROWS, generator=torch.Generator().manual_seed(0))
    one = evaluate(predictive_from_outputs(outputs, maps=recalibrated()), y)
    other = evaluate(predictive_from_outputs(outputs[order], maps=recalibrated()), y[order])
    assert other == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize(
    ("nll", "expected"),
    [(0.5, False), (999.9, False), (1000.0, True), (math.inf, True), (-math.inf, True), (math.nan, True)],
)
def test_a_run_is_diverged_if_its_nll_is_not_finite_or_reaches_1000(nll: float, expected: bool) -> None:
    assert diverged(nll) is expected


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_targets_that_are_not_finite_are_refused(bad: float) -> None:
    y = some_targets(3)
    y[7] = bad
    predictive = predictive_from_outputs(some_outputs(2))
    with pytest.raises(UserError, match="1 of 300"):
        evaluate(predictive, y)
    with pytest.raises(UserError, match="finite"):
        post_hoc_maps(predictive, y, "REFL", 0.1, "variance")


def test_outputs_that_are_not_finite_are_refused() -> None:
    outputs = some_outputs(2)
    outputs[3, 4] = math.nan
    with pytest.raises(UserError, match="1 of 300"):
        predictive_from_outputs(outputs)


def test_no_rows_and_mismatched_rows_are_refused() -> None:
    with pytest.raises(UserError, match="no rows"):
        evaluate(predictive_from_outputs(some_outputs(0, rows=0)), torch.zeros(0))
    with pytest.raises(ValueError, match="300 predictive"):
        evaluate(predictive_from_outputs(some_outputs(0)), torch.zeros(299))


@pytest.mark.parametrize("y_scale", [0.0, -1.0, math.nan])
def test_a_constant_target_is_refused(y_scale: float) -> None:
    with pytest.raises(UserError, match="scale"):
        predictive_from_outputs(some_outputs(0), 0.0, y_scale)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 2.0, math.nan])
def test_quantile_levels_outside_the_open_unit_interval_are_refused(level: float) -> None:
    with pytest.raises(UserError, match="level"):
        predictive_from_outputs(some_outputs(0), maps=recalibrated()).quantile(torch.tensor([0.5, level]))
