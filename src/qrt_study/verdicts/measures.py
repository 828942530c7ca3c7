"""The measures that rules judge: one number for each dataset, from the statistics of the study."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from qrt.engine.split import MAX_CALIBRATION_ROWS
from qrt_study.published import figure1_curves, figure1_marks, table2
from qrt_study.statistics.densities import density_statistics
from qrt_study.statistics.times import OURS, time_ratios, times_statistics
from qrt_study.verdicts.evidence import (
    METHODS_OF_CURVES,
    RecordedCurves,
    StudyStatistics,
    by_curve,
    figure2_differences,
    figure2_method,
)
from qrt_study.verdicts.measure_rules import COLUMNS, Measure
from qrt_study.verdicts.verdict import NotRun

_CURVES = {"NLL": "nll_recalibrated", "PCE": "pce"}
_PARTS = {"validation": "validation", "train": "training"}
PAPER_SPLITS = 5
_BATCH = 512  # rows of a minibatch (docs/protocol.md, section 2)
_WITH_DENSITIES = (("main", "BASE"), ("main", "QRC"), ("main", "QRTC"))


def level(study: StudyStatistics, *, comparison: str, metric: str, left: str, datasets: str) -> Measure:
    """The metric of the left method itself."""
    rows = study.effects(study.compared(comparison, left), None, metric, datasets)
    table = rows.rename(columns={"mean": "value"}).assign(published=np.nan)
    return Measure(table[list(COLUMNS)], f"{metric} of {left}")


def difference_at_selection(
    study: StudyStatistics, *, metric: str, left: str, right: str, datasets: str, part: str, curve: str = ""
) -> Measure:
    """Left minus right at the selected epoch (after it, for post-hoc methods), as Figures 1 and 15 to 18 mark it.

    `curve` nll_base takes the NLL before the map. The standard error treats the two as independent: conservative, since
    they share their splits.
    """
    name = curve or _CURVES[metric]
    table = _at_selection(study.recorded("selected", left, right), name, left, right, part)
    paper = _published_at_selection(name, left, right, part)
    before = " before the map" if name == "nll_base" else ""
    what = f"{_PARTS[part]} {metric}{before} of {left} minus that of {right} at the selected epoch"
    return _in_group(study, table, datasets, what, paper)


def identity_gap(study: StudyStatistics, *, left: str, datasets: str, part: str) -> Measure:
    """The largest |NLL of F' - NLL of F - alpha H(Z)| over the epochs of the averaged curve (paper, section 3.2)."""
    curves = study.recorded("curves", left)
    rows = pd.concat([of_curve for (_, *whose), of_curve in curves.items() if whose == [part, left]])
    wide = rows.pivot_table(index=["dataset", "epoch", "runs"], columns="metric", values="mean")
    wide = wide.reindex(columns=["nll_recalibrated", "nll_base", "alpha_entropy_pit"]).dropna().reset_index()
    gaps = (wide["nll_recalibrated"] - wide["nll_base"] - wide["alpha_entropy_pit"]).abs()
    table = wide.assign(value=gaps).groupby("dataset").agg(value=("value", "max"), splits=("runs", "max")).reset_index()
    what = f"the largest gap over epochs between NLL of F' and NLL of F + alpha H(Z) of {left}"
    return _in_group(study, table, datasets, what)


def time_ratio(study: StudyStatistics, *, datasets: str, way: str = OURS) -> Measure:
    """Time per epoch of QRTC over that of BASE, as Table 2 has it under the protocol (docs/protocol.md, row 10).

    `way`: with "ours" the map's centres are those of the one forward pass; "released" has a second pass and the
    pairwise formula, which is what was timed for the paper (row 19).
    """
    reading: Literal["trained", "selected"] = (
        "trained" if study.evidence.protocol.time_per_epoch == "trained" else "selected"
    )
    what = "the time per epoch of QRTC over that of BASE"
    return _timed(study, datasets, what, way, lambda one: _time_ratios(study, reading, one))


def minibatch_time_ratio(study: StudyStatistics, *, datasets: str, way: str = OURS) -> Measure:
    """Time per minibatch of QRTC over that of BASE; `way` as for `time_ratio`.

    BASE trains on the calibration rows too, so its epochs may have more minibatches. The incomplete last one of an
    epoch is dropped; calibration has 15 rows for 65 training rows, at most 2048 (docs/protocol.md, sections 1 and 2).
    """
    of_dataset = study.evidence.dataset_table.set_index("dataset")["train_rows"]

    def ratios(one: str) -> pd.DataFrame:
        table = _time_ratios(study, "trained", one)
        rows = table["dataset"].map(of_dataset).astype(float)
        with_calibration = rows + np.minimum(MAX_CALIBRATION_ROWS, np.floor(rows * 15 / 65))
        longer = _minibatches(with_calibration) / _minibatches(rows)
        return table.assign(value=table["value"] * longer, published=table["published"] * longer)

    return _timed(study, datasets, "the time per minibatch of QRTC over that of BASE", way, ratios)


def _effect(
    column: str,
    what: str,
    study: StudyStatistics,
    *,
    comparison: str,
    metric: str,
    left: str,
    right: str,
    datasets: str,
) -> Measure:
    """A column of the effects of left against right, test rows over the common splits."""
    one, two = study.compared(comparison, left), study.compared(comparison, right)
    rows = study.effects(one, two, metric, datasets)
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
    return Measure(table[list(COLUMNS)], what.format(metric=metric, left=left, right=right))


def _in_group(
    study: StudyStatistics, table: pd.DataFrame, datasets: str, what: str, published: pd.DataFrame | None = None
) -> Measure:
    """The measure of the study's datasets of a group; `published` is the same table from the paper's numbers."""
    rows = table[table["dataset"].isin(study.datasets_in(datasets))]
    rows = rows.assign(discreteness=rows["dataset"].map(study.discreteness).astype(float))
    if published is not None:
        rows = rows.assign(published=rows["dataset"].map(published.set_index("dataset")["value"]).astype(float))
    return Measure(rows.reindex(columns=list(COLUMNS)), what)


def _at_selection(selected: RecordedCurves, metric: str, left: str, right: str, part: str) -> pd.DataFrame:
    """Left minus right in a table of the values at the selected epoch, for each dataset that has both."""
    columns = ["dataset", "runs", "value", "standard_error"]
    one, two = (_of_curve(selected, metric, part, method, columns).set_index("dataset") for method in (left, right))
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


def _of_curve(curves: RecordedCurves, metric: str, part: str, method: str, columns: list[str]) -> pd.DataFrame:
    found = curves.get((metric, part, method))
    return next(iter(curves.values())).iloc[:0][columns] if found is None else found[columns]


def _curves_of_both(curves: RecordedCurves, curve: str, left: str, right: str, part: str) -> pd.DataFrame:
    """The averaged curves of both methods at the epochs where all runs of both are alive."""
    columns = ["dataset", "epoch", "mean", "runs", "all_alive"]
    sides = [_of_curve(curves, curve, part, method, columns) for method in (left, right)]
    alive = [side[side["all_alive"].astype(bool)].drop(columns="all_alive") for side in sides]
    both = alive[0].merge(alive[1], on=["dataset", "epoch"], suffixes=("_left", "_right"))
    return both.assign(runs=both[["runs_left", "runs_right"]].min(axis=1)).sort_values(["dataset", "epoch"])


def _share_of_lower_epochs(both: pd.DataFrame) -> pd.DataFrame:
    lower = both.assign(value=(both["mean_left"] < both["mean_right"]).astype(float))
    return lower.groupby("dataset").agg(value=("value", "mean"), splits=("runs", "min")).reset_index()


def _difference_of_deviations(both: pd.DataFrame) -> pd.DataFrame:
    groups = both.groupby("dataset")
    table = groups.agg(splits=("runs", "min"))
    table["value"] = groups["mean_left"].std() - groups["mean_right"].std()
    return table.reset_index()


Summary = Callable[[pd.DataFrame], pd.DataFrame]  # of the curves of both methods: columns dataset, value, splits


def _of_curves(
    summarise: Summary,
    what: str,
    study: StudyStatistics,
    *,
    metric: str,
    left: str,
    right: str,
    datasets: str,
    part: str,
    curve: str = "",
    dataset: str = "",
) -> Measure:
    """A summary of two averaged curves while all runs of both are alive, with the published one beside it.

    With the standard error of the jackknife over splits if it is that of one `dataset`.
    """
    both = (curve or _CURVES[metric], left, right, part)
    table = summarise(_curves_of_both(study.recorded("curves", left, right), *both))
    if dataset:
        error = _jackknife_error(study, dataset, lambda curves: summarise(_curves_of_both(curves, *both)))
        table = table.assign(standard_error=np.where(table["dataset"] == dataset, error, np.nan))
    told = what.format(part=_PARTS[part], metric=metric, left=left, right=right)
    return _in_group(study, table, datasets, told, _published_summary(summarise, both))


def _jackknife_error(
    study: StudyStatistics, dataset: str, summarise: Callable[[RecordedCurves], pd.DataFrame]
) -> float:
    """The standard error of a summary of the averaged curves, from leaving out one split after the other."""
    curves = study.table("curves")
    splits = sorted(curves.loc[curves["dataset"] == dataset, "split"].unique())
    recorded = (study.curves_without(int(split), dataset) for split in splits)
    without = [summarise(curves) for curves in recorded if curves]
    values = np.array([float(table["value"].iloc[0]) for table in without if len(table)])
    if len(values) < 2 or len(values) < len(splits):
        return np.nan
    return float(np.sqrt((len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()))


@cache
def _published_summary(summarise: Summary, both: tuple[str, str, str, str]) -> pd.DataFrame:
    return summarise(_curves_of_both(by_curve(_published_curves()), *both))


@cache
def _published_at_selection(metric: str, left: str, right: str, part: str) -> pd.DataFrame:
    return _at_selection(by_curve(_published_marks()), metric, left, right, part)


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
    summarise: Callable[[np.ndarray, np.ndarray], float],
    what: str,
    study: StudyStatistics,
    *,
    metric: str,
    left: str,
    datasets: str,
    part: str,
) -> Measure:
    """A number for each run from its own selected epoch on, averaged.

    Runs stop at different epochs, so the end of their mean curve would compare different runs.
    """

    def averaged() -> pd.DataFrame:
        points = study.once("selection", left, part, compute=lambda: _from_selection_on(study, left, part))
        epochs, values = (points[name].to_numpy(float) for name in ("epoch", _CURVES[metric]))
        rows: list[dict[str, Any]] = []
        for (dataset, _), places in points.groupby(["dataset", "split"]).indices.items():
            if len(places) > 1:
                rows.append({"dataset": dataset, "value": summarise(epochs[places], values[places])})
        per_run = pd.DataFrame(rows, columns=["dataset", "value"]).groupby("dataset")["value"]
        table = pd.DataFrame({"value": per_run.mean(), "standard_error": per_run.sem(), "splits": per_run.count()})
        return table.reset_index()

    table = study.once("after selection", summarise, metric, left, part, compute=averaged)
    return _in_group(study, table, datasets, what.format(part=_PARTS[part], metric=metric, left=left))


def _from_selection_on(study: StudyStatistics, left: str, part: str) -> pd.DataFrame:
    """The records of the runs of a method from their selected epochs on."""
    curves = study.table("curves")
    experiment, method = {"BASE": ("base_train", "BASE-TRAIN"), "QRT": ("main", "QRTC")}[left]
    tuned = study.evidence.methods
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


def _timed(
    study: StudyStatistics, datasets: str, what: str, way: str, ratios: Callable[[str], pd.DataFrame]
) -> Measure:
    """Ratios of times in one way; those of the released way say what ours needs beside it."""
    if way == OURS:
        return _in_group(study, ratios(way), datasets, what)
    ours = f"ours needs {_in_group(study, ratios(OURS), datasets, what).table['value'].median():.2f} in the median"
    if not (study.table("times")["way"] == way).any():
        raise NotRun(f"the released way (second forward pass, pairwise formula) was not timed; {ours}")
    note = f"; timed as released (second forward pass, pairwise formula), while {ours}"
    return replace(_in_group(study, ratios(way), datasets, what), note=note)


def _time_ratios(study: StudyStatistics, reading: Literal["trained", "selected"], way: str) -> pd.DataFrame:
    times = study.table("times")
    statistics = study.once("times", reading, compute=lambda: times_statistics(times, table2(), reading))
    compared = statistics[statistics["method"].isin(["BASE", "QRTC"]) & (statistics["way"] == way)]
    splits = compared.groupby("dataset")["runs"].min()
    ratios = time_ratios(statistics, way)
    return ratios.assign(
        value=ratios["ratio"], published=ratios["published_ratio"], splits=ratios["dataset"].map(splits)
    )


def _minibatches(rows: pd.Series) -> pd.Series:
    return np.floor(rows / np.minimum(_BATCH, rows))


def _of_densities(
    summarise: Callable[[np.ndarray, np.ndarray], float],
    what: str,
    study: StudyStatistics,
    *,
    left: str,
    right: str,
    dataset: str,
) -> Measure:
    """A number for each predictive density, left minus right, mean over the test rows shown."""
    predictions, methods = study.table("predictions"), study.evidence.methods
    densities = study.once(
        *("densities", dataset),
        compute=lambda: density_statistics(predictions, methods, dataset).tables["densities"].sort_values("y"),
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
    told = what.format(left=left, right=right)
    return Measure(table.assign(discreteness=np.nan, published=np.nan), told, units="test row")


def _peak(y: np.ndarray, density: np.ndarray) -> float:
    return float(density.max())


def _peaks_at_integers(y: np.ndarray, density: np.ndarray) -> float:
    inner = np.flatnonzero((density[1:-1] > density[:-2]) & (density[1:-1] >= density[2:])) + 1
    spacing = float(np.median(np.diff(y)))
    return float((np.abs(y[inner] - np.round(y[inner])) <= spacing).sum())


# Of the effects by their columns; Cohen's d is in the protocol's form, or pooled under every protocol, for margins that
# must not depend on it.
_EFFECTS = {
    "difference": "{metric} of {left} minus that of {right}",
    "relative_difference": "the relative difference in {metric} of {left} to {right}",
    "cohens_d": "Cohen's d in {metric} of {left} against {right}",
    "cohens_d_pooled": "Cohen's d (pooled) in {metric} of {left} against {right}",
}
_OF_CURVES: dict[str, Callable[..., Measure]] = {
    "difference_at_selection": difference_at_selection,
    "epoch_share": partial(
        _of_curves,
        _share_of_lower_epochs,
        "the share of epochs with the lower {part} {metric} of {left} than of {right}",
    ),
    "epoch_deviation": partial(
        _of_curves,
        _difference_of_deviations,
        "the standard deviation over epochs of the {part} {metric} of {left} minus that of {right}",
    ),
    "identity_gap": identity_gap,
    "change_after_selection": partial(
        _after_selection,
        _change,
        "the change of the {part} {metric} of {left} from the selected to the last epoch",
    ),
    "slope_after_selection": partial(
        _after_selection, _slope, "the slope per epoch of the {part} {metric} of {left} after the selected epoch"
    ),
}
_OF_DENSITIES: dict[str, Callable[..., Measure]] = {
    "peak_density": partial(_of_densities, _peak, "the mean peak density of {left} minus that of {right}"),
    "integer_peaks": partial(
        _of_densities,
        _peaks_at_integers,
        "the number of peaks of the density at integers of {left} minus that of {right}",
    ),
}
TIME_MEASURES = ("time_ratio", "minibatch_time_ratio")
# Measures of curves and densities, and the methods that these are of.
MEASURES_OF_METHODS: dict[str, tuple[tuple[str, str], ...]] = {
    **dict.fromkeys(_OF_CURVES, METHODS_OF_CURVES),
    **dict.fromkeys(_OF_DENSITIES, _WITH_DENSITIES),
}
MEASURES: dict[str, Callable[..., Measure]] = {
    **{column: partial(_effect, column, what) for column, what in _EFFECTS.items()},
    "level": level,
    **_OF_CURVES,
    "time_ratio": time_ratio,
    "minibatch_time_ratio": minibatch_time_ratio,
    **_OF_DENSITIES,
}
