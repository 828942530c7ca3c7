"""Readings: the same trained networks under the other protocol, and with one switch turned at a time.

What acts after training needs nothing new. What acts on training is read as far as its networks were trained, by this
study or by one under the other protocol in the same folder: a method is read only if all networks among which it is
tuned are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace

import pandas as pd

from qrt.results.tables import METHODS
from qrt.results.tuning import tuned_methods
from qrt.study.config import StudyConfig
from qrt.study.experiments import Experiment, Method, plan_study
from qrt.study.family import RESNET_FORMS
from qrt.study.protocol import PROTOCOLS, Protocol

STUDY, OTHER = "study", "other"
SWITCHES = tuple(field.name for field in fields(Protocol))
ON_TRAINING = ("kernel_width", "bandwidth_grid", "lambda_grid", "resnet")
# A change of these leaves every choice of a network as it is.
_AFTER_TUNING = ("sd", "cohens_d", "ablation_baseline", "time_per_epoch")


def other_preset(study: StudyConfig) -> str:
    """The protocol that the study does not follow."""
    return "released" if study.protocol_name == "paper" else "paper"


def readings(study: StudyConfig) -> dict[str, Protocol]:
    """The protocol of each reading: the study's, the other one, and the study's with one switch turned."""
    other = PROTOCOLS[other_preset(study)]
    turned = {name: replace(study.protocol, **{name: getattr(other, name)}) for name in SWITCHES}
    return {STUDY: study.protocol, OTHER: other} | turned


def families_of_other_readings(study: StudyConfig) -> tuple[str, ...]:
    """The families that other readings would use and this study does not train."""
    own = plan_study(study).families
    wanted = (plan_study(replace(study, protocol=protocol)).families for protocol in readings(study).values())
    return tuple(dict.fromkeys(name for families in wanted for name in families if name not in own))


def read_methods(runs: pd.DataFrame, study: StudyConfig, methods: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The tuned methods of every reading; `methods` are those of the study, `runs` all networks that there are."""
    tuned: dict[str, pd.DataFrame] = {}
    for reading, protocol in readings(study).items():
        if reading == STUDY or reading in _AFTER_TUNING:
            tuned[reading] = methods
            continue
        experiments = plan_study(replace(study, protocol=protocol)).experiments.values()
        parts = [tuned_methods(runs, one, protocol) for one in _trained(experiments, runs, protocol)]
        tuned[reading] = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=list(METHODS))
    return tuned


def _trained(experiments: Iterable[Experiment], runs: pd.DataFrame, protocol: Protocol) -> Iterable[Experiment]:
    """The experiments with those of their methods whose networks were all trained."""
    columns = ["variant", "kernel_width", "resnet_form"]
    there = set(runs[columns].astype(object).where(runs[columns].notna(), None).itertuples(index=False, name=None))

    def complete(method: Method) -> bool:
        return all(
            (
                network.id,
                protocol.kernel_width if network.alpha else None,
                RESNET_FORMS[protocol.resnet] if network.base_model == "resnet" else None,
            )
            in there
            for network in method.networks
        )

    for experiment in experiments:
        methods = tuple(method for method in experiment.methods if complete(method))
        if methods:
            yield replace(experiment, methods=methods)
