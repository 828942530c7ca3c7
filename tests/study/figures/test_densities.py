"""Figures 23 to 28: which predictions belong to BASE, QRC and QRTC, and how they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from scipy import stats

from qrt_study.figures import style
from qrt_study.figures.densities import draw_densities, panel_height
from qrt_study.results.tables import METHODS, PREDICTIONS, as_table
from qrt_study.statistics.densities import density_statistics

# The network and reading of each method; QRTC as in the protocol `paper` with b = 0.05.
READINGS: dict[str, dict[str, Any]] = {
    "BASE": {"variant": "base", "posthoc_map": "none"},
    "QRC": {"variant": "plain", "kernel_width": "variance", "posthoc_map": "REFL", "posthoc_bandwidth": 0.1},
    "QRTC": {"variant": "qrt_b0.05", "kernel_width": "variance", "posthoc_map": "REFL", "posthoc_bandwidth": 0.05},
}
# Other readings of the same networks, which no method is.
OTHERS = [
    {"variant": "plain", "posthoc_map": "none"},
    READINGS["QRC"] | {"kernel_width": "scale"},
    READINGS["QRTC"] | {"posthoc_bandwidth": 0.1},
    READINGS["QRTC"] | {"posthoc_on": "training_map"},
    READINGS["QRTC"] | {"posthoc_map": "KDE"},
    READINGS["QRTC"] | {"variant": "qrt_b0.2"},
]
SPREAD = {"BASE": 1.0, "QRC": 1.2, "QRTC": 0.7}


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def place(reading: dict[str, Any], dataset: str, split: int) -> dict[str, Any]:
    return {"dataset": dataset, "split": split, "posthoc_on": "base"} | reading


def predicted(
    reading: dict[str, Any], spread: float, dataset: str = "abalone", split: int = 0, targets: int = 5
) -> list[dict[str, Any]]:
    """Normal densities N(row, spread) on a grid, with targets 0.5 above the mean."""
    return [
        place(reading, dataset, split)
        | {
            "row": row,
            "target": row + 0.5,
            "nll": -stats.norm.logpdf(0.5, 0, spread),
            "y": y,
            "density": stats.norm.pdf(y, row, spread),
        }
        for row in range(targets)
        for y in np.linspace(row - 4, row + 4, 41)
    ]


def frames(
    spreads: dict[str, float], dataset: str = "abalone", failed: dict[str, str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Tables `predictions` and `methods`; readings of no method are in between, with a spread no method has."""
    rows = [row for reading in OTHERS for row in predicted(reading, 9.0, dataset)]
    methods = []
    for method, reading in READINGS.items():
        status = {"status": "ok", "reason": ""}
        if method in (failed or {}):
            status = {"status": "diverged", "reason": (failed or {})[method]}
        elif method in spreads:
            rows += predicted(reading, spreads[method], dataset)
        methods += [place(reading, dataset, s) | status | {"experiment": "main", "method": method} for s in (1, 0)]
    # Another base model and another split, which the figures do not show.
    methods.append(place(OTHERS[0], dataset, 0) | {"status": "ok", "experiment": "main_mlp_1", "method": "BASE"})
    rows += predicted(READINGS["BASE"], 9.0, dataset, split=1)
    return as_table(rows, PREDICTIONS).to_pandas(), as_table(methods, METHODS).to_pandas()


def draw(predictions: pd.DataFrame, methods: pd.DataFrame, dataset: str = "abalone") -> Figure:
    with style.paper_style():
        statistics = density_statistics(predictions, methods, dataset)
        figure = draw_densities(statistics, dataset=dataset, title=f"predictive densities on {dataset}")
    return figure


def words(figure: Figure) -> str:
    texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
    return " ".join(" ".join(text.get_text() for text in texts).split())


def test_each_method_has_the_densities_of_its_own_network_and_reading() -> None:
    statistics = density_statistics(*frames(SPREAD), "abalone")
    densities, instances = statistics.tables["densities"], statistics.tables["instances"]
    assert list(densities.columns) == ["dataset", "row", "method", "y", "density"]
    assert list(instances.columns) == ["dataset", "row", "method", "target", "nll"]
    assert len(densities) == 3 * 5 * 41
    assert len(instances) == 3 * 5
    spread = densities["method"].map(SPREAD)
    np.testing.assert_allclose(densities["density"], stats.norm.pdf(densities["y"], densities["row"], spread))
    np.testing.assert_allclose(instances["nll"], -stats.norm.logpdf(0.5, 0, instances["method"].map(SPREAD)))
    assert (statistics.datasets, statistics.asked, statistics.left_out) == (("abalone",), 1, ())


def test_readings_of_the_released_protocol_are_found() -> None:
    predictions, methods = frames(SPREAD)
    released = (methods["method"] == "QRTC").to_numpy()
    methods.loc[released, "posthoc_on"] = "training_map"
    densities = density_statistics(predictions, methods, "abalone").tables["densities"]
    of_method = densities[densities["method"] == "QRTC"]
    np.testing.assert_allclose(of_method["density"], stats.norm.pdf(of_method["y"], of_method["row"], 9.0))


def test_method_without_predictions_is_left_out_with_its_reason() -> None:
    predictions, methods = frames(SPREAD, failed={"QRC": "loss is NaN"})
    statistics = density_statistics(predictions, methods, "abalone")
    assert [(entry.what, entry.reason) for entry in statistics.left_out] == [
        ("QRC on abalone", "diverged: loss is NaN")
    ]
    assert set(statistics.tables["densities"]["method"]) == {"BASE", "QRTC"}
    assert "QRC on abalone: diverged: loss is NaN" in words(draw(predictions, methods))


def test_method_outside_the_study_is_left_out() -> None:
    predictions, methods = frames(SPREAD)
    statistics = density_statistics(predictions, methods[methods["method"] != "QRTC"], "abalone")
    assert [(entry.what, entry.reason) for entry in statistics.left_out] == [("QRTC on abalone", "not run yet")]
    figure = draw(predictions, methods[methods["method"] != "QRTC"])
    assert len(figure.axes) == 2 * 5
    assert "QRTC" not in words(figure)


def test_dataset_without_data_gives_a_figure_that_says_so() -> None:
    predictions, methods = frames(SPREAD)
    unavailable = methods.assign(dataset="space_ga", status="unavailable", reason="no source had it")
    figure = draw(predictions, unavailable, "space_ga")
    assert "space_ga: unavailable: no source had it" in words(figure)
    statistics = density_statistics(predictions, unavailable, "space_ga")
    assert statistics.tables["densities"].empty
    assert [entry.what for entry in statistics.left_out] == ["space_ga"]
    assert "not run yet" in words(draw(predictions, methods, "yprop_4_1"))


def test_curves_targets_and_nll_are_the_numbers_of_the_tables() -> None:
    predictions, methods = frames(SPREAD)
    tables = density_statistics(predictions, methods, "abalone").tables
    figure = draw(predictions, methods)
    assert len(figure.axes) == 15
    for number, axes in enumerate(figure.axes):
        method, row = list(SPREAD)[number // 5], number % 5
        curve, mark = (table[(table["method"] == method) & (table["row"] == row)] for table in tables.values())
        nll, realised = mark["nll"].item(), mark["target"].item()
        line, target, point = axes.get_lines()
        np.testing.assert_array_equal(line.get_xydata(), curve[["y", "density"]].to_numpy())
        assert to_hex(line.get_color()) == style.colour(method)
        assert set(np.asarray(target.get_xdata())) == {realised}
        np.testing.assert_allclose(np.asarray(point.get_xydata(), dtype=float), [[realised, np.exp(-nll)]])
        assert axes.get_title(loc="left") == f"NLL {nll:.2f}"


def test_panels_of_a_column_have_common_limits_that_hold_the_target() -> None:
    predictions, methods = frames(SPREAD)
    predictions.loc[predictions["row"] == 2, "target"] = 40.0
    panels = np.array(draw(predictions, methods).axes).reshape(3, 5)
    for column in panels.T:
        assert len({axes.get_xlim() for axes in column}) == 1
        assert len({axes.get_ylim() for axes in column}) == 1
    assert panels[0, 2].get_xlim()[1] > 40
    assert panels[0, 1].get_xlim()[1] < 6


def test_height_shows_all_peaks_unless_one_would_flatten_another() -> None:
    def curves(*peaks: float) -> pd.DataFrame:
        return pd.DataFrame({"method": [f"m{n}" for n in range(len(peaks))], "density": peaks})

    assert panel_height(curves(1.0, 2.0, 3.0)) == pytest.approx(1.06 * 3)
    assert panel_height(curves(1.0, 2.0, 1e6)) == pytest.approx(1.06 * 4)
    assert panel_height(curves(1.0, np.inf, np.nan)) == pytest.approx(1.06)
    assert panel_height(curves(np.nan, 0.0)) == 1


@pytest.mark.parametrize("spread", [1e-6, 1e-3])
def test_cut_peak_is_written_down(spread: float) -> None:
    predictions, methods = frames(SPREAD | {"QRTC": spread})
    panels = np.array(draw(predictions, methods).axes).reshape(3, 5)
    assert panels[2, 0].get_title(loc="right") == f"peak {stats.norm.pdf(0) / spread:.3g} ↑"
    assert panels[0, 0].get_title(loc="right") == ""
    assert panels[2, 0].get_ylim()[1] < 2


def test_densities_that_are_not_finite_are_drawn_as_far_as_they_are() -> None:
    predictions, methods = frames(SPREAD)
    qrtc = predictions["variant"] == "qrt_b0.05"
    predictions.loc[qrtc & (predictions["row"] == 0), "density"] = np.nan
    predictions.loc[qrtc & (predictions["row"] == 1) & (predictions["y"] == 1.0), "density"] = np.inf
    predictions.loc[qrtc, "nll"] = -1e4
    draw(predictions, methods).canvas.draw()


def test_long_names_and_one_row_are_drawn() -> None:
    name = "a_$very_long_name_of_a_dataset_" * 4
    predictions, methods = frames(SPREAD, dataset=name)
    figure = draw(predictions[predictions["row"] == 0], methods, name)
    assert len(figure.axes) == 3
    figure.canvas.draw()
