"""The measures that rules judge: one number for each dataset, from the statistics of the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import numpy as np
import pandas as pd

from qrt.claims.evidence import Workings, figure2_differences, figure2_method
from qrt.claims.measure_rules import COLUMNS, Measure
from qrt.claims.verdict import NotRun
from qrt.data.split import MAX_CALIBRATION_ROWS
from qrt.published import figure1_curves, figure1_marks, table2
from qrt.statistics.densities import density_statistics
from qrt.statistics.times import OURS, time_ratios, times_statistics

_CURVES = {"NLL": "nll_recalibrated", "PCE": "pce"}
_PARTS = {"validation": "validation", "train": "training"}
PAPER_SPLITS = 5
_BATCH = 512  # rows of a minibatch (docs/protocol.md, section 2)


def difference(workings: Workings, *, comparison: str, metric: str, left: str, right: str, datasets: str) -> Measure:
    """Mean over the common splits of left minus right, test rows."""
    what = f"{metric} of {left} minus that of {right}"
    return _effect(workings, "difference", what, comparison, metric=metric, left=left, right=right, datasets=datasets)


def relative_difference(
    workings: Workings, *, comparison: str, metric: str, left: str, right: str, datasets: str
) -> Measure:
    """The difference as a share of the right method's value."""
    what = f"the relative difference in {metric} of {left} to {right}"
    column = "relative_difference"
    return _effect(workings, column, what, comparison, metric=metric, left=left, right=right, datasets=datasets)


def cohens_d(workings: Workings, *, comparison: str, metric: str, left: str, right: str, datasets: str) -> Measure:
    """Cohen's d of left against right, in the protocol's form."""
    what = f"Cohen's d in {metric} of {left} against {right}"
    return _effect(workings, "cohens_d", what, comparison, metric=metric, left=left, right=right, datasets=datasets)


def cohens_d_pooled(
    workings: Workings, *, comparison: str, metric: str, left: str, right: str, datasets: str
) -> Measure:
    """Cohen's d with the pooled standard deviation under every protocol, for margins that must not depend on it."""
    what = f"Cohen's d (pooled) in {metric} of {left} against {right}"
    return _effect(
        workings, "cohens_d_pooled", what, comparison, metric=metric, left=left, right=right, datasets=datasets
    )


def level(workings: Workings, *, comparison: str, metric: str, left: str, datasets: str) -> Measure:
    """The metric of the left method itself."""
    rows = workings.effects(workings.compared(comparison, left), None, metric, datasets)
    table = rows.rename(columns={"mean": "value"}).assign(published=np.nan)
    return Measure(table[list(COLUMNS)], f"{metric} of {left}")


def difference_at_selection(
    workings: Workings, *, metric: str, left: str, right: str, datasets: str, part: str, curve: str = ""
) -> Measure:
    """Left minus right at the selected epoch (after it, for post-hoc methods), as Figures 1 and 15 to 18 mark it.

    `curve` nll_base takes the NLL before the map. The standard error treats the two as independent: conservative, since
    they share their splits.
    """
    name = curve or _CURVES[metric]
    table = _at_selection(workings.recorded("selected", left, right), name, left, right, part)
    paper = _at_selection(_published_marks(), name, left, right, part)
    before = " before the map" if name == "nll_base" else ""
    what = f"{_PARTS[part]} {metric}{before} of {left} minus that of {right} at the selected epoch"
    return _in_group(workings, table, datasets, what, paper)


def epoch_share(
    workings: Workings,
    *,
    metric: str,
    left: str,
    right: str,
    datasets: str,
    part: str,
    curve: str = "",
    dataset: str = "",
) -> Measure:
    """The share of epochs at which the left averaged curve is below the right one, while all runs of both are alive.

    With the standard error of the jackknife over splits if it is that of one `dataset`.
    """
    name = curve or _CURVES[metric]

    def shares(curves: pd.DataFrame) -> pd.DataFrame:
        both = _curves_of_both(curves, name, left, right, part)
        lower = both.assign(value=(both["mean_left"] < both["mean_right"]).astype(float))
        return lower.groupby("dataset").agg(value=("value", "mean"), splits=("runs", "min")).reset_index()

    what = f"the share of epochs with the lower {_PARTS[part]} {metric} of {left} than of {right}"
    return _of_curves(workings, shares, methods=(left, right), datasets=datasets, what=what, dataset=dataset)


def epoch_deviation(
    workings: Workings, *, metric: str, left: str, right: str, datasets: str, part: str, dataset: str = ""
) -> Measure:
    """Standard deviation over epochs of the left averaged curve minus that of the right one, all runs alive.

    With the standard error of the jackknife over splits if it is that of one `dataset`.
    """

    def deviations(curves: pd.DataFrame) -> pd.DataFrame:
        groups = _curves_of_both(curves, _CURVES[metric], left, right, part).groupby("dataset")
        table = groups.agg(splits=("runs", "min"))
        table["value"] = groups["mean_left"].std() - groups["mean_right"].std()
        return table.reset_index()

    what = f"the standard deviation over epochs of the {_PARTS[part]} {metric} of {left} minus that of {right}"
    return _of_curves(workings, deviations, methods=(left, right), datasets=datasets, what=what, dataset=dataset)


def identity_gap(workings: Workings, *, left: str, datasets: str, part: str) -> Measure:
    """The largest |NLL of F' - NLL of F - alpha H(Z)| over the epochs of the averaged curve (paper, section 3.2)."""
    curves = workings.recorded("curves", left)
    rows = curves[(curves["method"] == left) & (curves["part"] == part)]
    wide = rows.pivot_table(index=["dataset", "epoch", "runs"], columns="metric", values="mean")
    wide = wide.reindex(columns=["nll_recalibrated", "nll_base", "alpha_entropy_pit"]).dropna().reset_index()
    gaps = (wide["nll_recalibrated"] - wide["nll_base"] - wide["alpha_entropy_pit"]).abs()
    table = wide.assign(value=gaps).groupby("dataset").agg(value=("value", "max"), splits=("runs", "max")).reset_index()
    what = f"the largest gap over epochs between NLL of F' and NLL of F + alpha H(Z) of {left}"
    return _in_group(workings, table, datasets, what)


def change_after_selection(workings: Workings, *, metric: str, left: str, datasets: str, part: str) -> Measure:
    """Value at the last epoch minus that at the selected one, mean over runs."""
    what = f"the change of the {_PARTS[part]} {metric} of {left} from the selected to the last epoch"
    return _after_selection(workings, what, _change, metric=metric, left=left, datasets=datasets, part=part)


def slope_after_selection(workings: Workings, *, metric: str, left: str, datasets: str, part: str) -> Measure:
    """Slope of a straight line through the epochs from the selected one on, mean over runs."""
    what = f"the slope per epoch of the {_PARTS[part]} {metric} of {left} after the selected epoch"
    return _after_selection(workings, what, _slope, metric=metric, left=left, datasets=datasets, part=part)


def time_ratio(workings: Workings, *, datasets: str, way: str = OURS) -> Measure:
    """Time per epoch of QRTC over that of BASE, as Table 2 has it under the protocol (docs/protocol.md, row 10).

    `way`: with "ours" the map's centres are those of the one forward pass; "released" has a second pass and the
    pairwise formula, which is what was timed for the paper (row 19).
    """
    reading: Literal["trained", "selected"] = (
        "trained" if workings.evidence.protocol.time_per_epoch == "trained" else "selected"
    )
    what = "the time per epoch of QRTC over that of BASE"
    return _timed(workings, datasets, what, way, lambda one: _time_ratios(workings, reading, one))


def minibatch_time_ratio(workings: Workings, *, datasets: str, way: str = OURS) -> Measure:
    """Time per minibatch of QRTC over that of BASE; `way` as for `time_ratio`.

    BASE trains on the calibration rows too, so its epochs may have more minibatches. The incomplete last one of an
    epoch is dropped; calibration has 15 rows for 65 training rows, at most 2048 (docs/protocol.md, sections 1 and 2).
    """
    of_dataset = workings.evidence.dataset_table.set_index("dataset")["train_rows"]

    def ratios(one: str) -> pd.DataFrame:
        table = _time_ratios(workings, "trained", one)
        rows = table["dataset"].map(of_dataset).astype(float)
        with_calibration = rows + np.minimum(MAX_CALIBRATION_ROWS, np.floor(rows * 15 / 65))
        longer = _minibatches(with_calibration) / _minibatches(rows)
        return table.assign(value=table["value"] * longer, published=table["published"] * longer)

    return _timed(workings, datasets, "the time per minibatch of QRTC over that of BASE", way, ratios)


def peak_density(workings: Workings, *, left: str, right: str, dataset: str) -> Measure:
    """Highest point of the predictive density, left minus right, mean over the test rows shown."""
    what = f"the mean peak density of {left} minus that of {right}"
    return _of_densities(workings, what, _peak, left=left, right=right, dataset=dataset)


def integer_peaks(workings: Workings, *, left: str, right: str, dataset: str) -> Measure:
    """Local maxima of the predictive density at integers (nearest point of the grid), left minus right."""
    what = f"the number of peaks of the density at integers of {left} minus that of {right}"
    return _of_densities(workings, what, _peaks_at_integers, left=left, right=right, dataset=dataset)


CURVE_MEASURES = frozenset(
    function.__name__
    for function in (
        difference_at_selection,
        epoch_share,
        epoch_deviation,
        identity_gap,
        change_after_selection,
        slope_after_selection,
    )
)
MEASURES: dict[str, Callable[..., Measure]] = {
    function.__name__: function
    for function in (
        difference,
        relative_difference,
        cohens_d,
        cohens_d_pooled,
        level,
        difference_at_selection,
        epoch_share,
        epoch_deviation,
        identity_gap,
        change_after_selection,
        slope_after_selection,
        time_ratio,
        minibatch_time_ratio,
        peak_density,
        integer_peaks,
    )
}


def _effect(
    workings: Workings, column: str, what: str, comparison: str, *, metric: str, left: str, right: str, datasets: str
) -> Measure:
    one, two = workings.compared(comparison, left), workings.compared(comparison, right)
    rows = workings.effects(one, two, metric, datasets)
    published: float | pd.Series = np.nan
    methods = figure2_method(one), figure2_method(two)
    if column == "difference" and metric == "NLL" and all(methods):
        figure2 = figure2_differences()
        published = rows["dataset"].map(figure2[methods[0]] - figure2[methods[1]]).astype(float)
    table = rows.assign(
        value=rows[column],
        splits=rows["common_splits"],
        standard_error=rows["difference_standard_error"] if column == "difference" else np.nan,
        published=published,
    )
    return Measure(table[list(COLUMNS)], what)


def _in_group(
    workings: Workings, table: pd.DataFrame, datasets: str, what: str, published: pd.DataFrame | None = None
) -> Measure:
    """The measure of the study's datasets of a group; `published` is the same table from the paper's numbers."""
    rows = table[table["dataset"].isin(workings.datasets_in(datasets))]
    rows = rows.assign(discreteness=rows["dataset"].map(workings.discreteness).astype(float))
    if published is not None:
        rows = rows.assign(published=rows["dataset"].map(published.set_index("dataset")["value"]).astype(float))
    return Measure(rows.reindex(columns=list(COLUMNS)), what)


def _at_selection(selected: pd.DataFrame, metric: str, left: str, right: str, part: str) -> pd.DataFrame:
    """Left minus right in a table of the values at the selected epoch, for each dataset that has both."""
    here = selected[(selected["part"] == part) & (selected["metric"] == metric)].set_index("dataset")
    one, two = here[here["method"] == left], here[here["method"] == right]
    runs = one["runs"].combine(two["runs"], min).reindex(one.index.intersection(two.index))
    # The figures' standard errors are from population variances.
    squares = [
        side["standard_error"] ** 2 * side["runs"] / (side["runs"] - 1).where(side["runs"] > 1) for side in (one, two)
    ]
    table = pd.DataFrame(
        {
            "value": (one["value"] - two["value"]).reindex(runs.index),
            "standard_error": np.sqrt((squares[0] + squares[1]).reindex(runs.index).astype(float)),
            "splits": runs,
        }
    )
    return table.rename_axis("dataset").reset_index()


def _curves_of_both(curves: pd.DataFrame, curve: str, left: str, right: str, part: str) -> pd.DataFrame:
    """The averaged curves of both methods at the epochs where all runs of both are alive."""
    rows = curves[(curves["metric"] == curve) & (curves["part"] == part) & curves["all_alive"].astype(bool)]
    sides = [rows[rows["method"] == method][["dataset", "epoch", "mean", "runs"]] for method in (left, right)]
    both = sides[0].merge(sides[1], on=["dataset", "epoch"], suffixes=("_left", "_right"))
    return both.assign(runs=both[["runs_left", "runs_right"]].min(axis=1)).sort_values(["dataset", "epoch"])


def _of_curves(
    workings: Workings,
    summarise: Callable[[pd.DataFrame], pd.DataFrame],
    *,
    methods: tuple[str, str],
    datasets: str,
    what: str,
    dataset: str,
) -> Measure:
    """A summary (columns dataset, value, splits) of the averaged curves, with the published one beside it."""
    table = summarise(workings.recorded("curves", *methods))
    if dataset:
        error = _jackknife_error(workings, dataset, summarise)
        table = table.assign(standard_error=np.where(table["dataset"] == dataset, error, np.nan))
    return _in_group(workings, table, datasets, what, summarise(_published_curves()))


def _jackknife_error(workings: Workings, dataset: str, summarise: Callable[[pd.DataFrame], pd.DataFrame]) -> float:
    """The standard error of a summary of the averaged curves, from leaving out one split after the other."""
    curves = workings.table("curves")
    splits = sorted(curves.loc[curves["dataset"] == dataset, "split"].unique())
    without = [summarise(workings.curves_without(int(split), dataset).tables["curves"]) for split in splits]
    values = np.array([float(table["value"].iloc[0]) for table in without if len(table)])
    if len(values) < 2 or len(values) < len(splits):
        return np.nan
    return float(np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()))


@cache
def _published_curves() -> pd.DataFrame:
    """The curves of Figure 1 with the columns of ours."""
    curves = figure1_curves().rename(columns={"value": "mean"})
    return curves.assign(part="validation", all_alive=curves["runs"] == "all", runs=PAPER_SPLITS)


@cache
def _published_marks() -> pd.DataFrame:
    """The bars and stars of Figure 1 with the columns of ours."""
    return figure1_marks().assign(part="validation", runs=PAPER_SPLITS, standard_error=np.nan)


def _after_selection(
    workings: Workings,
    what: str,
    summarise: Callable[[np.ndarray, np.ndarray], float],
    *,
    metric: str,
    left: str,
    datasets: str,
    part: str,
) -> Measure:
    """A number for each run from its own selected epoch on, averaged.

    Runs stop at different epochs, so the end of their mean curve would compare different runs.
    """
    key = ("from selection on", left, part, workings.content(("main", "QRTC"), ("base_train", "BASE-TRAIN")))
    points = workings.remember(key, lambda: _from_selection_on(workings, left, part))
    rows: list[dict[str, Any]] = []
    for (dataset, _), run in points.groupby(["dataset", "split"]):
        if len(run) > 1:
            value = summarise(run["epoch"].to_numpy(float), run[_CURVES[metric]].to_numpy(float))
            rows.append({"dataset": dataset, "value": value})
    per_run = pd.DataFrame(rows, columns=["dataset", "value"]).groupby("dataset")["value"]
    table = pd.DataFrame({"value": per_run.mean(), "standard_error": per_run.sem(), "splits": per_run.count()})
    return _in_group(workings, table.reset_index(), datasets, what)


def _from_selection_on(workings: Workings, left: str, part: str) -> pd.DataFrame:
    """The records of the runs of a method from their selected epochs on."""
    curves = workings.table("curves")
    experiment, method = {"BASE": ("base_train", "BASE-TRAIN"), "QRT": ("main", "QRTC")}[left]
    tuned = workings.evidence.methods
    tuned = tuned[(tuned["experiment"] == experiment) & (tuned["method"] == method) & (tuned["status"] == "ok")]
    if tuned.empty:
        raise NotRun(f"{left} was not run")
    points = curves[curves["part"] == part].merge(
        tuned[["dataset", "split", "variant", "kernel_width"]],
        on=["dataset", "split", "variant"],
        suffixes=("", "_tuned"),
    )
    # What does not depend on the meaning of b has no kernel width.
    either_missing = points["kernel_width"].isna() | points["kernel_width_tuned"].isna()
    same = (points["kernel_width"] == points["kernel_width_tuned"]).fillna(False)
    points = points[
        (either_missing | same) & (points["epoch"] >= points["selected_epoch"]) & (points["selected_epoch"] > 0)
    ]
    return points.drop_duplicates(["dataset", "split", "epoch"]).sort_values(["dataset", "split", "epoch"])


def _change(epochs: np.ndarray, values: np.ndarray) -> float:
    return float(values[-1] - values[0])


def _slope(epochs: np.ndarray, values: np.ndarray) -> float:
    return float(np.polyfit(epochs, values, 1)[0])


def _timed(workings: Workings, datasets: str, what: str, way: str, ratios: Callable[[str], pd.DataFrame]) -> Measure:
    """Ratios of times in one way; those of the released way say what ours needs beside it."""
    if way == OURS:
        return _in_group(workings, ratios(way), datasets, what)
    ours = f"ours needs {_in_group(workings, ratios(OURS), datasets, what).table['value'].median():.2f} in the median"
    if not (workings.table("times")["way"] == way).any():
        raise NotRun(f"the released way (second forward pass, pairwise formula) was not timed; {ours}")
    note = f"; timed as released (second forward pass, pairwise formula), while {ours}"
    return replace(_in_group(workings, ratios(way), datasets, what), note=note)


def _time_ratios(workings: Workings, reading: Literal["trained", "selected"], way: str) -> pd.DataFrame:
    times = workings.table("times")
    statistics = workings.remember(("times", reading), lambda: times_statistics(times, table2(), reading))
    compared = statistics[statistics["method"].isin(["BASE", "QRTC"]) & (statistics["way"] == way)]
    splits = compared.groupby("dataset")["runs"].min()
    ratios = time_ratios(statistics, way)
    return ratios.assign(
        value=ratios["ratio"], published=ratios["published_ratio"], splits=ratios["dataset"].map(splits)
    )


def _minibatches(rows: pd.Series) -> pd.Series:
    return np.floor(rows / np.minimum(_BATCH, rows))


def _of_densities(
    workings: Workings,
    what: str,
    summarise: Callable[[np.ndarray, np.ndarray], float],
    *,
    left: str,
    right: str,
    dataset: str,
) -> Measure:
    predictions, methods = workings.table("predictions"), workings.evidence.methods
    densities = workings.remember(
        ("densities", dataset, workings.content(("main", "BASE"), ("main", "QRC"), ("main", "QRTC"))),
        lambda: density_statistics(predictions, methods, dataset).tables["densities"].sort_values("y"),
    )
    found = {
        (method, row): summarise(of_row["y"].to_numpy(float), of_row["density"].to_numpy(float))
        for (method, row), of_row in densities.groupby(["method", "row"])
    }
    differences = [
        found[left, row] - found[right, row] for method, row in found if method == left and (right, row) in found
    ]
    if not differences:
        raise NotRun(f"no predictive densities of {left} and {right} on {dataset}")
    values = pd.Series(differences)
    table = pd.DataFrame(
        {"dataset": [dataset], "value": values.mean(), "standard_error": values.sem(), "splits": len(values)}
    )
    return Measure(table.assign(discreteness=np.nan, published=np.nan), what, units="test row")


def _peak(y: np.ndarray, density: np.ndarray) -> float:
    return float(density.max())


def _peaks_at_integers(y: np.ndarray, density: np.ndarray) -> float:
    inner = np.flatnonzero((density[1:-1] > density[:-2]) & (density[1:-1] >= density[2:])) + 1
    spacing = float(np.median(np.diff(y)))
    return float((np.abs(y[inner] - np.round(y[inner])) <= spacing).sum())
