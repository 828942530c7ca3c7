"""What the replication has done and what is left, step by step (replication/steps.yaml), from the published results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from qrt.data.sheet import paper_datasets
from qrt.documentation.written_block import markdown_table
from qrt.results.archive import hours_of_times
from qrt.running.study_files import StudyFiles
from qrt.study.config import load_config, read_schema
from qrt.study.cost import timing_seconds, usual_epochs
from qrt.text.words import number

Job = tuple[str, int, str]  # dataset, seed, family: trained and evaluated on all splits


@dataclass(frozen=True)
class Step:
    """A step of the replication: the datasets it is planned on, those where it is finished, and CPU-hours."""

    name: str
    what: str
    planned: tuple[str, ...]
    finished: tuple[str, ...]
    spent: float  # for what no earlier step has trained
    left: Mapping[str, float]  # dataset -> by the formula, for what no other step has trained or would train before


@dataclass(frozen=True)
class Published:
    """The published results as far as steps are concerned."""

    hours: Mapping[Job, float]
    timed: Mapping[tuple[str, str], float]  # (protocol, dataset) -> hours

    @classmethod
    def read(cls, archive: Path) -> Published:
        """What is in `replication/results`."""
        columns = ["dataset", "seed", "family", "split", "variant", "job_seconds", "evaluation_seconds"]
        hours: dict[Job, float] = {}
        for path in sorted((archive / "networks").glob("*.runs.parquet")):
            runs = pq.read_table(path, columns=columns).to_pandas()
            networks = runs.drop_duplicates(["seed", "family", "split", "variant"])
            seconds = networks["job_seconds"].fillna(0) + networks["evaluation_seconds"].fillna(0)
            for (dataset, seed, family), spent in seconds.groupby([networks[name] for name in columns[:3]]):
                hours[str(dataset), int(seed), str(family)] = float(spent.sum()) / 3600
        timed: dict[tuple[str, str], float] = {}
        for path in sorted((archive / "times").glob("*.parquet")):
            timed |= {(path.stem, dataset): hours for dataset, hours in hours_of_times(pq.read_table(path)).items()}
        return cls(hours, timed)


def steps(project: Path) -> Iterator[Step]:
    """The steps in the order of their names; what several of them need counts for the first."""
    plan = yaml.safe_load((project / "replication/steps.yaml").read_text(encoding="utf-8"))
    schema = read_schema(project / "workflow/schemas/config.schema.yaml")
    published = Published.read(project / "replication/results")
    seen: set[Job] = set()
    for name, step in plan["steps"].items():
        planned = tuple(_datasets_of(name, plan))
        files = StudyFiles(load_config(step["config"] | {"datasets": list(planned)}, schema, project))
        finished, spent, left = [], 0.0, {}
        for dataset in planned:
            jobs = set(_jobs(files, dataset))
            spent += sum(published.hours.get(job, 0.0) for job in jobs - seen)
            left[dataset] = sum(_hours(files, job) for job in jobs - seen if job not in published.hours)
            timed = True
            if "timed" in step.get("targets", ()):
                place = step["config"]["protocol"], dataset
                timed = place in published.timed
                spent += published.timed.get(place, 0.0)
                left[dataset] += 0.0 if timed else _hours_of_timing(files, dataset)
            if timed and all(job in published.hours for job in jobs):
                finished.append(dataset)
            seen |= jobs
        yield Step(name, step["what"], planned, tuple(finished), spent, left)


def progress_table(project: Path) -> str:
    """The steps as a table in Markdown."""
    rows = [("step", "what", "datasets", "CPU-hours so far", "CPU-hours left")]
    spent = left = 0.0
    for step in steps(project):
        done = f"{len(step.finished)} of {len(step.planned)}"
        left_here = sum(step.left.values())
        rows.append((step.name, step.what, done, _hours_in_words(step.spent), _hours_in_words(left_here)))
        spent, left = spent + step.spent, left + left_here
    rows.append(("all", "", "", _hours_in_words(spent), _hours_in_words(left)))
    return markdown_table(*rows)


def at_hand(project: Path) -> int:
    """How many datasets of the paper can be had."""
    plan = yaml.safe_load((project / "replication/steps.yaml").read_text(encoding="utf-8"))
    return len(paper_datasets()) - len(plan["not_at_hand"])


def _datasets_of(step: str, plan: Mapping[str, Any]) -> Iterator[str]:
    """The datasets that a step will reach in the end."""
    step_number = step.split(maxsplit=1)[0]
    up_to = max(line["up_to"] for line in plan["order"] if step_number in map(str, line["steps"]))
    wanted = plan["steps"][step].get("datasets", paper_datasets())
    for name, row in paper_datasets().items():
        if row.published.train_rows <= up_to and name in wanted and name not in plan["not_at_hand"]:
            yield name


def _jobs(files: StudyFiles, dataset: str) -> Iterator[Job]:
    for family in files.plan.families_on(dataset):
        for seed in files.study.seeds:
            yield dataset, seed, family


def _hours(files: StudyFiles, job: Job) -> float:
    """What a job would cost on all splits, with its evaluation."""
    dataset, _, family = job
    expected = files.training_job(dataset, family)
    return (len(files.study.splits) * expected.seconds + expected.evaluation_seconds) / 3600


def _hours_of_timing(files: StudyFiles, dataset: str) -> float:
    """What the times of Table 2 would cost on all splits."""
    return len(files.study.splits) * timing_seconds(files.shape(dataset), usual_epochs(dataset)) / 3600


def _hours_in_words(hours: float) -> str:
    return number(hours, 2) if hours >= 0.05 else "0" if hours == 0 else "below 0.1"
