"""Ours against the published values: Figure 2 per dataset, the ratios of Table 2, the marks of Figure 1."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

FAR = 2.0  # joint standard errors beyond which a point is an outlier
FEWEST = 3  # points that a rank correlation needs
ONE_EPOCH_LATER = 1  # published epochs count from 0, ours are epochs trained
_ORDERED = ("nll_recalibrated", "pce")  # metrics of Figure 1 that all four methods have

FIGURE2_POINTS = (
    "dataset",
    "method",
    "ours",
    "ours_standard_error",
    "published",
    "published_standard_error",
    "joint_standard_error",
    "z",
    "same_sign",
    "within_two",
)
FIGURE2_SUMMARY = (
    "method",
    "datasets",
    "same_sign",
    "same_sign_share",
    "with_standard_errors",
    "within_two",
    "within_two_share",
    "spearman",
    "spearman_p",
    "median_absolute_difference",
    "outliers",
)
TIME_POINTS = ("dataset", "ours", "published", "quotient", "same_side")
TIME_SUMMARY = (
    "datasets",
    "same_side",
    "same_side_share",
    "median_ours",
    "median_published",
    "median_factor",
    "spearman",
    "spearman_p",
)
FIGURE1_POINTS = (
    "dataset",
    "metric",
    "method",
    "ours",
    "ours_standard_error",
    "published",
    "difference",
    "our_epoch",
    "published_epoch",
)
FIGURE1_SUMMARY = ("dataset", "metric", "our_order", "published_order", "same_order")


class Agreement(NamedTuple):
    """Our values beside the published ones, what they come to, and a note where there is little to compare."""

    points: pd.DataFrame
    summary: pd.DataFrame
    note: str


def agreement_statistics(per_dataset: pd.DataFrame, published: pd.DataFrame) -> Agreement:
    """Figure 2: the difference of test NLL to BASE, per dataset and method, with both standard errors.

    `per_dataset` is the table of Figure 2 (`qrt.statistics.columns`), `published` is `qrt.published.figure2()`. `z` is
    ours minus published, in joint standard errors sqrt(a^2 + b^2); it is missing where one of them is (one split). The
    points have the columns of FIGURE2_POINTS, the summary (one row per method) those of FIGURE2_SUMMARY.
    """
    own = per_dataset[per_dataset["metric"] == "NLL"] if "metric" in per_dataset else per_dataset
    own = own[["dataset", "method", "difference", "difference_standard_error"]]
    theirs = published[["dataset", "method", "difference", "standard_error"]]
    points = own.merge(theirs, on=["dataset", "method"], suffixes=("_ours", ""))
    points = points.set_axis([*FIGURE2_POINTS[:3], "ours_standard_error", *FIGURE2_POINTS[4:6]], axis=1)
    points = points[np.isfinite(points["ours"].astype(float))].reset_index(drop=True)
    errors = points[["ours_standard_error", "published_standard_error"]].astype(float)
    joint = pd.Series(np.hypot(errors.iloc[:, 0], errors.iloc[:, 1]), index=points.index)
    z = (points["ours"] - points["published"]) / joint.where(joint > 0)
    points = points.assign(
        joint_standard_error=joint,
        z=z,
        same_sign=np.sign(points["ours"].astype(float)) == np.sign(points["published"].astype(float)),
        within_two=(z.abs() <= FAR).astype("boolean").mask(z.isna()),
    )
    summary = [_figure2_row(str(method), rows) for method, rows in points.groupby("method", sort=False)]
    return Agreement(
        points[list(FIGURE2_POINTS)],
        pd.DataFrame(summary, columns=list(FIGURE2_SUMMARY)),
        _few(points["dataset"].nunique(), "of the datasets of the published Figure 2"),
    )


def _figure2_row(method: str, rows: pd.DataFrame) -> dict[str, object]:
    tested = rows["within_two"].dropna()
    return {
        "method": method,
        "datasets": len(rows),
        "same_sign": int(rows["same_sign"].sum()),
        "same_sign_share": float(rows["same_sign"].mean()),
        "with_standard_errors": len(tested),
        "within_two": int(tested.sum()),
        "within_two_share": float(tested.astype(float).mean()) if len(tested) else np.nan,
        **_rank_correlation(rows["ours"], rows["published"]),
        "median_absolute_difference": float((rows["ours"] - rows["published"]).abs().median()),
        "outliers": int((~tested.astype(bool)).sum()),
    }


def outliers(points: pd.DataFrame) -> pd.DataFrame:
    """The points of Figure 2 that lie more than two joint standard errors apart, the farthest first."""
    far = points[points["z"].abs() > FAR]
    return far.iloc[np.argsort(-far["z"].abs().to_numpy(float), kind="stable")].reset_index(drop=True)


def time_agreement(ratios: pd.DataFrame) -> Agreement:
    """Table 2: the time per epoch of QRTC divided by that of BASE (`qrt.statistics.times.time_ratios`).

    Seconds of different machines cannot be compared, their ratio can. `quotient` is our ratio divided by the published
    one, `median_factor` the median of its size (1.2: typically 20 % apart, in either direction).
    """
    both = ratios.dropna(subset=["ratio", "published_ratio"]).reset_index(drop=True)
    points = pd.DataFrame(
        {
            "dataset": both["dataset"],
            "ours": both["ratio"].astype(float),
            "published": both["published_ratio"].astype(float),
            "quotient": both["ratio"].astype(float) / both["published_ratio"].astype(float),
            "same_side": (both["ratio"] > 1) == (both["published_ratio"] > 1),
        },
        columns=list(TIME_POINTS),
    )
    summary = []
    if len(points):
        summary.append(
            {
                "datasets": len(points),
                "same_side": int(points["same_side"].sum()),
                "same_side_share": float(points["same_side"].mean()),
                "median_ours": float(points["ours"].median()),
                "median_published": float(points["published"].median()),
                "median_factor": float(np.exp(np.log(points["quotient"]).abs().median())),
                **_rank_correlation(points["ours"], points["published"]),
            }
        )
    return Agreement(
        points, pd.DataFrame(summary, columns=list(TIME_SUMMARY)), _few(len(points), "of the datasets of Table 2")
    )


def figure1_agreement(selected: pd.DataFrame, marks: pd.DataFrame) -> Agreement:
    """Figure 1: our values at the selected epoch beside the published bars and stars (`qrt.published.figure1_marks`).

    `selected` is the table of Figure 1 (`qrt.statistics.columns`). Epochs are counted from 1. The published marks have
    no standard errors, so the summary compares the order of the methods, lowest first, per dataset and metric.
    """
    own = selected[selected["part"] == "validation"]
    points = own.merge(marks, on=["dataset", "method", "metric"], suffixes=("", "_published"))
    points = pd.DataFrame(
        {
            "dataset": points["dataset"],
            "metric": points["metric"],
            "method": points["method"],
            "ours": points["value"].astype(float),
            "ours_standard_error": points["standard_error"].astype(float),
            "published": points["value_published"].astype(float),
            "difference": points["value"].astype(float) - points["value_published"].astype(float),
            "our_epoch": points["selected_epoch"].astype(float),
            "published_epoch": points["selected_epoch_published"].astype(float) + ONE_EPOCH_LATER,
        },
        columns=list(FIGURE1_POINTS),
    )
    summary = []
    for (dataset, metric), rows in points[points["metric"].isin(_ORDERED)].groupby(["dataset", "metric"], sort=False):
        ours, theirs = (" < ".join(rows.sort_values(column)["method"]) for column in ("ours", "published"))
        row = {"dataset": dataset, "metric": metric, "our_order": ours, "published_order": theirs}
        summary.append(row | {"same_order": ours == theirs})
    note = "" if len(points) else "This study has none of the two datasets of the published Figure 1."
    return Agreement(points, pd.DataFrame(summary, columns=list(FIGURE1_SUMMARY)), note)


def _rank_correlation(ours: pd.Series, published: pd.Series) -> dict[str, float]:
    """Spearman's rank correlation and its p-value; missing for too few or constant values."""
    if len(ours) < FEWEST or ours.nunique() < 2 or published.nunique() < 2:
        return {"spearman": np.nan, "spearman_p": np.nan}
    result = stats.spearmanr(ours.astype(float), published.astype(float))
    return {"spearman": float(result.statistic), "spearman_p": float(result.pvalue)}


def _few(datasets: int, of_what: str) -> str:
    """What to say of a comparison that stands on few datasets."""
    if not datasets:
        return f"This study has results on none {of_what}."
    if datasets < FEWEST:
        return f"This study has results on {datasets} {of_what}: too few for a rank correlation."
    return ""
