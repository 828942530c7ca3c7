"""Timing: the tuned networks of the main comparison, each trained alone on one thread (Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.engine.trainer import train_stack
from qrt.engine.variant import Variant
from qrt_study.data.split_store import load_split
from qrt_study.plan.family import CONDITIONS, Family
from qrt_study.training.family_job import training_settings

TIMED_METHODS = ("BASE", "QREGC", "QRTC")
# The released code computed the map pairwise, from a second forward pass; its times for QRTC are of that way.
OURS, RELEASED = "ours", "released"
TIMED_AS_RELEASED = ("QRTC",)
WITHOUT_MAP = ("BASE",)  # the same in both ways


def time_methods(
    dataset: str,
    split: int,
    methods: pd.DataFrame,
    folder: Path,
    training: Mapping[str, int],
    *,
    log: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Rows of the table `times` for one dataset and split; `methods` are the tuned methods."""
    rows = []
    for row, place in _timed(dataset, split, methods):
        if row["status"] in ("unavailable", "invalid", "failed"):
            rows.append(place | {"status": row["status"], "reason": row["reason"]})
        else:
            rows.append(place | _train_alone(row, place["way"], folder, training, log))
    return rows + [row | {"way": RELEASED} for row in rows if row["method"] in WITHOUT_MAP]


def untimed(dataset: str, split: int, methods: pd.DataFrame, reason: str) -> list[dict[str, Any]]:
    """The same rows where the job could not be done."""
    return [place | {"status": "failed", "reason": reason} for _, place in _timed(dataset, split, methods)]


def _timed(dataset: str, split: int, methods: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each tuned method to be timed, and the columns that name it."""
    here = methods[(methods["dataset"] == dataset) & (methods["split"] == split)]
    for row in here[here["method"].isin(TIMED_METHODS)].to_dict("records"):
        for way in (OURS, RELEASED) if row["method"] in TIMED_AS_RELEASED else (OURS,):
            names = {"method": row["method"], "way": way, "variant": row["variant"]}
            yield row, {"dataset": dataset, "split": split, "seed": 0} | names


def _train_alone(
    row: Mapping[str, Any], way: str, folder: Path, training: Mapping[str, int], log: Callable[[str], None]
) -> dict[str, Any]:
    import torch

    torch.set_num_threads(1)
    present = {name: value for name, value in row.items() if not pd.isna(value)}
    network = Variant(**{field.name: _plain(present.get(field.name, field.default)) for field in fields(Variant)})
    conditions = {switch: present[switch] for switch in CONDITIONS if switch in present}
    family = Family(name="timed", networks=(network,), posthoc=(), curves=False, conditions=conditions)
    settings = training_settings(family, training)
    if way == RELEASED:
        settings = replace(settings, map_centres="second_pass", map_formula="pairwise")
    split = int(row["split"])
    (trained,) = train_stack(load_split(folder, split, conditions.get("x_scale")), [network], settings, split, log)
    return {
        "status": trained.status,
        "reason": trained.reason,
        "train_seconds": trained.train_seconds,
        "epochs": trained.epochs,
        "selected_epoch": trained.selected_epoch,
        "seconds_per_trained_epoch": trained.train_seconds / trained.epochs,
        "seconds_per_selected_epoch": trained.train_seconds / trained.selected_epoch
        if trained.selected_epoch
        else None,
    }


def _plain(value: Any) -> Any:
    """A value of a data frame as a variant has it: numbers that are whole are whole numbers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
