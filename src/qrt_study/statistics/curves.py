"""Metrics per epoch, and their values at the selected epoch, averaged over splits (Figures 1 and 15 to 18)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd

from qrt_study.statistics.columns import CURVES as TABLES
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut

CURVE_METRICS = ("nll_recalibrated", "nll_base", "alpha_entropy_pit", "pce")
# What is read of the table `curves`.
CURVE_COLUMNS = ("dataset", "split", "variant", "kernel_width", "part", "epoch", *CURVE_METRICS, "selected_epoch")
CURVES = ("BASE", "QRT")
STARS = ("QRC", "QRTC")
_PREFIX = {"train": "train", "validation": "val"}  # of a part's columns in the table `methods`
_RUN = ["dataset", "method", "split"]
_WITHOUT_DATA = ("unavailable", "invalid")
_STAR_METRICS = ("nll_recalibrated", "pce")  # what is left to compare once F is recalibrated


def curve_statistics(
    curves: pd.DataFrame,
    methods: pd.DataFrame,
    datasets: Sequence[str],
    *,
    parts: Sequence[str],
    metrics: Sequence[str],
    pce_column: str,
) -> FigureStatistics:
    """The tables `curves` and `selected` of the per-epoch figures (columns: `qrt_study.statistics.columns`).

    `curves` and `methods` are result tables; `methods` has the tuned rows of the experiments main and base_train.
    BASE is the network without calibration data (docs/protocol.md, section 5), QRT the network of QRTC, so that the
    star of QRTC is that very network after its post-hoc step. Values are of the standardised y, as in the published
    curves; `pce_column` names the PCE of the stars in `methods` (the curves have pce_levels).
    """
    runs, points = _recorded(curves, methods, datasets)
    usable = runs[runs["problem"] == ""]
    scales = _log_scales(points, runs)
    points = points.merge(usable[_RUN], on=_RUN)
    in_parts = points[points["part"].isin(parts)]
    long = _long(in_parts, metrics, ["part", "epoch"])
    at_selection = _long(
        pd.concat([_bars(in_parts, usable, parts), _stars(usable, scales, parts, pce_column)]),
        metrics,
        ["part", "selected_epoch"],
    )
    at_selection = at_selection[at_selection["method"].isin(CURVES) | at_selection["metric"].isin(_STAR_METRICS)]
    with_curves = set(points["dataset"])
    return FigureStatistics(
        tables={
            "curves": _in_order(_curve_table(long), TABLES["curves"], datasets, parts, metrics),
            "selected": _in_order(_selected_table(at_selection), TABLES["selected"], datasets, parts, metrics),
        },
        datasets=[name for name in datasets if name in with_curves],
        asked=len(datasets),
        splits=int(points.groupby("dataset")["split"].nunique().max()) if len(points) else 0,
        left_out=[*_left_out_runs(runs, datasets), *_left_out_values(long, at_selection)],
        notes=_notes(methods, runs),
    )


def curve_points(
    curves: pd.DataFrame,
    methods: pd.DataFrame,
    datasets: Sequence[str],
    *,
    parts: Sequence[str],
    metrics: Sequence[str],
) -> pd.DataFrame:
    """The values that the table `curves` of `curve_statistics` averages, one row per run, part, epoch and metric."""
    runs, points = _recorded(curves, methods, datasets)
    points = points.merge(runs.loc[runs["problem"] == "", _RUN], on=_RUN)
    return _long(points[points["part"].isin(parts)], metrics, ["part", "epoch"])


def averaged_curves(points: pd.DataFrame) -> pd.DataFrame:
    """The table `curves` of these points, in no order."""
    return _curve_table(points)


def _recorded(
    curves: pd.DataFrame, methods: pd.DataFrame, datasets: Sequence[str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The runs of the methods with the reason why one cannot enter, and the records of their networks."""
    runs = _runs(methods, datasets)
    points = _points(curves, runs[runs["method"].isin(CURVES)])
    return runs.assign(problem=_problems(runs, points)), points


def _runs(methods: pd.DataFrame, datasets: Sequence[str]) -> pd.DataFrame:
    """The rows of `methods` behind BASE, QRC, QRT and QRTC under these names, one per dataset, method and split."""
    plain = _tuned(methods, "base_train", "BASE-TRAIN")
    trained, alone = _tuned(methods, "main", "QRTC"), _tuned(methods, "main", "QRT")
    of_curve = pd.concat([trained, alone[~alone["dataset"].isin(trained["dataset"])]])
    named = {"BASE": plain, "QRC": _tuned(methods, "main", "QRC"), "QRT": of_curve, "QRTC": trained}
    runs = pd.concat([rows.assign(method=name) for name, rows in named.items()], ignore_index=True)
    return runs[runs["dataset"].isin(datasets)].astype({"split": "int64"})


def _tuned(methods: pd.DataFrame, experiment: str, method: str) -> pd.DataFrame:
    return methods[(methods["experiment"] == experiment) & (methods["method"] == method)]


def _points(curves: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The records of the runs' networks, one row per run, part and epoch."""
    networks = runs[[*_RUN, "variant", "kernel_width", "selected_epoch"]]
    recorded = curves.drop(columns="selected_epoch").astype({"split": "int64"})
    points = recorded.merge(networks, on=["dataset", "split", "variant"], suffixes=("", "_asked"))
    # What does not depend on the meaning of b has no kernel width.
    either_missing = points["kernel_width"].isna() | points["kernel_width_asked"].isna()
    points = points[either_missing | (points["kernel_width"] == points["kernel_width_asked"])]
    return points.drop_duplicates([*_RUN, "part", "epoch"])


def _problems(runs: pd.DataFrame, points: pd.DataFrame) -> np.ndarray:
    """Why a run cannot enter; empty if it can."""
    with_curve = pd.MultiIndex.from_frame(points[_RUN].drop_duplicates())
    without = runs["method"].isin(CURVES) & ~pd.MultiIndex.from_frame(runs[_RUN]).isin(with_curve)
    unselected = ~(pd.to_numeric(runs["selected_epoch"]) > 0)
    conditions = [(runs["status"] != "ok").to_numpy(), unselected.to_numpy(), without.to_numpy()]
    return np.select(conditions, [runs["status"].to_numpy(object), "no epoch was selected", "no curve"], "")


def _bars(points: pd.DataFrame, usable: pd.DataFrame, parts: Sequence[str]) -> pd.DataFrame:
    """The record of each run at its selected epoch; missing values where there is none."""
    selected = points[points["epoch"] == points["selected_epoch"]].drop(columns="selected_epoch")
    return _in_parts(usable[usable["method"].isin(CURVES)], parts).merge(selected, on=[*_RUN, "part"], how="left")


def _log_scales(points: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """log(scale of y) of each dataset and split: NLL_original - NLL_standardised, the same for every network.

    The network of BASE has its NLL on both scales: at its selected epoch, and after training.
    """
    base = points[(points["method"] == "BASE") & (points["part"] == "validation")]
    standardised = base[base["epoch"] == base["selected_epoch"]][["dataset", "split", "nll_base"]]
    original = runs[runs["method"] == "BASE"][["dataset", "split", "val_nll"]]
    both = standardised.merge(original, on=["dataset", "split"])
    return both.assign(log_scale=both["val_nll"] - both["nll_base"])[["dataset", "split", "log_scale"]]


def _stars(usable: pd.DataFrame, scales: pd.DataFrame, parts: Sequence[str], pce_column: str) -> pd.DataFrame:
    """NLL (of the standardised y) and PCE of the post-hoc methods after training."""
    rows = usable[usable["method"].isin(STARS)].merge(scales, on=["dataset", "split"], how="left")
    stars = []
    for part in parts:
        nll, pce = rows[f"{_PREFIX[part]}_nll"] - rows["log_scale"], rows[f"{_PREFIX[part]}_{pce_column}"]
        stars.append(rows[[*_RUN, "selected_epoch"]].assign(part=part, nll_recalibrated=nll, pce=pce))
    return pd.concat(stars)


def _in_parts(runs: pd.DataFrame, parts: Sequence[str]) -> pd.DataFrame:
    return runs[[*_RUN, "selected_epoch"]].merge(pd.DataFrame({"part": list(parts)}), how="cross")


def _long(values: pd.DataFrame, metrics: Sequence[str], identifiers: Sequence[str]) -> pd.DataFrame:
    """One row per value, in the column `value`, missing where it is not finite."""
    long = values.melt([*_RUN, *identifiers], list(metrics), var_name="metric")
    value = long["value"].astype(float)
    return long.assign(value=value.where(np.isfinite(value)))


def _averaged(long: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Number, mean and standard error of the values in each group, from the population sd as published."""
    values = long.groupby(list(keys), sort=False)["value"]
    table = pd.DataFrame({"runs": values.count(), "mean": values.mean(), "deviation": values.std(ddof=0)})
    table = table[table["runs"] > 0]
    return table.assign(standard_error=table["deviation"] / np.sqrt(table["runs"])).reset_index()


def _curve_table(long: pd.DataFrame) -> pd.DataFrame:
    """Means over the runs that are alive at an epoch; a run ends at its early stop."""
    table = _averaged(long, ["dataset", "method", "part", "metric", "epoch"])
    entered = long.groupby(["dataset", "method"])["split"].nunique().rename("entered").reset_index()
    table = table.merge(entered, on=["dataset", "method"], how="left")
    return table.assign(all_alive=table["runs"] == table["entered"])


def _selected_table(at_selection: pd.DataFrame) -> pd.DataFrame:
    """Means over runs of the selected epoch, and of the values each run has at its own."""
    finite = at_selection[at_selection["value"].notna()]
    keys = ["dataset", "method", "part", "metric"]
    epochs = finite.astype({"selected_epoch": float}).groupby(keys, sort=False)["selected_epoch"].mean().reset_index()
    table = _averaged(finite, keys).merge(epochs, on=keys).rename(columns={"mean": "value"})
    return table.assign(mark=np.where(table["method"].isin(STARS), "star", "bar"))


def _in_order(
    table: pd.DataFrame, columns: Collection[str], datasets: Sequence[str], parts: Sequence[str], metrics: Sequence[str]
) -> pd.DataFrame:
    """These columns, with the rows in the order of the study."""
    orders = {"dataset": list(datasets), "method": [*CURVES, *STARS], "part": list(parts), "metric": list(metrics)}
    places = {
        name: table[name].map({value: place for place, value in enumerate(order)}) for name, order in orders.items()
    }
    if "epoch" in columns:
        places["epoch"] = table["epoch"]
    order = np.lexsort([places[name] for name in reversed(places)])
    return table.iloc[order][list(columns)].reset_index(drop=True)


def _left_out_runs(runs: pd.DataFrame, datasets: Sequence[str]) -> list[LeftOut]:
    """Datasets without data or results, and runs, in the order of the study."""
    left_out = []
    without_data = runs["status"].isin(_WITHOUT_DATA).groupby(runs["dataset"]).all().to_dict()
    reasons = (runs["status"] + ": " + runs["reason"]).groupby(runs["dataset"]).first()
    splits = runs.groupby("dataset")["split"].nunique()
    present = runs.groupby(["dataset", "method"]).size().to_dict()
    lost = runs[runs["problem"] != ""]
    problems = dict(iter(lost.groupby(["dataset", "method"])["problem"]))
    for dataset in datasets:
        if without_data.get(dataset, True):
            left_out.append(LeftOut(dataset, 1, reasons.get(dataset, NOT_RUN_YET)))
            continue
        for method in (*CURVES, *STARS):
            what, missing = f"{method} on {dataset}", int(splits[dataset]) - present.get((dataset, method), 0)
            if missing:
                left_out.append(LeftOut(what, missing, NOT_RUN_YET))
            if (dataset, method) in problems:
                counts = problems[dataset, method].value_counts(sort=False)
                left_out += [LeftOut(what, int(count), str(problem)) for problem, count in counts.items()]
    return left_out


def _left_out_values(long: pd.DataFrame, at_selection: pd.DataFrame) -> list[LeftOut]:
    """Values of runs that entered otherwise; `count` is the number of runs."""
    left_out = []
    for values, reason in (
        (long, "not finite at some epochs"),
        (at_selection, "no finite value at the selected epoch"),
    ):
        lost = values[values["value"].isna()]
        runs = lost.groupby(["dataset", "method", "part", "metric"], sort=False)["split"].nunique()
        for (dataset, method, part, metric), count in runs.items():
            left_out.append(LeftOut(f"{method} on {dataset}, {metric} ({part})", int(count), reason))
    return left_out


def _notes(methods: pd.DataFrame, runs: pd.DataFrame) -> list[str]:
    """What a reader must know who compares QRT with other figures."""
    alone = _tuned(methods, "main", "QRT")[["dataset", "split", "variant"]]
    both = runs[runs["method"] == "QRTC"].merge(alone, on=["dataset", "split"], suffixes=("", "_alone"))
    others = both[both["variant"] != both["variant_alone"]]["dataset"].nunique()
    if not others:
        return []
    return [
        f"QRT is shown with the bandwidth that is tuned for QRTC; tuned alone it has another one on {others} of "
        f"{both['dataset'].nunique()} datasets"
    ]
