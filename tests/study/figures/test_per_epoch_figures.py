from __future__ import annotations

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from qrt_study import published
from qrt_study.data.sheet import paper_datasets
from qrt_study.figures.per_epoch import draw_decomposition, draw_per_epoch, value_limits
from qrt_study.figures.style import paper_style, short_name
from qrt_study.statistics.curves import curve_statistics
from qrt_study.statistics.figure_statistics import FigureStatistics
from support.per_epoch_tables import METRICS, PARTS, study

LONG_NAME = "a_dataset_with_a_very_long_name_and_$100"


@pytest.fixture(autouse=True)
def _in_the_papers_style() -> Iterator[None]:
    with paper_style():
        yield
    plt.close("all")


def statistics(curves: pd.DataFrame, methods: pd.DataFrame, *datasets: str) -> FigureStatistics:
    return curve_statistics(curves, methods, datasets, parts=PARTS, metrics=METRICS, pce_column="pce_levels")


def line(axes: Axes, gid: str) -> Line2D:
    """The one line that was drawn under this name."""
    found = [one for one in axes.get_lines() if one.get_gid() == gid]
    assert len(found) == 1, gid
    return found[0]


def gids(axes: Axes) -> set[str]:
    return {str(one.get_gid()) for one in axes.get_lines()}


def rows_of(table: pd.DataFrame, **values: str) -> pd.DataFrame:
    for column, value in values.items():
        table = table[table[column] == value]
    return table


def check_panel(axes: Axes, of: FigureStatistics, dataset: str, metric: str, part: str) -> None:
    """Every curve, bar and star of the panel is where the tables say."""
    place = {"dataset": dataset, "metric": metric, "part": part}
    for method in ("BASE", "QRT"):
        curve = rows_of(of.tables["curves"], method=method, **place)
        assert len(curve)
        points = np.array(line(axes, f"{method} curve of fewer runs").get_xydata()).reshape(-1, 2)
        fewer = curve[~curve["all_alive"]]
        np.testing.assert_array_equal(points[~np.isnan(points[:, 0])], fewer[["epoch", "mean"]])
        of_all = np.asarray(line(axes, f"{method} curve of all runs").get_ydata(), dtype=float)
        np.testing.assert_array_equal(of_all, curve["mean"].where(curve["all_alive"]))
        bar = rows_of(of.tables["selected"], method=method, **place).iloc[0]
        assert set(np.asarray(line(axes, f"{method} selected epoch").get_xdata())) == {bar["selected_epoch"]}
        assert set(np.asarray(line(axes, f"{method} selected value").get_ydata())) == {bar["value"]}
        band = next(one for one in axes.collections if one.get_gid() == f"{method} band")
        heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
        alive = curve[curve["all_alive"]]
        assert heights.max() == pytest.approx((alive["mean"] + alive["standard_error"]).max())
        assert heights.min() == pytest.approx((alive["mean"] - alive["standard_error"]).min())
    stars = rows_of(of.tables["selected"], mark="star", **place)
    assert {gid for gid in gids(axes) if gid.endswith(" star")} == {f"{method} star" for method in stars["method"]}
    for star in stars.itertuples():
        drawn = line(axes, f"{star.method} star")
        assert (drawn.get_xdata()[0], drawn.get_ydata()[0]) == (star.selected_epoch, star.value)  # type: ignore[index]
        assert drawn.get_marker() == "*"


def test_decomposition_draws_the_tables() -> None:
    of = statistics(*study(["Yacht", "b"]), "Yacht", "b")
    figure = draw_decomposition(of, datasets=["Yacht", "b"], title="Figure 1")
    for row, dataset in ((figure.axes[:4], "Yacht"), (figure.axes[4:], "b")):
        for axes, metric in zip(row, METRICS, strict=True):
            check_panel(axes, of, dataset, metric, "validation")
    assert [axes.get_title() for axes in figure.axes[:4]] == [
        r"NLL of $F'_\theta$",
        r"NLL of $F_\theta$",
        r"$\alpha\,H(Z)$",
        r"PCE of $F'_\theta$",
    ]
    assert {"YAC", "b", "epochs"} <= {text.get_text() for text in figure.texts}
    assert len(figure.legends) == 1


@pytest.mark.parametrize("part", PARTS)
def test_pages_draw_the_tables(part: str) -> None:
    names = ("Yacht", "b", "c")
    of = statistics(*study(names), *names)
    figure = draw_per_epoch(of, metric="pce", part=part, title="a page", datasets=names)
    for axes, dataset in zip(figure.axes, names, strict=False):
        check_panel(axes, of, dataset, "pce", part)
        assert axes.get_title() == short_name(dataset)
    assert len(figure.legends) == 1


def test_no_line_is_drawn_across_the_epoch_where_a_run_stops() -> None:
    curve = {"dataset": "a", "method": "QRT", "part": "train", "metric": "pce", "standard_error": 0.1}
    runs = [3, 3, 2, 2, 1, 2, 2]
    curves = pd.DataFrame({"epoch": np.arange(1, 8), "runs": runs, "mean": np.arange(7.0)} | curve)
    curves["all_alive"] = curves["runs"] == 3
    selected = pd.DataFrame(columns=["dataset", "method", "part", "metric", "mark", "selected_epoch", "value"])
    of = FigureStatistics({"curves": curves, "selected": selected}, datasets=["a"])
    figure = draw_per_epoch(of, metric="pce", part="train", title="t", datasets=["a"])
    thin = line(figure.axes[0], "QRT curve of fewer runs")
    np.testing.assert_array_equal(thin.get_xdata(), [3, 4, np.nan, 5, np.nan, 6, 7, np.nan])
    assert thin.get_markevery() == [3]  # a point alone would not be seen as a line
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["QRT", "after the first run has stopped"]


def test_letters_at_ticks_can_be_read_in_print() -> None:
    names = [str(number) for number in range(57)]
    of = statistics(*study(names, splits=2, epochs=4), *names)
    figure = draw_per_epoch(of, metric="pce", part="train", title="t", datasets=names)
    labels = [label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())]
    assert min(float(label.get_fontsize()) for label in labels) >= 6


def test_published_values_are_drawn_one_epoch_later() -> None:
    of = statistics(*study(["Yacht"]), "Yacht")
    curves, marks = published.figure1_curves(), published.figure1_marks()
    figure = draw_decomposition(of, datasets=["Yacht"], title="t", published_curves=curves, published_marks=marks)
    for axes, metric in zip(figure.axes, METRICS, strict=True):
        for method in ("BASE", "QRT"):
            wanted = rows_of(curves, dataset="Yacht", metric=metric, method=method)
            drawn = line(axes, f"published {method} curve")
            np.testing.assert_array_equal(drawn.get_xdata(), wanted["epoch"] + 1)
            np.testing.assert_array_equal(drawn.get_ydata(), wanted["value"])
        for mark in rows_of(marks, dataset="Yacht", metric=metric).itertuples():
            drawn = line(axes, f"published {mark.method}")
            assert drawn.get_xdata()[0] == mark.selected_epoch + 1  # type: ignore[index]
            assert drawn.get_ydata()[0] == mark.value  # type: ignore[index]
            assert drawn.get_marker() == ("*" if mark.mark == "star" else "o")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "published" in labels


def test_row_with_published_values_alone_says_so() -> None:
    of = statistics(*study(["a"]), "a")
    figure = draw_decomposition(
        of,
        datasets=["Yacht", "b"],
        title="t",
        published_curves=published.figure1_curves(),
        published_marks=published.figure1_marks(),
    )
    assert [text.get_text() for text in figure.texts].count("published only") == 1
    assert all("no curves" in [text.get_text() for text in axes.texts] for axes in figure.axes[4:])
    assert not any("no curves" in [text.get_text() for text in axes.texts] for axes in figure.axes[:4])


def test_dataset_without_curves_has_a_panel_that_says_so() -> None:
    of = statistics(*study(["a"]), "a", "b")
    figure = draw_per_epoch(of, metric="pce", part="train", title="t", datasets=["a", "b"])
    assert [text.get_text() for text in figure.axes[1].texts] == ["no curves"]
    assert figure.axes[1].get_title() == "b"


def test_no_datasets_give_a_figure_that_says_so() -> None:
    of = statistics(*study(["a"]), "a")
    for figure in (
        draw_per_epoch(of, metric="pce", part="train", title="t", datasets=[]),
        draw_decomposition(of, datasets=[], title="t"),
    ):
        assert any("no dataset" in text.get_text() for text in figure.texts)


def test_all_datasets_of_the_paper_fit_on_one_page_and_stay_apart() -> None:
    names = list(paper_datasets())
    of = statistics(*study(names, splits=2, epochs=12), *names)
    figure = draw_per_epoch(of, metric="nll_recalibrated", part="validation", title="t", datasets=names)
    assert figure.get_size_inches() == pytest.approx([6.75, 9.0])
    panels = figure.axes[:57]
    assert [axes.get_title() for axes in panels] == [short_name(name) for name in names]
    boxes = [box for axes in panels if (box := axes.get_tightbbox())]
    assert len(boxes) == 57
    for number, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y0 > 0.25 * figure.dpi  # room for the footer
        if number >= 6:
            assert boxes[number - 6].y0 >= box.y1 - 1  # titles do not run into the ticks above
        if number % 6:
            assert panels[number - 1].get_window_extent().x1 <= box.x0 + 1  # nor ticks into the panel beside


@pytest.mark.parametrize("number", [1, 3, 8])
def test_fewer_datasets_take_a_smaller_page(number: int) -> None:
    names = [f"d{place}" for place in range(number)]
    of = statistics(*study(names, splits=1), *names)
    figure = draw_per_epoch(of, metric="pce", part="train", title="t", datasets=names)
    figure.canvas.draw()
    assert figure.get_figheight() < 5


def test_long_names_and_dollar_signs_are_shown_as_they_are() -> None:
    of = statistics(*study([LONG_NAME, "$$"]), LONG_NAME, "$$")
    figure = draw_per_epoch(of, metric="pce", part="train", title="100 $ or $x", datasets=[LONG_NAME, "$$"])
    figure.canvas.draw()
    assert figure.axes[0].get_title() == "a_dataset_with_a_…"
    assert figure.axes[1].get_title() == r"\$\$"
    draw_decomposition(of, datasets=[LONG_NAME, "$$"], title="100 $ or $x").canvas.draw()


@pytest.mark.parametrize("strange", [1e6, -1e6, np.inf, np.nan])
def test_outliers_do_not_hide_the_curves(strange: float) -> None:
    curves, methods = study(["a"])
    curves.loc[(curves["epoch"] == 2) & (curves["split"] == 0), list(METRICS)] = strange
    methods.loc[methods["method"] == "QRC", "val_nll"] += 1e6
    of = statistics(curves, methods, "a")
    figure = draw_per_epoch(of, metric="nll_recalibrated", part="validation", title="t", datasets=["a"])
    figure.canvas.draw()
    low, high = figure.axes[0].get_ylim()
    assert high - low < 10
    assert any("QRC ↑" in text.get_text() for text in figure.axes[0].texts)
    draw_decomposition(of, datasets=["a"], title="t").canvas.draw()


def test_equal_values_one_split_and_one_epoch_can_be_drawn() -> None:
    curves, methods = study(["a"], splits=1, epochs=1)
    of = statistics(curves.assign(**dict.fromkeys(METRICS, 0.1)), methods.assign(val_nll=1.0), "a")
    figure = draw_decomposition(of, datasets=["a"], title="t")
    figure.canvas.draw()
    for axes in figure.axes:
        low, high = axes.get_ylim()
        assert low < 0.1 < high
        assert line(axes, "BASE curve of all runs").get_marker() == "o"  # a line through one point would not be seen


def test_limits_leave_out_first_epochs_that_explode_and_keep_bars_and_stars() -> None:
    epochs = np.arange(100)
    curve = 1.0 + np.exp(-epochs / 20) + 1e4 * np.exp(-epochs / 0.5)
    low, high = value_limits([curve], np.array([0.5, 1.1, 50.0]), 1.0)
    assert low < 0.5
    assert high < 3
    assert value_limits([curve[10:]], np.empty(0), 10.0)[1] > curve[10]  # nothing explodes: shown whole


def test_limits_of_noise_take_in_its_peaks() -> None:
    noise = np.random.default_rng(1).uniform(0.02, 0.04, 200)
    low, high = value_limits([noise], np.empty(0), 0.5)
    assert low < noise.min()
    assert noise.max() < high < 0.05


def test_limits_of_a_curve_of_two_points_hold_both() -> None:
    low, high = value_limits([np.array([1.32, 1.30])], np.empty(0), 1.0)
    assert low < 1.30
    assert high > 1.32


def test_curve_that_explodes_after_its_selected_epoch_does_not_hide_the_way_there() -> None:
    epochs = np.arange(1, 41)
    means = np.where(epochs <= 12, 1 + np.exp(-epochs / 5), 1e14)
    place = {"dataset": "a", "method": "BASE", "part": "validation", "metric": "nll_recalibrated"}
    curves = pd.DataFrame({"epoch": epochs, "runs": 5, "mean": means, "all_alive": True, "standard_error": 0.1} | place)
    selected = pd.DataFrame([place | {"mark": "bar", "selected_epoch": 12.4, "value": 1.1}])
    of = FigureStatistics({"curves": curves, "selected": selected}, datasets=["a"])
    figure = draw_per_epoch(of, metric="nll_recalibrated", part="validation", title="t", datasets=["a"])
    low, high = figure.axes[0].get_ylim()
    assert 0.8 < low < 1.1
    assert 1.4 < high < 3
    assert np.nanmax(np.asarray(line(figure.axes[0], "BASE curve of all runs").get_ydata())) == 1e14
