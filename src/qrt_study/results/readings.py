"""Readings: the same trained networks under the other protocol, and with one switch changed at a time.

What acts after training needs nothing new. What acts on training is read as far as its networks are asked for or
published: a method is read on those datasets where all networks among which it is tuned are there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from qrt_study.plan.config import StudyConfig
from qrt_study.plan.experiments import plan_study
from qrt_study.plan.family import CONDITIONS
from qrt_study.plan.protocol import OTHER_PROTOCOL, Protocol, protocol_of, switch_of, switched
from qrt_study.results.tuning import Tuning

STUDY, OTHER = "study", "other"
# A change of these leaves every choice of a network as it is.
_AFTER_TUNING = ("sd", "cohens_d", "ablation_baseline", "time_per_epoch")
NETWORK = ("dataset", "split", "variant", *CONDITIONS)  # what names a network of one random start


def study_on_datasets_of(reading: str) -> str:
    """The name of the study's own reading with only the datasets that another reading has."""
    return f"{STUDY} on the datasets of {reading}"


def readings_of(scenario: str) -> list[str]:
    """The readings that belong to a scenario: its own, and the study's on the same datasets."""
    reading = switch_of(scenario)
    return [reading, study_on_datasets_of(reading)] if reading else [STUDY, OTHER, study_on_datasets_of(OTHER)]


def readings(study: StudyConfig) -> dict[str, Protocol]:
    """The protocol of each reading: the study's, the other one, and the study's with one switch changed."""
    protocol = protocol_of(study.scenario)
    changed = {switch_of(scenario): study.under(scenario).protocol for scenario in switched(protocol)}
    return {STUDY: study.protocol, OTHER: study.under(OTHER_PROTOCOL[protocol]).protocol} | changed


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


def main_methods_of_readings(runs: pd.DataFrame, study: StudyConfig) -> dict[str, pd.DataFrame]:
    """The tuned methods of the main comparison in every reading but the other protocol, each seed by itself."""
    tuning = Tuning(without_repeats(runs))
    protocols = {name: protocol for name, protocol in readings(study).items() if name != OTHER}
    plans = {name: plan_study(replace(study, protocol=protocol)) for name, protocol in protocols.items()}
    return {name: tuning.methods(plans[name].experiments["main"], protocol) for name, protocol in protocols.items()}


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
