"""Ours against the published values: Figure 2 per dataset, the ratios of Table 2, the marks of Figure 1.

The criterion for Figure 2 is the usual one for a replication: is the published value inside the 95 % prediction
interval that our result gives for it? That is the test of homogeneity of two studies (Q-test),
Q = (ours - published)^2 / (sum of the squared standard errors), with Welch's degrees of freedom in place of infinitely
many, since each standard error comes from five splits. Two joint standard errors would hold 92 % of such differences,
not 95 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from qrt_study.statistics.rank_tests import holm
from qrt_study.statistics.seeds import DIFFERENCES

LEVEL = 0.05  # of the Q-test; the prediction interval holds the rest
PUBLISHED_SPLITS = 5  # behind each published standard error, unless runs that diverged were left out
FEWEST = 3  # points that a rank correlation needs
ONE_EPOCH_LATER = 1  # published epochs count from 0, ours are epochs trained
_ORDERED = ("nll_recalibrated", "pce")  # metrics of Figure 1 that all four methods have
# One split alone that differs gives |mean| = standard error. By chance they also come close on a few datasets, so the
# standard error must be extraordinary, too.
_EQUAL = 0.03  # relative distance of |difference| and standard error
_EXTRAORDINARY = 10.0  # times the median of the published standard errors

FIGURE2_POINTS: dict[str, str] = {
    "dataset": "name of the dataset",
    "method": "QRTC or QRC",
    "ours": "mean over splits of test NLL - that of BASE",
    "ours_standard_error": "its standard error",
    "splits": "splits in that mean",
    "ours_median": "median over splits",
    "without_one_low": "smallest mean when one split is left out",
    "without_one_high": "largest mean when one split is left out",
    "published": "the published difference",
    "published_standard_error": "its standard error",
    "single_split": "a single split carries the published mean: |difference| equals the standard error",
    "degrees_of_freedom": "of Welch and Satterthwaite",
    "z": "ours - published, in joint standard errors",
    "interval_low": "lower end of the 95 % prediction interval of ours for the published value",
    "interval_high": "its upper end",
    "inside": "whether the published value is inside",
    "p_value": "p-value of the Q-test",
    "p_holm": "p-value after Holm's correction over the datasets of the method",
    "same_sign": "whether both differences have one sign",
}


class Agreement(NamedTuple):
    """Our values beside the published ones, what they come to, and a note where there is little to compare."""

    points: pd.DataFrame
    summary: pd.DataFrame
    note: str


def agreement_statistics(
    per_dataset: pd.DataFrame, published: pd.DataFrame, per_split: pd.DataFrame | None = None
) -> Agreement:
    """Figure 2: the difference of test NLL to BASE, per dataset and method, by prediction interval and Q-test.

    `per_dataset` is the table of Figure 2 (`qrt_study.statistics.columns`), `published` is `published.figure2()`,
    `per_split` comes from `seed_differences`; without it there are no medians and no means without one split. What
    needs both standard errors is missing where one of them is (one split). The points have the columns of
    FIGURE2_POINTS, the summary (one row per method) those of FIGURE2_SUMMARY.
    """
    own = per_dataset[per_dataset["metric"] == "NLL"] if "metric" in per_dataset else per_dataset
    own = own[["dataset", "method", "difference", "difference_standard_error", "common_splits"]]
    own = own.set_axis(["dataset", "method", "ours", "ours_standard_error", "splits"], axis=1)
    theirs = published[["dataset", "method", "difference", "standard_error"]]
    theirs = theirs.set_axis(["dataset", "method", "published", "published_standard_error"], axis=1)
    theirs = theirs.assign(single_split=_carried_by_one_split(theirs))
    points = own.merge(theirs, on=["dataset", "method"]).merge(
        _over_splits(per_split), on=["dataset", "method"], how="left"
    )
    points = points[np.isfinite(points["ours"].astype(float))].reset_index(drop=True)
    points = points.assign(**_q_test(points))
    points["p_holm"] = points.groupby("method")["p_value"].transform(_holm_of_known)
    points["same_sign"] = np.sign(points["ours"].astype(float)) == np.sign(points["published"].astype(float))
    summary = pd.DataFrame([_figure2_row(method, rows) for method, rows in points.groupby("method", sort=False)])
    few = _few(points["dataset"].nunique(), "of the datasets of the published Figure 2")
    return Agreement(points[list(FIGURE2_POINTS)], summary, few)


def _carried_by_one_split(theirs: pd.DataFrame) -> pd.Series:
    errors = theirs["published_standard_error"].astype(float)
    equal = (theirs["published"].astype(float).abs() / errors - 1).abs() <= _EQUAL
    return equal & (errors >= _EXTRAORDINARY * errors.median())


def _over_splits(per_split: pd.DataFrame | None) -> pd.DataFrame:
    """The median of our splits, and the range of the means that leave one of them out."""
    found = pd.DataFrame(columns=list(DIFFERENCES)) if per_split is None else per_split
    found = found[found["baseline"] == "BASE"]
    splits = found.groupby(["dataset", "method"])["difference"]
    others = (splits.transform("sum") - found["difference"]) / (splits.transform("size") - 1).replace(0, np.nan)
    without_one = others.astype(float).groupby([found["dataset"], found["method"]])
    names = {
        "ours_median": splits.median(),
        "without_one_low": without_one.min(),
        "without_one_high": without_one.max(),
    }
    return pd.DataFrame(names).reset_index()


def _q_test(points: pd.DataFrame) -> dict[str, pd.Series]:
    """Prediction interval and Q-test of each point, with Welch's degrees of freedom; missing without two errors."""
    ours, published, error, published_error, splits = (
        points[name].astype(float)
        for name in ("ours", "published", "ours_standard_error", "published_standard_error", "splits")
    )
    joint = pd.Series(np.hypot(error, published_error), index=points.index)
    joint = joint.where((joint > 0) & (splits > 1))
    # Squares of variances: numpy's fourth power has other last bits on other processors.
    joint_square, square, published_square = (one**2 * one**2 for one in (joint, error, published_error))
    freedom = joint_square / (square / (splits - 1).where(splits > 1) + published_square / (PUBLISHED_SPLITS - 1))
    z = (ours - published) / joint
    reach = joint * stats.t.ppf(1 - LEVEL / 2, freedom)
    p_value = pd.Series(2 * stats.t.sf(z.abs(), freedom), index=points.index)
    return {
        "degrees_of_freedom": freedom,
        "z": z,
        "interval_low": ours - reach,
        "interval_high": ours + reach,
        "inside": (p_value >= LEVEL).astype("boolean").mask(p_value.isna()),
        "p_value": p_value,
    }


def _holm_of_known(p_values: pd.Series) -> pd.Series:
    """Holm's correction over the p-values that there are."""
    known = p_values.dropna()
    return pd.Series(holm(known.to_numpy(float)), index=known.index).reindex(p_values.index)


def _figure2_row(method: object, rows: pd.DataFrame) -> dict[str, object]:
    """How many datasets of a method agree, and how well."""
    tested = rows.dropna(subset="p_value")
    inside = int(tested["inside"].sum())
    return {
        "method": method,
        "datasets": len(rows),
        "same_sign": int(rows["same_sign"].sum()),
        "same_sign_share": float(rows["same_sign"].mean()),
        "tested": len(tested),
        "inside": inside,
        "inside_share": inside / len(tested) if len(tested) else np.nan,
        "outside": len(tested) - inside,
        "expected_outside": LEVEL * len(tested),
        "outside_after_holm": int((tested["p_holm"] < LEVEL).sum()),
        "holds_zero": int(((tested["interval_low"] <= 0) & (tested["interval_high"] >= 0)).sum()),
        **_rank_correlation(rows["ours"], rows["published"]),
        "median_absolute_difference": float((rows["ours"] - rows["published"]).abs().median()),
    }


def outliers(points: pd.DataFrame) -> pd.DataFrame:
    """The points of Figure 2 whose published value is outside of the prediction interval, smallest p-value first."""
    return points[points["p_value"] < LEVEL].sort_values("p_value", kind="stable", ignore_index=True)


def ordered_p_values(points: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The p-values (N,) in order, and what to expect of each if both studies measure the same: i / (N + 1)."""
    values = np.sort(points["p_value"].dropna().to_numpy(float))
    return values, np.arange(1, len(values) + 1) / (len(values) + 1)


def time_agreement(ratios: pd.DataFrame) -> Agreement:
    """Table 2: the time per epoch of QRTC divided by that of BASE (`qrt_study.statistics.times.time_ratios`).

    Seconds of different machines cannot be compared, their ratio can. `quotient` is our ratio divided by the published
    one, `median_factor` the median of its size (1.2: typically 20 % apart, in either direction).
    """
    both = ratios.dropna(subset=["ratio", "published_ratio"]).reset_index(drop=True)
    points = both[["dataset"]].assign(ours=both["ratio"].astype(float), published=both["published_ratio"].astype(float))
    points["quotient"] = points["ours"] / points["published"]
    points["same_side"] = (points["ours"] > 1) == (points["published"] > 1)
    summary = {
        "datasets": len(points),
        "same_side": int(points["same_side"].sum()),
        "same_side_share": float(points["same_side"].mean()),
        "median_ours": float(points["ours"].median()),
        "median_published": float(points["published"].median()),
        "median_factor": float(np.exp(np.log(points["quotient"]).abs().median())),
        **_rank_correlation(points["ours"], points["published"]),
    }
    few = _few(len(points), "of the datasets of Table 2")
    return Agreement(points, pd.DataFrame([summary] if len(points) else []), few)


def figure1_agreement(selected: pd.DataFrame, marks: pd.DataFrame) -> Agreement:
    """Figure 1: our values at the selected epoch beside the published bars and stars (`published.figure1_marks`).

    `selected` is the table of Figure 1 (`statistics.columns`). Epochs are counted from 1. The published marks have
    no standard errors, so the summary compares the order of the methods, lowest first, per dataset and metric.
    """
    own = selected[selected["part"] == "validation"]
    points = own.merge(marks, on=["dataset", "method", "metric"], suffixes=("", "_published"))
    ours, theirs = (points[name].astype(float) for name in ("value", "value_published"))
    points = points[["dataset", "metric", "method"]].assign(
        ours=ours,
        ours_standard_error=points["standard_error"].astype(float),
        published=theirs,
        difference=ours - theirs,
        our_epoch=points["selected_epoch"].astype(float),
        published_epoch=points["selected_epoch_published"].astype(float) + ONE_EPOCH_LATER,
    )
    summary = []
    for (dataset, metric), rows in points[points["metric"].isin(_ORDERED)].groupby(["dataset", "metric"], sort=False):
        our_order, their_order = (" < ".join(rows.sort_values(column)["method"]) for column in ("ours", "published"))
        row = {"dataset": dataset, "metric": metric, "our_order": our_order, "published_order": their_order}
        summary.append(row | {"same_order": our_order == their_order})
    note = "" if len(points) else "This study has neither of the two datasets of the published Figure 1."
    return Agreement(points, pd.DataFrame(summary), note)


def _rank_correlation(ours: pd.Series, published: pd.Series) -> dict[str, float]:
    """Spearman's rank correlation and its p-value; missing for too few or constant values."""
    if len(ours) < FEWEST or ours.nunique() < 2 or published.nunique() < 2:
        return {"spearman": np.nan, "spearman_p": np.nan}
    result = stats.spearmanr(ours.astype(float), published.astype(float))
    return {"spearman": float(result.statistic), "spearman_p": float(result.pvalue)}


def _few(datasets: int, of_what: str) -> str:
    """What to say of a comparison that is based on few datasets."""
    if not datasets:
        return f"This study has results on none {of_what}."
    if datasets < FEWEST:
        return f"This study has results on {datasets} {of_what}: too few for a rank correlation."
    return ""
