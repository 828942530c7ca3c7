"""Rules about the dataset table (Table 3) and about the calibration maps of simulated PITs (Figure 11)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from qrt.text.words import counted
from qrt_study.data.sheet import Published, paper_datasets
from qrt_study.statistics.intervals import COVERAGE
from qrt_study.verdicts.range import Range
from qrt_study.verdicts.verdict import (
    NotRun,
    Verdict,
    decide,
    decide_over_datasets,
    interval_words,
    nearest_limit,
    too_few_words,
)

PUBLISHED_COLUMNS = tuple(field.name for field in fields(Published))
TRUE = "TRUE"  # the map that is the distribution of the simulated PITs


def dataset_count(table: pd.DataFrame, *, where: Sequence[Mapping[str, Any]], count: str) -> Verdict:
    """The number of the paper's datasets that meet all conditions `where` is in the range `count`.

    A condition names a column and either the values it `is`, or the range it is `in`. Datasets that are unavailable may
    or may not meet the conditions: the interval has them all or none of them, the estimate those that do by the paper's
    own table.
    """
    claimed, sheet = Range.parse(count), paper_datasets()
    ours = table[table["dataset"].isin(list(sheet)) & table["status"].isin(["verified", "differs"])]
    if ours.empty:
        raise NotRun("none of the paper's datasets is in this study")
    absent = _published_table([name for name in sheet if name not in set(ours["dataset"])])
    found, missing = int(_meets(ours, where).sum()), len(absent)
    by_the_paper = int(_meets(absent, where).sum())
    estimate, interval = float(found + by_the_paper), (float(found), float(found + missing))
    conditions = " and ".join(_condition_words(condition) for condition in where) or "all"
    return Verdict(
        decide_over_datasets(estimate, interval, claimed, len(ours)),
        f"{found} of {counted(len(ours), 'available dataset')} of the paper ({conditions}), {missing} unavailable, of "
        f"which {by_the_paper} by the paper's own table; claimed {claimed.words}{too_few_words(len(ours))}",
        short=f"{found} of {counted(len(ours), 'available dataset')} of the paper meet it.",
        estimate=estimate,
        quantity=f"number of datasets ({conditions})",
        limit=nearest_limit(estimate, claimed),
        interval=interval,
        datasets=len(ours),
        datasets_for=found,
        datasets_against=len(ours) - found,
    )


def map_value(
    maps: pd.DataFrame,
    *,
    quantity: str,
    left: str,
    value: str,
    right: str = "",
    regions: Sequence[Sequence[float]] = (),
    pits: int = 512,
) -> Verdict:
    """A quantity of the left map, minus that of the right one where there is one, is in the range `value`.

    mass: what the map gives to the `regions`, that is their length times the mean density there; error_of_mass: its
    absolute difference to the mass of the true distribution (TRUE); mean_distance and largest_distance: of the map's
    CDF to the empirical one; mass_outside: of [0, 1]. The maps are those of one sample of `pits`. Against the true
    distribution the interval is that of the share of the sample that falls into the regions; otherwise it has the
    width that a share near one half has, the widest there is.
    """
    claimed = Range.parse(value)
    estimate = _map_quantity(maps, quantity, left, regions)
    what = f"{quantity.replace('_', ' ')} of the map {left}"
    if right:
        estimate -= _map_quantity(maps, quantity, right, regions)
        what += f" minus that of {right}"
    share = _map_quantity(maps, "mass", TRUE, regions) if right == TRUE else 0.5
    width = float(stats.norm.isf(0.025)) * math.sqrt(share * (1 - share) / pits)
    interval = (estimate - width, estimate + width)
    if regions:
        what += " in " + " and ".join(f"[{low:g}, {high:g}]" for low, high in regions)
    return Verdict(
        decide(estimate, interval, claimed),
        f"{what} is {estimate:.3g}{interval_words(interval, COVERAGE)}, claimed {claimed.words}; one simulated sample "
        f"of {pits} PITs",
        short=f"{what[0].upper()}{what[1:]} is {estimate:.3g}.",
        estimate=estimate,
        quantity=what,
        limit=nearest_limit(estimate, claimed),
        interval=interval,
        smallest_detectable=width,
        detectable="difference beyond the chance of one sample",
    )


def _published_table(names: Sequence[str]) -> pd.DataFrame:
    """Table 3 as published, of these datasets."""
    sheet = paper_datasets()
    rows = [{"dataset": name, "group": sheet[name].group} | vars(sheet[name].published) for name in names]
    return pd.DataFrame(rows, columns=["dataset", "group", *PUBLISHED_COLUMNS])


def _meets(table: pd.DataFrame, where: Sequence[Mapping[str, Any]]) -> np.ndarray:
    meets = np.ones(len(table), dtype=bool)
    for condition in where:
        column = table[condition["column"]]
        if "is" in condition:
            meets &= column.isin(condition["is"]).to_numpy(bool)
        else:
            allowed = Range.parse(condition["in"])
            meets &= np.array([value in allowed for value in column.astype(float)], dtype=bool)
    return meets


def _map_quantity(maps: pd.DataFrame, quantity: str, name: str, regions: Sequence[Sequence[float]]) -> float:
    z, cdf = _map(maps, name)
    if quantity == "mass":
        return sum(float(np.interp(high, z, cdf) - np.interp(low, z, cdf)) for low, high in regions)
    if quantity == "error_of_mass":
        return abs(_map_quantity(maps, "mass", name, regions) - _map_quantity(maps, "mass", TRUE, regions))
    if quantity == "mass_outside":
        return float(cdf[0] + 1 - cdf[-1])
    distances = np.abs(cdf - np.interp(z, *_map(maps, "EMP")))
    return float(np.trapezoid(distances, z) if quantity == "mean_distance" else distances.max())


def _map(maps: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = maps[maps["map"] == name].sort_values("z")
    if rows.empty:
        raise NotRun(f"the calibration map {name} is not among the results")
    return rows["z"].to_numpy(float), rows["cdf"].to_numpy(float)


def _condition_words(condition: Mapping[str, Any]) -> str:
    allowed = " or ".join(condition["is"]) if "is" in condition else Range.parse(condition["in"]).words
    return f"{condition['column']} {allowed}"
