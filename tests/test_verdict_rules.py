from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt.claims import measure_rules, rank_rules, table_rules
from qrt.claims.measure_rules import Measure
from qrt.claims.range import Range
from qrt.claims.rules import all_of, any_of
from qrt.claims.verdict import (
    NotRun,
    Verdict,
    Word,
    median_interval,
    share_interval,
    smallest_confirming_share,
    smallest_significant_share,
)
from qrt.data.sheet import paper_datasets
from qrt.errors import UserError
from qrt.statistics.comparison import compare
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.compared import Compared
from support.mock_results import mock_discreteness, mock_methods, paper_names

PAPER = 44
BELOW, ABOVE = "(-inf, 0)", "(0, inf)"


def comparison(effects: Mapping[str, float], datasets: int, splits: int = 5) -> FigureStatistics:
    """The statistics of methods with these effects, in standard deviations of a run; the first is the baseline."""
    names = [f"dataset {number:02d}" for number in range(datasets)]
    methods = mock_methods(names, {("main", name): effect for name, effect in effects.items()}, splits)
    compared = [Compared("main", name, name) for name in effects]
    return compare(methods, compared[1:], compared[0], {"NLL": "nll"}, names, "pooled", mock_discreteness(names))


def equal_methods(datasets: int, splits: int = 5) -> FigureStatistics:
    """Two methods with the very same results, and a worse one."""
    names = [f"dataset {number:02d}" for number in range(datasets)]
    methods = mock_methods(names, {("main", "A"): 0.0, ("main", "C"): 2.0}, splits)
    copy = methods[methods["method"] == "A"].assign(method="B")
    compared = [Compared("main", name, name) for name in "ABC"]
    everything = pd.concat([methods, copy], ignore_index=True)
    return compare(everything, compared[1:], compared[0], {"NLL": "nll"}, names, "pooled", mock_discreteness(names))


TRUTHS: dict[str, Callable[[int], FigureStatistics]] = {
    "left better": lambda datasets: comparison({"A": -2.0, "B": 0.0, "C": 2.0}, datasets),
    "left worse": lambda datasets: comparison({"A": 2.0, "B": 0.0, "C": 4.0}, datasets),
    "equal": equal_methods,
}


@pytest.mark.parametrize(
    ("rule", "truth", "with_44", "with_20"),
    [
        ("significantly_better", "left better", "confirmed", "confirmed"),
        ("significantly_better", "left worse", "contradicted", "contradicted"),
        ("significantly_better", "equal", "contradicted", "inconclusive"),
        ("not_significantly_better", "left better", "contradicted", "contradicted"),
        ("not_significantly_better", "left worse", "confirmed", "confirmed"),
        ("not_significantly_better", "equal", "confirmed", "inconclusive"),
        ("no_significant_difference", "left better", "contradicted", "contradicted"),
        ("no_significant_difference", "left worse", "contradicted", "contradicted"),
        ("no_significant_difference", "equal", "confirmed", "inconclusive"),
        ("better_mean_rank", "left better", "confirmed", "confirmed"),
        ("better_mean_rank", "left worse", "contradicted", "contradicted"),
        ("better_mean_rank", "equal", "contradicted", "inconclusive"),
    ],
)
def test_rules_about_pairs_know_the_truth(rule: str, truth: str, with_44: Word, with_20: Word) -> None:
    decide = getattr(rank_rules, rule)
    for datasets, expected in ((44, with_44), (20, with_20), (6, "inconclusive"), (1, "inconclusive")):
        found = decide(TRUTHS[truth](datasets), metric="NLL", left="A", right="B", paper_datasets=PAPER)
        assert found.verdict == expected, (datasets, found)


def test_evidence_of_a_pair_is_that_of_the_tests() -> None:
    statistics = comparison({"A": -2.0, "B": 0.0, "C": 2.0}, 44)
    found = rank_rules.significantly_better(statistics, metric="NLL", left="C", right="A", paper_datasets=PAPER)
    (row,) = statistics.tables["pairs"].query("left == 'A' and right == 'C'").to_dict("records")
    assert found.verdict == "contradicted"
    assert (found.datasets_for, found.datasets_against) == (row["right_lower"], row["left_lower"])
    assert found.p_value == row["p_holm"]
    assert (found.datasets, found.splits) == (44, 5)
    assert found.estimate == row["right_lower"] / 44


def test_six_datasets_say_that_no_agreement_would_be_enough() -> None:
    statistics = comparison({"A": -5.0, "B": 0.0, "C": 5.0, "D": 10.0}, 6)
    found = rank_rules.significantly_better(statistics, metric="NLL", left="A", right="D", paper_datasets=PAPER)
    assert found.datasets_for == 6
    assert found.p_value == pytest.approx(6 * 2**-5)
    assert found.smallest_detectable is None
    assert "p could not be below 0.19" in found.explanation


def test_one_split_is_less_than_the_papers_power() -> None:
    rule = rank_rules.no_significant_difference
    strong, weak = equal_methods(44, splits=5), equal_methods(44, splits=1)
    assert rule(strong, metric="NLL", left="A", right="B", paper_datasets=PAPER).verdict == "confirmed"
    assert rule(weak, metric="NLL", left="A", right="B", paper_datasets=PAPER).verdict == "inconclusive"


def test_one_different_pair_of_a_list_contradicts_that_all_are_level() -> None:
    statistics = equal_methods(44)
    rule = rank_rules.no_significant_difference
    assert rule(statistics, metric="NLL", among=["A", "B"], paper_datasets=PAPER).verdict == "confirmed"
    among = rule(statistics, metric="NLL", among=["A", "B", "C"], paper_datasets=PAPER)
    against = rule(statistics, metric="NLL", left="C", against=["A", "B"], paper_datasets=PAPER)
    assert among.verdict == against.verdict == "contradicted"
    assert among.explanation.startswith("2 of 3 pairs")
    assert against.explanation.startswith("2 of 2 pairs")


def test_without_correction_each_pair_is_tested_by_itself() -> None:
    # Among 13 methods, 11 of 11 datasets are significant alone (2^-10), but not after Holm's correction for 78 pairs.
    effects = {"A": 0.0, "B": 9.0} | {f"other {number}": 9.0 for number in range(11)}
    settings: dict[str, Any] = {"metric": "NLL", "left": "A", "right": "B", "paper_datasets": 11}
    statistics = comparison(effects, 11)
    corrected = rank_rules.no_significant_difference(statistics, **settings)
    alone = rank_rules.no_significant_difference(statistics, **settings, corrected=False)
    assert (corrected.verdict, alone.verdict) == ("confirmed", "contradicted")
    assert [corrected.p_value, alone.p_value] == pytest.approx([2**-10 * 78, 2**-10])


def test_equal_mean_ranks_are_not_the_higher_ones() -> None:
    settings: dict[str, Any] = {"metric": "NLL", "left": "A", "right": "B", "paper_datasets": PAPER}
    assert rank_rules.better_mean_rank(equal_methods(44), **settings, or_equal=True).verdict == "confirmed"
    assert rank_rules.better_mean_rank(equal_methods(44), **settings).verdict == "contradicted"


@pytest.mark.parametrize("by", ["mean_rank", "median_cohens_d"])
@pytest.mark.parametrize(
    ("best", "datasets", "expected"),
    [
        (["A", "B"], 44, "confirmed"),
        (["B", "A"], 20, "confirmed"),
        (["A", "C"], 44, "contradicted"),
        (["C"], 20, "contradicted"),
        (["A", "B"], 6, "inconclusive"),
        (["C"], 6, "inconclusive"),
    ],
)
def test_ranking_knows_who_is_ahead(by: str, best: list[str], datasets: int, expected: Word) -> None:
    statistics = comparison({"BASE": 5.0, "A": -3.0, "B": -3.0, "C": 0.0, "D": 0.0}, datasets)
    found = rank_rules.ranking(
        statistics, metric="NLL", best=best, among=["A", "B", "C", "D"], paper_datasets=PAPER, by=by
    )
    assert found.verdict == expected, found


@pytest.mark.parametrize(
    ("step", "datasets", "expected"),
    [
        (-1.0, 44, "confirmed"),
        (-1.0, 20, "confirmed"),
        (1.0, 44, "contradicted"),
        (1.0, 20, "contradicted"),
        (-1.0, 6, "inconclusive"),
        (1.0, 6, "inconclusive"),
    ],
)
def test_rank_trend_knows_the_direction(step: float, datasets: int, expected: Word) -> None:
    sizes = [8, 32, 128, 512]
    statistics = comparison({"BASE": 9.0} | {f"M={size}": step * place for place, size in enumerate(sizes)}, datasets)
    names = [f"M={size}" for size in sizes]
    for order in (slice(None), slice(None, None, -1)):
        found = rank_rules.rank_trend(
            statistics,
            metric="NLL",
            methods=names[order],
            at=sizes[order],
            correlation="[-1, -0.8]",
            paper_datasets=PAPER,
        )
        assert found.verdict == expected, found
        assert found.estimate == pytest.approx(math.copysign(1, step))


def measured(
    values: Sequence[float] | np.ndarray, *, errors: float = 0.1, splits: int = 5, discreteness: Sequence[float] = ()
) -> Measure:
    """A measure with these values on datasets 00, 01, ..."""
    table = pd.DataFrame({"dataset": [f"{place:02d}" for place in range(len(values))], "value": values})
    levels = list(discreteness) or [0.1] * len(values)
    return Measure(table.assign(standard_error=errors, splits=splits, discreteness=levels), "X")


@pytest.mark.parametrize(
    ("below", "total", "share", "expected"),
    [
        (31, 44, "(0.5, 1]", "confirmed"),
        (22, 44, "(0.5, 1]", "contradicted"),
        (31, 44, "[0.9, 1]", "contradicted"),
        (26, 44, "(0.5, 0.65]", "confirmed"),
        (20, 20, "(0.5, 1]", "confirmed"),
        (12, 20, "(0.5, 1]", "inconclusive"),
        (2, 20, "(0.5, 1]", "contradicted"),
        (20, 20, "[0.9, 1]", "inconclusive"),
        (6, 6, "(0.5, 1]", "inconclusive"),
        (0, 6, "(0.5, 1]", "inconclusive"),
        (0, 44, "[0, 0]", "confirmed"),
        (0, 6, "[0, 0]", "inconclusive"),
        (1, 6, "[0, 0]", "contradicted"),
        (1, 6, "(0, 1]", "confirmed"),
        (0, 6, "(0, 1]", "inconclusive"),
        (0, 44, "(0, 1]", "contradicted"),
    ],
)
def test_share_of_datasets_is_judged_by_what_its_size_allows(
    below: int, total: int, share: str, expected: Word
) -> None:
    measure = measured([-1.0] * below + [1.0] * (total - below))
    found = measure_rules.share_of_datasets(measure, values=BELOW, share=share, paper_datasets=PAPER)
    assert found.verdict == expected
    assert (found.datasets_for, found.datasets_against, found.datasets) == (below, total - below, total)
    exact = stats.binomtest(below, total).proportion_ci(method="exact")
    assert found.interval == pytest.approx((exact.low, exact.high))


def test_differences_of_zero_are_on_no_side() -> None:
    found = measure_rules.share_of_datasets(measured([0.0] * 44), values=BELOW, share="(0.5, 1]", paper_datasets=PAPER)
    assert (found.verdict, found.datasets_for) == ("contradicted", 0)


@pytest.mark.parametrize(("standard_errors", "count"), [(0, 3), (1, 2), (2, 1), (-1, 4), (-3, 5)])
def test_standard_errors_move_the_limit_of_what_is_counted(standard_errors: float, count: int) -> None:
    measure = measured([-0.25, -0.15, -0.05, 0.05, 0.25])
    found = measure_rules.share_of_datasets(
        measure, values=BELOW, share="(0.5, 1]", paper_datasets=5, standard_errors=standard_errors
    )
    assert found.datasets_for == count


def test_a_dataset_without_standard_error_is_not_counted_by_it() -> None:
    measure = measured([-1.0, -1.0], errors=math.nan)
    settings: dict[str, Any] = {"values": BELOW, "share": "(0.5, 1]", "paper_datasets": 2}
    assert measure_rules.share_of_datasets(measure, **settings).verdict == "confirmed"
    assert measure_rules.share_of_datasets(measure, **settings, standard_errors=1).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("shift", "total", "expected"),
    [
        (-1.0, 44, "confirmed"),
        (1.0, 44, "contradicted"),
        (0.0, 44, "contradicted"),
        (-3.0, 20, "confirmed"),
        (3.0, 20, "contradicted"),
        (-0.1, 20, "inconclusive"),
        (-3.0, 6, "inconclusive"),
        (3.0, 6, "inconclusive"),
    ],
)
def test_median_effect_knows_the_truth(shift: float, total: int, expected: Word) -> None:
    values = np.linspace(-1, 1, total) + shift
    found = measure_rules.median_effect(measured(values), median=BELOW, paper_datasets=PAPER)
    assert found.verdict == expected
    assert found.estimate == pytest.approx(shift)


@pytest.mark.parametrize(
    ("shift", "total", "difference", "expected"),
    [
        (-1.0, 44, BELOW, "confirmed"),
        (0.0, 44, BELOW, "contradicted"),
        (0.1, 44, "(-0.2, 0.2)", "confirmed"),
        (0.3, 44, "(-0.2, 0.2)", "contradicted"),
        (-4.0, 20, BELOW, "confirmed"),
        (4.0, 20, BELOW, "contradicted"),
        (-0.1, 20, BELOW, "inconclusive"),
        (-4.0, 6, BELOW, "inconclusive"),
    ],
)
def test_difference_of_medians_knows_the_truth(shift: float, total: int, difference: str, expected: Word) -> None:
    values = np.linspace(-1, 1, total)
    one, other = measured(values + shift), measured(values)
    found = measure_rules.difference_of_medians(one, other, difference=difference, paper_datasets=PAPER)
    assert found.verdict == expected
    assert found.estimate == pytest.approx(shift)


@pytest.mark.parametrize("seed", range(20))
def test_value_on_one_dataset_is_decided_as_by_students_test(seed: int) -> None:
    generator = np.random.default_rng(seed)
    splits = int(generator.integers(2, 6))
    runs = generator.normal(generator.choice([-1.0, 0.0, 1.0]), 0.7, splits)
    measure = measured([runs.mean()], errors=float(stats.sem(runs)), splits=splits)
    found = measure_rules.value_on_dataset(measure, dataset="00", value=BELOW)
    p_below = stats.ttest_1samp(runs, 0, alternative="less").pvalue
    p_above = stats.ttest_1samp(runs, 0, alternative="greater").pvalue
    expected = "confirmed" if p_below < 0.05 else "contradicted" if p_above < 0.05 else "inconclusive"
    assert found.verdict == expected
    assert found.p_value == pytest.approx(min(p_below, p_above))


def test_a_claim_may_name_its_own_number_of_standard_errors() -> None:
    rule = measure_rules.value_on_dataset
    assert rule(measured([-0.15]), dataset="00", value=BELOW).verdict == "inconclusive"
    assert rule(measured([-0.15]), dataset="00", value=BELOW, standard_errors=1).verdict == "confirmed"
    assert rule(measured([-0.05]), dataset="00", value=BELOW, standard_errors=1).verdict == "inconclusive"
    assert rule(measured([0.15]), dataset="00", value=BELOW, standard_errors=1).verdict == "contradicted"


@pytest.mark.parametrize(("splits", "expected"), [(5, "confirmed"), (4, "confirmed"), (3, "inconclusive")])
def test_value_without_standard_error_needs_the_papers_splits(splits: int, expected: Word) -> None:
    measure = measured([0.9], errors=math.nan, splits=splits)
    assert measure_rules.value_on_dataset(measure, dataset="00", value="(0.5, 1]").verdict == expected


def test_one_split_is_inconclusive_on_one_dataset() -> None:
    measure = measured([-9.0], errors=math.nan, splits=1)
    assert measure_rules.value_on_dataset(measure, dataset="00", value=BELOW).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("place", "total", "expected"),
    [
        (0, 57, "confirmed"),
        (13, 57, "confirmed"),
        (14, 57, "contradicted"),
        (0, 20, "inconclusive"),
        (14, 20, "contradicted"),
    ],
)
def test_place_among_the_lowest_needs_all_datasets(place: int, total: int, expected: Word) -> None:
    measure = measured(np.arange(total, dtype=float))
    found = measure_rules.among_lowest(measure, dataset=f"{place:02d}", quantile=0.25, paper_datasets=57)
    assert found.verdict == expected
    assert found.datasets_against == place


def test_identity_is_decided_by_any_amount_of_data() -> None:
    rule = measure_rules.identity
    assert rule(measured([1e-7], splits=1), dataset="00", tolerance=1e-3).verdict == "confirmed"
    assert rule(measured([1e-2], splits=1), dataset="00", tolerance=1e-3).verdict == "contradicted"


@pytest.mark.parametrize(
    ("slope", "total", "falls", "none"),
    [
        (-1.0, 57, "confirmed", "contradicted"),
        (1.0, 57, "contradicted", "contradicted"),
        (-1.0, 20, "confirmed", "contradicted"),
        (1.0, 20, "contradicted", "contradicted"),
        (-1.0, 6, "inconclusive", "inconclusive"),
    ],
)
def test_trend_with_discreteness_knows_the_truth(slope: float, total: int, falls: Word, none: Word) -> None:
    levels = np.linspace(0, 1, total)
    values = slope * levels + np.random.default_rng(1).normal(0, 0.2, total)
    measure = measured(values, discreteness=levels.tolist())
    found = measure_rules.trend(measure, correlation="[-1, 0)", paper_datasets=57)
    assert found.verdict == falls
    assert found.estimate == pytest.approx(stats.spearmanr(levels, values).statistic)
    assert measure_rules.no_trend(measure, paper_datasets=57).verdict == none


@pytest.mark.parametrize(("total", "expected"), [(57, "confirmed"), (20, "inconclusive"), (6, "inconclusive")])
def test_no_trend_needs_the_papers_power(total: int, expected: Word) -> None:
    half = np.abs(np.linspace(-1, 1, total))  # symmetric: no rank correlation
    measure = measured(half, discreteness=np.linspace(0, 1, total).tolist())
    assert measure_rules.no_trend(measure, paper_datasets=57).verdict == expected


def test_equal_values_have_no_trend() -> None:
    measure = measured([0.0] * 57, discreteness=np.linspace(0, 1, 57).tolist())
    assert measure_rules.no_trend(measure, paper_datasets=57).verdict == "confirmed"
    assert measure_rules.trend(measure, correlation="[-1, 0)", paper_datasets=57).verdict == "contradicted"


@pytest.mark.parametrize("rule", ["share_of_datasets", "median_effect", "trend", "no_trend"])
def test_no_usable_value_is_inconclusive(rule: str) -> None:
    settings: dict[str, Any] = {
        "share_of_datasets": {"values": BELOW, "share": "(0.5, 1]"},
        "median_effect": {"median": BELOW},
        "trend": {"correlation": "[-1, 0)"},
        "no_trend": {},
    }[rule]
    measure = measured([math.nan, math.inf])
    assert getattr(measure_rules, rule)(measure, **settings, paper_datasets=PAPER).verdict == "inconclusive"


def test_verdicts_about_measures_do_not_depend_on_the_order_of_datasets() -> None:
    generator = np.random.default_rng(3)
    measure = measured(generator.normal(-0.1, 1, 44), discreteness=generator.random(44).tolist())
    shuffled = Measure(measure.table.sample(frac=1, random_state=7), "X")
    for one in (measure_rules.trend, measure_rules.median_effect, measure_rules.share_of_datasets):
        settings: dict[str, Any] = {
            "trend": {"correlation": "[-1, 0)"},
            "median_effect": {"median": BELOW},
            "share_of_datasets": {"values": BELOW, "share": "(0.5, 1]"},
        }[one.__name__]
        first: Verdict = one(measure, **settings, paper_datasets=PAPER)
        assert one(shuffled, **settings, paper_datasets=PAPER) == first


def dataset_table(count: int = 57) -> pd.DataFrame:
    sheet = paper_datasets()
    rows = [
        {"dataset": name, "group": sheet[name].group, "top10": sheet[name].published.top10, "status": "verified"}
        for name in paper_names(count)
    ]
    return pd.DataFrame(rows)


DISCRETE = [{"column": "top10", "in": "(0.5, inf)"}]


@pytest.mark.parametrize(
    ("count", "where", "claimed", "expected"),
    [
        (57, DISCRETE, "[13, 13]", "confirmed"),
        (57, DISCRETE, "[14, 14]", "contradicted"),
        (6, DISCRETE, "[13, 13]", "inconclusive"),
        (6, DISCRETE, "[0, 0]", "contradicted"),
        (12, [{"column": "group", "is": ["uci"]}], "[1, inf)", "confirmed"),
        (57, [{"column": "group", "is": ["oml_297", "oml_299"]}], "[27, 27]", "confirmed"),
    ],
)
def test_counts_allow_for_datasets_that_are_not_available(
    count: int, where: list[dict[str, Any]], claimed: str, expected: Word
) -> None:
    assert table_rules.dataset_count(dataset_table(count), where=where, count=claimed).verdict == expected


def test_counts_are_of_the_papers_datasets_alone() -> None:
    own = pd.DataFrame([{"dataset": "mine", "group": "uci", "top10": 0.9, "status": "not in the paper"}])
    with pytest.raises(NotRun, match="none of the paper's"):
        table_rules.dataset_count(own, where=DISCRETE, count="[13, 13]")


@pytest.fixture
def maps() -> pd.DataFrame:
    """Uniform PITs; a map with all its mass in the middle half, and one that leaves a tenth outside on each side."""
    z = np.linspace(0, 1, 101)
    cdfs = {
        "TRUE": z,
        "EMP": z,
        "REFL": z,
        "TRUNC": np.clip(2 * z - 0.5, 0, 1),
        "KDE": 0.1 + 0.8 * z,
    }
    return pd.concat([pd.DataFrame({"map": name, "z": z, "cdf": cdf}) for name, cdf in cdfs.items()])


@pytest.mark.parametrize(
    ("settings", "value"),
    [
        ({"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0, 0.1], [0.9, 1]]}, -0.2),
        ({"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0.4, 0.6]]}, 0.2),
        ({"quantity": "error_of_mass", "left": "REFL", "right": "TRUNC", "regions": [[0.4, 0.6]]}, -0.2),
        ({"quantity": "largest_distance", "left": "REFL", "right": "TRUNC"}, -0.25),
        ({"quantity": "mean_distance", "left": "REFL", "right": "TRUNC"}, -0.125),
        ({"quantity": "mass_outside", "left": "KDE"}, 0.2),
    ],
)
def test_map_values_are_those_by_hand(maps: pd.DataFrame, settings: dict[str, Any], value: float) -> None:
    claimed, opposite = (BELOW, ABOVE) if value < 0 else (ABOVE, BELOW)
    found = table_rules.map_value(maps, **settings, value=claimed)
    assert found.estimate == pytest.approx(value, abs=1e-3)
    assert found.verdict == "confirmed"
    assert table_rules.map_value(maps, **settings, value=opposite).verdict == "contradicted"


def test_a_small_sample_says_little_about_the_true_distribution(maps: pd.DataFrame) -> None:
    settings: dict[str, Any] = {"quantity": "mass", "left": "TRUNC", "right": "TRUE", "regions": [[0.4, 0.6]]}
    assert table_rules.map_value(maps, **settings, value=ABOVE, pits=10).verdict == "inconclusive"


def test_a_missing_map_was_not_run(maps: pd.DataFrame) -> None:
    with pytest.raises(NotRun, match="DCP"):
        table_rules.map_value(maps, quantity="mass_outside", left="DCP", value=ABOVE)


WORDS: tuple[Word, ...] = ("confirmed", "contradicted", "inconclusive", "not run")


@pytest.mark.parametrize(
    ("words", "both", "either"),
    [
        (("confirmed", "confirmed"), "confirmed", "confirmed"),
        (("confirmed", "contradicted"), "contradicted", "confirmed"),
        (("contradicted", "not run"), "contradicted", "not run"),
        (("confirmed", "inconclusive"), "inconclusive", "confirmed"),
        (("confirmed", "not run"), "not run", "confirmed"),
        (("inconclusive", "not run"), "not run", "inconclusive"),
        (("contradicted", "inconclusive"), "contradicted", "inconclusive"),
        (("contradicted", "contradicted"), "contradicted", "contradicted"),
    ],
)
def test_conditions_join_in_any_order(words: tuple[Word, Word], both: Word, either: Word) -> None:
    for order in (words, words[::-1]):
        verdicts = [Verdict(word, f"because {word}", estimate=float(WORDS.index(word))) for word in order]
        joined = all_of(verdicts)
        assert (joined.verdict, any_of(verdicts).verdict) == (both, either)
        assert joined.estimate == WORDS.index(both)
        assert all(f"because {word}" in joined.explanation for word in words)


@pytest.mark.parametrize(
    ("text", "inside", "outside", "words"),
    [
        ("(0.5, 1]", (0.51, 1.0), (0.5, 1.01), "above 0.5 and at most 1"),
        ("(-inf, 0)", (-1e300, -1e-9), (0.0, 1.0), "below 0"),
        ("[13, 13]", (13.0,), (12.0, 14.0), "equal to 13"),
        ("[1e-3, inf)", (0.001, 5.0), (0.0009,), "at least 0.001"),
    ],
)
def test_range_holds_what_it_says(text: str, inside: tuple[float, ...], outside: tuple[float, ...], words: str) -> None:
    found = Range.parse(text)
    assert all(value in found for value in inside)
    assert not any(value in found for value in outside)
    assert found.words == words


@pytest.mark.parametrize("text", ["", "0.5", "(1, 0)", "(0.5, one]", "[0; 1]", "__import__('os')"])
def test_what_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="must be like"):
        Range.parse(text)


def test_range_against_intervals() -> None:
    claimed = Range.parse("(0.5, 1]")
    assert claimed.holds(0.6, 1.0)
    assert not claimed.holds(0.5, 1.0)
    assert claimed.misses(0.0, 0.5)
    assert not claimed.misses(0.4, 0.6)
    assert Range.parse(BELOW).holds(-math.inf, -1)
    assert Range.parse(BELOW).misses(0.0, math.inf)
    assert claimed.words_within(0, 1) == "above 0.5"
    assert Range.parse("[0, 0]").words_within(0, 1) == "equal to 0"


@pytest.mark.parametrize(("count", "total"), [(0, 6), (6, 6), (31, 44), (1, 1)])
def test_share_interval_is_clopper_and_pearsons(count: int, total: int) -> None:
    exact = stats.binomtest(count, total).proportion_ci(method="exact")
    assert share_interval(count, total) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("total", [1, 5, 6, 13, 44, 57])
def test_median_interval_is_the_sign_tests(total: int) -> None:
    values = np.random.default_rng(total).normal(size=total)
    low, high = median_interval(values)

    def p_value(median: float) -> float:
        return float(stats.binomtest(int((values > median).sum()), total).pvalue)

    if total < 6:
        assert (low, high) == (-math.inf, math.inf)
    else:
        assert p_value(low - 1e-9) <= 0.05 < p_value(low + 1e-9)
        assert p_value(high + 1e-9) <= 0.05 < p_value(high - 1e-9)


@pytest.mark.parametrize(("datasets", "pairs"), [(1, 1), (5, 1), (6, 1), (6, 6), (8, 6), (44, 6), (44, 66)])
def test_smallest_significant_share_is_the_sign_tests(datasets: int, pairs: int) -> None:
    significant = [
        count / datasets
        for count in range(math.ceil(datasets / 2), datasets + 1)
        if stats.binomtest(count, datasets).pvalue < 0.05 / pairs
    ]
    expected = min(significant) if significant else None
    assert smallest_significant_share(datasets, pairs, 0.05) == expected


def test_smallest_confirming_share_would_confirm() -> None:
    claimed = Range.parse("(0.5, 1]")
    found = smallest_confirming_share(20, claimed)
    assert found is not None
    count = round(found * 20)
    assert claimed.holds(*share_interval(count, 20))
    assert not claimed.holds(*share_interval(count - 1, 20))
    assert smallest_confirming_share(5, claimed) is None
