"""Made-up evidence on which each rule comes to each verdict that it can give."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from qrt_study.data.sheet import paper_datasets
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.rank_tests import rank_tables
from qrt_study.verdicts import measure_rules, rank_rules, rules, table_rules
from qrt_study.verdicts.measure_rules import Measure
from qrt_study.verdicts.verdict import VERDICTS, NotRun, Verdict, not_run
from support.mock_results import paper_names

BELOW, ABOVE = "(-inf, 0)", "(0, inf)"
AB: dict[str, Any] = {"metric": "NLL", "left": "A", "right": "B"}
DECIDED = VERDICTS[:5]
DISCRETE = [{"column": "top10", "in": "(0.5, inf)"}]


def of_means(**means: Sequence[float] | np.ndarray) -> FigureStatistics:
    """The statistics of methods that have these means on datasets 00, 01, ..."""
    table = pd.DataFrame({name: np.asarray(values, dtype=float) for name, values in means.items()})
    names = [f"{place:02d}" for place in range(len(table))]
    rows = [
        pd.DataFrame({"method": name, "dataset": names, "mean": table[name], "splits": 5, "metric": "NLL"})
        for name in table
    ]
    tables = {name: part.assign(metric="NLL") for name, part in rank_tables(table).items()}
    empty = {name: pd.DataFrame(columns=["metric", "method", "left", "right"]) for name in ("ranks", "pairs")}
    return FigureStatistics(empty | tables | {"per_dataset": pd.concat(rows)}, datasets=names)


def differences_of(datasets: int, below: int) -> np.ndarray:
    """Differences below zero on the first `below` datasets, all about as large and in no order."""
    sizes = 1 + 1e-6 * np.random.default_rng(0).permutation(datasets)
    return np.where(np.arange(datasets) < below, -sizes, sizes)


def pair(datasets: int, below: int) -> FigureStatistics:
    """Two methods: A is lower than B on the first `below` datasets."""
    return of_means(A=differences_of(datasets, below), B=np.zeros(datasets))


def measured(
    values: Sequence[float] | np.ndarray,
    *,
    errors: float | Sequence[float] = 0.1,
    splits: int = 5,
    discreteness: Sequence[float] = (),
    published: float | Sequence[float] = math.nan,
) -> Measure:
    """A measure with these values on datasets 00, 01, ..."""
    table = pd.DataFrame({"dataset": [f"{place:02d}" for place in range(len(values))], "value": values})
    levels = list(discreteness) or [0.1] * len(values)
    facts = {"standard_error": errors, "splits": splits, "discreteness": levels, "published": published}
    return Measure(table.assign(**facts), "X")


def dataset_table(count: int = 57) -> pd.DataFrame:
    sheet = paper_datasets()
    rows = [
        {"dataset": name, "group": sheet[name].group, "top10": sheet[name].published.top10, "status": "verified"}
        for name in paper_names(count)
    ]
    return pd.DataFrame(rows, columns=["dataset", "group", "top10", "status"])


def _with_trend(slope: float, noise: float, total: int = 45) -> Measure:
    levels = np.linspace(0, 1, total)
    chance = np.random.default_rng(4).normal(size=total)
    return measured(slope * levels + noise * chance, discreteness=levels.tolist())


def _trend_of_ranks(*share: tuple[int, int]) -> Callable[[], Verdict]:
    """So many datasets with a falling metric, so many with a rising one."""

    def found() -> Verdict:
        rows = [
            direction * np.arange(3.0) for direction, count in zip((-1, 1), share[0], strict=True) for _ in range(count)
        ]
        statistics = of_means(**dict(zip(("M1", "M2", "M3"), np.array(rows).T, strict=True)))
        return rank_rules.rank_trend(
            statistics, metric="NLL", methods=["M1", "M2", "M3"], at=[1, 2, 3], correlation="[-1, 0)"
        )

    return found


def _share(below: int) -> Callable[[], Verdict]:
    measure = measured([-1.0] * below + [1.0] * (44 - below))
    return lambda: measure_rules.share_of_datasets(measure, values=BELOW, share="(0.5, 1]")


def _shifted(shift: float, spread: float = 1.0, **settings: Any) -> Callable[[], Verdict]:
    values = np.linspace(-spread, spread, 45)
    return lambda: measure_rules.shift(measured(values + shift), measured(np.zeros(45)), **settings)


def _median(shift: float, spread: float = 1.0) -> Callable[[], Verdict]:
    return lambda: measure_rules.median_effect(measured(np.linspace(-spread, spread, 45) + shift), median=BELOW)


def _median_within(shift: float, spread: float) -> Callable[[], Verdict]:
    return lambda: measure_rules.median_within(measured(np.linspace(-spread, spread, 45) + shift), margin=0.02)


def _value(value: float) -> Callable[[], Verdict]:
    return lambda: measure_rules.value_on_dataset(measured([value]), dataset="00", value=BELOW)


def _lowest(place: int, error: float, total: int = 57) -> Callable[[], Verdict]:
    measure = measured(np.arange(total, dtype=float), errors=error)
    return lambda: measure_rules.among_lowest(measure, dataset=f"{place:02d}", quantile=0.25)


def _largest(value: float, total: int = 35, error: float = 0.001) -> Callable[[], Verdict]:
    measure = measured([value] * total, errors=error)
    return lambda: measure_rules.extreme(measure, which="largest", value="(-inf, 0]", margin=0.01)


def _trend(slope: float, noise: float) -> Callable[[], Verdict]:
    return lambda: measure_rules.trend(_with_trend(slope, noise), correlation="[-1, 0)")


def _no_trend(slope: float, noise: float, total: int = 45) -> Callable[[], Verdict]:
    return lambda: measure_rules.no_trend(_with_trend(slope, noise, total), margin=0.4)


def _count(available: int, claimed: str) -> Callable[[], Verdict]:
    return lambda: table_rules.dataset_count(dataset_table(available), where=DISCRETE, count=claimed)


def _mass(shift: float) -> Callable[[], Verdict]:
    z = np.linspace(0, 1, 101)
    maps = [("TRUE", z), ("EMP", z), ("L", np.clip(z + shift * np.sin(np.pi * z), 0, 1)), ("R", z)]
    table = pd.concat([pd.DataFrame({"map": name, "z": z, "cdf": cdf}) for name, cdf in maps])
    return lambda: table_rules.map_value(
        table, quantity="mass", left="L", right="TRUE", regions=[[0, 0.5]], value=ABOVE
    )


def _ahead(rule: str, below: int, total: int = 44, **settings: Any) -> Callable[[], Verdict]:
    return lambda: getattr(rank_rules, rule)(pair(total, below), **AB | settings)


def _ranked(below: int, total: int = 44) -> Callable[[], Verdict]:
    return lambda: rank_rules.ranking(pair(total, below), metric="NLL", best=["A"])


def even(total: int) -> FigureStatistics:
    return of_means(A=np.zeros(total), B=np.zeros(total))


MARGIN: dict[str, Any] = {"margin": 0.25}
REACHED: dict[str, tuple[Callable[[], Verdict], ...]] = {
    **{
        rule: (
            *(_ahead(rule, below) for below in (38, 26)),
            lambda rule=rule: getattr(rank_rules, rule)(even(44), **AB),  # type: ignore[misc]
            *(_ahead(rule, below) for below in (18, 6)),
        )
        for rule in ("significantly_better", "ahead")
    },
    "not_better": (
        *(_ahead("not_better", below, **MARGIN) for below in (22, 30)),
        _ahead("not_better", 3, 5, **MARGIN),
        *(_ahead("not_better", below, **MARGIN) for below in (36, 44)),
    ),
    "level": (
        *(_ahead("level", below, **MARGIN) for below in (22, 30)),
        _ahead("level", 4, 8, **MARGIN),
        *(_ahead("level", below, **MARGIN) for below in (36, 44)),
    ),
    "ranking": (*(_ranked(below) for below in (38, 26)), _ranked(3, 5), *(_ranked(below) for below in (18, 6))),
    "rank_trend": tuple(_trend_of_ranks(share) for share in ((40, 4), (24, 20), (22, 22), (20, 24), (4, 40))),
    "share_of_datasets": tuple(_share(below) for below in (31, 26, 22, 18, 10)),
    "median_effect": tuple(_median(shift) for shift in (-1.0, -0.05, 0.0, 0.05, 1.0)),
    "median_within": (
        _median_within(0.0, 0.01),
        _median_within(0.01, 0.05),
        _median_within(0.0, 1.0),
        _median_within(0.03, 0.05),
        _median_within(0.5, 0.1),
    ),
    "shift": tuple(_shifted(shift, difference=BELOW) for shift in (-1.0, -0.05, 0.0, 0.05, 1.0)),
    "value_on_dataset": tuple(_value(value) for value in (-1.0, -0.1, 0.0, 0.1, 1.0)),
    "among_lowest": (_lowest(0, 0.1), _lowest(10, 1.5), _lowest(0, 0.1, 4), _lowest(16, 1.5), _lowest(30, 0.1)),
    "extreme": (
        _largest(-0.01),
        _largest(0.012),
        _largest(-1.0, 3),
        _largest(0.02, error=0.002),
        _largest(0.05),
    ),
    "trend": (_trend(-4, 1), _trend(-1, 1), _trend(0, 0), _trend(1, 1), _trend(4, 1)),
    "no_trend": (_no_trend(0, 1), _no_trend(1, 1), _no_trend(0, 1, 8), _no_trend(2, 1), _no_trend(4, 1)),
    "dataset_count": (
        _count(57, "[13, 13]"),
        _count(45, "[13, 13]"),
        _count(5, "[13, 13]"),
        _count(45, "[14, 14]"),
        _count(57, "[14, 14]"),
    ),
    "map_value": tuple(_mass(shift) for shift in (0.2, 0.02, 0.0, -0.02, -0.2)),
}


def _without_usable_values(rule: str, **settings: Any) -> Callable[[], Verdict]:
    return lambda: getattr(measure_rules, rule)(measured([math.nan, math.inf]), **settings)


# Without the results that the rule needs.
NOT_RUN: dict[str, Callable[[], Verdict]] = {
    **{rule: _ahead(rule, 3, right="C") for rule in ("significantly_better", "ahead")},
    **{rule: _ahead(rule, 3, right="C", **MARGIN) for rule in ("not_better", "level")},
    "ranking": lambda: rank_rules.ranking(pair(44, 30), metric="PCE", best=["A"]),
    "rank_trend": lambda: rank_rules.rank_trend(
        pair(44, 30), metric="NLL", methods=["A", "C"], at=[1, 2], correlation="[-1, 0)"
    ),
    "share_of_datasets": _without_usable_values("share_of_datasets", values=BELOW, share="(0.5, 1]"),
    "median_effect": _without_usable_values("median_effect", median=BELOW),
    "median_within": _without_usable_values("median_within", margin=0.02),
    "shift": _without_usable_values("shift", other=measured([1.0]), difference=BELOW),
    "value_on_dataset": _without_usable_values("value_on_dataset", dataset="00", value=BELOW),
    "among_lowest": _without_usable_values("among_lowest", dataset="00", quantile=0.25),
    "extreme": _without_usable_values("extreme", which="largest", value="(-inf, 0]"),
    "identity": _without_usable_values("identity", dataset="00", tolerance=1e-3),
    "trend": _without_usable_values("trend", correlation="[-1, 0)"),
    "no_trend": _without_usable_values("no_trend", margin=0.4),
    "dataset_count": lambda: table_rules.dataset_count(dataset_table(0), where=DISCRETE, count="[13, 13]"),
    "map_value": lambda: table_rules.map_value(
        pd.DataFrame({"map": ["EMP"], "z": [0.5], "cdf": [0.5]}), quantity="mass_outside", left="DCP", value=ABOVE
    ),
}


def cases() -> dict[tuple[str, str], Verdict]:
    """What rules find, by rule and case. The case is the verdict that is to be expected."""
    found: dict[tuple[str, str], Verdict] = {
        (rule, word): case() for rule, of_rule in REACHED.items() for word, case in zip(DECIDED, of_rule, strict=True)
    }
    for gap, word in ((1e-7, "confirmed"), (1e-2, "contradicted")):
        found["identity", word] = measure_rules.identity(measured([gap], splits=1), dataset="00", tolerance=1e-3)
    for rule, case in NOT_RUN.items():
        try:
            found[rule, "not run"] = case()
        except NotRun as missing:
            found[rule, "not run"] = not_run(str(missing))
    one_of_each = [found["level", word] for word in VERDICTS]
    for join in (rules.all_of, rules.any_of):
        for left, right in ((left, right) for left in one_of_each for right in one_of_each):
            found[join.__name__, f"{left.verdict} and {right.verdict}"] = join([left, right])
    return found
