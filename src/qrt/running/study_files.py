"""The files that each step of a study needs, for the rules of the workflow."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from qrt.data.record import is_available
from qrt.figures.kinds import needed_tables
from qrt.results.study_networks import StudyNetworks
from qrt.study.artifacts import EXAMPLE_EXPERIMENTS, FIGURES
from qrt.study.cost import Shape, TrainingJob, table_shape, usual_epochs
from qrt.study.experiments import MAIN_MODEL, compared_on
from qrt.study.family import Family

# Why methods are tuned for single datasets: figures that show single datasets, times, and data of the user's own.
TUNED_FOR_ONE = ("examples", "timed", "own")
LARGE_ROWS = 20_000


class StudyFiles(StudyNetworks):
    """A study's plan as files: of its networks, and of what comes before and after them."""

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

    def tuned(self, experiments: Iterable[str], seed: int = 0) -> list[str]:
        """The tuned methods of experiments, as far as the study has them."""
        return [self.layout.methods(name, seed) for name in experiments if name in self.plan.experiments]

    def tuned_for_one(self, purpose: str) -> tuple[str, ...]:
        """The experiments that are tuned for single datasets, for one of the purposes of TUNED_FOR_ONE."""
        if purpose == "examples":
            return EXAMPLE_EXPERIMENTS
        if purpose == "timed":
            return "main", "regularised"
        asked = self.study.base_models
        model = MAIN_MODEL if MAIN_MODEL in asked else asked[0]
        return tuple(compared_on(model))

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

    def drawable(self, artifacts: Iterable[str]) -> list[str]:
        """Those of these figures and tables that there is something to draw from; without `only_finished`, all."""
        return [name for name in artifacts if not self.study.only_finished or self._has_results(name)]

    def _has_results(self, name: str) -> bool:
        if name == "table2_times":
            return bool(self.times())
        if name == "table3_datasets":
            return bool(self.records())
        if name not in FIGURES:
            return True  # Table 1 is drawn from the study's plan
        needs = needed_tables(FIGURES[name], self.study.datasets)
        wanted = EXAMPLE_EXPERIMENTS if needs.examples else needs.experiments
        experiments = [experiment for experiment in wanted if experiment in self.plan.experiments]
        if not experiments or not needs.datasets:
            return True  # drawn from no networks, or it says that the study lacks what it shows
        records = [self.folder / path for path in self.records(needs.datasets)]
        if len(records) == len(needs.datasets) and not any(map(is_available, records)):
            return True  # it says why there is no data
        return bool(self.evaluated("runs", experiments, needs.datasets, seeds=[0]))

    @cached_property
    def _on(self) -> dict[str, dict[str, Family]]:
        """The families of each dataset."""
        return {dataset: self.plan.families_on(dataset) for dataset in self.study.datasets}
