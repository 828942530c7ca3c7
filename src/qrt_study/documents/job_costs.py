"""What finished jobs took beside the formula of `qrt_study.plan.cost`, and what the study would take at their pace.

The constants of the formula are those of one kind of processor, so each kind is compared by itself: its *pace* is the
median of measured / formula over training jobs that are long enough for the start of Python to count little.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from qrt.methods import BASE_MODELS
from qrt.text.words import listed
from qrt_study.documents.written_block import markdown_table
from qrt_study.plan.config import load_study
from qrt_study.plan.cost import TrainingJob
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.running.study_files import StudyFiles

CLOSE = 1.5  # a factor
LONG = 10  # seconds by the formula
GROUPINGS = ("stage", "length", "kind", "size")  # properties of a finished job
_SIZES = {500: "below 500", 2_000: "500 to 1,999", 10_000: "2,000 to 9,999"}  # by the limit they are below
_LARGEST = "10,000 or more"
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


@dataclass(frozen=True)
class Finished:
    """A finished job, of training or evaluation, and what it took beside what was expected."""

    stage: str
    dataset: str
    split: str
    family: str
    rows: int  # of training
    processor: str
    seconds: float  # of the processor
    expected_seconds: float
    epochs: float = np.nan  # of training, the mean over its networks
    expected_epochs: float = np.nan

    @property
    def base_model(self) -> str:
        """Stage and base model."""
        return f"{self.stage}, {self.family.split('.')[0]}"

    @property
    def kind(self) -> str:
        """Stage, base model and kind of the family."""
        return f"{self.stage}, {'.'.join(self.family.split('.')[:2])}"

    @property
    def is_long(self) -> bool:
        """Whether it trains so long that its start counts little."""
        return self.stage == "training" and self.expected_seconds >= LONG

    @property
    def length(self) -> str:
        """Stage, and of training whether it is long."""
        if self.stage != "training":
            return self.stage
        return f"{self.stage}, {LONG} s or more by the formula" if self.is_long else f"{self.stage}, shorter"

    @property
    def size(self) -> str:
        """The size of the data in words."""
        words = next((words for below, words in _SIZES.items() if self.rows < below), _LARGEST)
        return f"{self.stage}, {words} training rows"


@dataclass(frozen=True)
class Summary:
    """Some finished jobs beside the formula; ratios are measured / formula, medians over jobs."""

    name: str
    jobs: int
    ratio: float
    close: float  # the share within a factor of `CLOSE` of the formula
    close_to_pace: float  # and of the formula times the pace
    epochs: float
    per_epoch: float
    hours: float
    expected_hours: float

    @classmethod
    def of(cls, name: str, jobs: Sequence[Finished], pace: float) -> Summary:
        """What these jobs took."""
        seconds = np.array([job.seconds / job.expected_seconds for job in jobs])
        epochs = np.array([job.epochs / job.expected_epochs for job in jobs])
        close = (float(np.mean(np.abs(np.log(ratios)) < np.log(CLOSE))) for ratios in (seconds, seconds / pace))
        of_epochs = (float(np.median(values)) for values in (epochs, seconds / epochs))
        hours = (sum(job.seconds for job in jobs), sum(job.expected_seconds for job in jobs))
        return cls(name, len(jobs), float(np.median(seconds)), *close, *of_epochs, *(value / 3600 for value in hours))


@dataclass(frozen=True)
class Processor:
    """The finished jobs of one kind of processor."""

    name: str
    jobs: Sequence[Finished]

    @property
    def pace(self) -> float:
        """The median of measured / formula over long jobs, or over all, if none is long."""
        counted = [job for job in self.jobs if job.is_long] or self.jobs
        return float(np.median([job.seconds / job.expected_seconds for job in counted]))

    def summaries(self, *groupings: str) -> Iterator[Summary]:
        """One for each group of jobs that agree in a property, each group once."""
        groups: dict[str, list[Finished]] = {}
        for grouping in groupings:
            of_jobs: dict[str, list[Finished]] = defaultdict(list)
            for job in self.jobs:
                of_jobs[getattr(job, grouping)].append(job)
            groups |= of_jobs
        pace = self.pace
        for name, jobs in groups.items():
            yield Summary.of(name, jobs, pace)

    @property
    def pace_of_base_models(self) -> Mapping[str, float]:
        """Stage and base model -> the sum of what was measured / that of the formula."""
        return {one.name: one.hours / one.expected_hours for one in self.summaries("base_model")}

    def expected_hours(self, files: StudyFiles) -> tuple[float, float] | None:
        """CPU-hours of training and of evaluation of a study, if jobs of all its base models were measured."""
        pace, splits = self.pace_of_base_models, len(files.study.splits)
        training = evaluation = 0.0
        for model, job in jobs_on_a_split(files):
            if f"training, {model.lower()}" not in pace:
                return None
            training += splits * job.seconds * pace[f"training, {model.lower()}"] / 3600
            evaluation += job.evaluation_seconds * pace[f"evaluation, {model.lower()}"] / 3600
        return training, evaluation


def processors(jobs: Sequence[Finished]) -> Iterator[Processor]:
    """The kinds of processor with the jobs that each has done, those on small data first."""
    for name in dict.fromkeys(job.processor for job in jobs):
        yield Processor(name, sorted((job for job in jobs if job.processor == name), key=attrgetter("rows")))


def finished_jobs(project: Path, study: Path | None = None) -> Iterator[Finished]:
    """The jobs behind the published results, or those of the study in a folder, whose networks all have an end."""
    seen = set()
    for protocol in PROTOCOLS:
        files = whole_study(project, protocol, "everything")
        for dataset in files.study.datasets:
            networks = _networks(dataset, project, study)
            for family in files.plan.families_on(dataset):
                of_family = networks[networks["family"] == family]
                if (dataset, family) in seen or of_family.empty or of_family["epochs"].isna().any():
                    continue
                seen.add((dataset, family))
                job = files.training_job(dataset, family)
                expected_epochs = float(np.mean([job.epochs_of(network) for network in job.family.networks]))
                for (_, split, processor), of_job in of_family.groupby(["seed", "split", "cpu"]):
                    took, epochs = float(of_job["job_seconds"].sum()), of_job["epochs"].mean()
                    about = (dataset, str(split), family, job.shape[0], processor)
                    yield Finished("training", *about, took, job.seconds, epochs, expected_epochs)
                for (_, processor), of_seed in of_family.groupby(["seed", "cpu"]):
                    took = float(of_seed["evaluation_seconds"].sum())
                    part = of_seed["split"].nunique() / len(files.study.splits)
                    about = (dataset, "all", family, job.shape[0], processor)
                    yield Finished("evaluation", *about, took, part * job.evaluation_seconds)


def _networks(dataset: str, project: Path, study: Path | None) -> pd.DataFrame:
    """The networks of a dataset, a row each, with their shares of what their jobs took."""
    columns = ["seed", "split", "family", "variant", "cpu", "epochs", "job_seconds", "evaluation_seconds"]
    place, pattern = (study, _OF_A_STUDY) if study else (project, _PUBLISHED)
    found = [pq.read_table(path, columns=columns) for path in sorted(place.glob(pattern.format(dataset=dataset)))]
    rows = pa.concat_tables(found).to_pandas() if found else pd.DataFrame(columns=columns)
    return rows.drop_duplicates(columns[:4])


def cost_tables(project: Path) -> str:
    """The block of docs/cluster.md: what the jobs behind the published results took, by kind of processor."""
    parts = []
    for processor in processors(list(finished_jobs(project))):
        rows = [job.rows for job in processor.jobs]
        close = f"within a factor of {CLOSE}"
        shares = (close, f"{close} of the formula times the pace ({processor.pace:.2f})")
        head = ("jobs", "number", "median of measured / formula", *shares, "CPU-hours", "by the formula")
        lines = map(_row, processor.summaries(*GROUPINGS))
        parts.append(
            f"On {processor.name}, {min(rows):,} to {max(rows):,} training rows, both protocols. "
            f"{_at_its_pace(processor, project)}\n\n{markdown_table(head, *lines)}"
        )
    return "\n\n".join(parts)


def _at_its_pace(processor: Processor, project: Path) -> str:
    """A sentence on what the paper's protocol would take, if jobs of all base models were measured."""
    scopes = ("published", "everything")
    expected = {scope: processor.expected_hours(whole_study(project, "paper", scope)) for scope in scopes}
    hours = [f"{both[0]:.0f} and {both[1]:.0f} CPU-hours (`{scope}`)" for scope, both in expected.items() if both]
    if not hours:
        return "Not every base model was measured."
    return (
        "At the pace that they had, each base model at its own, training and evaluation of the paper's protocol on all "
        f"datasets would take {listed(hours)}."
    )


def _row(one: Summary) -> tuple[str, ...]:
    shares = [f"{100 * share:.0f} %" for share in (one.close, one.close_to_pace)]
    hours = [f"{value:.2f}" if value >= 0.005 else "below 0.01" for value in (one.hours, one.expected_hours)]
    return one.name, f"{one.jobs:,}", f"{one.ratio:.2f}", *shares, *hours
