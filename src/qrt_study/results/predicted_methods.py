"""The methods whose predictions are published: those of the main comparison, as they are tuned under each protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.study_networks import Place, StudyNetworks
from qrt_study.results.tuning import tuned

PREDICTED = ("BASE", "BASE-TRAIN", "QRC", "QREGC", "QRT", "QRTC")
_HERE = Path()  # where the study runs
EXPERIMENTS = ("main", "regularised", "base_train")  # which have them


def predicted_methods(study: StudyConfig, dataset: str) -> pd.DataFrame:
    """The rows of METHODS of the predicted methods on a dataset, with the `protocol` under which they are tuned."""
    parts = []
    for networks in _by_protocol(study):
        places = networks.places(EXPERIMENTS, [dataset], [0])
        experiments = [networks.plan.experiments[name] for name in EXPERIMENTS if name in networks.plan.experiments]
        methods = tuned(networks.read(places, "runs").to_pandas(), experiments, networks.study.protocol)
        parts.append(methods[methods["method"].isin(PREDICTED)].assign(protocol=networks.study.scenario))
    return pd.concat(parts, ignore_index=True)


def predicted_families(study: StudyConfig, dataset: str, folder: Path = _HERE) -> dict[str, Family]:
    """The families among which the predicted methods are tuned on a dataset, by their names."""
    return {
        place.family: networks.plan.families_on(dataset)[place.family]
        for networks in _by_protocol(study, folder)
        for place in networks.places(EXPERIMENTS, [dataset], [0])
    }


def prediction_files(study: StudyConfig, dataset: str) -> dict[str, dict[int, str]]:
    """The files with the outputs of these families by split: of those that are published, trained again."""
    networks = StudyNetworks(study)
    return {
        family: {
            split: networks.layout.retrained(dataset, split, family)
            if networks.is_published(Place(dataset, 0, family))
            else networks.layout.trained(dataset, 0, split, family)
            for split in study.splits
        }
        for family in predicted_families(study, dataset)
    }


def _by_protocol(study: StudyConfig, folder: Path = _HERE) -> Iterator[StudyNetworks]:
    return (StudyNetworks(study.under(protocol), folder) for protocol in PROTOCOLS if protocol in study.scenarios)


def prediction_file(study: StudyConfig, dataset: str, folder: Path = _HERE) -> str | None:
    """The file of predictions on a dataset: the published one, or one that the study makes; None without networks."""
    networks = StudyNetworks(study, folder)
    published = networks.published.predictions_file(dataset) if networks.published else None
    if published:
        return published
    return networks.layout.predictions(dataset) if predicted_families(study, dataset, folder) else None
