from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats
from torch import Tensor

from qrt.engine.calibration_map import CalibrationMap, KernelMap, fit_map, fit_maps, reflected_map
from qrt.engine.kernel import kernel_scale
from qrt.engine.registry import MAP_NAMES, MapName
from qrt.errors import UserError

KERNEL_MAPS: tuple[MapName, ...] = ("KDE", "TRUNC", "REFL")
STEP_MAPS: tuple[MapName, ...] = ("EMP", "DCP")


def some_pits(kind: str, count: int = 200) -> Tensor:
    generator = np.random.default_rng(0)
    shapes = {
        "uniform": lambda: generator.uniform(size=count),
        "u-shaped": lambda: generator.beta(0.4, 0.5, size=count),
        "at one end": lambda: generator.beta(1, 60, size=count),
        "ties": lambda: generator.choice([0.0, 0.2, 0.2, 0.7, 1.0], size=count),
        "all equal": lambda: np.full(count, 0.37),
    }
    return torch.from_numpy(shapes[kind]())


PIT_KINDS = ["uniform", "u-shaped", "at one end", "ties", "all equal"]


def plain_cdf_and_log_density(name: str, pits: Tensor, scale: float, points: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The formulas of docs/protocol.md, section 3, term by term, with scipy."""
    z, x = pits.numpy(), points.numpy()

    def cumulative(at: np.ndarray) -> np.ndarray:
        return special.expit((at[:, None] - z) / scale).mean(axis=1)

    def log_density(at: np.ndarray) -> np.ndarray:
        return special.logsumexp(stats.logistic.logpdf(at[:, None], z, scale), axis=1) - math.log(len(z))

    if name == "REFL":
        terms = np.stack([log_density(x), log_density(-x), log_density(2 - x)])
        return cumulative(x) - cumulative(-x) + 1 - cumulative(2 - x), special.logsumexp(terms, axis=0)
    if name == "TRUNC":
        low, high = cumulative(np.array([0.0, 1.0]))
        return (cumulative(x) - low) / (high - low), log_density(x) - math.log(high - low)
    return cumulative(x), log_density(x)


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 1.0])
def test_kernel_maps_agree_with_the_formulas_of_the_paper(name: MapName, kind: str, bandwidth: float) -> None:
    pits = some_pits(kind)
    points = torch.cat([torch.linspace(0, 1, 301, dtype=torch.float64), pits[:20]])
    fitted = fit_map(name, pits, bandwidth, "scale")
    cumulative, log_density = plain_cdf_and_log_density(name, pits, kernel_scale(bandwidth, len(pits), "scale"), points)
    assert fitted.cdf(points).numpy() == pytest.approx(cumulative, rel=0, abs=1e-12)
    # With b = 0.01 some points are hundreds of kernel scales from the next PIT: densities below 1e-100.
    assert fitted.log_density(points).numpy() == pytest.approx(log_density, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.05, 0.2])
@pytest.mark.parametrize("gap", [False, True])
def test_shortcuts_for_many_points_and_centres_change_nothing(name: MapName, bandwidth: float, gap: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    pits, points = (torch.rand(n, generator=generator, dtype=torch.float64) for n in (2048, 700))
    if gap:  # no PITs between 0.2 and 0.8, where points are up to hundreds of scales from the next
        pits = torch.where(pits < 0.5, 0.4 * pits, 0.6 + 0.4 * pits)
    fitted = fit_map(name, pits, bandwidth, "variance")
    scale = kernel_scale(bandwidth, 2048, "variance")
    cumulative, log_density = plain_cdf_and_log_density(name, pits, scale, points)
    assert fitted.cdf(points).numpy() == pytest.approx(cumulative, rel=0, abs=2e-14)
    assert fitted.log_density(points).numpy() == pytest.approx(log_density, rel=1e-13, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    pits=st.lists(st.floats(0, 1), min_size=1, max_size=30),
    name=st.sampled_from(MAP_NAMES),
    bandwidth=st.floats(0.01, 0.3),
)
def test_every_map_is_monotone_from_zero_to_one(pits: list[float], name: MapName, bandwidth: float) -> None:
    fitted = fit_map(name, torch.tensor(pits, dtype=torch.float64), bandwidth)
    values = fitted.cdf(torch.linspace(0, 1, 500, dtype=torch.float64))
    assert (values.diff() >= -1e-12).all()
    assert values.min() >= 0
    assert values.max() <= 1
    if name in ("TRUNC", "REFL"):
        # What one reflection misses is about exp(-1/s).
        missed = math.exp(-1 / kernel_scale(bandwidth, len(pits), "variance")) if name == "REFL" else 0
        assert values[0].item() == pytest.approx(0, abs=1e-12 + missed)
        assert values[-1].item() == pytest.approx(1, abs=1e-12 + missed)
    if name == "EMP":
        assert values[-1] == 1
    if name == "DCP":
        assert values[-1].item() == pytest.approx(len(pits) / (len(pits) + 1), rel=1e-14)


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.02, 0.1, 0.2])
def test_density_of_a_kernel_map_is_the_derivative_of_its_cdf(name: MapName, kind: str, bandwidth: float) -> None:
    fitted = fit_map(name, some_pits(kind), bandwidth)
    nodes, weights = np.polynomial.legendre.leggauss(8)
    edges = torch.linspace(0, 1, 801, dtype=torch.float64)
    points = edges[:-1, None] + (torch.from_numpy(nodes) + 1) / 1600
    mass = (fitted.log_density(points.flatten()).exp().reshape(800, 8) * torch.from_numpy(weights)).sum(1) / 1600
    assert mass.numpy() == pytest.approx(fitted.cdf(edges).diff().numpy(), abs=1e-9)
    if name != "KDE":
        assert mass.sum().item() == pytest.approx(1, abs=1e-8)
    else:
        assert mass.sum() < 1


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 1.0])
def test_inverse_of_a_kernel_map_inverts_it(name: MapName, kind: str, bandwidth: float) -> None:
    fitted = fit_map(name, some_pits(kind), bandwidth)
    levels = torch.tensor([1e-9, 0.01, 0.05, 0.3, 0.5, 0.77, 0.95, 0.999], dtype=torch.float64)
    points = fitted.inverse(levels)
    assert (points.diff() >= 0).all()
    low, high = fitted.cdf(torch.tensor([0.0, 1.0]))
    assert fitted.cdf(points).numpy() == pytest.approx(levels.clamp(low, high).numpy(), rel=0, abs=1e-12)


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [1e-4, 0.01, 0.1, 1.0])
def test_inverse_by_table_is_the_inverse(name: MapName, kind: str, bandwidth: float) -> None:
    fitted = fit_map(name, some_pits(kind), bandwidth)
    assert isinstance(fitted, KernelMap)
    levels = torch.cat([torch.tensor([0.0, 1e-9]), torch.linspace(0.001, 1, 300)]).double()
    by_table, expected = fitted.inverse(levels, by_table=True), fitted.inverse(levels)
    # Where the map is flat, points apart have the same level.
    same = (by_table - expected).abs() <= 1e-12
    flat = (fitted.cdf(by_table) - fitted.cdf(expected)).abs() <= 1e-15
    assert bool((same | flat).all())


@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 1.0])
def test_trunc_built_on_kde_is_that_of_its_own(kind: str, bandwidth: float) -> None:
    pits, points = some_pits(kind), torch.linspace(0, 1, 203, dtype=torch.float64)
    alone = fit_map("TRUNC", pits, bandwidth)
    fitted = fit_maps(("TRUNC", "KDE"), pits, bandwidth, "variance")
    together = fitted["TRUNC"]
    assert isinstance(together, KernelMap)
    assert isinstance(alone, KernelMap)
    assert (list(fitted), alone.plain, together.plain) == (["TRUNC", "KDE"], None, fitted["KDE"])
    by_plain = together.from_plain(*fitted["KDE"].log_density_and_cdf(points))
    tables = (one.tabulated_log_density_and_cdf(points) for one in (alone, together))
    for found, expected in ((by_plain, alone.log_density_and_cdf(points)), tables):
        torch.testing.assert_close(found[0], expected[0], rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(found[1], expected[1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", PIT_KINDS)
def test_step_maps_count_the_pits_up_to_a_point(kind: str) -> None:
    pits = some_pits(kind, 57)
    points = torch.cat([pits, torch.linspace(0, 1, 101, dtype=torch.float64)])
    counts = np.array([(pits.numpy() <= point).sum() for point in points.numpy()])
    assert fit_map("EMP", pits).cdf(points).numpy() == pytest.approx(counts / 57, rel=1e-15)
    assert fit_map("DCP", pits).cdf(points).numpy() == pytest.approx(counts / 58, rel=1e-15)


@pytest.mark.parametrize("name", STEP_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
def test_inverse_of_a_step_map_is_the_smallest_point_that_reaches_the_level(name: MapName, kind: str) -> None:
    pits = some_pits(kind, 57)
    fitted = fit_map(name, pits)
    steps = fitted.cdf(pits)
    levels = torch.cat([steps, torch.linspace(0.001, 0.999, 200, dtype=torch.float64)])
    for level, found in zip(levels.tolist(), fitted.inverse(levels).tolist(), strict=True):
        reaching = pits[steps >= level]
        assert found == (reaching.min().item() if len(reaching) else 1.0)
    assert fitted.inverse(torch.tensor([0.0])).item() == 0


def test_step_maps_have_no_density() -> None:
    for name in STEP_MAPS:
        assert fit_map(name, some_pits("uniform")).log_density(torch.rand(5)).isnan().all()


@pytest.mark.parametrize("name", MAP_NAMES)
def test_a_map_does_not_depend_on_the_order_of_pits_or_points(name: MapName) -> None:
    pits, points = some_pits("u-shaped"), torch.rand(150, generator=torch.Generator().manual_seed(1)).double()
    order = torch.randperm(150, generator=torch.Generator().manual_seed(2))
    one, other = fit_map(name, pits), fit_map(name, pits.flip(0))
    assert torch.equal(one.cdf(points)[order], other.cdf(points[order]))
    alone = torch.cat([one.cdf(point.reshape(1)) for point in points])
    assert torch.allclose(alone, one.cdf(points), rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", KERNEL_MAPS)
def test_pits_of_exactly_zero_and_one_have_finite_log_density(name: MapName) -> None:
    ends = torch.tensor([0.0, 1.0], dtype=torch.float64)
    for pits in (ends, some_pits("uniform"), torch.tensor([0.5])):
        assert fit_map(name, pits, 0.01).log_density(ends).isfinite().all()


def test_kde_loses_mass_at_both_ends_and_its_inverse_stops_there() -> None:
    fitted = fit_map("KDE", some_pits("uniform", 30), 0.5, "scale")
    low, high = fitted.cdf(torch.tensor([0.0, 1.0])).tolist()
    assert low > 0.05
    assert high < 0.95
    assert fitted.inverse(torch.tensor([0.05, 0.5, 0.95])).tolist()[::2] == [0.0, 1.0]


@pytest.mark.parametrize("name", MAP_NAMES)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 1.0])
def test_tabulated_cdf_is_within_1e_7_of_the_map(name: MapName, kind: str, bandwidth: float) -> None:
    fitted: CalibrationMap = fit_map(name, some_pits(kind), bandwidth, "scale")
    points = torch.cat([torch.tensor([0.0, 1.0]), torch.rand(2998, generator=torch.Generator().manual_seed(4))])
    points = points.double().reshape(60, 50)
    error = fitted.tabulated_cdf(points).flatten() - fitted.cdf(points.flatten())
    assert error.abs().max() < 1e-7


@pytest.mark.parametrize("name", KERNEL_MAPS)
@pytest.mark.parametrize("kind", PIT_KINDS)
@pytest.mark.parametrize("bandwidth", [0.01, 0.1, 1.0])
def test_tabulated_log_density_is_within_2e_5_of_the_maps_and_far_closer_in_the_mean(
    name: MapName, kind: str, bandwidth: float
) -> None:
    fitted = fit_map(name, some_pits(kind), bandwidth, "scale")
    points = torch.cat(
        [torch.tensor([0.0, 1.0]), torch.rand(4998, generator=torch.Generator().manual_seed(4))]
    ).double()
    log_density, cdf = fitted.tabulated_log_density_and_cdf(points)
    error = log_density - fitted.log_density(points)
    assert error.abs().max() < 2e-5
    assert error.mean().abs() < 1e-6
    assert torch.equal(cdf, fitted.tabulated_cdf(points))


@pytest.mark.parametrize(("bandwidth", "count"), [(0.1, 512), (0.01, 2048), (1.0, 1)])
def test_kernel_widths_are_those_of_the_spec(bandwidth: float, count: int) -> None:
    variance = bandwidth**2 * count ** (-2 / 5)
    assert stats.logistic(scale=kernel_scale(bandwidth, count, "variance")).var() == pytest.approx(variance, rel=1e-12)
    assert kernel_scale(bandwidth, count, "scale") == pytest.approx(bandwidth * count ** (-1 / 5), rel=1e-12)


def test_reflected_map_of_a_known_scale_is_the_fitted_one() -> None:
    pits, points = some_pits("uniform"), torch.linspace(0, 1, 50, dtype=torch.float64)
    known = reflected_map(pits, kernel_scale(0.1, len(pits), "variance"))
    assert torch.equal(known.log_density(points), fit_map("REFL", pits, 0.1, "variance").log_density(points))


@pytest.mark.parametrize("bandwidth", [0.0, -0.1, math.nan, math.inf])
def test_bandwidth_that_is_not_positive_and_finite_is_refused(bandwidth: float) -> None:
    with pytest.raises(UserError, match="bandwidth"):
        fit_map("REFL", some_pits("uniform"), bandwidth)


@pytest.mark.parametrize("name", MAP_NAMES)
def test_a_map_of_no_pits_is_refused(name: MapName) -> None:
    with pytest.raises(UserError, match="at least one PIT"):
        fit_map(name, torch.tensor([]))


@pytest.mark.parametrize("name", MAP_NAMES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.01, 1.01])
def test_numbers_that_are_no_pits_are_refused_everywhere(name: MapName, bad: float) -> None:
    values = torch.tensor([0.5, bad], dtype=torch.float64)
    with pytest.raises(UserError, match="PITs"):
        fit_map(name, values)
    fitted = fit_map(name, some_pits("uniform"))
    with pytest.raises(UserError, match="points"):
        fitted.cdf(values)
    with pytest.raises(UserError, match="levels"):
        fitted.inverse(values)


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"'SPLINE'.*REFL"):
        fit_map("SPLINE", some_pits("uniform"))  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"'wide'.*variance"):
        fit_map("REFL", some_pits("uniform"), 0.1, "wide")  # type: ignore[arg-type]


@pytest.mark.parametrize("centre", [0.3, 0.5, 0.7])
def test_tabulated_cdf_stays_in_the_unit_interval_where_the_map_is_flat(centre: float) -> None:
    # The interpolation between values of 1e-22 may fall below 0, which is no PIT any more.
    pits = centre + 0.01 * torch.linspace(-1, 1, 512, dtype=torch.float64)
    fitted = fit_map("REFL", pits, 0.05, "variance")
    values = fitted.tabulated_cdf(torch.linspace(0, 1, 20_001, dtype=torch.float64))
    assert bool(((values >= 0) & (values <= 1)).all())
