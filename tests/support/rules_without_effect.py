"""Rules applied to results without any effect, and which verdict would be wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.rank_tests import rank_tables
from qrt_study.verdicts import measure_rules, rank_rules
from qrt_study.verdicts.measure_rules import Measure
from qrt_study.verdicts.verdict import Verdict

DATASETS = 35
Draw = Callable[[np.random.Generator], Verdict]


def _pair(generator: np.random.Generator) -> FigureStatistics:
    means = pd.DataFrame({"A": generator.standard_t(3, DATASETS), "B": 0.0})
    tables = {name: table.assign(metric="NLL") for name, table in rank_tables(means).items()}
    return FigureStatistics(tables | {"per_dataset": pd.DataFrame(columns=["metric", "method", "dataset", "splits"])})


def _runs(generator: np.random.Generator) -> Measure:
    """Runs without an effect, noisier on some datasets than on others."""
    scale = 10.0 ** generator.uniform(-3, 0, DATASETS)
    runs = scale[:, None] * generator.standard_normal((DATASETS, 5))
    table = pd.DataFrame({"dataset": [f"{place:02d}" for place in range(DATASETS)], "value": runs.mean(axis=1)})
    facts = {"standard_error": stats.sem(runs, axis=1), "splits": 5, "published": np.nan}
    return Measure(table.assign(**facts, discreteness=generator.random(DATASETS)), "X")


AB: dict[str, Any] = {"metric": "NLL", "left": "A", "right": "B"}
BELOW = "(-inf, 0)"
# Rule, what happens without any effect, and the verdict that would be wrong.
WITHOUT_EFFECT: dict[str, tuple[Draw, str]] = {
    "ahead": (lambda one: rank_rules.ahead(_pair(one), **AB), "confirmed"),
    "level": (lambda one: rank_rules.level(_pair(one), **AB, margin=0.25), "contradicted"),
    "not_better": (lambda one: rank_rules.not_better(_pair(one), **AB, margin=0.25), "contradicted"),
    "share_of_datasets": (
        lambda one: measure_rules.share_of_datasets(_runs(one), values=BELOW, share="(0.5, 1]"),
        "confirmed",
    ),
    "median_effect": (lambda one: measure_rules.median_effect(_runs(one), median=BELOW), "confirmed"),
    "shift": (lambda one: measure_rules.shift(_runs(one), _runs(one), difference=BELOW), "confirmed"),
    "value_on_dataset": (
        lambda one: measure_rules.value_on_dataset(_runs(one), dataset="00", value=BELOW),
        "confirmed",
    ),
    "trend": (lambda one: measure_rules.trend(_runs(one), correlation="[-1, 0)"), "confirmed"),
    "no_trend": (lambda one: measure_rules.no_trend(_runs(one), margin=0.4), "contradicted"),
    "among_lowest": (lambda one: measure_rules.among_lowest(_runs(one), dataset="00", quantile=0.25), "confirmed"),
    "never": (
        lambda one: measure_rules.extreme(_runs(one), which="largest", value="(-inf, 0]", margin=0.0),
        "contradicted",
    ),
    "on some": (lambda one: measure_rules.extreme(_runs(one), which="smallest", value="(-inf, -0.1)"), "confirmed"),
}
