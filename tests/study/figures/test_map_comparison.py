"""Figure 11: the maps of simulated PITs, against closed forms, and what is drawn of them."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy import stats

from qrt.errors import UserError
from qrt_study.figures import style
from qrt_study.figures.calibration_maps import draw_calibration_maps, leaked_mass
from qrt_study.results.simulated_maps import map_comparison
from qrt_study.results.tables import MAPS, SAMPLE, as_table
from qrt_study.statistics.figure_statistics import FigureStatistics

WIDTHS = ("variance", "scale")


def tables(width: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The maps as a table, and the sample."""
    maps, sample = map_comparison(width)
    return as_table(maps, MAPS).to_pandas(), as_table(sample, SAMPLE).to_pandas()["z"].to_numpy()


def of_map(maps: pd.DataFrame, name: str, column: str) -> np.ndarray:
    return maps.loc[maps["map"] == name, column].to_numpy(float)


def kernel(width: str, n: int) -> float:
    """The logistic kernel's scale by hand (docs/protocol.md, row 2)."""
    return 0.1 * n**-0.2 * (math.sqrt(3) / math.pi if width == "variance" else 1)


@pytest.fixture(params=WIDTHS)
def width(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_sample_is_512_pits_of_the_beta_distribution_and_always_the_same() -> None:
    _, sample = tables("variance")
    assert len(sample) == 512
    assert stats.kstest(sample, stats.beta(0.2, 0.2).cdf).pvalue > 0.01
    np.testing.assert_array_equal(sample, tables("scale")[1])


def test_reflected_and_truncated_densities_integrate_to_one_and_kde_does_not(width: str) -> None:
    maps, _ = tables(width)
    z = of_map(maps, "REFL", "z")
    masses = {name: np.trapezoid(of_map(maps, name, "density"), z) for name in ("KDE", "TRUNC", "REFL")}
    assert masses["REFL"] == pytest.approx(1, abs=1e-4)
    assert masses["TRUNC"] == pytest.approx(1, abs=1e-4)
    assert masses["KDE"] == pytest.approx(1 - sum(leaked_mass(maps)), abs=1e-4)


def test_mass_of_kde_outside_the_unit_interval_is_that_of_the_logistic_kernels(width: str) -> None:
    maps, sample = tables(width)
    scale = kernel(width, len(sample))
    below, above = leaked_mass(maps)
    assert below == pytest.approx(stats.logistic.cdf(0, sample, scale).mean(), rel=1e-9)
    assert above == pytest.approx(stats.logistic.sf(1, sample, scale).mean(), rel=1e-9)
    assert below + above > 0.2  # much of the sample is at the ends


def test_maps_on_the_grid_are_the_closed_forms(width: str) -> None:
    maps, sample = tables(width)
    scale, z = kernel(width, len(sample)), of_map(maps, "EMP", "z")
    assert (z[0], z[-1]) == (0, 1)
    assert np.diff(z).min() > 0
    assert np.diff(z).max() <= 0.001 + 1e-12
    np.testing.assert_allclose(of_map(maps, "EMP", "cdf"), stats.ecdf(sample).cdf.evaluate(z))
    assert np.isnan(of_map(maps, "EMP", "density")).all()

    def density(x: np.ndarray) -> np.ndarray:
        return stats.logistic.pdf(x[:, None], sample, scale).mean(axis=1)

    np.testing.assert_allclose(of_map(maps, "KDE", "density"), density(z), rtol=1e-9)
    np.testing.assert_allclose(of_map(maps, "REFL", "density"), density(z) + density(-z) + density(2 - z), rtol=1e-9)
    np.testing.assert_allclose(of_map(maps, "TRUE", "cdf"), stats.beta.cdf(z, 0.2, 0.2))
    np.testing.assert_allclose(of_map(maps, "TRUE", "density"), stats.beta.pdf(z, 0.2, 0.2))


def test_unknown_kernel_width_is_named() -> None:
    with pytest.raises(UserError, match="'half' is unknown"):
        map_comparison("half")


def drawn() -> tuple[pd.DataFrame, np.ndarray, Figure]:
    maps, sample = tables("variance")
    statistics = FigureStatistics({"maps": maps, "sample": pd.DataFrame({"z": sample})})
    with style.paper_style():
        figure = draw_calibration_maps(statistics, title="maps")
        figure.canvas.draw()
    plt.close(figure)
    return maps, sample, figure


def labelled(axes: Axes) -> dict[str, np.ndarray]:
    """The named curves of a panel: (2, n)."""
    return {
        str(line.get_label()): np.array(line.get_data(), dtype=float)
        for line in axes.get_lines()
        if not str(line.get_label()).startswith("_")
    }


def test_curves_are_the_numbers_of_the_table() -> None:
    maps, sample, figure = drawn()
    cdf, _, pdf, _ = figure.axes
    curves, densities = labelled(cdf), labelled(pdf)
    assert set(curves) == {"true (Beta)", "EMP", "KDE", "TRUNC", "REFL"}
    assert set(densities) == {"true (Beta)", "KDE", "TRUNC", "REFL"}
    for name in ("KDE", "TRUNC", "REFL"):
        np.testing.assert_array_equal(curves[name], [of_map(maps, name, "z"), of_map(maps, name, "cdf")])
        np.testing.assert_array_equal(densities[name], [of_map(maps, name, "z"), of_map(maps, name, "density")])
    rug = [line for line in pdf.get_lines() if line.get_marker() == "|"]
    np.testing.assert_array_equal(rug[0].get_xdata(), sample)


def test_figure_states_the_mass_that_kde_leaks() -> None:
    maps, _, figure = drawn()
    below, above = leaked_mass(maps)
    words = " ".join(text.get_text() for text in figure.axes[1].texts)
    assert f"mass {below:.3f} below 0" in words
    assert f"{above:.3f} above 1" in words
