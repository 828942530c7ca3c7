"""The steps of the replication (replication/steps.yaml): what of each is published, and what is left, in its order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.config import load_study
from qrt_study.plan.cost import TrainingJob, timing_seconds, usual_epochs
from qrt_study.plan.experiments import plan_study
from qrt_study.plan.family import Family
from qrt_study.results.archive import FROM_PREDICTIONS
from qrt_study.results.predicted_methods import EXPERIMENTS, PREDICTED, predicted_families
from qrt_study.results.study_networks import Place
from qrt_study.running.study_files import StudyFiles


@dataclass(frozen=True)
class Step:
    """A study on top of the published results, on all datasets that it is planned for."""

    name: str  # number and protocol
    what: str
    config: Mapping[str, Any]
    files: StudyFiles
    times: bool  # whether training times are part of it
    predictions: bool  # whether it is the predictions of published networks, which are trained again for them

    @property
    def number(self) -> str:
        """The number by which the order has it."""
        return self.name.split(maxsplit=1)[0]

    def places(self, dataset: str) -> list[Place]:
        """The networks that it needs on a dataset."""
        return self.files.places(datasets=[dataset])

    def left(self, dataset: str) -> dict[str, float]:
        """The files that are not published, each with the CPU-hours that it costs by the formula."""
        files = self.files
        if self.predictions:
            return self._predictions_left(dataset)
        missing = [place for place in self.places(dataset) if not files.is_published(place)]
        left = {path: self._hours(place) for place in missing for path in files.files([place], "runs")}
        scenario = files.study.scenario
        if self.times and files.published and dataset not in files.published.timed(scenario):
            seconds = timing_seconds(files.shape(dataset), usual_epochs(dataset))
            left[files.layout.times(scenario, dataset)] = len(files.study.splits) * seconds / 3600
        return left

    def can_begin(self, dataset: str) -> bool:
        """Whether the networks are published that it needs to be."""
        return not self.predictions or bool(predicted_families(self.files.study, dataset))

    def _predictions_left(self, dataset: str) -> dict[str, float]:
        """The predictions, with the hours of all, and what is computed from them."""
        layout, study = self.files.layout, self.files.study
        if self.files.published_predictions(dataset):
            return {}
        computed = (
            layout.from_predictions(kind, protocol, dataset)
            for kind in FROM_PREDICTIONS
            for protocol in study.scenarios
        )
        return {layout.predictions(dataset): self._hours_of_predictions(dataset)} | dict.fromkeys(computed, 0.0)

    def _hours_of_predictions(self, dataset: str) -> float:
        """What one network of each method and protocol costs, trained on all splits without the rest of its family."""
        study, families = self.files.study, dict[str, Family]()
        for protocol in study.scenarios:
            plan = plan_study(study.under(protocol))
            experiments = (plan.experiments[name] for name in EXPERIMENTS if name in plan.experiments)
            methods = (method for one in experiments for method in one.methods if method.name in PREDICTED)
            tuned = {method.networks[0] for method in methods}
            for name, family in plan.families_on(dataset).items():
                alone = tuple(network for network in family.networks if network in tuned)
                if alone:
                    families[name] = replace(family, networks=alone, posthoc=(), curves=False)
        shape, epochs, most = self.files.shape(dataset), usual_epochs(dataset), study.training["max_epochs"]
        seconds = sum(TrainingJob(shape, family, most, epochs).seconds for family in families.values())
        return len(study.splits) * seconds / 3600

    def _hours(self, place: Place) -> float:
        """What networks cost on all splits, with their evaluation."""
        job = self.files.training_job(place.dataset, place.family)
        return (len(self.files.study.splits) * job.seconds + job.evaluation_seconds) / 3600


class Steps:
    """The steps of a project by name, and their order."""

    def __init__(self, project: Path) -> None:
        plan: dict[str, Any] = yaml.safe_load((project / "replication/steps.yaml").read_text(encoding="utf-8"))
        self._order: list[dict[str, Any]] = plan["order"]
        by_size = sorted(paper_datasets().values(), key=lambda row: (row.published.train_rows, row.name))
        self._rows = {row.name: row.published.train_rows for row in by_size if row.name not in plan["not_at_hand"]}
        self.by_name = {name: self._step(name, entry, project) for name, entry in plan["steps"].items()}

    @property
    def at_hand(self) -> int:
        """How many datasets of the paper can be had."""
        return len(self._rows)

    def _step(self, name: str, entry: Mapping[str, Any], project: Path) -> Step:
        number = name.split(maxsplit=1)[0]
        most = max(line["up_to"] for line in self._order if number in map(str, line["steps"]))
        wanted = entry.get("datasets", self._rows)
        datasets = [dataset for dataset, rows in self._rows.items() if rows <= most and dataset in wanted]
        config = {"networks": "extend"} | entry["config"]
        files = StudyFiles(load_study(config | {"datasets": datasets}, project))
        return Step(name, entry["what"], config, files, entry.get("times", False), entry.get("predictions", False))

    def in_order(self) -> Iterator[tuple[Step, str]]:
        """Every step and dataset once, in the order in which they are to be done: smaller datasets first."""
        done = set()
        for line in self._order:
            for number in map(str, line["steps"]):
                for step in (step for step in self.by_name.values() if step.number == number):
                    for dataset in step.files.study.datasets:
                        if self._rows[dataset] <= line["up_to"] and (step.name, dataset) not in done:
                            done.add((step.name, dataset))
                            yield step, dataset
