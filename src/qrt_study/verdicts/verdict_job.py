"""The verdict on every claim under every reading of the study's networks, and the numbers behind the disagreements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any

import pandas as pd

from qrt_study.plan.config import StudyConfig
from qrt_study.results.readings import (
    NETWORK,
    STUDY,
    NetworkRecords,
    on_datasets_of,
    read_methods,
    readings,
    study_on_datasets_of,
)
from qrt_study.results.tables import METHODS, RUNS
from qrt_study.statistics.curves import CURVE_METRICS
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.evidence import Evidence, StudyStatistics
from qrt_study.verdicts.judge import COUNTS, FLAGS, NUMBERS, judge
from qrt_study.verdicts.verdict import VERDICTS

MAIN_FIGURE = "fig03_main"
KEY_NUMBERS: dict[str, str] = {
    "reading": "study, other (the other protocol), a changed switch, or the study on the datasets of one of these",
    "metric": "metric of the main comparison",
    "method": "method, against BASE on the non-discrete datasets",
    "baseline": "BASE",
    "datasets": "datasets with both",
    "median_difference": "median over datasets of method - baseline",
    "median_relative_difference": "the same, relative to the baseline",
    "median_cohens_d": "median over datasets of Cohen's d",
    "lower_on": "datasets on which the method is lower",
    "mean_rank": "mean rank of the method among BASE, QRC, QREGC and QRTC",
    "baseline_mean_rank": "mean rank of BASE",
    "p_holm": "Wilcoxon's p-value of the pair after Holm's correction",
    "significant": "whether the difference is significant",
}
DIFFERENCES: dict[str, str] = {
    "reading": KEY_NUMBERS["reading"],
    "method": "method of the main comparison",
    "dataset": "name of the dataset, one of the non-discrete ones",
    "difference": "test NLL of the method minus that of BASE, mean over splits",
    "standard_error": "its standard error over splits",
    "splits": "splits with usable runs of both",
}


# The columns that verdicts are computed from, beside the test metrics of methods. Thousands of selections of rows would
# copy all of them.
_READ = ("dataset", "split", "variant", "kernel_width")
_POSTHOC = ("posthoc_map", "posthoc_on", "posthoc_bandwidth")
_CURVE_COLUMNS = (*_READ, "epoch", "part", *CURVE_METRICS, "selected_epoch")
_PREDICTION_COLUMNS = (*_READ, *_POSTHOC, "row", "target", "nll", "y", "density")
# Of the rows of networks: what methods have, these, and what tells one network from another.
RECORD_COLUMNS = {
    "runs": tuple(name for name in RUNS if name in METHODS),
    "curves": tuple(dict.fromkeys((*NETWORK, "seed", *_CURVE_COLUMNS))),
    "predictions": tuple(dict.fromkeys((*NETWORK, "seed", *_PREDICTION_COLUMNS))),
}
_METHOD_COLUMNS = (
    *("experiment", "method", *_READ, *_POSTHOC, "status", "reason", "selected_epoch"),
    *("val_nll", "val_pce_levels", "train_nll", "train_pce_levels"),
)


@dataclass(frozen=True)
class Judged:
    """What came out under every reading."""

    verdicts: pd.DataFrame  # columns of `qrt_study.verdicts.judge` after `reading`
    numbers: pd.DataFrame  # KEY_NUMBERS
    differences: pd.DataFrame  # DIFFERENCES


@dataclass(frozen=True)
class ResultTables:
    """All results that there are, of this study and of other readings of the same datasets."""

    runs: pd.DataFrame
    methods: pd.DataFrame  # of this study
    curves: pd.DataFrame
    predictions: pd.DataFrame
    times: pd.DataFrame
    maps: pd.DataFrame  # of this study's kernel width
    dataset_table: pd.DataFrame
    compared: Mapping[str, FigureStatistics] = field(default_factory=dict)  # of this study


@dataclass(frozen=True)
class _Reading:
    """What came out under one reading."""

    verdicts: pd.DataFrame
    numbers: list[dict[str, Any]]
    differences: pd.DataFrame


NamedEvidence = tuple[str, Evidence]  # of a reading
Remembered = dict[tuple[Any, ...], Any]  # statistics that readings share (`StudyStatistics.remember`)


def judge_readings(study: StudyConfig, results: ResultTables, log: Callable[[str], None], processes: int = 1) -> Judged:
    """The verdicts, the key numbers and the differences of every reading.

    A reading whose networks were trained on some datasets only is followed by the study's own on the same datasets, so
    that what a switch changes is not mixed up with what fewer datasets change.
    """
    evidence = list(_evidence_of_readings(study, results))
    judged = []
    for (name, _), found in zip(evidence, _judge_all(evidence, processes), strict=True):
        judged.append(found)
        log(f"{name}: {_counts(found.verdicts)}")
    return Judged(
        pd.concat([found.verdicts for found in judged], ignore_index=True),
        pd.DataFrame([row for found in judged for row in found.numbers], columns=list(KEY_NUMBERS)),
        pd.concat([found.differences for found in judged], ignore_index=True),
    )


def _evidence_of_readings(study: StudyConfig, results: ResultTables) -> Iterator[NamedEvidence]:
    """Name and evidence of each reading, the study's first: its methods, and the records of their networks alone."""
    methods = read_methods(results.runs, study, results.methods)
    curves = NetworkRecords(results.curves, _CURVE_COLUMNS)
    predictions = NetworkRecords(results.predictions, _PREDICTION_COLUMNS)
    evidence = Evidence(
        methods=_judged_columns(results.methods),
        protocol=study.protocol,
        datasets=study.datasets,
        dataset_table=results.dataset_table,
        curves=curves.of(results.methods),
        times=results.times,
        predictions=predictions.of(results.methods),
        maps=results.maps,
        demonstration=study.demonstration,
    )
    for reading, protocol in readings(study).items():
        tuned = methods[reading]
        yield (
            reading,
            replace(
                evidence,
                compared=results.compared if reading == STUDY else {},
                methods=_judged_columns(tuned),
                protocol=protocol,
                curves=curves.of(tuned),
                predictions=predictions.of(tuned),
                maps=results.maps if protocol.kernel_width == study.protocol.kernel_width else None,
            ),
        )
        fewer = on_datasets_of(tuned, results.methods)
        if fewer is not None and len(fewer):
            yield study_on_datasets_of(reading), replace(evidence, methods=_judged_columns(fewer))


def _judged_columns(methods: pd.DataFrame) -> pd.DataFrame:
    return methods[[*_METHOD_COLUMNS, *(name for name in methods if name.startswith("test_"))]]


def _judge_all(evidence: Sequence[NamedEvidence], processes: int) -> Iterator[_Reading]:
    """What comes out under each reading, in their order.

    The first fills what the others remember. These are judged in processes that are forked after it, so that tables and
    memory need not be handed over.
    """
    remembered: Remembered = {}
    first, *others = evidence
    yield _judge(*first, remembered)
    if processes == 1:
        yield from (_judge(*other, remembered) for other in others)
        return
    with ProcessPoolExecutor(processes, get_context("fork"), _inherit, (others, remembered)) as workers:
        yield from workers.map(_judge_inherited, range(len(others)))


_inherited: tuple[Sequence[NamedEvidence], Remembered] = ((), {})  # of a forked process


def _inherit(evidence: Sequence[NamedEvidence], remembered: Remembered) -> None:
    global _inherited  # noqa: PLW0603 - set once, at the start of a process that does nothing else
    _inherited = evidence, remembered


def _judge_inherited(place: int) -> _Reading:
    evidence, remembered = _inherited
    return _judge(*evidence[place], remembered)


def _judge(name: str, evidence: Evidence, remembered: Remembered) -> _Reading:
    statistics = StudyStatistics(evidence, remembered)
    judged = judge(paper_claims(), statistics)
    return _Reading(
        judged.assign(reading=name)[["reading", *judged.columns]],
        list(_key_numbers(name, statistics)),
        _differences(name, statistics),
    )


def read_verdicts(paths: Iterable[str]) -> pd.DataFrame:
    """The verdicts of all readings as `judge_readings` gave them, from the CSV files of their scenarios."""
    tables = [pd.read_csv(path, dtype="str", keep_default_na=False) for path in paths]
    verdicts = pd.concat(tables, ignore_index=True)
    numbers = {name: pd.to_numeric(verdicts[name]) for name in (*NUMBERS, *COUNTS)}
    return verdicts.assign(**numbers, **{name: verdicts[name] == "True" for name in FLAGS})


def _key_numbers(reading: str, statistics: StudyStatistics) -> Iterator[dict[str, Any]]:
    for metric in statistics.plan(MAIN_FIGURE).metrics:
        tables = statistics.comparison(MAIN_FIGURE, metric).tables
        ranks = dict(zip(tables["ranks"]["method"], tables["ranks"]["mean_rank"], strict=True))
        pairs = {frozenset((row["left"], row["right"])): row for row in tables["pairs"].to_dict("records")}
        for here in _against_baseline(statistics, metric):
            method, baseline = here[["method", "baseline"]].iloc[0]
            pair = pairs.get(frozenset((method, baseline)), {})
            yield {
                "reading": reading,
                "metric": metric,
                "method": method,
                "baseline": baseline,
                "datasets": len(here),
                "median_difference": here["difference"].median(),
                "median_relative_difference": here["relative_difference"].median(),
                "median_cohens_d": here["cohens_d"].median(),
                "lower_on": int((here["difference"] < 0).sum()),
                "mean_rank": ranks.get(method),
                "baseline_mean_rank": ranks.get(baseline),
                "p_holm": pair.get("p_holm"),
                "significant": pair.get("significant"),
            }


def _differences(reading: str, statistics: StudyStatistics) -> pd.DataFrame:
    found = list(_against_baseline(statistics, "NLL"))
    if not found:
        return pd.DataFrame(columns=list(DIFFERENCES))
    renamed = {"difference_standard_error": "standard_error", "common_splits": "splits"}
    rows = pd.concat(found).drop(columns=["standard_error", "splits"])
    return rows.rename(columns=renamed).assign(reading=reading)[list(DIFFERENCES)]


def _against_baseline(statistics: StudyStatistics, metric: str) -> Iterator[pd.DataFrame]:
    """The effects of each method of the main comparison on the datasets that it and the baseline have."""
    plan = statistics.plan(MAIN_FIGURE)
    for one in plan.compared:
        rows = statistics.effects(one, plan.baseline, metric, plan.dataset_set).dropna(subset=["difference"])
        if len(rows):
            yield rows


def _counts(verdicts: pd.DataFrame) -> str:
    counts = verdicts["verdict"].value_counts()
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if word in counts)
