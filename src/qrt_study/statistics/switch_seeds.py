"""What a switch changes, by all random starts that both of its settings have: test NLL minus that of BASE."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from qrt_study.statistics.effects import moments
from qrt_study.statistics.seeds import FEWEST_SEEDS, seed_differences

COLUMNS = (
    *("switch", "method", "dataset", "seeds"),
    *("before", "before_standard_error", "after", "after_standard_error"),
)
_PLACE = ["method", "dataset", "split", "seed"]


def switch_differences(methods: Mapping[str, pd.DataFrame], study: str, metric: str) -> pd.DataFrame:
    """The differences to BASE before and after each switch is changed, on datasets with two common seeds or more.

    `methods` are the tuned methods by reading, the study's own under the name `study`. A mean is that over splits of
    the means over the seeds that both settings have, its standard error that over splits.
    """
    found = {reading: _to_base(rows, metric) for reading, rows in methods.items()}
    rows = []
    for switch, changed in found.items():
        if switch == study:
            continue
        both = found[study].merge(changed, on=_PLACE, suffixes=("_before", "_after"))
        for (method, dataset), here in both.groupby(["method", "dataset"], sort=False):
            seeds = here["seed"].nunique()
            if seeds >= FEWEST_SEEDS:
                row = {"switch": switch, "method": method, "dataset": dataset, "seeds": seeds}
                rows.append(row | _mean(here, "before") | _mean(here, "after"))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _to_base(methods: pd.DataFrame, metric: str) -> pd.DataFrame:
    differences = seed_differences(methods, {"NLL": metric})
    return differences.loc[differences["baseline"] == "BASE", [*_PLACE, "difference"]]


def _mean(rows: pd.DataFrame, when: str) -> dict[str, float]:
    by_split = rows.groupby("split")[f"difference_{when}"].mean()
    over_splits = moments(by_split.to_numpy(float))
    return {when: float(over_splits.mean), f"{when}_standard_error": float(over_splits.standard_error)}
