"""The files that each job of a scenario reads, for the rules that declare them and the commands that read them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

import pyarrow as pa

from qrt.methods import MAIN_MODEL
from qrt_study.parquet_file import read_tables
from qrt_study.plan.artifacts import (
    COMPARISONS,
    EXAMPLE_EXPERIMENTS,
    EXTENSIONS,
    FIGURES,
    RequiredResults,
    required_results,
)
from qrt_study.plan.cost import Shape, TrainingJob, table_shape, usual_epochs
from qrt_study.plan.experiments import Experiment, compared_on
from qrt_study.plan.family import Family
from qrt_study.plan.protocol import protocol_of, switched
from qrt_study.results.archive import FROM_PREDICTIONS
from qrt_study.results.predicted_methods import prediction_file
from qrt_study.results.study_networks import Place, StudyNetworks
from qrt_study.results.tables import TABLES, read_frames

if TYPE_CHECKING:
    import pandas as pd

JUDGED = ("verdicts.csv", "key_numbers.csv", "differences.csv")  # of every scenario
# Those with ranks and tests; differences and discreteness are parts of one.
JUDGED_COMPARISONS = tuple(name for name, one in COMPARISONS.items() if one.kind == "comparison")
# Those whose numbers the explorer shows: all comparisons, curves and densities of figures.
EXPLORED = tuple(name for name, one in FIGURES.items() if one.kind in ("comparison", "per_epoch", "densities"))
TIMED_EXPERIMENTS = ("main", "regularised")
LARGE_ROWS = 20_000
Files = dict[str, list[str]]


class StudyFiles(StudyNetworks):
    """A study's plan under one scenario as files of its jobs."""

    # Training.
    def family(self, dataset: str, name: str) -> Family:
        """A family as it is trained on a dataset."""
        return self.plan.families_on(dataset)[name]

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

    def priority(self, dataset: str, family: str) -> int:
        """The longest jobs start first; regularised networks of other base models decide fewest claims."""
        if ".qreg." in family and not family.startswith(f"{MAIN_MODEL.lower()}."):
            return 1
        return 20 if self.shape(dataset)[0] >= LARGE_ROWS else 10

    # Tables.
    def frames(self, paths: Iterable[str], kind: str) -> pd.DataFrame:
        """Result tables of one kind as one data frame."""
        return read_frames([self.folder / path for path in paths], kind)

    def runs_of(self, experiments: Iterable[str], datasets: list[str] | None = None, seed: int = 0) -> list[str]:
        """The evaluated networks that the methods of these experiments are tuned among."""
        return self.files(self.places(experiments, datasets, [seed]), "runs")

    def tuned(self, experiments: Iterable[str], seed: int = 0) -> list[str]:
        """The tuned methods of experiments, as far as the study has them."""
        had = (name for name in experiments if name in self.plan.experiments)
        return [self.layout.methods(self.study.scenario, name, seed) for name in had]

    def collected(self, kind: str) -> list[str]:
        """What a whole table of the scenario is joined from."""
        if kind == "methods":
            return self.tuned(self.plan.experiments)
        if kind == "times":
            return self.times()
        if kind in FROM_PREDICTIONS:
            return self.own_from_predictions(kind)
        return self.files(self.places(with_curves=kind != "runs"), kind)

    def from_predictions(self, kind: str) -> list[str]:
        """The rows of `scores` or `conditional`: published ones, and those of networks that the study trains."""
        theirs = self._published_from_predictions(kind)
        if self.study.networks == "published":
            return [theirs] if theirs else []
        own = [name for name in self.study.datasets if not (theirs and self.published_predictions(name))]
        return [*([theirs] if theirs else []), *self.own_from_predictions(kind, own)]

    def read_from_predictions(self, kind: str) -> pa.Table:
        """These rows."""
        theirs, columns = self._published_from_predictions(kind), TABLES[kind][1]
        paths = [self.folder / path for path in self.from_predictions(kind) if path != theirs]
        tables = [self.published.read(theirs, kind)] if theirs and self.published else []
        return pa.concat_tables([*tables, read_tables(paths, columns)])

    @property
    def published_scores(self) -> bool:
        """Whether the scores of predictions are published, all that the extensions draw."""
        return all(self._published_from_predictions(kind) for kind in FROM_PREDICTIONS)

    def _published_from_predictions(self, kind: str) -> str | None:
        return self.published.from_predictions_file(kind, self.study.protocol_name) if self.published else None

    def published_predictions(self, dataset: str) -> str | None:
        """The published predictions on a dataset."""
        return self.published.predictions_file(dataset) if self.published else None

    def own_from_predictions(self, kind: str, datasets: Iterable[str] | None = None) -> list[str]:
        """The rows of `scores` or `conditional` as this study computes them, from its predictions or published ones."""
        asked = self.study.datasets if datasets is None else datasets
        predicted = (dataset for dataset in asked if prediction_file(self.study, dataset, self.folder))
        return [self.layout.from_predictions(kind, self.study.protocol_name, dataset) for dataset in predicted]

    @property
    def own_data_experiments(self) -> list[str]:
        """The experiments whose methods are compared on data of the user's own."""
        asked = self.study.base_models
        model = MAIN_MODEL if MAIN_MODEL in asked else asked[0]
        return [name for name in compared_on(model) if name in self.plan.experiments]

    def inputs_of(self, kind: str, name: str) -> Files:
        """The files that a comparison, a table or a page is made from."""
        inputs = {"comparison": self.comparison_inputs, "table": self.table_inputs, "page": self.page_inputs}
        return inputs[kind](name)

    # Comparisons and figures.
    def comparison_inputs(self, name: str) -> Files:
        """The results that the numbers of a figure are computed from; the figure says what the study lacks."""
        required = self._required(name)
        files: Files = {"records": self.records(list(required.datasets))}
        if required.examples:
            files["runs"] = self.files(self.example_places(name), "runs")
        else:
            files["methods"] = self.tuned(required.experiments)
        for table in required.tables:
            if table in FROM_PREDICTIONS:
                files[table] = self.from_predictions(table)
                continue
            simulated = table in ("maps", "sample")
            own = [self.layout.table(self.study.scenario, table)]
            files[table] = own if simulated else self.files(self.shown_places(name), table)
        return files

    def shown_places(self, name: str) -> list[Place]:
        """The networks whose curves and predictions a figure shows."""
        return self.places(EXAMPLE_EXPERIMENTS, self._required(name).datasets, [0], with_curves=True)

    def example_places(self, name: str) -> list[Place]:
        """The networks that a figure of single datasets tunes among, for these datasets alone."""
        return self.places(EXAMPLE_EXPERIMENTS, self._required(name).datasets, [0])

    @property
    def examples(self) -> list[Experiment]:
        """The experiments whose methods figures of single datasets show."""
        return [self.plan.experiments[name] for name in EXAMPLE_EXPERIMENTS if name in self.plan.experiments]

    def _required(self, name: str) -> RequiredResults:
        return required_results(COMPARISONS[name], self.study.datasets)

    # Verdicts and pages.
    def judge_inputs(self) -> Files:
        """The results that claims are judged from."""
        places = self.places_to_judge()
        return {
            "datasets": [self.layout.figure(self.study.scenario, "table3_datasets", "csv")],
            "methods": self.tuned(self.plan.experiments),
            "comparisons": [self.layout.comparison(self.study.scenario, name) for name in JUDGED_COMPARISONS],
            "maps": [self.layout.table(self.study.scenario, "maps")],
            "times": self.times(),
            **{kind: self.files(places, kind) for kind in ("runs", "curves", "predictions")},
        }

    def judged_scenarios(self) -> list[str]:
        """The scenarios that one job judges together: a protocol, and each of its switches changed alone."""
        protocol = protocol_of(self.study.scenario)
        return [protocol, *switched(protocol)]

    def judged(self, file: str) -> list[str]:
        """A file of what was judged, of the protocol and of each of its switches."""
        return [self.layout.verdicts(scenario, file) for scenario in self.judged_scenarios()]

    def table_inputs(self, table: str) -> Files:
        """The files that a table is written from; Table 1 needs the plan alone."""
        sources = {"table2_times": self.times, "table3_datasets": self.records}
        return {"rows": sources[table]()} if table in sources else {}

    def own_data_runs(self) -> list[str]:
        """The evaluated networks behind the page on data of the user's own."""
        return self.runs_of(self.own_data_experiments, list(self.study.own_datasets))

    def expected_data(self, dataset: str) -> str:
        """The checksum of the data that published networks were trained on, if any; else "any"."""
        return (self.published.data(dataset) if self.published else "") or "any"

    def explorer_inputs(self) -> Files:
        """The files that the explorer is written from, of one protocol."""
        folders = [self.layout.comparison(self.study.scenario, name) for name in EXPLORED]
        methods = [path for seed in self.study.seeds for path in self.explorer_methods(seed)]
        return {
            "comparisons": folders,
            "methods": methods,
            **{name: self.judged(f"{name}.csv") for name in ("differences", "verdicts")},
            "by_dataset": [self.layout.figure(self.study.scenario, "disagreements_by_dataset", "csv")],
            "pits": [self.layout.pits] if self.counted_predictions() else [],
        }

    def counted_predictions(self) -> list[str]:
        """The published predictions whose PITs the explorer shows, one file for each dataset that has them."""
        return [file for name in self.study.datasets if (file := self.published_predictions(name))]

    def explorer_methods(self, seed: int) -> list[str]:
        """The tuned methods of all experiments; of further random starts those of the main comparison."""
        return self.tuned(self.plan.experiments if seed == 0 else ["main"], seed)

    def page_inputs(self, page: str) -> Files:
        """The files that a page is written from."""
        scenario, layout = self.study.scenario, self.layout
        verdicts, differences = {"verdicts": self.judged("verdicts.csv")}, self.judged("differences.csv")
        main = {"methods": self.tuned(["main"])}
        files: dict[str, Files] = {
            "scorecard": verdicts,
            "disagreements": {
                **verdicts,
                "numbers": self.judged("key_numbers.csv"),
                "differences": differences,
                "runs": self.files(self.places_from_all_seeds(), "runs"),
            },
            "agreement": {
                "differences": [layout.comparison(scenario, "fig02_nll_difference")],
                "curves": [layout.comparison(scenario, "fig01_per_epoch")],
                "times": [layout.figure(scenario, "table2_times", "csv")],
                **main,
            },
            "robustness": main,
            **{name: {"statistics": [layout.comparison(scenario, name)]} for name in EXTENSIONS},
            "seeds": {"methods": [path for seed in self.study.seeds for path in self.tuned(["main"], seed)]},
        }
        return {"datasets": [layout.figure(scenario, "table3_datasets", "csv")], **files.get(page, {})}
