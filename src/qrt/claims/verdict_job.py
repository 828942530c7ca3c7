"""The verdict on every claim under every reading of the study's networks, and the numbers behind the disagreements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.claims.claim import paper_claims
from qrt.claims.evidence import METHODS_OF_CURVES, Evidence, Workings
from qrt.claims.judge import COUNTS, FLAGS, NUMBERS, judge
from qrt.claims.verdict import VERDICTS
from qrt.results.readings import NETWORK, NetworkRecords, on_datasets_of, read_methods, readings, study_on_datasets_of
from qrt.statistics.curves import CURVE_METRICS
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.config import StudyConfig

# The last verdict of each claim under the frozen claim and rule, beside the verdicts. No output of the workflow, which
# would remove it before it judges again.
FROZEN_VERDICTS = "frozen_verdicts.csv"
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
# Of the records of networks: these, and what tells one network from another.
POOL_COLUMNS = {
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

    verdicts: pd.DataFrame  # columns of `qrt.claims.judge` after `reading`
    numbers: pd.DataFrame  # KEY_NUMBERS
    differences: pd.DataFrame  # DIFFERENCES


@dataclass(frozen=True)
class Pool:
    """All results that there are, of this study and of other readings of the same datasets."""

    runs: pd.DataFrame
    methods: pd.DataFrame  # of this study
    curves: pd.DataFrame
    predictions: pd.DataFrame
    times: pd.DataFrame
    maps: pd.DataFrame  # of this study's kernel width
    dataset_table: pd.DataFrame


@dataclass(frozen=True)
class _Reading:
    """What came out under one reading."""

    verdicts: pd.DataFrame
    numbers: list[dict[str, Any]]
    differences: pd.DataFrame


class SharedByDataset(Workings):
    """The same statistics; those of the curves of one dataset are shared by readings that differ on others alone.

    Here and not in `Workings`, whose code was frozen before the run: what is computed stays there, this only shares it.
    """

    def curves_without(self, split: int, dataset: str) -> FigureStatistics:
        """The averaged curves of one dataset without one of its splits."""
        compute = super().curves_without
        key = ("curves of one dataset without", split, dataset, self._content_by_dataset.get(dataset, 0))
        return self.remember(key, lambda: compute(split, dataset))

    @cached_property
    def _content_by_dataset(self) -> dict[str, int]:
        """Dataset -> a fingerprint of the rows of the methods behind the curves, as `content` has it of all."""
        methods = self.evidence.methods
        rows = methods[pd.MultiIndex.from_frame(methods[["experiment", "method"]]).isin(METHODS_OF_CURVES)]
        if rows.empty:
            return {}
        sums = pd.util.hash_pandas_object(rows, index=False).groupby(rows["dataset"]).sum()
        return {str(dataset): int(value) for dataset, value in sums.items()}


NamedEvidence = tuple[str, Evidence]  # of a reading
Remembered = dict[tuple[Any, ...], Any]  # statistics that readings share (`qrt.claims.evidence.Workings`)


def judge_readings(study: StudyConfig, pool: Pool, log: Callable[[str], None], processes: int = 1) -> Judged:
    """The verdicts, the key numbers and the differences of every reading.

    A reading whose networks were trained on some datasets only is followed by the study's own on the same datasets, so
    that what a switch changes is not mixed up with what fewer datasets change.
    """
    evidence = list(_evidence_of_readings(study, pool))
    judged = []
    for (name, _), found in zip(evidence, _judge_all(evidence, processes), strict=True):
        judged.append(found)
        log(f"{name}: {_counts(found.verdicts)}")
    return Judged(
        pd.concat([found.verdicts for found in judged], ignore_index=True),
        pd.DataFrame([row for found in judged for row in found.numbers], columns=list(KEY_NUMBERS)),
        pd.concat([found.differences for found in judged], ignore_index=True),
    )


def _evidence_of_readings(study: StudyConfig, pool: Pool) -> Iterator[NamedEvidence]:
    """Name and evidence of each reading, the study's first: its methods, and the records of their networks alone."""
    methods = read_methods(pool.runs, study, pool.methods)
    curves = NetworkRecords(pool.curves, _CURVE_COLUMNS)
    predictions = NetworkRecords(pool.predictions, _PREDICTION_COLUMNS)
    evidence = Evidence(
        methods=_judged_columns(pool.methods),
        protocol=study.protocol,
        datasets=study.datasets,
        dataset_table=pool.dataset_table,
        curves=curves.of(pool.methods),
        times=pool.times,
        predictions=predictions.of(pool.methods),
        maps=pool.maps,
        demonstration=study.demonstration,
    )
    for reading, protocol in readings(study).items():
        tuned = methods[reading]
        yield (
            reading,
            replace(
                evidence,
                methods=_judged_columns(tuned),
                protocol=protocol,
                curves=curves.of(tuned),
                predictions=predictions.of(tuned),
                maps=pool.maps if protocol.kernel_width == study.protocol.kernel_width else None,
            ),
        )
        fewer = on_datasets_of(tuned, pool.methods)
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
    workings = SharedByDataset(evidence, remembered)
    judged = judge(paper_claims(), workings)
    return _Reading(
        judged.assign(reading=name)[["reading", *judged.columns]],
        _key_numbers(name, workings),
        _differences(name, workings),
    )


def with_frozen_verdicts(verdicts: pd.DataFrame, path: Path) -> pd.DataFrame:
    """The verdicts with the last one under the frozen rule, where claim or rule have changed since.

    A rule that was changed is not there any more, so the old verdict is looked up in the file `path`, not computed.
    """
    if not path.is_file():
        return verdicts
    old = pd.read_csv(path, dtype="str", keep_default_na=False).set_index(["reading", "id"])["verdict"].to_dict()
    keys = zip(verdicts["reading"], verdicts["id"], verdicts["changed_after_run"], strict=True)
    found = [old.get((reading, name), "") if changed else "" for reading, name, changed in keys]
    return verdicts.assign(frozen_verdict=found)


def frozen_verdicts(verdicts: pd.DataFrame) -> pd.DataFrame:
    """What to keep of verdicts for the day when a claim or rule changes: reading, id, verdict under the frozen rule."""
    kept = verdicts["verdict"].where(~verdicts["changed_after_run"], verdicts["frozen_verdict"])
    table = verdicts[["reading", "id"]].assign(verdict=kept)
    return table[table["verdict"] != ""]


def read_verdicts(path: Path) -> pd.DataFrame:
    """The verdicts as `judge_readings` gave them, from their CSV file."""
    verdicts = pd.read_csv(path, dtype="str", keep_default_na=False)
    numbers = {name: pd.to_numeric(verdicts[name]) for name in (*NUMBERS, *COUNTS)}
    return verdicts.assign(**numbers, **{name: verdicts[name] == "True" for name in FLAGS})


def _key_numbers(reading: str, workings: Workings) -> list[dict[str, Any]]:
    statistics = workings.comparison(MAIN_FIGURE)
    ranks = statistics.tables["ranks"].set_index(["metric", "method"])["mean_rank"]
    pairs = {
        (row["metric"], frozenset((row["left"], row["right"]))): row
        for row in statistics.tables["pairs"].to_dict("records")
    }
    rows = []
    compared = statistics.tables["per_dataset"].dropna(subset=["difference"])
    for (metric, method, baseline), here in compared.groupby(["metric", "method", "baseline"], sort=False):
        pair = pairs.get((metric, frozenset((method, baseline))), {})
        rows.append(
            {
                "reading": reading,
                "metric": metric,
                "method": method,
                "baseline": baseline,
                "datasets": len(here),
                "median_difference": here["difference"].median(),
                "median_relative_difference": here["relative_difference"].median(),
                "median_cohens_d": here["cohens_d"].median(),
                "lower_on": int((here["difference"] < 0).sum()),
                "mean_rank": ranks.get((metric, method)),
                "baseline_mean_rank": ranks.get((metric, baseline)),
                "p_holm": pair.get("p_holm"),
                "significant": pair.get("significant"),
            }
        )
    return rows


def _differences(reading: str, workings: Workings) -> pd.DataFrame:
    found = workings.comparison(MAIN_FIGURE).tables["per_dataset"].dropna(subset=["difference"])
    found = found[found["metric"] == "NLL"].drop(columns=["standard_error", "splits"])
    renamed = {"difference_standard_error": "standard_error", "common_splits": "splits"}
    return found.rename(columns=renamed).assign(reading=reading)[list(DIFFERENCES)]


def _counts(verdicts: pd.DataFrame) -> str:
    counts = verdicts["verdict"].value_counts()
    return ", ".join(f"{counts[word]} {word}" for word in VERDICTS if word in counts)
