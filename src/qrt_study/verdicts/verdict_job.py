"""The verdict on every claim under every reading of the study's networks, and the numbers behind the disagreements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from qrt.atomic import write_text
from qrt_study.plan.config import StudyConfig
from qrt_study.results.readings import (
    NETWORK,
    STUDY,
    NetworkRecords,
    on_datasets_of,
    read_methods,
    readings,
    readings_of,
    study_on_datasets_of,
    without_repeats,
)
from qrt_study.results.tables import METHODS, RUNS
from qrt_study.running.study_files import JUDGED, JUDGED_COMPARISONS, StudyFiles
from qrt_study.statistics.columns import COMPARISON
from qrt_study.statistics.curves import CURVE_METRICS
from qrt_study.statistics.figure_statistics import FigureStatistics
from qrt_study.verdicts.claim import paper_claims
from qrt_study.verdicts.evidence import Evidence, StudyStatistics
from qrt_study.verdicts.judge import COUNTS, FLAGS, NUMBERS, judge
from qrt_study.verdicts.verdict import VERDICTS, Verdict

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


class Judged(NamedTuple):
    """What came out under one reading, or under every reading."""

    verdicts: pd.DataFrame  # columns of `qrt_study.verdicts.judge` after `reading`
    numbers: pd.DataFrame  # KEY_NUMBERS
    differences: pd.DataFrame  # DIFFERENCES


def judge_study(*, study: StudyConfig, results: Path) -> None:
    """Judge every claim under a protocol and with each of its switches changed alone; files are below `results`."""
    # Texts as plain objects, as far as they can be: thousands of small selections are faster than with Arrow's strings.
    pd.options.mode.string_storage = "python"
    files = StudyFiles(study)
    inputs, places = files.judge_inputs(), files.places_to_judge()

    def with_objects(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.astype(dict.fromkeys(rows.select_dtypes("str"), object))

    def of_networks(kind: str) -> pd.DataFrame:
        return without_repeats(with_objects(files.read(places, kind, RECORD_COLUMNS[kind]).to_pandas()))

    evidence = Evidence(
        **{kind: with_objects(files.frames(inputs[kind], kind)) for kind in ("methods", "maps")},
        protocol=study.protocol,
        datasets=study.datasets,
        dataset_table=pd.read_csv(inputs["datasets"][0]),
        **{kind: of_networks(kind) for kind in ("curves", "predictions")},
        times=with_objects(files.read_times().to_pandas()),
        compared={
            name: FigureStatistics.read(Path(folder), COMPARISON)
            for name, folder in zip(JUDGED_COMPARISONS, inputs["comparisons"], strict=True)
        },
        demonstration=study.demonstration,
    )
    judged = judge_readings(study, of_networks("runs"), evidence, log=print)
    for scenario in files.judged_scenarios():
        ours = readings_of(scenario)
        for file, table in zip(JUDGED, judged, strict=True):
            write_text(results / scenario / file, table[table["reading"].isin(ours)].to_csv(index=False))


def judge_readings(study: StudyConfig, runs: pd.DataFrame, own: Evidence, log: Callable[[str], None]) -> Judged:
    """The verdicts, the key numbers and the differences of every reading.

    `runs`, and the curves and predictions of the study's `own` evidence, are of all networks that there are. A reading
    whose networks were trained on some datasets only is followed by the study's own on the same datasets, so that what
    a switch changes is not mixed up with what fewer datasets change.
    """
    judged, shared = [], dict[tuple[Any, ...], Verdict]()
    for name, evidence in _evidence_of_readings(study, runs, own):
        statistics = StudyStatistics(evidence, shared)
        verdicts = judge(paper_claims(), statistics)
        judged.append(
            Judged(
                verdicts.assign(reading=name)[["reading", *verdicts.columns]],
                pd.DataFrame(_key_numbers(name, statistics), columns=list(KEY_NUMBERS)),
                _differences(name, statistics),
            )
        )
        log(f"{name}: {_counts(verdicts)}")
    return Judged(*(pd.concat(tables, ignore_index=True) for tables in zip(*judged, strict=True)))


def _evidence_of_readings(study: StudyConfig, runs: pd.DataFrame, evidence: Evidence) -> Iterator[tuple[str, Evidence]]:
    """Name and evidence of each reading, the study's first: its methods, and the records of their networks alone."""
    assert evidence.curves is not None
    assert evidence.predictions is not None
    curves = NetworkRecords(evidence.curves, _CURVE_COLUMNS)
    predictions = NetworkRecords(evidence.predictions, _PREDICTION_COLUMNS)

    def with_methods(methods: pd.DataFrame, **changed: Any) -> Evidence:
        records = {"curves": curves.of(methods), "predictions": predictions.of(methods)}
        return replace(evidence, methods=_judged_columns(methods), **records, **changed)

    own = with_methods(evidence.methods, compared={})
    methods = read_methods(runs, study, evidence.methods)
    for reading, protocol in readings(study).items():
        compared = evidence.compared if reading == STUDY else {}
        maps = evidence.maps if protocol.kernel_width == study.protocol.kernel_width else None
        yield reading, with_methods(methods[reading], protocol=protocol, compared=compared, maps=maps)
        fewer = on_datasets_of(methods[reading], evidence.methods)
        if fewer is not None and len(fewer):
            yield study_on_datasets_of(reading), replace(own, methods=_judged_columns(fewer))


def _judged_columns(methods: pd.DataFrame) -> pd.DataFrame:
    return methods[[*_METHOD_COLUMNS, *(name for name in methods if name.startswith("test_"))]]


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
