"""What the replication has done and what is left, step by step (replication/steps.yaml), from the published results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from qrt.text.words import number
from qrt_study.documents.written_block import markdown_table
from qrt_study.results.archive import hours_of_times
from qrt_study.results.study_networks import Place
from qrt_study.running.steps import Step, Steps


@dataclass(frozen=True)
class SpentHours:
    """CPU-hours behind the published results."""

    networks: Mapping[Place, float]
    times: Mapping[tuple[str, str], float]  # (protocol, dataset) -> hours

    @classmethod
    def read(cls, archive: Path) -> SpentHours:
        """Those of `replication/results`."""
        columns = ["dataset", "seed", "family", "split", "variant", "job_seconds", "evaluation_seconds"]
        hours: dict[Place, float] = {}
        for path in sorted((archive / "networks").glob("*.runs.parquet")):
            runs = pq.read_table(path, columns=columns).to_pandas()
            networks = runs.drop_duplicates(["seed", "family", "split", "variant"])
            seconds = networks["job_seconds"].fillna(0) + networks["evaluation_seconds"].fillna(0)
            for (dataset, seed, family), spent in seconds.groupby([networks[name] for name in columns[:3]]):
                hours[Place(str(dataset), int(seed), str(family))] = float(spent.sum()) / 3600
        times: dict[tuple[str, str], float] = {}
        for path in sorted((archive / "times").glob("*.parquet")):
            times |= {(path.stem, dataset): spent for dataset, spent in hours_of_times(pq.read_table(path)).items()}
        return cls(hours, times)


def finished(step: Step) -> int:
    """How many datasets have all that the step needs."""
    return sum(not step.left(dataset) for dataset in step.files.study.datasets)


def progress_table(project: Path) -> str:
    """The steps as a table in Markdown; what several need counts for the first."""
    hours = SpentHours.read(project / "replication/results")
    rows = [("step", "what", "datasets", "CPU-hours so far", "CPU-hours left")]
    total_spent = total_left = 0.0
    seen: set[Place | str] = set()
    for name, step in Steps(project).by_name.items():
        datasets, spent, left = step.files.study.datasets, 0.0, 0.0
        for dataset in datasets:
            places, missing = step.places(dataset), step.left(dataset)
            spent += sum(hours.networks.get(place, 0.0) for place in places if place not in seen)
            left += sum(cost for path, cost in missing.items() if path not in seen)
            if step.times:
                spent += hours.times.get((step.files.study.scenario, dataset), 0.0)
            seen |= {*places, *missing}
        done = f"{finished(step)} of {len(datasets)}"
        so_far = "not recorded" if step.predictions else _hours_in_words(spent)
        rows.append((name, step.what, done, so_far, _hours_in_words(left)))
        total_spent, total_left = total_spent + spent, total_left + left
    rows.append(("all", "", "", _hours_in_words(total_spent), _hours_in_words(total_left)))
    return markdown_table(*rows)


def _hours_in_words(hours: float) -> str:
    return number(hours, 2) if hours >= 0.05 else "0" if hours == 0 else "below 0.1"
