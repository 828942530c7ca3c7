"""Figures 19 and 20: isotonic regression of Cohen's d on discreteness, and what is drawn of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from scipy import stats

from qrt_study.data.sheet import paper_datasets
from qrt_study.figures import style
from qrt_study.figures.discreteness import draw_discreteness
from qrt_study.statistics.discreteness import discreteness_statistics
from qrt_study.statistics.figure_statistics import FigureStatistics

METRICS = ["NLL", "PCE", "CRPS", "SD"]


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def per_dataset(levels: dict[str, float], values: dict[str, list[float]], method: str = "QRTC") -> pd.DataFrame:
    """The columns of `per_dataset` that count here."""
    return pd.DataFrame(
        [
            {"metric": metric, "method": method, "dataset": name, "cohens_d": d, "discreteness": level}
            for metric, of_metric in values.items()
            for (name, level), d in zip(levels.items(), of_metric, strict=True)
        ]
    )


def study() -> pd.DataFrame:
    """All datasets of the paper at their published levels; d falls with the level for NLL and rises for CRPS."""
    rng = np.random.default_rng(5)
    levels = {name: row.published.top10 for name, row in paper_datasets().items()}
    level = np.array(list(levels.values()))
    noise = rng.standard_t(2, (4, len(level)))
    means = [-1 - 8 * level, -2 + 0 * level, 3 * level**3, -0.4 + 0 * level]
    values = {m: list(mean + scatter) for m, mean, scatter in zip(METRICS, means, noise, strict=True)}
    return per_dataset(levels, values)


def draw(table: pd.DataFrame, method: str = "QRTC") -> Figure:
    statistics = FigureStatistics({"per_dataset": table, "isotonic": discreteness_statistics(table, method, METRICS)})
    with style.paper_style():
        figure = draw_discreteness(statistics, method=method, metrics=METRICS, title="against discreteness")
    return figure


def pooled_violators(y: list[float]) -> list[float]:
    """Increasing least squares by hand: pool neighbours until block means increase."""
    blocks: list[list[float]] = []
    for value in y:
        blocks.append([value])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return [float(np.mean(block)) for block in blocks for _ in block]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_fit_is_the_pooled_mean_of_adjacent_violators(values: list[float]) -> None:
    levels = {f"d{number}": number / 20 for number in range(len(values))}
    fit = discreteness_statistics(per_dataset(levels, {"NLL": values}), "QRTC", ["NLL"])
    assert list(fit["discreteness"]) == list(levels.values())
    sign = 1 if fit["direction"].iloc[0] == "increasing" else -1
    expected = sign * np.array(pooled_violators([sign * value for value in values]))
    np.testing.assert_allclose(fit["fitted"], expected, rtol=1e-9, atol=1e-6)


def test_direction_and_correlation_are_spearmans() -> None:
    table = study()
    fit = discreteness_statistics(table, "QRTC", METRICS)
    assert fit.groupby("metric")["direction"].first()[["NLL", "CRPS"]].tolist() == ["decreasing", "increasing"]
    for metric in METRICS:
        points, rows = table[table["metric"] == metric], fit[fit["metric"] == metric]
        rank_x, rank_y = (stats.rankdata(points[name]) for name in ("discreteness", "cohens_d"))
        rho = np.corrcoef(rank_x, rank_y)[0, 1]
        t = rho * np.sqrt((len(points) - 2) / (1 - rho**2))
        np.testing.assert_allclose(rows["spearman"], rho)
        np.testing.assert_allclose(rows["spearman_p"], 2 * stats.t.sf(abs(t), len(points) - 2))
        steps = np.diff(rows["fitted"]) * (1 if rho > 0 else -1)
        assert (steps >= -1e-12).all()


def test_datasets_of_one_level_share_one_fitted_value() -> None:
    table = per_dataset({"a": 1.0, "b": 1.0, "c": 0.2}, {"NLL": [4.0, 2.0, 1.0]})
    fit = discreteness_statistics(table, "QRTC", ["NLL"])
    assert fit[["discreteness", "fitted"]].to_numpy().tolist() == [[0.2, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("levels", "values"),
    [
        ([0.3], [1.5]),
        ([0.3, 0.6], [1.0, -1.0]),
        ([0.3, 0.3, 0.3], [1.0, 2.0, 4.0]),
        ([0.1, 0.2, 0.3], [0.0, 0.0, 0.0]),
        ([0.1, 0.2, 0.3, 1.0], [0.5, -1e6, 1e6, 2.0]),
    ],
    ids=["one dataset", "two", "equal levels", "equal values", "outliers"],
)
def test_awkward_points_are_fitted_and_drawn(levels: list[float], values: list[float]) -> None:
    table = per_dataset({f"d{n}": x for n, x in enumerate(levels)}, dict.fromkeys(METRICS, values))
    fit = discreteness_statistics(table, "QRTC", METRICS)
    assert np.isfinite(fit["fitted"]).all()
    assert fit["fitted"].between(min(values), max(values)).all()
    assert fit["spearman"].isna().all() == (len(set(levels)) == 1 or len(set(values)) == 1)
    draw(table).canvas.draw()


def test_values_that_are_not_finite_do_not_enter() -> None:
    levels = {"a": 0.1, "b": 0.2, "c": 0.3, "d": np.nan}
    fit = discreteness_statistics(per_dataset(levels, {"NLL": [1.0, np.nan, np.inf, 5.0]}), "QRTC", ["NLL"])
    assert fit[["discreteness", "fitted"]].to_numpy().tolist() == [[0.1, 1.0]]


def test_missing_method_gives_an_empty_table_and_panels_that_say_so() -> None:
    table = per_dataset({"a": 0.1}, {"NLL": [1.0]}, method="QRC")
    assert discreteness_statistics(table, "QRTC", METRICS).empty
    figure = draw(table)
    for axes, metric in zip(figure.axes, METRICS, strict=True):
        words = " ".join(axes.texts[0].get_text().split())
        assert words == f"no dataset has a Cohen's d of QRTC for {metric}"


def test_points_line_and_words_are_the_numbers_of_the_tables() -> None:
    table = study()
    fit = discreteness_statistics(table, "QRTC", METRICS)
    figure = draw(table)
    for axes, metric in zip(figure.axes, METRICS, strict=True):
        points, line = table[table["metric"] == metric], fit[fit["metric"] == metric]
        np.testing.assert_array_equal(
            np.asarray(axes.collections[0].get_offsets()), points[["discreteness", "cohens_d"]].to_numpy()
        )
        red = [artist for artist in axes.get_lines() if artist.get_color() == style.FIT]
        np.testing.assert_array_equal(red[0].get_xydata(), line[["discreteness", "fitted"]].to_numpy())
        rho = f"{line['spearman'].iloc[0]:.2f}".replace("-", "\N{MINUS SIGN}")
        assert any(f"ρ = {rho}" in text.get_text() for text in axes.texts)


def named_points(axes: Axes) -> list[Annotation]:
    """The labels of points in a panel."""
    return [text for text in axes.texts if isinstance(text, Annotation) and text.get_fontsize() == 5]


@pytest.mark.parametrize("long_names", [False, True])
def test_labels_do_not_touch_each_other_and_stay_inside(long_names: bool) -> None:
    table = study()
    if long_names:
        table["dataset"] = table["dataset"] + "_$and_a_very_long_ending"
    figure = draw(table)
    assert isinstance(figure.canvas, FigureCanvasAgg)
    figure.canvas.draw()  # labels were placed before: they must stand where they stood then
    renderer = figure.canvas.get_renderer()
    for axes in figure.axes:
        boxes = [label.get_window_extent(renderer) for label in named_points(axes)]
        assert boxes
        assert not any(one.overlaps(two) for one, two in combinations(boxes, 2))
        panel = axes.get_window_extent(renderer)
        assert all(panel.x0 <= box.x0 and box.x1 <= panel.x1 for box in boxes)


def test_largest_effect_is_labelled() -> None:
    table = study()
    worst = table["cohens_d"].where(table["metric"] == "NLL").abs().idxmax()
    table.loc[worst, "cohens_d"] *= 30
    labels = [label.get_text() for label in named_points(draw(table).axes[0])]
    assert style.short_name(str(table.loc[worst, "dataset"])) in labels
