"""What finished jobs took beside the formula of `qrt_study.plan.cost`, and what the study would take at their pace.

The constants of the formula are those of one kind of processor, so each kind is compared by itself: its *pace* is the
median of measured / formula over training jobs that are long enough for the start of Python to count little.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from qrt.methods import BASE_MODELS
from qrt_study.documents.written_block import markdown_table
from qrt_study.plan.config import load_study
from qrt_study.plan.cost import TrainingJob
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.running.study_files import StudyFiles

CLOSE = 1.5  # a factor
LONG = 10  # seconds by the formula
GROUPINGS = ("stage", "length", "kind", "size")  # columns of finished jobs
_SIZES = ("below 500", "500 to 1,999", "2,000 to 9,999", "10,000 or more")
_LIMITS = (500, 2_000, 10_000)
GOALS = {"published": 150, "everything": 600}  # scope -> CPU-hours of training under the paper's protocol
_PUBLISHED = "replication/results/networks/{dataset}.runs.parquet"
_OF_A_STUDY = "results/networks/{dataset}/seed*/splits*/*.runs.parquet"


def whole_study(project: Path, protocol: str, scope: str) -> StudyFiles:
    """The paper's study on all datasets."""
    return StudyFiles(load_study({"protocols": [protocol], "scope": scope}, project))


def jobs_on_a_split(files: StudyFiles) -> Iterator[tuple[str, TrainingJob]]:
    """The base model and the job of every family on every dataset, to be trained once for each split."""
    models = {model.lower(): model for model in BASE_MODELS}
    for dataset in files.study.datasets:
        for family in files.plan.families_on(dataset):
            yield models[family.split(".")[0]], files.training_job(dataset, family)


def finished_jobs(project: Path, study: Path | None = None) -> pd.DataFrame:
    """The jobs behind the published results, or those of the study in a folder, whose networks all have an end.

    A row per job of training or evaluation (`stage`): dataset, split, family, rows (of training), cpu, seconds, epochs
    (the mean over its networks) and what the formula expects of both, and the columns of `grouped`.
    """
    found, seen = [], set()
    for files in (whole_study(project, protocol, "everything") for protocol in PROTOCOLS):
        splits = len(files.study.splits)
        for dataset in files.study.datasets:
            networks = _networks(dataset, project, study)
            for family in files.plan.families_on(dataset):
                of_family = networks[networks["family"] == family]
                if (dataset, family) in seen or of_family.empty or of_family["epochs"].isna().any():
                    continue
                seen.add((dataset, family))
                job = files.training_job(dataset, family)
                about = {"dataset": dataset, "family": family, "rows": job.shape[0]}
                trained = of_family.groupby(["seed", "split", "cpu"], as_index=False).agg(
                    seconds=("job_seconds", "sum"), epochs=("epochs", "mean")
                )
                epochs = float(np.mean([job.epochs_of(network) for network in job.family.networks]))
                expected = {"expected_seconds": job.seconds, "expected_epochs": epochs}
                found.append(trained.assign(stage="training", **expected, **about))
                evaluated = of_family.groupby(["seed", "cpu"], as_index=False).agg(
                    seconds=("evaluation_seconds", "sum"), part=("split", "nunique")
                )
                seconds = evaluated.pop("part") / splits * job.evaluation_seconds
                found.append(evaluated.assign(stage="evaluation", split="all", expected_seconds=seconds, **about))
    return grouped(pd.concat(found, ignore_index=True))


def grouped(jobs: pd.DataFrame) -> pd.DataFrame:
    """Finished jobs with what they are grouped by, in words: base_model, kind, length and size, each after the stage.

    `is_long`: it trains so long that its start counts little.
    """
    stage, family = jobs["stage"] + ", ", jobs["family"].str.split(".")
    is_long = (jobs["stage"] == "training") & (jobs["expected_seconds"] >= LONG)
    length = stage + np.where(is_long, f"{LONG} s or more by the formula", "shorter")
    size = np.array(_SIZES, dtype=object)[np.searchsorted(_LIMITS, jobs["rows"], side="right")]
    return jobs.assign(
        base_model=stage + family.str[0],
        kind=stage + family.str[:2].str.join("."),
        is_long=is_long,
        length=length.where(jobs["stage"] == "training", jobs["stage"]),
        size=stage + size + " training rows",
    )


def by_processor(jobs: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The kinds of processor with the jobs that each has done, those on small data first."""
    for name, of_processor in jobs.groupby("cpu", sort=False):
        yield str(name), of_processor.sort_values("rows", kind="stable")


def pace(jobs: pd.DataFrame) -> float:
    """The median of measured / formula over long jobs, or over all, if none is long."""
    counted = jobs[jobs["is_long"]] if jobs["is_long"].any() else jobs
    return float((counted["seconds"] / counted["expected_seconds"]).median())


def summaries(jobs: pd.DataFrame, *groupings: str) -> pd.DataFrame:
    """Each group of the jobs of a processor beside the formula, once, by its name.

    jobs; ratio, epochs, per_epoch (medians of measured / formula); close, close_to_pace (the shares of jobs within a
    factor of CLOSE of the formula, and of the formula times the pace); hours and expected_hours.
    """
    ratio, epochs = jobs["seconds"] / jobs["expected_seconds"], jobs["epochs"] / jobs["expected_epochs"]
    measured = jobs.assign(
        ratio=ratio,
        epochs=epochs,
        per_epoch=ratio / epochs,
        close=np.log(ratio).abs() < np.log(CLOSE),
        close_to_pace=np.log(ratio / pace(jobs)).abs() < np.log(CLOSE),
        hours=jobs["seconds"] / 3600,
        expected_hours=jobs["expected_seconds"] / 3600,
    )
    how = dict.fromkeys(("ratio", "epochs", "per_epoch"), "median") | dict.fromkeys(("close", "close_to_pace"), "mean")
    how |= dict.fromkeys(("hours", "expected_hours"), "sum")
    groups = [measured.groupby(grouping, sort=False) for grouping in groupings]
    table = pd.concat([group.agg(how).assign(jobs=group.size()) for group in groups])
    return table[~table.index.duplicated()]


def pace_of_base_models(jobs: pd.DataFrame) -> pd.Series:
    """Stage and base model -> the sum of what was measured / that of the formula."""
    sums = jobs.groupby("base_model", sort=False)[["seconds", "expected_seconds"]].sum()
    return sums["seconds"] / sums["expected_seconds"]


def formula_hours(files: StudyFiles) -> tuple[float, float]:
    """CPU-hours of training and of evaluation of a study by the formula."""
    jobs = [job for _, job in jobs_on_a_split(files)]
    training = len(files.study.splits) * sum(job.seconds for job in jobs)
    return training / 3600, sum(job.evaluation_seconds for job in jobs) / 3600


def hours_at_their_pace(jobs: pd.DataFrame, files: StudyFiles) -> tuple[float, float] | None:
    """CPU-hours of training and of evaluation of a study, if jobs of all its base models were measured."""
    paces, splits = pace_of_base_models(jobs), len(files.study.splits)
    training = evaluation = 0.0
    for model, job in jobs_on_a_split(files):
        if f"training, {model.lower()}" not in paces:
            return None
        training += splits * job.seconds * paces[f"training, {model.lower()}"] / 3600
        evaluation += job.evaluation_seconds * paces[f"evaluation, {model.lower()}"] / 3600
    return training, evaluation


def _networks(dataset: str, project: Path, study: Path | None) -> pd.DataFrame:
    """The networks of a dataset, a row each, with their shares of what their jobs took."""
    columns = ["seed", "split", "family", "variant", "cpu", "epochs", "job_seconds", "evaluation_seconds"]
    place, pattern = (study, _OF_A_STUDY) if study else (project, _PUBLISHED)
    found = [pq.read_table(path, columns=columns) for path in sorted(place.glob(pattern.format(dataset=dataset)))]
    rows = pa.concat_tables(found).to_pandas() if found else pd.DataFrame(columns=columns)
    return rows.drop_duplicates(columns[:4])


def cost_blocks(project: Path) -> dict[str, str]:
    """The blocks of docs/costs.md: CPU-hours beside the goals, and what the jobs behind the published results took."""
    jobs = dict(by_processor(finished_jobs(project)))
    return {"goals": _goals(jobs, project), "costs": _cost_tables(jobs)}


def _goals(by_kind: Mapping[str, pd.DataFrame], project: Path) -> str:
    """CPU-hours of the study by the formula, and at the pace of the finished jobs of each kind of processor."""

    def row(name: str, protocol: str, jobs: pd.DataFrame | None = None) -> tuple[str, ...]:
        studies = [whole_study(project, protocol, scope) for scope in GOALS]
        hours = [formula_hours(study) if jobs is None else hours_at_their_pace(jobs, study) for study in studies]
        return name, *(f"{both[0]:.0f} and {both[1]:.0f}" if both else "not every base model" for both in hours)

    return markdown_table(
        ("CPU-hours of training, and of evaluation", *GOALS),
        ("goal, training", *map(str, GOALS.values())),
        row("paper's protocol, by the formula", "paper"),
        *(row(f"paper's protocol, at the pace of jobs on {name}", "paper", jobs) for name, jobs in by_kind.items()),
        row("released code's protocol, by the formula", "released"),
    )


def _cost_tables(by_kind: Mapping[str, pd.DataFrame]) -> str:
    parts = []
    for name, jobs in by_kind.items():
        close = f"within a factor of {CLOSE}"
        shares = (close, f"{close} of the formula times the pace ({pace(jobs):.2f})")
        head = ("jobs", "number", "median of measured / formula", *shares, "CPU-hours", "by the formula")
        lines = map(_row, summaries(jobs, *GROUPINGS).itertuples())
        rows = f"{jobs['rows'].min():,} to {jobs['rows'].max():,} training rows"
        parts.append(f"On {name}, {rows}, both protocols:\n\n{markdown_table(head, *lines)}")
    return "\n\n".join(parts)


def _row(one: Any) -> tuple[str, ...]:
    shares = [f"{100 * share:.0f} %" for share in (one.close, one.close_to_pace)]
    hours = [f"{value:.2f}" if value >= 0.005 else "below 0.01" for value in (one.hours, one.expected_hours)]
    return one.Index, f"{one.jobs:,}", f"{one.ratio:.2f}", *shares, *hours
