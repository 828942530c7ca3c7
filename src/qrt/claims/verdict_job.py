"""The verdict on every claim under every reading of the study's networks, and the numbers behind the disagreements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.claims.claim import paper_claims
from qrt.claims.evidence import Evidence, Workings
from qrt.claims.judge import judge
from qrt.results.readings import read_methods, readings
from qrt.study.config import StudyConfig

_NUMBERS = (
    *("estimate", "low", "high", "p_value", "smallest_detectable"),
    *("datasets", "datasets_for", "datasets_against", "splits"),
)
MAIN_FIGURE = "fig03_main"
KEY_NUMBERS: dict[str, str] = {
    "reading": "protocol: study, other, or the switch that is turned",
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


def judge_readings(study: StudyConfig, pool: Pool, log: Callable[[str], None]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The verdicts (columns of `qrt.claims.judge` after `reading`) and the key numbers of every reading."""
    methods = read_methods(pool.runs, study, pool.methods)
    verdicts, numbers = [], []
    remembered: dict[int, dict[tuple[Any, ...], Any]] = {}  # of readings that have the same table of methods
    for reading, protocol in readings(study).items():
        evidence = Evidence(
            methods=methods[reading],
            protocol=protocol,
            datasets=study.datasets,
            dataset_table=pool.dataset_table,
            curves=pool.curves,
            times=pool.times,
            predictions=pool.predictions,
            maps=pool.maps,
        )
        if protocol.kernel_width != study.protocol.kernel_width:
            evidence = replace(evidence, maps=None)
        workings = Workings(evidence, remembered.setdefault(id(methods[reading]), {}))
        judged = judge(paper_claims(), workings)
        verdicts.append(judged.assign(reading=reading))
        numbers += _key_numbers(reading, workings)
        log(f"{reading}: {_counts(judged)}")
    columns = ["reading", *judged.columns]
    return pd.concat(verdicts, ignore_index=True)[columns], pd.DataFrame(numbers, columns=list(KEY_NUMBERS))


def read_verdicts(path: Path) -> pd.DataFrame:
    """The verdicts as `judge_readings` gave them, from their CSV file."""
    verdicts = pd.read_csv(path, dtype="str", keep_default_na=False)
    return verdicts.assign(**{name: pd.to_numeric(verdicts[name]) for name in _NUMBERS})


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


def _counts(verdicts: pd.DataFrame) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in verdicts["verdict"].value_counts().items())
