"""What the study costs by the formula of src/qrt/study/cost.py: CPU-hours by protocol, scope and base model.

    python benchmarks/study_cost.py
    python benchmarks/study_cost.py --measured      compare with the jobs behind the published results
    python benchmarks/study_cost.py --measured --study ../study     with those of a study that is not published yet

All 57 datasets, 5 splits. Takes a few seconds and trains nothing. The constants of the formula are those of one kind of
processor, so each kind is compared by itself: its *pace* is the median of measured / formula over training jobs that
are long enough for the start of Python, which a job of a warm one does not have, to count little.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from measuring import PROJECT
from qrt.running.study_files import StudyFiles
from qrt.study.config import load_config, read_schema
from qrt.study.cost import TrainingJob
from qrt.study.experiments import BASE_MODELS
from qrt.study.protocol import PROTOCOLS

SCOPES = ("main", "published", "everything")
CORES = 40
CLOSE = 1.5  # a factor
SIZES = (500, 2_000, 10_000)  # training rows
LONG = 10  # seconds by the formula
PUBLISHED = "replication/results/networks/{dataset}.runs.parquet"
OF_A_STUDY = "results/networks/{dataset}/seed*/*.runs.parquet"


def study(protocol: str, scope: str) -> StudyFiles:
    """The paper's study on all datasets."""
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    return StudyFiles(load_config({"protocol": protocol, "scope": scope}, schema, PROJECT))


def jobs(files: StudyFiles) -> Iterator[tuple[str, TrainingJob]]:
    """The base model and the job of every family on every dataset, to be trained once for each split."""
    models = {model.lower(): model for model in BASE_MODELS}
    for dataset in files.study.datasets:
        for family in files.plan.families_on(dataset):
            yield models[family.split(".")[0]], files.training_job(dataset, family)


def print_costs() -> None:
    """One line for each protocol and scope."""
    columns = ("jobs", "networks", "CPU-hours", *BASE_MODELS, "evaluation", f"on {CORES} cores", "longest job")
    print(f"{'protocol':9} {'scope':11}" + "".join(f"{column:>12}" for column in columns))
    for protocol in PROTOCOLS:
        for scope in SCOPES:
            files = study(protocol, scope)
            splits = len(files.study.splits)
            hours, evaluation, longest, number, networks = dict.fromkeys(BASE_MODELS, 0.0), 0.0, 0.0, 0, 0
            for model, job in jobs(files):
                hours[model] += splits * job.seconds / 3600
                evaluation += job.evaluation_seconds / 3600
                longest = max(longest, job.seconds / 3600)
                number += splits
                networks += splits * len(job.family.networks)
            total = sum(hours.values())
            wall = max((total + evaluation) / CORES, longest)
            numbers = (total, *hours.values(), evaluation, wall, longest)
            counts = "".join(f"{count:12,}" for count in (number, networks))
            print(f"{protocol:9} {scope:11}" + counts + "".join(f"{value:12.1f}" for value in numbers))


@dataclass(frozen=True)
class Finished:
    """A finished job, of training or evaluation, and what it took beside what was expected."""

    stage: str
    dataset: str
    split: str
    family: str
    rows: int
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
        return self.stage == "train" and self.expected_seconds >= LONG

    @property
    def length(self) -> str:
        """Whether it is long in words."""
        return f"{self.stage}, {LONG} s or more by the formula" if self.is_long else f"{self.stage}, shorter"

    @property
    def size(self) -> str:
        """The size of the data in words."""
        below = next((limit for limit in SIZES if self.rows < limit), None)
        return f"{self.stage}, {f'below {below:,}' if below else f'{SIZES[-1]:,} or more'} training rows"


def finished_jobs(folder: Path | None = None) -> Iterator[Finished]:
    """The jobs behind the published results, or those of the study in a folder, whose networks all have an end."""
    seen = set()
    for protocol in PROTOCOLS:
        files = study(protocol, "everything")
        for dataset in files.study.datasets:
            networks = _networks(dataset, folder)
            for family in files.plan.families_on(dataset):
                of_family = networks[networks["family"] == family]
                if (dataset, family) in seen or of_family.empty or of_family["epochs"].isna().any():
                    continue
                seen.add((dataset, family))
                job = files.training_job(dataset, family)
                expected_epochs = float(np.mean([job.epochs_of(network) for network in job.family.networks]))
                for (_, split, processor), of_job in of_family.groupby(["seed", "split", "cpu"]):
                    took, epochs = of_job["job_seconds"].sum(), of_job["epochs"].mean()
                    about = (dataset, str(split), family, job.shape[0], processor)
                    yield Finished("train", *about, took, job.seconds, epochs, expected_epochs)
                for (_, processor), of_seed in of_family.groupby(["seed", "cpu"]):
                    took = of_seed["evaluation_seconds"].sum()
                    part = of_seed["split"].nunique() / len(files.study.splits)
                    about = (dataset, "all", family, job.shape[0], processor)
                    yield Finished("evaluate", *about, took, part * job.evaluation_seconds)


def _networks(dataset: str, folder: Path | None) -> pd.DataFrame:
    """The networks of a dataset, a row each, with their shares of what their jobs took."""
    columns = ["seed", "split", "family", "variant", "cpu", "epochs", "job_seconds", "evaluation_seconds"]
    place, pattern = (folder, OF_A_STUDY) if folder else (PROJECT, PUBLISHED)
    found = [pq.read_table(path, columns=columns) for path in sorted(place.glob(pattern.format(dataset=dataset)))]
    rows = pa.concat_tables(found).to_pandas() if found else pd.DataFrame(columns=columns)
    return rows.drop_duplicates(columns[:4])


def print_comparison(found: list[Finished], *, every: bool) -> None:
    """What finished jobs took beside the formula: by stage, by kind of family, by size of the data, and each job."""
    if every:
        print(f"{'job':80}{'CPU s':>9}{'formula':>9}{'epochs':>8}{'formula':>9}  processor")
        for job in found:
            name = f"{job.stage} {job.dataset}, split {job.split}, {job.family}"
            epochs = f"{job.epochs:8.0f}{job.expected_epochs:9.0f}" if job.stage == "train" else " " * 17
            print(f"{name:80}{job.seconds:9.1f}{job.expected_seconds:9.1f}{epochs}  {job.processor}")
    for processor in dict.fromkeys(job.processor for job in found):
        here = [job for job in found if job.processor == processor]
        pace = float(np.median([job.seconds / job.expected_seconds for job in here if job.is_long]))
        print(f"\n{processor}: pace {pace:.2f}")
        columns = ("jobs", "median", "close", "to pace", "epochs", "per epoch", "CPU-hours", "formula")
        print(f"{'CPU seconds / formula':50}" + "".join(f"{column:>11}" for column in columns))
        for group in (_STAGE, _LENGTH, _KIND, _SIZE):
            for name in dict.fromkeys(map(group, here)):
                print(_summary(name, [job for job in here if group(job) == name], pace))
        print_expected_costs(here)
    print(
        f"\nclose, to pace: within a factor of {CLOSE} of the formula, and of the formula times the pace; "
        "epochs, per epoch: median ratios of epochs and of seconds for each"
    )


def print_expected_costs(here: list[Finished]) -> None:
    """The paper's protocol on all datasets at the measured pace of each base model, where jobs of all were measured."""
    paces = {}
    for name in dict.fromkeys(map(_BASE_MODEL, here)):
        some = [job for job in here if _BASE_MODEL(job) == name]
        paces[name] = sum(job.seconds for job in some) / sum(job.expected_seconds for job in some)
    print("CPU-hours measured / formula: " + "; ".join(f"{name} {pace:.2f}" for name, pace in paces.items()))
    for scope in SCOPES:
        files = study("paper", scope)
        training = evaluation = 0.0
        for model, job in jobs(files):
            if f"train, {model.lower()}" not in paces:
                print(f"paper, {scope}: no job of {model} was measured")
                break
            training += len(files.study.splits) * job.seconds * paces[f"train, {model.lower()}"] / 3600
            evaluation += job.evaluation_seconds * paces[f"evaluate, {model.lower()}"] / 3600
        else:
            print(f"paper, {scope}: {training:.0f} CPU-hours of training, {evaluation:.0f} of evaluation")


_STAGE, _LENGTH, _BASE_MODEL, _KIND, _SIZE = map(attrgetter, ("stage", "length", "base_model", "kind", "size"))


def _summary(name: str, some: list[Finished], pace: float) -> str:
    """A line on some jobs."""
    seconds = np.array([job.seconds / job.expected_seconds for job in some])
    epochs = np.array([job.epochs / job.expected_epochs for job in some])
    close = (float(np.mean(np.abs(np.log(ratios)) < np.log(CLOSE))) for ratios in (seconds, seconds / pace))
    hours, expected = sum(job.seconds for job in some) / 3600, sum(job.expected_seconds for job in some) / 3600
    shares = "".join(f"{share:11.0%}" for share in close)
    ratios = "".join(
        f"{value:11.2f}" if np.isfinite(value) else f"{'':11}"
        for value in (float(np.median(epochs)), float(np.median(seconds / epochs)))
    )
    return f"{name:50}{len(some):11}{float(np.median(seconds)):11.2f}{shares}{ratios}{hours:11.2f}{expected:11.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", action="store_true", help="compare with the jobs behind the published results")
    parser.add_argument("--study", type=Path, help="those of the study in this folder instead")
    parser.add_argument("--every", action="store_true", help="each job, too")
    options = parser.parse_args()
    if options.measured:
        print_comparison(list(finished_jobs(options.study)), every=options.every)
    else:
        print_costs()


if __name__ == "__main__":
    main()
