"""Readings: the same trained networks under the other protocol, and with one switch changed at a time.

What acts after training needs nothing new. What acts on training is read as far as its networks were trained, by this
study or by one under the other protocol in the same folder: a method is read on those datasets where all networks
among which it is tuned are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from qrt.results.layout import Layout
from qrt.results.tuning import Tuning
from qrt.study.config import StudyConfig
from qrt.study.experiments import plan_study
from qrt.study.family import CONDITIONS
from qrt.study.protocol import PROTOCOLS, SWITCHES, Protocol

STUDY, OTHER = "study", "other"
# A change of these leaves every choice of a network as it is.
_AFTER_TUNING = ("sd", "cohens_d", "ablation_baseline", "time_per_epoch")
NETWORK = ("dataset", "split", "variant", *CONDITIONS)  # what names a network of one random start


def study_on_datasets_of(reading: str) -> str:
    """The name of the study's own reading with only the datasets that another reading has."""
    return f"{STUDY} on the datasets of {reading}"


def other_preset(study: StudyConfig) -> str:
    """The protocol that the study does not follow."""
    return "released" if study.protocol_name == "paper" else "paper"


def readings(study: StudyConfig) -> dict[str, Protocol]:
    """The protocol of each reading: the study's, the other one, and the study's with one switch changed."""
    other = PROTOCOLS[other_preset(study)]
    changed = {name: replace(study.protocol, **{name: getattr(other, name)}) for name in SWITCHES}
    return {STUDY: study.protocol, OTHER: other} | changed


def families_of_other_readings(study: StudyConfig) -> dict[str, list[str]]:
    """For each dataset the families that other readings would use and this study does not train."""
    own = plan_study(study)
    plans = [plan_study(replace(study, protocol=protocol)) for protocol in readings(study).values()]
    found = {}
    for dataset in study.datasets:
        wanted = dict.fromkeys(name for plan in plans for name in plan.families_on(dataset))
        found[dataset] = [name for name in wanted if name not in own.families_on(dataset)]
    return found


def files_of_other_readings(study: StudyConfig, kind: str, folder: Path = Path()) -> list[str]:
    """Rows of one kind of these families that a study under another protocol has left in the same `folder`."""
    layout = Layout(study.results, study.networks)
    paths = (
        layout.evaluated(dataset, 0, family, kind)
        for dataset, families in families_of_other_readings(study).items()
        for family in families
    )
    return [path for path in paths if (folder / path).exists()]


def without_repeats(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows without those of a network that another family has trained too, as with overlapping grids."""
    place = [*NETWORK, "seed"]
    others = ["posthoc_map", "posthoc_on", "posthoc_bandwidth", "epoch", "part", "row", "y"]
    return rows.drop_duplicates([*place, *(name for name in others if name in rows)])


class NetworkRecords:
    """Rows of curves or predictions of all networks that there are.

    Networks that differ in a switch of training alone have the same variant, so that a reading must not look among all.
    `columns` are those to hand on.
    """

    def __init__(self, rows: pd.DataFrame, columns: Sequence[str]) -> None:
        names = _network_names(rows)
        self._rows = rows[list(columns)]
        self._networks = pd.MultiIndex.from_frame(names.drop_duplicates())
        self._places = names.groupby(list(names), sort=False).ngroup().to_numpy()  # among the networks
        self._found: dict[bytes, pd.DataFrame] = {}  # most readings have the same networks

    def of(self, methods: pd.DataFrame) -> pd.DataFrame:
        """The rows of the networks behind these methods."""
        tuned = self._networks.isin(pd.MultiIndex.from_frame(_network_names(methods).drop_duplicates()))
        if tuned.tobytes() not in self._found:
            self._found[tuned.tobytes()] = self._rows[tuned[self._places]]
        return self._found[tuned.tobytes()]


def _network_names(rows: pd.DataFrame) -> pd.DataFrame:
    """What names the network of each row; a switch that does not concern it is empty."""
    return rows[list(NETWORK)].fillna(dict.fromkeys(("variant", *CONDITIONS), ""))


def read_methods(runs: pd.DataFrame, study: StudyConfig, methods: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tuned methods of every reading; `methods` are those of the study, `runs` all networks that there are."""
    tuned: dict[str, pd.DataFrame] = {}
    tuning = Tuning(runs)
    for reading, protocol in readings(study).items():
        if reading == STUDY or reading in _AFTER_TUNING:
            tuned[reading] = methods
            continue
        experiments = plan_study(replace(study, protocol=protocol)).experiments.values()
        rows = pd.concat([tuning.methods(one, protocol) for one in experiments], ignore_index=True)
        tuned[reading] = _typed_like(methods, rows)
    return tuned


def _typed_like(methods: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the types of `methods`, so that what equal rows give is computed once for both.

    Experiments without rows have no types, and leave none to the others. Whole numbers with gaps are floats.
    """
    whole = (name for name in rows if pd.api.types.is_integer_dtype(methods[name]) and rows[name].isna().any())
    return rows.astype(methods.dtypes.to_dict() | dict.fromkeys(whole, "float64"))


def on_datasets_of(reading: pd.DataFrame, methods: pd.DataFrame) -> pd.DataFrame | None:
    """The rows of the study's `methods` on those datasets where a `reading` has the method; None: it has them all."""
    key = ["experiment", "method", "dataset"]
    there = pd.MultiIndex.from_frame(methods[key]).isin(pd.MultiIndex.from_frame(reading[key]))
    return None if there.all() else methods[there].reset_index(drop=True)
