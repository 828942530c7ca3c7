"""The files of a study's networks: what its jobs write, and what collecting them reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from qrt.results.evaluated_splits import splits_in
from qrt.results.layout import Layout
from qrt.results.readings import files_of_other_readings
from qrt.study.config import StudyConfig
from qrt.study.experiments import Plan, plan_study


@dataclass(frozen=True)
class StudyNetworks:
    """A study's plan as files. With `only_finished`, files that are not there are left out."""

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

    def finished_datasets(self) -> list[str] | None:
        """With `only_finished` the datasets that have results; None where all are to have them."""
        if not self.study.only_finished:
            return None
        return [name for name in self.study.datasets if self.evaluated("runs", datasets=[name], seeds=[0])]

    def trained(self, dataset: str, seed: int | str, family: str) -> list[str]:
        """What the networks of a family say, split by split."""
        splits = self.splits_to_evaluate(dataset, seed, family)
        return [self.layout.trained(dataset, seed, split, family) for split in splits]

    def splits_to_evaluate(self, dataset: str, seed: int | str, family: str) -> list[int]:
        """The splits of the study, and those that the file of evaluated networks has already: they stay in it.

        As they were when first asked for, since Snakemake removes the file before it is written again.
        """
        path = self.folder / self.layout.evaluated(dataset, seed, family, "runs")
        if path not in self._evaluated_splits:
            self._evaluated_splits[path] = sorted({*self.study.splits, *splits_in(path)})
        return self._evaluated_splits[path]

    @cached_property
    def _evaluated_splits(self) -> dict[Path, list[int]]:
        return {}

    def stamp_of_other_readings(self) -> str:
        """Tells whether anything has changed in what studies under other protocols have left in the same folder."""
        paths = [self.folder / path for path in files_of_other_readings(self.study, "runs", self.folder)]
        stamps = "\n".join(f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in paths)
        return hashlib.sha256(stamps.encode()).hexdigest()[:16] if paths else ""

    def records(self, datasets: Sequence[str] | None = None) -> list[str]:
        """The records of prepared datasets."""
        return self._there(map(self.layout.prepared, self.study.datasets if datasets is None else datasets))

    def times(self) -> list[str]:
        """Training times, by dataset and split."""
        return self._there(
            self.layout.times(dataset, split) for dataset in self.study.datasets for split in self.study.splits
        )

    def _needed_by(self, experiments: Iterable[str]) -> dict[str, None]:
        needs = (self.plan.needs[name] for name in experiments if name in self.plan.needs)
        return dict.fromkeys(family for families in needs for family in families)

    def _there(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if not self.study.only_finished or (self.folder / path).exists()]
