"""What verdicts stand on: the results of a study, and the statistics that are computed from them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.artifacts import COMPARISONS, DISCRETE, MethodComparison
from qrt_study.plan.compared import Compared
from qrt_study.plan.experiments import left_out
from qrt_study.plan.protocol import Protocol
from qrt_study.published import figure2
from qrt_study.statistics.comparison import effects, rank_statistics
from qrt_study.statistics.curves import CURVE_METRICS, averaged_curves, curve_points, curve_statistics
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.statistics.metrics import figure_metrics
from qrt_study.verdicts.verdict import NotRun, Verdict

T = TypeVar("T")


def _paper_sets() -> dict[str, frozenset[str]]:
    """The paper's datasets in the groups that claims are about; the thirds are by training rows."""
    sheet = paper_datasets()
    by_size = sorted(sheet, key=lambda name: (sheet[name].published.train_rows, name))
    thirds = np.array_split(np.array(by_size, dtype=object), 3)
    discrete = frozenset(name for name, row in sheet.items() if row.published.top10 > DISCRETE)
    return {
        "all": frozenset(sheet),
        "non_discrete": frozenset(sheet) - discrete,
        "discrete": discrete,
        "smallest_third": frozenset(thirds[0]),
        "middle_third": frozenset(thirds[1]),
        "largest_third": frozenset(thirds[2]),
    }


PAPER_SETS = _paper_sets()


def figure2_method(one: Compared) -> str:
    """The name in Figure 2 of a method; empty if the figure does not have it."""
    return one.method if one.experiment == "main" and one.method in ("BASE", "QRC", "QRTC") else ""


@cache
def figure2_differences() -> pd.DataFrame:
    """Figure 2 as datasets x methods: test NLL minus that of BASE, which is zero for BASE itself."""
    return figure2().pivot(index="dataset", columns="method", values="difference").assign(BASE=0.0)


@cache
def _published_of(methods: tuple[tuple[str, str], ...]) -> dict[str, pd.DataFrame]:
    """Metric -> published differences with the labels of a comparison as columns, from (label, Figure 2's name)."""
    differences = figure2_differences()
    return {"NLL": pd.DataFrame({label: differences[name] for label, name in methods if name})}


_PARTS = ("train", "validation")
# Rows of a table of averaged curves by metric, part and method. Dozens of claims look for some of many rows.
RecordedCurves = Mapping[tuple[str, str, str], pd.DataFrame]


def by_curve(table: pd.DataFrame) -> RecordedCurves:
    """The rows of each metric, part and method."""
    return dict(iter(table.groupby(["metric", "part", "method"], sort=False)))


# The methods behind the per-epoch figures.
METHODS_OF_CURVES = (("base_train", "BASE-TRAIN"), ("main", "QRC"), ("main", "QRT"), ("main", "QRTC"))

NOT_IN_THE_CODE = "the released code does not have it on this base model"

OPTIONAL_TABLES = {
    "curves": "metrics per epoch",
    "times": "training times",
    "maps": "calibration maps of simulated PITs",
    "predictions": "predictive densities of single rows",
}


@dataclass(frozen=True)
class Evidence:
    """The result tables of a study (docs/results.md); None: the study has no such table.

    `methods` has the tuned rows of all experiments, `dataset_table` is that of `tables.dataset_table`, `maps` is
    the table of the calibration maps of simulated PITs.
    """

    methods: pd.DataFrame
    protocol: Protocol
    datasets: Sequence[str]  # of the study
    dataset_table: pd.DataFrame
    curves: pd.DataFrame | None = None
    times: pd.DataFrame | None = None
    maps: pd.DataFrame | None = None
    predictions: pd.DataFrame | None = None
    compared: Mapping[str, FigureStatistics] = field(default_factory=dict)  # comparisons that rule `compare` made
    demonstration: str = ""  # why the study says nothing about the paper: short training, or none of its datasets


class StudyStatistics:
    """The statistics of one body of evidence, each computed once, when it is first asked for.

    Readings share `verdicts`: what looks at the same rows of results is decided once.
    """

    def __init__(self, evidence: Evidence, verdicts: dict[tuple[Any, ...], Verdict] | None = None) -> None:
        self.evidence = evidence
        self.verdicts = {} if verdicts is None else verdicts
        self._computed: dict[tuple[Any, ...], Any] = {}

    def once(self, *key: Any, compute: Callable[[], T]) -> T:
        """What was computed under this key."""
        if key not in self._computed:
            self._computed[key] = compute()
        found: T = self._computed[key]
        return found

    def content(self, *methods: tuple[str, str]) -> tuple[int, ...]:
        """A fingerprint of all rows of each of these methods (experiment, method); 0 for those without any."""
        return tuple(self._fingerprints.get(method, 0) for method in methods)

    @cached_property
    def _fingerprints(self) -> dict[tuple[str, str], int]:
        """The sum of the hashes of a method's rows, which does not depend on their order."""
        methods = self.evidence.methods
        if methods.empty:
            return {}
        hashes = pd.util.hash_pandas_object(methods, index=False)
        sums = hashes.groupby([methods["experiment"], methods["method"]]).sum()
        return {(str(experiment), str(method)): int(value) for (experiment, method), value in sums.items()}

    @cached_property
    def discreteness(self) -> dict[str, float]:
        """Dataset -> share of targets among the ten most frequent values; the published one where there is no data."""
        table = self.evidence.dataset_table
        shares = table["top10"].astype(float).fillna(table["published_top10"].astype(float))
        return dict(zip(table["dataset"], shares, strict=True))

    @cached_property
    def curves(self) -> FigureStatistics:
        """The averaged curves and the values at the selected epoch, of both parts."""
        return curve_statistics(
            self.table("curves"),
            self.evidence.methods,
            sorted(self.evidence.datasets),
            parts=_PARTS,
            metrics=CURVE_METRICS,
            pce_column="pce_levels",  # what the curves record under every protocol
        )

    def curves_without(self, split: int, dataset: str) -> RecordedCurves:
        """The averaged curves of one dataset without one of its splits."""

        def points() -> pd.DataFrame:
            curves, methods = (
                rows[rows["dataset"] == dataset] for rows in (self.table("curves"), self.evidence.methods)
            )
            return curve_points(curves, methods, [dataset], parts=_PARTS, metrics=CURVE_METRICS)

        def without() -> RecordedCurves:
            of_dataset = self.once("points of curves", dataset, compute=points)
            return by_curve(averaged_curves(of_dataset[of_dataset["split"] != split]))

        return self.once("curves without", split, dataset, compute=without)

    def table(self, name: str) -> pd.DataFrame:
        """The result table of this name, if there is one with rows."""
        found: pd.DataFrame | None = getattr(self.evidence, name)
        if found is None or found.empty:
            raise NotRun(f"this study has no {name}: {OPTIONAL_TABLES[name]}")
        return found

    def recorded(self, table: str, *methods: str) -> RecordedCurves:
        """A table of the averaged curves, `curves` or `selected`, if it has these methods."""
        found = self.once("recorded", table, compute=lambda: by_curve(self.curves.tables[table]))
        recorded = {method for _, _, method in found}
        for method in methods:
            if method not in recorded:
                raise NotRun(f"{method} was not run")
        return found

    def datasets_in(self, group: str) -> list[str]:
        """The study's datasets of a group, by name. Datasets that are not the paper's are judged by their own data."""
        study = sorted(self.evidence.datasets)
        if group in ("all", "non_discrete", "discrete"):
            wanted = {"all": (False, True), "non_discrete": (False,), "discrete": (True,)}[group]
            return [name for name in study if (self.discreteness.get(name, 0.0) > DISCRETE) in wanted]
        return [name for name in study if name in PAPER_SETS[group]]

    def plan(self, name: str) -> MethodComparison:
        """The methods of a comparison under the study's protocol, those of whole experiments named one by one."""
        return self.once("plan", name, compute=lambda: self._expanded(name))

    def _expanded(self, name: str) -> MethodComparison:
        found = COMPARISONS[name].comparison
        if found is None:
            raise ValueError(f"{name} does not compare methods over datasets")
        found = found.under(self.evidence.protocol)
        whole = [
            Compared(experiment, name, name) for experiment, name in sorted(self._run) if experiment in found.whole
        ]
        others = (one for one in (*found.compared, *whole) if one != found.baseline)
        return replace(found, compared=tuple(others), whole=())

    def compared(self, name: str, label: str) -> Compared:
        """The method with this label in a comparison, if it was run; BASE is the comparison's baseline."""
        plan = self.plan(name)
        everyone = {one.label: one for one in (plan.baseline, *plan.compared)}
        found = everyone.get(label, plan.baseline if label == "BASE" else None)
        if found is None or not self._was_run(found):
            never = found is not None and found.experiment in left_out(self.evidence.protocol)
            why = f": {NOT_IN_THE_CODE} (row 7)" if never else ""
            raise NotRun(f"{label} was not run{why}")
        return found

    def not_run(self, name: str) -> list[str]:
        """The methods of a comparison that this study has no results of."""
        plan = self.plan(name)
        return [one.label for one in (plan.baseline, *plan.compared) if not self._was_run(one)]

    def looked_at(self, name: str, metric: str, *labels: str) -> tuple[Any, ...]:
        """All that a verdict on a metric of these methods of a comparison depends on, as far as readings differ in it.

        Without `labels`, of all its methods.
        """
        plan = self.plan(name)
        named = {one.label: one for one in (plan.baseline, *plan.compared)}
        methods = [named.get(label, plan.baseline) for label in labels] if labels else list(named.values())
        content = self.content(*((one.experiment, one.method) for one in methods))
        return tuple(methods), content, self._metrics.get(metric), self.evidence.protocol.cohens_d

    def comparison(self, name: str, metric: str) -> FigureStatistics:
        """The statistics of a comparison over its datasets: rank tests with all its methods as one family."""
        plan = self.plan(name)
        if metric not in plan.metrics or metric not in self._metrics:
            raise NotRun(f"the comparison {name} has no {metric}")
        return self.once("comparison", name, metric, compute=lambda: self._compared(name, plan, metric))

    def _compared(self, name: str, plan: MethodComparison, metric: str) -> FigureStatistics:
        run = [one for one in plan.compared if self._was_run(one)]
        return self._made_by_compare(name, metric, [one.label for one in (plan.baseline, *run)]) or rank_statistics(
            self._results_of(plan.baseline, *run),
            run,
            plan.baseline,
            (metric, self._metrics[metric]),
            self.datasets_in(plan.dataset_set),
        )

    def _made_by_compare(self, name: str, metric: str, labels: Sequence[str]) -> FigureStatistics | None:
        """The tables of a metric that rule `compare` has made of these methods.

        None where it has them in another order: the rank share of a pair that is turned round differs in its last bit.
        """
        if name not in self.evidence.compared:
            return None
        made = self.evidence.compared[name]
        tables = {table: made.tables[table] for table in ("ranks", "pairs", "per_dataset")}
        tables = {table: rows[rows["metric"] == metric] for table, rows in tables.items()}
        shown = tables["ranks"]["method"].tolist()
        in_order = shown == [label for label in labels if label in shown]
        return replace(made, tables=tables) if in_order else None

    def published(self, name: str) -> dict[str, pd.DataFrame]:
        """The differences in NLL to BASE that Figure 2 has of the methods of a comparison: datasets x labels."""
        plan = self.plan(name)
        return _published_of(tuple((one.label, figure2_method(one)) for one in (plan.baseline, *plan.compared)))

    def effects(self, left: Compared, right: Compared | None, metric: str, group: str) -> pd.DataFrame:
        """The rows of `per_dataset` of the left method with the right one as baseline, or of the left one alone."""
        if metric not in self._metrics:
            raise NotRun(f"the results have no {metric}")
        return self.once(
            *("effects", left, right, metric, group),
            compute=lambda: effects(
                self._results_of(left, right or left),
                left,
                right or left,
                metric,
                self._metrics[metric],
                self.datasets_in(group),
                self.evidence.protocol.cohens_d,
                self.discreteness,
            ),
        )

    def _results_of(self, *compared: Compared) -> pd.DataFrame:
        """The rows of these methods, and of their columns those that comparisons need: a fraction of all."""
        table, places = self._test_results
        found = [places.get((one.experiment, one.method), np.array([], dtype=int)) for one in compared]
        return table.iloc[np.unique(np.concatenate(found))]

    @cached_property
    def _test_results(self) -> tuple[pd.DataFrame, dict[tuple[str, str], Any]]:
        """The columns of the methods that comparisons need, and the places of the rows of each method."""
        columns = ("experiment", "method", "dataset", "split", "status", "reason")
        table = self.evidence.methods[[*columns, *(f"test_{suffix}" for suffix in self._metrics.values())]]
        return table, table.groupby(["experiment", "method"], sort=False).indices

    @cached_property
    def _metrics(self) -> dict[str, str]:
        """Metric -> the end of its column under the protocol."""
        named = figure_metrics(self.evidence.protocol) | {"PIT variance": "pit_variance"}
        columns = self.evidence.methods.columns
        return {label: suffix for label, suffix in named.items() if f"test_{suffix}" in columns}

    @cached_property
    def _run(self) -> set[tuple[str, str]]:
        """The experiments and methods with results, even if all runs diverged."""
        methods = self.evidence.methods
        tried = methods[~methods["status"].isin(["unavailable", "invalid"])]
        return set(zip(tried["experiment"], tried["method"], strict=True))

    def _was_run(self, one: Compared) -> bool:
        return (one.experiment, one.method) in self._run
