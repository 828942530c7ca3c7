"""Rules about the dataset table (Table 3) and about the calibration maps of simulated PITs (Figure 11)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from qrt.claims.range import Range
from qrt.claims.verdict import NotRun, Verdict, by_interval, counted
from qrt.data.sheet import paper_datasets

TRUE = "TRUE"  # the map that is the distribution of the simulated PITs


def dataset_count(table: pd.DataFrame, *, where: Sequence[Mapping[str, Any]], count: str) -> Verdict:
    """The number of the paper's datasets that meet all conditions `where` is in the range `count`.

    A condition names a column and either the values it `is`, or the range it is `in`. Datasets that are not available
    may or may not meet the conditions; the verdict must hold either way.
    """
    claimed, sheet = Range.parse(count), paper_datasets()
    ours = table[table["dataset"].isin(list(sheet)) & table["status"].isin(["verified", "differs"])]
    if ours.empty:
        raise NotRun("none of the paper's datasets is in this study")
    meets = np.ones(len(ours), dtype=bool)
    for condition in where:
        column = ours[condition["column"]]
        if "is" in condition:
            meets &= column.isin(condition["is"]).to_numpy(bool)
        else:
            allowed = Range.parse(condition["in"])
            meets &= np.array([value in allowed for value in column.astype(float)])
    found, missing = int(meets.sum()), len(sheet) - len(ours)
    conditions = " and ".join(_condition_words(condition) for condition in where) or "all"
    return Verdict(
        by_interval((found, found + missing), claimed),
        f"{found} of {counted(len(ours), 'available dataset')} of the paper ({conditions}), "
        f"{missing} not available; claimed {claimed.words}",
        estimate=float(found),
        quantity=f"number of datasets ({conditions})",
        interval=(float(found), float(found + missing)),
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
    CDF to the empirical one; mass_outside: of [0, 1]. Maps of the same sample are compared by the point. Against the
    true distribution, the 95 % interval of the share of a sample of `pits` that falls into the regions decides.
    """
    claimed = Range.parse(value)
    estimate = _map_quantity(maps, quantity, left, regions)
    what = f"{quantity.replace('_', ' ')} of the map {left}"
    if right:
        estimate -= _map_quantity(maps, quantity, right, regions)
        what += f" minus that of {right}"
    width = 0.0
    if right == TRUE:
        share = _map_quantity(maps, "mass", TRUE, regions)
        width = float(stats.norm.ppf(0.975)) * math.sqrt(share * (1 - share) / pits)
    interval = (estimate - width, estimate + width)
    if regions:
        what += " in " + " and ".join(f"[{low:g}, {high:g}]" for low, high in regions)
    noise = f" (sampling makes {width:.2g} of no account)" if width else ""
    return Verdict(
        by_interval(interval, claimed),
        f"{what} is {estimate:.3g}{noise}, claimed {claimed.words}; one simulated sample of {pits} PITs",
        estimate=estimate,
        quantity=what,
        interval=interval if width else None,
        smallest_detectable=width or None,
        detectable="difference to the true distribution beyond the chance of one sample" if width else "",
    )


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
