"""The tuned networks of published families, trained again for their outputs: published results are metrics alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.predicted_methods import predicted_methods
from qrt_study.training.family_job import train_family
from qrt_study.training.networks_file import write_networks


def retrain(
    dataset: str,
    *,
    study: StudyConfig,
    data: Path,
    family: Family,
    training: Mapping[str, int],
    splits: list[int],
    out: list[Path],
) -> None:
    """Train the tuned networks of a published family again on the prepared `data`, one file for each of the `splits`.

    Only those behind the published methods are trained: what a network becomes does not depend on the others of its
    family (`qrt.engine.trainer.train_stack`). Says their selected epochs beside the published ones.
    """
    published = replace(study, networks="published", scenarios=tuple(PROTOCOLS))
    methods = predicted_methods(published, dataset)
    methods = methods[methods["family"] == family.name].drop_duplicates(["variant", "split"])
    wanted = set(methods["variant"])
    alone = replace(family, networks=tuple(one for one in family.networks if one.id in wanted), curves=False)
    epochs = methods.set_index(["variant", "split"])["selected_epoch"]
    for split, path in zip(splits, out, strict=True):
        networks = train_family(data, split, 0, alone, training, log=lambda line: None) if wanted else []
        for one in networks:
            before = epochs[one.variant.id, split]
            print(f"split {split}, {one.variant.id}: epoch {one.selected_epoch}, published {before:g}", flush=True)
        write_networks(path, networks)
