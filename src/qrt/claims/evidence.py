"""What verdicts stand on: the results of a study, and the statistics that are computed from them once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from qrt.claims.verdict import NotRun
from qrt.data.sheet import paper_datasets
from qrt.published import figure2
from qrt.statistics.comparison import compare, effects
from qrt.statistics.curves import CURVE_METRICS, curve_statistics
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.statistics.metrics import figure_metrics
from qrt.study.artifacts import ARTIFACTS, DISCRETE, MethodComparison
from qrt.study.compared import Compared
from qrt.study.protocol import Protocol

T = TypeVar("T")

# Comparisons that claims are about and no figure of the paper shows.
_MAIN = ARTIFACTS["fig03_main"].comparison or MethodComparison(())
_BASE_MODELS = ARTIFACTS["fig08_base_models"].comparison or MethodComparison(())
CLAIM_COMPARISONS: dict[str, MethodComparison] = {
    "with_qreg": replace(_MAIN, compared=(*_MAIN.compared, Compared("regularised", "QREG", "QREG"))),
    "before_the_map": replace(_MAIN, compared=(*_MAIN.compared, Compared("main", "QRT-F", "QRT-F"))),
    "with_base_mlp_1": replace(
        _BASE_MODELS, compared=(*_BASE_MODELS.compared, Compared("main_mlp_1", "BASE", "BASE-MLP-1"))
    ),
}


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


# The methods behind the per-epoch figures.
METHODS_OF_CURVES = (("base_train", "BASE-TRAIN"), ("main", "QRC"), ("main", "QRT"), ("main", "QRTC"))

OPTIONAL_TABLES = {
    "curves": "metrics per epoch",
    "times": "training times",
    "maps": "calibration maps of simulated PITs",
    "predictions": "predictive densities of single rows",
}


@dataclass(frozen=True)
class Evidence:
    """The result tables of a study (docs/results.md); None: the study has no such table.

    `methods` has the tuned rows of all experiments, `dataset_table` is that of `qrt.tables.dataset_table`, `maps` is
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
    demonstration: str = ""  # why the study says nothing about the paper: short training, or none of its datasets


class Workings:
    """The statistics of one body of evidence, each computed when it is first asked for.

    Readings share what they `remember`: what is computed from the same rows of results is computed once.
    """

    def __init__(self, evidence: Evidence, remembered: dict[tuple[Any, ...], Any] | None = None) -> None:
        self.evidence = evidence
        self._plans: dict[str, MethodComparison] = {}
        self._remembered = {} if remembered is None else remembered

    def remember(self, key: tuple[Any, ...], compute: Callable[[], T]) -> T:
        """What was computed under this key, which names everything it depends on that differs between readings.

        The tables of results are the same for all of them but for `methods`, whose rows `content` stands for.
        """
        if key not in self._remembered:
            self._remembered[key] = compute()
        found: T = self._remembered[key]
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
        evidence = self.evidence
        return self.remember(
            ("curves", self.content(*METHODS_OF_CURVES)),
            lambda: curve_statistics(
                self.table("curves"),
                evidence.methods,
                sorted(evidence.datasets),
                parts=("train", "validation"),
                metrics=CURVE_METRICS,
                pce_column="pce_levels",  # what the curves record under every protocol
            ),
        )

    def curves_without(self, split: int, dataset: str) -> FigureStatistics:
        """The averaged curves of one dataset without one of its splits."""
        evidence = self.evidence
        curves = self.table("curves")

        def compute() -> FigureStatistics:
            kept = curves[(curves["dataset"] == dataset) & (curves["split"] != split)]
            methods = evidence.methods[(evidence.methods["dataset"] == dataset) & (evidence.methods["split"] != split)]
            return curve_statistics(
                kept,
                methods,
                [dataset],
                parts=("train", "validation"),
                metrics=CURVE_METRICS,
                pce_column="pce_levels",
            )

        return self.remember(("curves without", split, dataset, self.content(*METHODS_OF_CURVES)), compute)

    def table(self, name: str) -> pd.DataFrame:
        """The result table of this name, if there is one with rows."""
        found: pd.DataFrame | None = getattr(self.evidence, name)
        if found is None or found.empty:
            raise NotRun(f"this study has no {name}: {OPTIONAL_TABLES[name]}")
        return found

    def recorded(self, table: str, *methods: str) -> pd.DataFrame:
        """A table of the averaged curves, if it has these methods."""
        found = self.curves.tables[table]
        for method in methods:
            if not (found["method"] == method).any():
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
        if name not in self._plans:
            self._plans[name] = self._expanded(name)
        return self._plans[name]

    def _expanded(self, name: str) -> MethodComparison:
        artifact = ARTIFACTS.get(name)
        found = artifact.comparison if artifact else CLAIM_COMPARISONS[name]
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
            raise NotRun(f"{label} was not run")
        return found

    def not_run(self, name: str) -> list[str]:
        """The methods of a comparison that this study has no results of."""
        plan = self.plan(name)
        return [one.label for one in (plan.baseline, *plan.compared) if not self._was_run(one)]

    def comparison(self, name: str) -> FigureStatistics:
        """The statistics of a comparison over its datasets: rank tests with all its methods as one family."""
        plan, form = self.plan(name), self.evidence.protocol.cohens_d
        metrics = {label: suffix for label, suffix in self._metrics().items() if label in plan.metrics}
        run = tuple(one for one in plan.compared if self._was_run(one))
        content = self.content(*((one.experiment, one.method) for one in (plan.baseline, *run)))
        return self.remember(
            (plan.baseline, run, content, tuple(metrics.items()), plan.dataset_set, form),
            lambda: compare(
                self._test_results,
                run,
                plan.baseline,
                metrics,
                self.datasets_in(plan.dataset_set),
                form,
                self.discreteness,
            ),
        )

    def published(self, name: str) -> dict[str, pd.DataFrame]:
        """The differences in NLL to BASE that Figure 2 has of the methods of a comparison: datasets x labels."""
        plan = self.plan(name)
        return _published_of(tuple((one.label, figure2_method(one)) for one in (plan.baseline, *plan.compared)))

    def effects(self, left: Compared, right: Compared | None, metric: str, group: str) -> pd.DataFrame:
        """The rows of `per_dataset` of the left method with the right one as baseline, or of the left one alone."""
        metrics, form = self._metrics(), self.evidence.protocol.cohens_d
        if metric not in metrics:
            raise NotRun(f"the results have no {metric}")
        suffix = metrics[metric]
        content = self.content(*((one.experiment, one.method) for one in (left, right or left)))
        return self.remember(
            (left, right, content, metric, suffix, group, form),
            lambda: effects(
                self._test_results,
                left,
                right or left,
                metric,
                suffix,
                self.datasets_in(group),
                form,
                self.discreteness,
            ),
        )

    @cached_property
    def _test_results(self) -> pd.DataFrame:
        """The columns of the methods that comparisons need: a fraction of all, which makes looking up rows quick."""
        columns = ("experiment", "method", "dataset", "split", "status", "reason")
        return self.evidence.methods[[*columns, *(f"test_{suffix}" for suffix in self._metrics().values())]]

    def _metrics(self) -> dict[str, str]:
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
