"""The comparison of methods over datasets: effects against a baseline and rank tests (docs/protocol.md, section 7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from qrt_study.plan.compared import Compared
from qrt_study.statistics.columns import COMPARISON
from qrt_study.statistics.effects import (
    LETTER_QUANTILES,
    beyond_letter_values,
    cohens_d,
    letter_values,
    moments,
    relative_difference,
)
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics, LeftOut
from qrt_study.statistics.rank_tests import rank_tables

Array = NDArray[np.float64]


@dataclass(frozen=True)
class _Runs:
    """The runs of the compared methods: rows of the table of methods with their `label`, and the same as arrays."""

    labels: list[str]  # the baseline first
    datasets: list[str]
    rows: pd.DataFrame
    found: NDArray[np.bool_]  # (M, D, S): there is a row
    ok: NDArray[np.bool_]  # (M, D, S): its status is ok
    values: dict[str, Array]  # metric -> (M, D, S): NaN where the run is not usable

    @property
    def usable(self) -> NDArray[np.bool_]:
        """(M, D, S): the run has at least one usable metric."""
        return np.any([np.isfinite(values) for values in self.values.values()], axis=0)

    @cached_property
    def entered(self) -> NDArray[np.bool_]:
        """(D,): the dataset has a usable run of any method."""
        return np.any(self.usable, axis=(0, 2))

    @property
    def names(self) -> list[str]:
        """The datasets that entered."""
        return [name for name, enters in zip(self.datasets, self.entered, strict=True) if enters]

    def shown(self, metric: str) -> tuple[list[str], Array]:
        """The methods with a value of a metric, and their values on the datasets that entered."""
        there: NDArray[np.bool_] = np.any(np.isfinite(self.values[metric]), axis=(1, 2))
        labels = [label for label, is_there in zip(self.labels, there, strict=True) if is_there]
        return labels, self.values[metric][there][:, self.entered]


def compare(  # noqa: PLR0917 (what is compared, with what, on what)
    methods: pd.DataFrame,
    compared: Sequence[Compared],
    baseline: Compared,
    metrics: Mapping[str, str],
    datasets: Sequence[str],
    cohens_d_form: str,
    discreteness: Mapping[str, float],
) -> FigureStatistics:
    """All numbers of a figure that compares methods with a baseline and with each other.

    `methods` is the table of methods, `metrics` maps labels to metrics (lower is better), `datasets` are those that
    belong in the figure. A run counts for a metric if its status is ok and the value finite. The baseline is one of the
    methods of the rank tests, the first.
    """
    columns = {metric: f"test_{suffix}" for metric, suffix in metrics.items()}
    runs = _collect(methods, list(dict.fromkeys((baseline, *compared))), columns, datasets)
    names = runs.names
    parts: dict[str, list[tuple[str, pd.DataFrame]]] = {name: [] for name in COMPARISON}
    remarks: dict[str, list[str]] = {}  # what is to be said -> of which metrics
    incomplete: dict[tuple[str, ...], list[str]] = {}  # datasets outside the rank tests -> of which metrics
    for metric, values in runs.values.items():
        shown, values_shown = runs.shown(metric)
        means, left = _complete_blocks(shown, names, values_shown)
        per_dataset = _per_dataset(runs.labels, names, values[:, runs.entered], cohens_d_form, discreteness)
        tables = rank_tables(means) | {"per_dataset": per_dataset} | _boxes(per_dataset, runs.labels[0])
        for name, table in tables.items():
            parts[name].append((metric, table))
        for remark in _remarks(runs.labels[0], shown, means, tables):
            remarks.setdefault(remark, []).append(metric)
        if left:
            incomplete.setdefault(left, []).append(metric)
    left_out = (*_left_out(runs), *_outside_the_rank_tests(incomplete))
    notes = [f"{', '.join(of)}: {remark}" for remark, of in remarks.items()]
    if not names:
        waiting = all(entry.reason == NOT_RUN_YET for entry in left_out)
        notes = [NOT_RUN_YET if waiting else "no usable run of the compared methods on any dataset"]
    return FigureStatistics(
        tables={name: _stacked(name, tables) for name, tables in parts.items()},
        datasets=tuple(names),
        asked=len(datasets),
        splits=int(runs.usable.any(axis=0).sum(axis=1).max(initial=0)),
        left_out=left_out,
        notes=notes,
    )


def rank_statistics(
    methods: pd.DataFrame,
    compared: Sequence[Compared],
    baseline: Compared,
    metric: tuple[str, str],
    datasets: Sequence[str],
) -> FigureStatistics:
    """Of the numbers that `compare` has of one metric (label, suffix) those that rules on ranks look at.

    The tables ranks and pairs, and of per_dataset the means.
    """
    label, suffix = metric
    runs = _collect(methods, list(dict.fromkeys((baseline, *compared))), {label: f"test_{suffix}"}, datasets)
    names, (shown, values) = runs.names, runs.shown(label)
    own = moments(values)
    table = {
        "method": np.repeat(np.array(shown, dtype=object), len(names)),
        "dataset": np.tile(np.array(names, dtype=object), len(shown)),
        "splits": own.runs.ravel(),
        "mean": own.mean.ravel(),
    }
    found = rank_tables(_complete_blocks(shown, names, values)[0])
    nothing = {name: pd.DataFrame(columns=list(COMPARISON[name])) for name in ("ranks", "pairs")}
    tables = {name: found.get(name, nothing[name]) for name in nothing} | {"per_dataset": pd.DataFrame(table)}
    return FigureStatistics({name: one.assign(metric=label) for name, one in tables.items()}, datasets=tuple(names))


def effects(  # noqa: PLR0917 (as for `compare`)
    methods: pd.DataFrame,
    method: Compared,
    baseline: Compared,
    metric: str,
    suffix: str,
    datasets: Sequence[str],
    cohens_d_form: str,
    discreteness: Mapping[str, float],
) -> pd.DataFrame:
    """The rows of `per_dataset` of one method and metric that `compare` has for this baseline, without all the rest."""
    runs = _collect(methods, list(dict.fromkeys((baseline, method))), {metric: f"test_{suffix}"}, datasets)
    values = runs.values[metric][:, runs.entered]
    per_dataset = _per_dataset(runs.labels, runs.names, values, cohens_d_form, discreteness)
    return per_dataset[per_dataset["method"] == method.label].assign(metric=metric)


def _collect(
    methods: pd.DataFrame, compared: Sequence[Compared], columns: Mapping[str, str], datasets: Sequence[str]
) -> _Runs:
    labels = [one.label for one in compared]
    if len(set(labels)) < len(labels):
        raise ValueError(f"two of the compared methods have the same label: {labels}")
    experiment, method = (methods[name].to_numpy(dtype=object) for name in ("experiment", "method"))
    asked = methods["dataset"].isin(list(datasets)).to_numpy()
    of_each = [np.flatnonzero(asked & (experiment == one.experiment) & (method == one.method)) for one in compared]
    label = np.repeat(np.array(labels, dtype=object), [len(numbers) for numbers in of_each])
    numbers = np.concatenate(of_each)
    by_split = np.argsort(methods["split"].to_numpy()[numbers], kind="stable")
    rows = methods.iloc[numbers[by_split]].assign(label=label[by_split])
    if rows.duplicated(["label", "dataset", "split"]).any():
        raise ValueError("the table of methods has two rows for one method, dataset and split")
    splits = np.unique(rows["split"].to_numpy())
    place = (
        pd.Index(labels).get_indexer(rows["label"]),
        pd.Index(list(datasets)).get_indexer(rows["dataset"]),
        np.searchsorted(splits, rows["split"].to_numpy()),
    )
    shape = (len(labels), len(datasets), len(splits))
    is_ok = (rows["status"] == "ok").to_numpy(dtype=bool)
    found, ok = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    found[place], ok[place] = True, is_ok
    values = {}
    for metric, column in columns.items():
        value = rows[column].to_numpy(dtype=float)
        values[metric] = np.full(shape, np.nan)
        values[metric][place] = np.where(is_ok & np.isfinite(value), value, np.nan)
    return _Runs(labels, list(datasets), rows, found, ok, values)


def _per_dataset(
    labels: Sequence[str],
    datasets: Sequence[str],
    values: Array,
    cohens_d_form: str,
    discreteness: Mapping[str, float],
) -> pd.DataFrame:
    """Means and effects of one metric, values (M, D, S) with the baseline first; methods without any value left out."""
    own, baseline = moments(values), values[:1]
    common = np.isfinite(values) & np.isfinite(baseline)
    differences = np.where(common, values - baseline, np.nan)
    differences[0] = np.nan  # the baseline has none to itself
    paired = moments(differences)
    sizes = {form: cohens_d(values, baseline, form) for form in ("pooled", "released")}
    for size in sizes.values():
        size[0] = np.nan
    table: dict[str, Any] = {
        "method": np.repeat(np.array(labels, dtype=object), len(datasets)),
        "dataset": np.tile(np.array(datasets, dtype=object), len(labels)),
        "splits": own.runs.ravel(),
        "mean": own.mean.ravel(),
        "standard_error": own.standard_error.ravel(),
        "baseline": labels[0],
        "common_splits": common.sum(axis=-1).ravel(),
        "difference": paired.mean.ravel(),
        "difference_standard_error": paired.standard_error.ravel(),
        "relative_difference": relative_difference(
            paired.mean, moments(np.where(common, baseline, np.nan)).mean
        ).ravel(),
        "cohens_d": sizes[cohens_d_form].ravel(),
        "cohens_d_pooled": sizes["pooled"].ravel(),
        "cohens_d_released": sizes["released"].ravel(),
        "discreteness": np.tile([float(discreteness.get(name, np.nan)) for name in datasets], len(labels)),
    }
    shown = np.repeat(np.isfinite(values).any(axis=(1, 2)), len(datasets))
    return pd.DataFrame(table)[shown]


def _boxes(per_dataset: pd.DataFrame, baseline: str) -> dict[str, pd.DataFrame]:
    """The tables letter_values and circles of one metric.

    Boxes of different datasets could not be compared, so all show those that every method has; a method without any
    Cohen's d is none of these.
    """
    rows = per_dataset[per_dataset["method"] != baseline]
    datasets = per_dataset["dataset"].drop_duplicates().to_numpy()
    effects_of = rows["cohens_d"].to_numpy().reshape(-1, max(len(datasets), 1))  # the methods follow each other
    known = np.isfinite(effects_of)
    common: NDArray[np.bool_] = np.all(known[known.any(axis=1)], axis=0)
    quantiles: list[tuple[str, float, float, int]] = []
    circles: list[tuple[str, str, float]] = []
    for method, of_method in zip(rows["method"].drop_duplicates(), effects_of, strict=True):
        values = np.where(common, of_method, np.nan)
        found, count = letter_values(values)
        quantiles += [(method, level, value, count) for level, value in zip(LETTER_QUANTILES, found, strict=True)]
        beyond = beyond_letter_values(values)
        circles += [(method, name, d) for name, d in zip(datasets[beyond], values[beyond], strict=True)]
    return {
        "letter_values": pd.DataFrame(quantiles, columns=["method", "quantile", "value", "datasets"]),
        "circles": pd.DataFrame(circles, columns=["method", "dataset", "cohens_d"]),
    }


def _complete_blocks(
    labels: Sequence[str], datasets: Sequence[str], values: Array
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Means over the splits that all methods have, datasets x methods, and the datasets without such a split."""
    common: NDArray[np.bool_] = np.all(np.isfinite(values), axis=0)  # (D, S)
    complete = common.any(axis=1)
    means = moments(np.where(common, values, np.nan)).mean
    table = pd.DataFrame(means.T, index=list(datasets), columns=list(labels))
    return table[complete], tuple(table.index[~complete])


def _remarks(
    baseline: str, shown: Sequence[str], means: pd.DataFrame, tables: Mapping[str, pd.DataFrame]
) -> Iterator[str]:
    """What the tables of one metric lack."""
    if baseline not in shown:
        yield f"no usable run of {baseline}, so there are no differences to it"
    elif len(shown) > 1 and tables["per_dataset"]["cohens_d"].isna().all():
        yield "Cohen's d is not defined on any dataset (it needs two splits, and runs that are not all equal)"
    elif len(shown) > 1 and tables["letter_values"]["value"].isna().all():
        yield "there is no dataset on which all methods have a Cohen's d"
    if len(shown) < 2 or len(means) < 2:
        yield (
            "rank tests need two methods and two datasets on which all methods have a run in a common split; "
            f"here {len(shown)} and {len(means)}"
        )


def _left_out(runs: _Runs) -> Iterator[LeftOut]:
    """Whole datasets, whole methods, then single runs and single values."""
    states = runs.rows.groupby("dataset", sort=False)["status"].agg(set).to_dict()
    known = np.zeros(len(runs.datasets), dtype=bool)
    for place, dataset in enumerate(runs.datasets):
        if dataset not in states:
            yield LeftOut(dataset, 1, NOT_RUN_YET)
        elif states[dataset] <= {"unavailable", "invalid"}:
            yield LeftOut(dataset, 1, _reasons(runs.rows[runs.rows["dataset"] == dataset]))
        else:
            known[place] = True
    expected = runs.found.any(axis=0) & known[:, None]  # (D, S)
    for label, found, ok, usable in zip(runs.labels, runs.found, runs.ok, runs.usable, strict=True):
        if usable.any():
            yield from _left_out_of_method(runs, label, expected & ~found, expected & found & ~ok)
        elif known.any():
            yield LeftOut(label, int(expected.sum()), "no usable run" if (found & expected).any() else NOT_RUN_YET)


def _left_out_of_method(
    runs: _Runs, label: str, missing: NDArray[np.bool_], failed: NDArray[np.bool_]
) -> Iterator[LeftOut]:
    """The runs of a method that are missing or failed, each (D, S), and its values that are not finite."""
    rows, method = runs.rows, runs.labels.index(label)
    not_finite = {metric: runs.ok[method] & ~np.isfinite(values[method]) for metric, values in runs.values.items()}
    for place, dataset in enumerate(runs.datasets):
        if failed[place].any():
            of_both = rows[(rows["label"] == label) & (rows["dataset"] == dataset) & (rows["status"] != "ok")]
            yield LeftOut(f"{label} on {dataset}", len(of_both), _reasons(of_both))
        if missing[place].any():
            yield LeftOut(f"{label} on {dataset}", int(missing[place].sum()), NOT_RUN_YET)
        for metric, unusable in not_finite.items():
            if unusable[place].any():
                yield LeftOut(f"{label} on {dataset}, {metric}", int(unusable[place].sum()), "value is not finite")


def _reasons(rows: pd.DataFrame) -> str:
    """The different states and reasons of the rows in one line."""
    states = rows["status"] + rows["reason"].fillna("").map(lambda reason: f": {reason}" if reason else "")
    return "; ".join(dict.fromkeys(states))


def _outside_the_rank_tests(incomplete: Mapping[tuple[str, ...], Sequence[str]]) -> Iterator[LeftOut]:
    for datasets, metrics in incomplete.items():
        reason = f"no split in which all methods have a usable run: {', '.join(datasets)}"
        yield LeftOut(f"rank tests of {', '.join(metrics)}", len(datasets), reason)


def _stacked(name: str, tables: Sequence[tuple[str, pd.DataFrame]]) -> pd.DataFrame:
    """The tables of all metrics as one, with the documented columns also where there are no rows."""
    filled = [(metric, table) for metric, table in tables if len(table)]
    together = pd.DataFrame()
    if filled:
        together = pd.concat([table for _, table in filled], ignore_index=True)
        together["metric"] = np.repeat([metric for metric, _ in filled], [len(table) for _, table in filled])
    return together.reindex(columns=list(COMPARISON[name]))
