"""The files that each step of a study needs, for the rules of the workflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from qrt.figures.kinds import needed_tables
from qrt.results.layout import Layout
from qrt.results.readings import files_of_other_readings
from qrt.study.artifacts import EXAMPLE_EXPERIMENTS, FIGURES
from qrt.study.config import StudyConfig
from qrt.study.cost import Shape, TrainingJob, table_shape, usual_epochs
from qrt.study.experiments import MAIN_MODEL, Plan, plan_study
from qrt.study.family import Family

# Methods that are tuned for single datasets: those of figures that show single datasets, and those that are timed.
TUNED_FOR_ONE: dict[str, tuple[str, ...]] = {"examples": EXAMPLE_EXPERIMENTS, "timed": ("main", "regularised")}
LARGE_ROWS = 20_000


@dataclass(frozen=True)
class StudyFiles:
    """A study's plan as files. With `only_finished`, files of networks that are not there are left out."""

    study: StudyConfig
    folder: Path = field(default_factory=Path)  # where the study runs

    @cached_property
    def layout(self) -> Layout:
        """Where the files are."""
        return Layout(self.study.results, self.study.networks, self.study.figures)

    @cached_property
    def plan(self) -> Plan:
        """What is trained and compared."""
        return plan_study(self.study)

    @cached_property
    def families(self) -> dict[str, Family]:
        """Every family by its name on any dataset."""
        return {name: family for families in self._on.values() for name, family in families.items()}

    def family(self, dataset: str, name: str) -> Family:
        """A family as it is trained on a dataset."""
        return self._on[dataset][name]

    def training_job(self, dataset: str, family: str) -> TrainingJob:
        """A training job of a family on a dataset, before it runs."""
        most = self.study.training["max_epochs"]
        return TrainingJob(self.shape(dataset), self.family(dataset, family), most, usual_epochs(dataset))

    def shape(self, dataset: str) -> Shape:
        """Training rows and features of a dataset."""
        return self._shapes[dataset]

    @cached_property
    def _shapes(self) -> dict[str, Shape]:
        return {dataset: table_shape(dataset, self.study.own_datasets) for dataset in self.study.datasets}

    @cached_property
    def families_last(self) -> list[str]:
        """The families that decide fewest claims for what they cost: regularised networks of other base models."""
        return [name for name in self.families if ".qreg." in name and not name.startswith(f"{MAIN_MODEL.lower()}.")]

    @cached_property
    def families_first(self) -> list[str]:
        """All others."""
        return [name for name in self.families if name not in self.families_last]

    def own_file(self, dataset: str) -> list[str]:
        """The file behind a dataset of the user's own."""
        own = self.study.own_datasets.get(dataset)
        return [str(own.path)] if own else []

    @cached_property
    def large_datasets(self) -> list[str]:
        """The datasets whose jobs take longest."""
        return [name for name in self.study.datasets if self.shape(name)[0] >= LARGE_ROWS]

    def evaluated(
        self,
        kind: str,
        experiments: Iterable[str] | None = None,
        datasets: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[str]:
        """Rows of one kind (runs, curves, predictions) of the families that these experiments need."""
        names = list(self.plan.families if experiments is None else self._needed_by(experiments))
        if kind != "runs":
            names = [name for name in names if self.plan.families[name].curves]
        return self._there(
            self.layout.evaluated(dataset, seed, family, kind)
            for dataset in (self.study.datasets if datasets is None else datasets)
            for seed in (self.study.seeds if seeds is None else seeds)
            for family in self.plan.families_on(dataset, names)
        )

    def trained(self, dataset: str, seed: int | str, family: str) -> list[str]:
        """What the networks of a family say, split by split."""
        return [self.layout.trained(dataset, seed, split, family) for split in self.study.splits]

    def of_other_readings(self, kind: str) -> list[str]:
        """Rows of networks that a study under another protocol has left in the same folder."""
        return files_of_other_readings(self.study, kind, self.folder)

    def records(self, datasets: Sequence[str] | None = None) -> list[str]:
        """The records of prepared datasets."""
        return self._there(map(self.layout.prepared, self.study.datasets if datasets is None else datasets))

    def times(self) -> list[str]:
        """Training times, by dataset and split."""
        return self._there(
            self.layout.times(dataset, split) for dataset in self.study.datasets for split in self.study.splits
        )

    def tuned(self, experiments: Iterable[str], seed: int = 0) -> list[str]:
        """The tuned methods of experiments, as far as the study has them."""
        return [self.layout.methods(name, seed) for name in experiments if name in self.plan.experiments]

    def experiments_json(self, experiments: Iterable[str]) -> list[str]:
        """Experiments as JSON, as far as the study has them."""
        return [self.plan.experiments[name].to_json() for name in experiments if name in self.plan.experiments]

    def figure_inputs(self, name: str) -> dict[str, list[str]]:
        """The result files that a figure draws from; the figure says what the study does not have."""
        needs, layout = needed_tables(FIGURES[name], self.study.datasets), self.layout
        files: dict[str, list[str]] = {table: [] for table in ("curves", "predictions", "maps", "sample")}
        files |= {table: [layout.table(table)] for table in needs.tables}
        methods = self.tuned(needs.experiments)
        if needs.examples:
            files |= {table: [layout.collected(name, table) for name in needs.datasets] for table in needs.tables}
            methods = [layout.tuned_for_one("examples", name) for name in needs.datasets]
        return files | {"methods": methods, "records": self.records(needs.datasets)}

    @cached_property
    def _on(self) -> dict[str, dict[str, Family]]:
        """The families of each dataset."""
        return {dataset: self.plan.families_on(dataset) for dataset in self.study.datasets}

    def _needed_by(self, experiments: Iterable[str]) -> dict[str, None]:
        needs = (self.plan.needs[name] for name in experiments if name in self.plan.needs)
        return dict.fromkeys(family for families in needs for family in families)

    def _there(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if not self.study.only_finished or (self.folder / path).exists()]
