"""The networks of a study as files and rows: for the rules, which declare them, and for the jobs, which read them.

Each place (dataset, seed, family) is either published or made by this study. That follows from the configuration and
the manifest of the published results alone, never from what lies on the disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from qrt_study.parquet_file import COUNT, TEXT, read_tables
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.experiments import Plan, plan_study
from qrt_study.plan.protocol import OTHER_PROTOCOL, protocol_of, switched
from qrt_study.results.layout import Layout, prepared_data, splits_word
from qrt_study.results.published_results import PublishedResults
from qrt_study.results.tables import TABLES


class Place(NamedTuple):
    """Networks of one family on one dataset, from one random start, on all splits of the study."""

    dataset: str
    seed: int
    family: str


@dataclass(frozen=True)
class StudyNetworks:
    """A study's plan under one scenario as files."""

    study: StudyConfig
    folder: Path = field(default_factory=Path)  # where the study runs

    @cached_property
    def layout(self) -> Layout:
        """Where the files are."""
        return Layout(self.study.networks_folder, self.study.name)

    @cached_property
    def plan(self) -> Plan:
        """What is trained and compared."""
        return plan_study(self.study)

    @cached_property
    def published(self) -> PublishedResults | None:
        """The published results, if the study takes them."""
        return PublishedResults(self.folder / self.study.archive) if self.study.networks != "new" else None

    def is_published(self, place: Place) -> bool:
        """Whether the networks of a place are published on all splits; else some are trained, unless none is."""
        return self.published is not None and self.published.has(*place, self.study.splits)

    def _own_splits(self, place: Place) -> list[int]:
        """The splits on which the networks of a place are not published."""
        if self.published is None:
            return list(self.study.splits)
        return [split for split in self.study.splits if not self.published.has(*place, [split])]

    def places(
        self,
        experiments: Iterable[str] | None = None,
        datasets: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        *,
        with_curves: bool = False,
    ) -> list[Place]:
        """The networks that these experiments need, as far as the study has or makes them."""
        names = list(self.plan.families if experiments is None else self.needed_by(experiments))
        if with_curves:
            names = [name for name in names if self.plan.families[name].curves]
        wanted = (
            Place(dataset, seed, family)
            for dataset in (self.study.datasets if datasets is None else datasets)
            for seed in (self.study.seeds if seeds is None else seeds)
            for family in self.plan.families_on(dataset, names)
        )
        return [place for place in wanted if self._is_had(place)]

    def _is_had(self, place: Place) -> bool:
        return self.study.networks != "published" or self.is_published(place)

    def places_to_judge(self) -> list[Place]:
        """The networks of all scenarios of the study's protocol, as far as they are asked for or published.

        The study's own come first. A scenario whose networks nobody asked for and that are not published is not run.
        """
        protocol = protocol_of(self.study.scenario)
        own = dict.fromkeys(self.places(seeds=[0]))
        asked = [StudyNetworks(self.study.under(name), self.folder) for name in self.study.scenarios]
        trained = {place for one in asked for place in one.places(seeds=[0])}
        read = [plan_study(self.study.under(name)) for name in (OTHER_PROTOCOL[protocol], *switched(protocol))]
        for dataset in self.study.datasets:
            for family in dict.fromkeys(name for plan in read for name in plan.families_on(dataset)):
                place = Place(dataset, 0, family)
                if place in trained or self.is_published(place):
                    own[place] = None
        return list(own)

    def places_from_all_seeds(self) -> list[Place]:
        """The networks of the main comparison under all scenarios of the study's protocol, from all its seeds.

        They are those that are asked for or published, on datasets with more than one seed.
        """
        if len(self.study.seeds) == 1:
            return []
        asked = [StudyNetworks(self.study.under(name), self.folder) for name in self.study.scenarios]
        trained = {place for one in asked for place in one.places(["main"])}
        protocol = protocol_of(self.study.scenario)
        found: dict[Place, None] = {}
        for name in (protocol, *switched(protocol)):
            families = StudyNetworks(self.study.under(name), self.folder)
            for dataset in self.study.datasets:
                wanted = families.plan.families_on(dataset, families.needed_by(["main"]))
                places = [Place(dataset, seed, family) for seed in self.study.seeds for family in wanted]
                had = [place for place in places if place in trained or self.is_published(place)]
                if len({place.seed for place in had}) > 1:
                    found |= dict.fromkeys(had)
        return list(found)

    def files(self, places: Iterable[Place], kind: str) -> list[str]:
        """The files with the rows of one kind (runs, curves, predictions) of these networks."""
        published, own = self._sources(places, kind)
        return [*published, *own]

    def _sources(self, places: Iterable[Place], kind: str) -> tuple[list[str], list[str]]:
        """The published files and the study's own; a place has both if it is published on some splits only."""
        published: dict[str, None] = {}
        own: list[str] = []
        for place in places:
            splits = self._own_splits(place)
            if splits:
                own.append(self.layout.evaluated(place.dataset, place.seed, splits_word(splits), place.family, kind))
            if self.published is not None and len(splits) < len(self.study.splits):
                path = self.published.rows_file(place.dataset, kind)
                if path is not None:
                    published[path] = None
        return list(published), own

    def read(self, places: Sequence[Place], kind: str, columns: Iterable[str] | None = None) -> pa.Table:
        """The rows of these networks, or some `columns`, in the order of the places, on the study's splits."""
        known = TABLES[kind][1]
        asked = list(known if columns is None else columns)
        needed = [name for name in known if name in (*asked, *Place._fields, "split")]
        published, own = self._sources(places, kind)
        tables = [self.published.read(path, kind, needed) for path in published] if self.published is not None else []
        tables.append(read_tables([self.folder / path for path in own], known).select(needed))
        return self._in_order(pa.concat_tables(tables), places).select(asked)

    def _in_order(self, table: pa.Table, places: Sequence[Sequence[object]]) -> pa.Table:
        """The rows of these places, in their order, on the study's splits; a place is named by the first columns."""
        names = Place._fields[: len(places[0])] if places else Place._fields
        keys = pc.binary_join_element_wise(*(table[name].cast(TEXT) for name in names), "/")
        wanted = pc.index_in(keys, pa.array(["/".join(map(str, place)) for place in places], TEXT))
        here = pc.and_(pc.is_valid(wanted), pc.is_in(table["split"], pa.array(self.study.splits, COUNT)))
        # Arrow's sort is stable: the rows of a place stay in the order in which they were computed.
        return table.append_column("order", wanted).filter(here).sort_by("order").drop_columns("order")

    # Records of the data, times.
    def record(self, dataset: str) -> str | None:
        """The record of a dataset: that of its prepared data where it is trained on, else the published one."""
        if self.study.networks == "new" or (self.study.networks == "extend" and self._trains_on(dataset)):
            return prepared_data(dataset)
        return self.published.record_file(dataset) if self.published else prepared_data(dataset)

    def records(self, datasets: Sequence[str] | None = None) -> list[str]:
        """The records of datasets; published results may lack some."""
        found = map(self.record, self.study.datasets if datasets is None else datasets)
        return [path for path in found if path is not None]

    def _trains_on(self, dataset: str) -> bool:
        return not all(map(self.is_published, self.places(datasets=[dataset])))

    def datasets_with_results(self) -> list[str] | None:
        """The datasets that have networks where nothing is trained; None where all are to have them."""
        if self.study.networks != "published":
            return None
        return [name for name in self.study.datasets if self.places(datasets=[name], seeds=[0])]

    def times(self) -> list[str]:
        """The files of training times."""
        theirs = self._published_times
        return [*self._own_times, *([theirs] if theirs else [])]

    def read_times(self) -> pa.Table:
        """The training times, by dataset and split."""
        columns = TABLES["times"][1]
        tables = [read_tables([self.folder / path for path in self._own_times], columns)]
        if self.published is not None and self._published_times:
            tables.append(self.published.read(self._published_times, "times"))
        return self._in_order(pa.concat_tables(tables), [(dataset,) for dataset in self.study.datasets])

    @property
    def _own_times(self) -> list[str]:
        if self.study.networks == "published":
            return []
        theirs = self.published.timed(self.study.scenario) if self.published else ()
        return [self.layout.times(self.study.scenario, name) for name in self.study.datasets if name not in theirs]

    @property
    def _published_times(self) -> str | None:
        return self.published.times_file(self.study.scenario) if self.published else None

    def needed_by(self, experiments: Iterable[str]) -> dict[str, None]:
        """The families that these experiments need, as far as the study has the experiments."""
        needs = (self.plan.needs[name] for name in experiments if name in self.plan.needs)
        return dict.fromkeys(family for families in needs for family in families)
