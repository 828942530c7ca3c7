"""The drawn artists of comparisons are the numbers of the tables, and nothing collides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import seaborn
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from qrt_study.figures import style
from qrt_study.figures.comparison import draw_comparison, draw_differences
from qrt_study.figures.critical_difference import bar_levels, draw_critical_difference, panel_rows, rank_limits
from qrt_study.figures.difference_bars import draw_difference_bars, name_size, symlog_threshold
from qrt_study.figures.letter_value_plot import draw_letter_values
from qrt_study.figures.style import FOOTER
from qrt_study.plan.compared import Compared
from qrt_study.statistics.comparison import compare
from qrt_study.statistics.figure_statistics import FigureStatistics
from support.mock_results import mock_discreteness, mock_methods, paper_names

METRICS = {"NLL": "nll", "PCE": "pce_levels", "CRPS": "crps_wis", "SD": "sd"}
MAIN = ("QRC", "QREGC", "QRTC")
BARS = ("QRTC", "QRC")
PUBLISHED = pd.DataFrame(
    {"dataset": ["Yacht", "Yacht", "MPG", "not here"], "method": ["QRTC", "QRC", "QRTC", "QRC"]}
    | {"difference": [-0.5, 0.25, 3.0, 1.0], "standard_error": [0.1, 0.05, 40.0, 0.1]}
)
Change = Callable[[pd.DataFrame], None]


@pytest.fixture(autouse=True)
def _paper_style() -> Iterator[None]:
    with style.paper_style():
        yield
    plt.close("all")


def compared_methods(
    labels: Sequence[str] = MAIN,
    datasets: Sequence[str] | int = 44,
    *,
    splits: int = 5,
    change: Change | None = None,
    baseline: str = "BASE",
) -> FigureStatistics:
    """Statistics of mock methods whose effects differ from dataset to dataset, with heavy tails."""
    names = paper_names(datasets) if isinstance(datasets, int) else list(datasets)
    effects = {("mock", label): -0.25 * place for place, label in enumerate((baseline, *labels))}
    methods = mock_methods(names, effects, splits=splits, seed=3)
    generator = np.random.default_rng(5)
    for column in (f"test_{suffix}" for suffix in METRICS.values()):
        groups = methods.groupby(["method", "dataset"])[column]
        shifts = pd.Series(generator.standard_t(2, groups.ngroups), index=groups.mean().index)
        keys = pd.MultiIndex.from_frame(methods[["method", "dataset"]])
        methods[column] += 0.02 * methods[column].abs() * shifts[keys].to_numpy()
    if change is not None:
        change(methods)
    compared = [Compared("mock", label, label) for label in labels]
    start = Compared("mock", baseline, baseline)
    return compare(methods, compared, start, METRICS, names, "pooled", mock_discreteness(names))


def of_metric(statistics: FigureStatistics, metric: str, *names: str) -> list[pd.DataFrame]:
    tables = [statistics.tables[name] for name in names]
    return [table[table["metric"] == metric] for table in tables]


def panel(width: float = 3.0, height: float = 2.0) -> Axes:
    return plt.figure(figsize=(width, height)).add_axes((0, 0, 1, 1))


def line_points(axes: Axes, count: int) -> list[np.ndarray]:
    """The points (count, 2) of all lines that have so many."""
    points = [np.asarray(line.get_xydata()) for line in axes.lines]
    return [of_line for of_line in points if len(of_line) == count]


def mark_points(axes: Axes) -> list[np.ndarray]:
    """The points (n, 2) of each set of marks."""
    return [np.asarray(artist.get_offsets()) for artist in axes.collections if isinstance(artist, PathCollection)]


def box_points(axes: Axes) -> np.ndarray:
    """The points (n, 2) of the boxes, the median and the circles of a panel of one method."""
    (boxes,) = (artist for artist in axes.collections if isinstance(artist, PatchCollection))
    corners = [np.asarray(path.vertices) for path in boxes.get_paths()]
    return np.concatenate([*corners, line_points(axes, 2)[-1], *mark_points(axes)])


def row_names(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


# Letter values


@pytest.mark.parametrize("metric", ["NLL", "SD"])
def test_boxes_end_at_the_letter_values_of_the_table_and_are_sorted_by_their_median(metric: str) -> None:
    statistics = compared_methods()
    letter_values, circles = of_metric(statistics, metric, "letter_values", "circles")
    axes = panel()
    draw_letter_values(axes, letter_values, circles, MAIN)
    wide = letter_values.pivot(index="method", columns="quantile", values="value")

    order = row_names(axes)
    assert order == wide[0.5].sort_values().index.tolist()
    boxes = [artist for artist in axes.collections if isinstance(artist, PatchCollection)]
    medians = line_points(axes, 2)[1:]  # the first is the line at zero
    for row, method in enumerate(order):
        corners = [path.get_extents() for path in boxes[row].get_paths()]
        assert {(box.y0 + box.y1) / 2 for box in corners} == {row}
        drawn = [corners[0].x0, *(box.x1 for box in corners)]
        np.testing.assert_allclose(drawn, wide.loc[method, [1 / 8, 1 / 4, 3 / 4, 7 / 8]], rtol=1e-12)
        np.testing.assert_allclose(medians[row][:, 0], wide.loc[method, 0.5], rtol=1e-12)


@pytest.mark.parametrize("datasets", [44, 5])
def test_circles_are_those_of_the_table_and_all_datasets_are_in_view(datasets: int) -> None:
    statistics = compared_methods(datasets=datasets)
    per_dataset, letter_values, circles = of_metric(statistics, "NLL", "per_dataset", "letter_values", "circles")
    axes = panel()
    draw_letter_values(axes, letter_values, circles, MAIN)
    for method, points in zip(row_names(axes), mark_points(axes), strict=True):
        assert points[:, 0].tolist() == circles.loc[circles["method"] == method, "cohens_d"].tolist()
    low, high = axes.get_xlim()
    assert low < per_dataset["cohens_d"].min()
    assert per_dataset["cohens_d"].max() < high


def test_boxes_are_those_of_seaborn() -> None:
    statistics = compared_methods(("QRTC",), 40)
    per_dataset, letter_values, circles = of_metric(statistics, "NLL", "per_dataset", "letter_values", "circles")
    ours, theirs = panel(), panel()
    draw_letter_values(ours, letter_values, circles, ["QRTC"])
    d = per_dataset.loc[per_dataset["method"] == "QRTC", "cohens_d"].to_numpy()
    seaborn.boxenplot(x=d, y=np.zeros(len(d)), orient="y", native_scale=True, ax=theirs, k_depth=2, width=0.72)
    np.testing.assert_allclose(box_points(ours), box_points(theirs), rtol=1e-12)


# Critical differences


def hand_made_ranks(**mean_ranks: float) -> pd.DataFrame:
    return pd.DataFrame({"method": list(mean_ranks), "mean_rank": list(mean_ranks.values()), "datasets": 44})


def hand_made_groups(*groups: Sequence[str]) -> pd.DataFrame:
    rows = [(number, method) for number, group in enumerate(groups) for method in group]
    return pd.DataFrame(rows, columns=["group", "method"])


def drawn_ranks(ranks: pd.DataFrame, groups: pd.DataFrame) -> Axes:
    axes = panel()
    draw_critical_difference(axes, ranks, groups, MAIN, limits=rank_limits(ranks), rows=panel_rows(ranks, groups))
    return axes


def test_ranks_stand_at_their_place_with_the_best_on_top_and_to_the_right() -> None:
    axes = drawn_ranks(hand_made_ranks(BASE=3.25, QRC=2.75, QRTC=1.5, QREGC=2.5), hand_made_groups())
    assert row_names(axes) == ["QRTC", "QREGC", "QRC", "BASE"]
    assert [elbow[1, 0] for elbow in line_points(axes, 3)] == [1.5, 2.5, 2.75, 3.25]
    assert [point[0].tolist() for point in line_points(axes, 1)] == [[1.5, 0], [2.5, 1], [2.75, 2], [3.25, 3]]
    left, right = axes.get_xlim()
    assert left > 3.25
    assert right < 1.5
    bottom, top = axes.get_ylim()
    assert bottom > 3
    assert top < 0


def test_a_bar_joins_a_group_and_its_dots_are_the_members_alone() -> None:
    ranks = hand_made_ranks(QRTC=1.25, QRC=1.5, QREGC=1.75, BASE=4.0)
    axes = drawn_ranks(ranks, hand_made_groups(("QRTC", "QREGC"), ("QREGC", "BASE")))
    bars = [artist.get_segments()[0] for artist in axes.collections if isinstance(artist, LineCollection)]
    dots = mark_points(axes)
    assert [sorted(bar[:, 0]) for bar in bars] == [[1.25, 1.75], [1.75, 4.0]]
    # QRC lies between the ends of the first bar but is no member: no dot.
    assert [sorted(points[:, 0]) for points in dots] == [[1.25, 1.75], [1.75, 4.0]]
    for bar, points in zip(bars, dots, strict=True):
        assert set(points[:, 1]) == set(bar[:, 1])
    assert bars[0][0, 1] != bars[1][0, 1]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(2, 26), min_size=3, max_size=13))
def test_lines_of_methods_never_cross(halves: list[int]) -> None:
    ranks = hand_made_ranks(**{f"m{place}": half / 2 for place, half in enumerate(halves)})
    with style.paper_style():
        axes = drawn_ranks(ranks, hand_made_groups())
    lines = line_points(axes, 3)
    for one in lines:
        for other in lines:
            (start, row), (end, _), (across, bottom) = one[0], one[1], other[2]
            crosses = end < across < start and other[1, 1] < row < bottom
            assert not crosses
    plt.close("all")


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 12), min_size=2, max_size=13, unique=True), max_size=8))
def test_bars_of_one_level_keep_apart(groups: list[list[int]]) -> None:
    ranks = hand_made_ranks(**{f"m{place}": 1.0 + place for place in range(13)})
    levels = bar_levels(ranks, hand_made_groups(*([f"m{place}" for place in group] for group in groups)))
    assert sorted(levels) == list(range(len(groups)))
    for one, other in combinations(levels, 2):
        if levels[one] == levels[other]:
            assert max(groups[one]) < min(groups[other]) or max(groups[other]) < min(groups[one])


# Bars


def test_bars_errors_and_published_marks_are_the_numbers_of_the_tables() -> None:
    statistics = compared_methods()
    (per_dataset,) = of_metric(statistics, "NLL", "per_dataset")
    axes = panel(6.0)
    draw_difference_bars(axes, per_dataset, "NLL", ("QRTC", "QRC"), published=PUBLISHED)
    wide = per_dataset.pivot(index="dataset", columns="method")
    order = wide["difference", "QRTC"].sort_values().index.tolist()
    assert [label.get_text() for label in axes.get_xticklabels()] == [style.short_name(name) for name in order]

    errors = [artist.get_segments() for artist in axes.collections if isinstance(artist, LineCollection)]
    marks = mark_points(axes)
    for place, method in enumerate(("QRTC", "QRC")):
        bars = axes.containers[place].patches  # type: ignore[attr-defined]
        middles = [bar.get_x() + bar.get_width() / 2 for bar in bars]
        by_slot = sorted(zip(middles, (bar.get_height() for bar in bars), strict=True))
        difference = wide["difference", method][order].to_numpy()
        assert [height for _, height in by_slot] == difference.tolist()
        assert np.abs(np.array([middle for middle, _ in by_slot]) - np.arange(len(order))).max() < 0.4
        ends = sorted((segment[0, 0], segment[0, 1], segment[1, 1]) for segment in errors[2 * place])
        error = wide["difference_standard_error", method][order].to_numpy()
        np.testing.assert_allclose([low for _, low, _ in ends], difference - error)
        np.testing.assert_allclose([high for _, _, high in ends], difference + error)
        theirs = PUBLISHED[(PUBLISHED["method"] == method) & (PUBLISHED["dataset"] != "not here")]
        slots = [order.index(name) for name in theirs["dataset"]]
        np.testing.assert_array_equal(np.round(marks[place][:, 0]), slots)
        np.testing.assert_array_equal(marks[place][:, 1], theirs["difference"])
        spans = [abs(segment[1, 1] - segment[0, 1]) for segment in errors[2 * place + 1]]
        np.testing.assert_allclose(spans, 2 * theirs["standard_error"])
    low, high = axes.get_ylim()
    assert low < -37
    assert high > 43


def test_a_dataset_without_the_first_method_comes_last() -> None:
    def without_qrtc_on_yacht(methods: pd.DataFrame) -> None:
        methods.loc[(methods["method"] == "QRTC") & (methods["dataset"] == "Yacht"), "status"] = "diverged"

    (per_dataset,) = of_metric(compared_methods(change=without_qrtc_on_yacht), "NLL", "per_dataset")
    axes = panel(6.0)
    draw_difference_bars(axes, per_dataset, "NLL", ("QRTC", "QRC"))
    assert axes.get_xticklabels()[-1].get_text() == "YAC"
    assert len(axes.containers[0].patches) == len(axes.containers[1].patches) - 1  # type: ignore[attr-defined]


def test_threshold_of_the_axis_is_published_for_nll_and_suits_the_sizes_else() -> None:
    differences = pd.Series([0.0, np.nan, 0.004, -0.03, 0.05, -600.0, 4e4])
    assert symlog_threshold("NLL", differences) == 0.1
    assert symlog_threshold("CRPS", differences) == pytest.approx(0.01)
    assert symlog_threshold("CRPS", pd.Series([0.0, np.nan])) == 0.1


def test_names_of_datasets_are_turned_only_where_they_would_touch() -> None:
    assert name_size(paper_names(12), 6.0)[0] == 0
    angle, size = name_size(paper_names(57), 6.0)
    assert angle == 90
    assert size * 57 < 6.0 * 72  # a line of letters is not wider than a slot


@pytest.mark.parametrize("count", [1, 2, 8])
def test_few_datasets_share_the_whole_width_and_bars_stay_narrow(count: int) -> None:
    (per_dataset,) = of_metric(compared_methods(datasets=count), "NLL", "per_dataset")
    axes = panel(6.0)
    draw_difference_bars(axes, per_dataset, "NLL", BARS)
    assert axes.get_xlim() == (-0.5, count - 0.5)
    bars = [bar for container in axes.containers for bar in container.patches]  # type: ignore[attr-defined]
    assert max(bar.get_width() * 6.0 / count for bar in bars) <= 0.31  # inches
    assert [bar.get_x() + bar.get_width() for bar in bars[:count]] == pytest.approx(
        [bar.get_x() for bar in bars[count:]]
    )


@pytest.mark.parametrize(("dataset", "expected"), [("Yacht", True), ("not here", False)])
def test_legend_names_published_values_only_where_one_is_drawn(dataset: str, expected: bool) -> None:
    published = PUBLISHED[PUBLISHED["dataset"] == dataset]
    figure = draw_differences(
        compared_methods(datasets=["Yacht", "linear"]), title="", metrics=["NLL"], methods=BARS, published=published
    )
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert ("published" in [text.get_text() for text in legend.get_texts()]) == expected


# Whole figures


def shown_texts(figure: Figure) -> list[Text]:
    """All texts that are drawn."""
    hidden = [
        text for axes in figure.axes if not axes.axison for text in (*axes.get_xticklabels(), *axes.get_yticklabels())
    ]
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if text not in hidden]


def assert_tidy(figure: Figure) -> None:
    """Texts are inside the figure, above the room for the footer, and none touches another one."""
    figure.set_dpi(200)
    figure.draw_without_rendering()
    placed = [(text.get_text(), text.get_window_extent()) for text in shown_texts(figure)]
    width, height = figure.get_size_inches() * 200
    for words, box in placed:
        assert box.x0 >= 0, words
        assert box.x1 <= width, words
        assert box.y1 <= height, words
        assert box.y0 >= FOOTER * 200, words
    x0, y0, x1, y1 = np.array([box.extents for _, box in placed]).T[:, :, None]
    across = np.minimum(x1, x1.T) - np.maximum(x0, x0.T)
    up = np.minimum(y1, y1.T) - np.maximum(y0, y0.T)
    touching = np.triu((across > 1) & (up > 1), 1)  # by more than a pixel of 1/200 inch
    assert [(placed[one][0], placed[other][0]) for one, other in np.argwhere(touching)] == []


ALPHAS = [f"alpha={alpha:g}" for alpha in (-5, -1, -0.5, -0.1, -0.05, -0.01, 0.1, 0.5, 1, 2, 5)]
MODELS = ["QRTC-MLP-1", "QRTC-MLP-3", "QRTC-MLP-10", "QRTC-ResNet-3"]
SIZES = ["QRTC", *(f"QRTC-{size}" for size in (8, 32, 128, 512, 2048))]


@pytest.mark.parametrize(
    ("labels", "baseline", "columns"),
    [
        (MAIN, "BASE", 4),
        (MODELS, "BASE-MLP-3", 2),
        (SIZES, "BASE", 4),
        ([*ALPHAS, "QRTC"], "alpha=0", 4),
    ],
    ids=["main", "models", "sizes", "13"],
)
def test_nothing_collides_in_a_comparison(labels: Sequence[str], baseline: str, columns: int) -> None:
    statistics = compared_methods(labels, 57, baseline=baseline)
    figure = draw_comparison(
        statistics, title="A comparison", metrics=list(METRICS), baseline=baseline, bars=labels[:2][::-1]
    )
    assert figure.get_figwidth() == style.TWO_COLUMNS
    panels = figure.axes[1:]
    assert len(panels) == 8
    assert len({round(axes.get_position().x0, 6) for axes in panels}) == columns
    assert_tidy(figure)


def test_nothing_collides_in_differences_on_57_datasets_with_long_names() -> None:
    for datasets in (57, [f"a_dataset_with_a_name_far_too_long_{place}" for place in range(57)]):
        statistics = compared_methods(datasets=datasets)
        assert_tidy(
            draw_differences(statistics, title="Differences", metrics=list(METRICS), methods=BARS, published=None)
        )
        plt.close("all")


def all_equal(methods: pd.DataFrame) -> None:
    methods[[f"test_{suffix}" for suffix in METRICS.values()]] = 1.0


def huge(methods: pd.DataFrame) -> None:
    for sign, method, dataset in ((1, "QRTC", "Yacht"), (-1, "QRC", "MPG")):
        chosen = (methods["method"] == method) & (methods["dataset"] == dataset)
        for suffix in METRICS.values():
            methods.loc[chosen, f"test_{suffix}"] = sign * (1e6 + np.arange(chosen.sum()))


def partly_missing(methods: pd.DataFrame) -> None:
    methods.loc[methods["method"] == "QREGC", "status"] = "diverged"
    methods.loc[methods["method"] == "QRTC", "test_crps_wis"] = np.inf
    methods.loc[(methods["method"] == "QRC") & (methods["dataset"] == "MPG"), "test_sd"] = np.nan


def without_baseline(methods: pd.DataFrame) -> None:
    methods.loc[methods["method"] == "BASE", "status"] = "diverged"


def nothing(methods: pd.DataFrame) -> None:
    methods["status"] = "diverged"


AWKWARD: dict[str, Callable[[], FigureStatistics]] = {
    "one dataset": lambda: compared_methods(datasets=1),
    "two datasets": lambda: compared_methods(datasets=2),
    "one split": lambda: compared_methods(datasets=12, splits=1),
    "one dataset, one split": lambda: compared_methods(datasets=1, splits=1),
    "all equal": lambda: compared_methods(datasets=12, change=all_equal),
    "huge outliers": lambda: compared_methods(datasets=12, change=huge),
    "missing": lambda: compared_methods(datasets=12, change=partly_missing),
    "two methods": lambda: compared_methods(("QRTC",), 12),
    "no baseline": lambda: compared_methods(datasets=4, change=without_baseline),
    "formulas in names": lambda: compared_methods(("QRTC", "$a_b^", "%{x"), [f"$\\frac{place}" for place in range(9)]),
    "nothing": lambda: compared_methods(datasets=3, change=nothing),
}


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_results_are_drawn_and_saved(case: str, tmp_path: Path) -> None:
    statistics = AWKWARD[case]()
    assert_tidy(draw_differences(statistics, title=case, metrics=["NLL", "SD"], methods=BARS, published=PUBLISHED))
    figure = draw_comparison(statistics, title=case, metrics=["NLL", "CRPS"], baseline="BASE", bars=BARS)
    assert_tidy(figure)
    pdf, png = tmp_path / "figure.pdf", tmp_path / "figure.png"
    style.save(figure, pdf, png)
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png.read_bytes().startswith(b"\x89PNG")


def test_an_empty_panel_says_why() -> None:
    statistics = compared_methods(datasets=1)
    figure = draw_comparison(statistics, title="", metrics=list(METRICS), baseline="BASE")
    texts = [" ".join(text.get_text().split()) for text in shown_texts(figure)]
    (note,) = statistics.notes
    assert texts.count(note.partition(": ")[2]) == 4


def test_a_method_without_values_of_a_metric_is_named_as_such() -> None:
    statistics = compared_methods(change=partly_missing)
    figure = draw_comparison(statistics, title="", metrics=list(METRICS), baseline="BASE")
    said = [axes for axes in figure.axes if "no values" in {text.get_text() for text in axes.texts}]
    assert [axes.texts[0].get_text() for axes in said] == ["CRPS"]
    assert row_names(said[0]) == ["QRC", "QRTC"]


def test_the_same_statistics_give_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for number in range(2):
        figure = draw_comparison(
            compared_methods(datasets=9), title="Twice", metrics=["NLL"], baseline="BASE", bars=("QRTC", "QRC")
        )
        pdf, png = tmp_path / f"{number}.pdf", tmp_path / f"{number}.png"
        style.save(figure, pdf, png)
        written.append((pdf.read_bytes(), png.read_bytes()))
    assert written[0] == written[1]
