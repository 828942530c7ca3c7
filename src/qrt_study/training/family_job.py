"""One training job: a family of networks on one dataset and split, trained as stacks. It computes no metric."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import qrt
from qrt.engine.curves import curve_rows
from qrt.engine.split import SplitData
from qrt.engine.trainer import TrainedNetwork, TrainingSettings, train_stack, training_map_rows
from qrt.engine.variant import ResNetForm, Variant
from qrt.engine.version import TRAINING_VERSION
from qrt_study.data.record import data_checksum, read_record
from qrt_study.data.split_store import load_split
from qrt_study.plan.family import Family
from qrt_study.training.machine import processor
from qrt_study.training.networks_file import NetworkResult

RESNET_FORMS: dict[str, ResNetForm] = {"batchnorm_relu": "paper", "layernorm_reglu": "released"}  # row 8
SEEDS_APART = 10_000  # more than there are splits


def run_seed(split: int, seed: int) -> int:
    """The seed of a training run: the number of the split for seed 0, others that no split has for the rest."""
    return split + SEEDS_APART * seed


def training_settings(family: Family, training: Mapping[str, int]) -> TrainingSettings:
    """How the networks of a family are trained; a condition that concerns none of them keeps its default."""
    settings: dict[str, Any] = {**training, **family.conditions}
    settings.pop("x_scale", None)  # acts on the data
    if "resnet" in settings:
        settings["resnet_form"] = RESNET_FORMS[settings.pop("resnet")]
    return TrainingSettings(**settings, record_curves=family.curves)


def train_family(
    folder: Path,
    split: int,
    seed: int,
    family: Family,
    training: Mapping[str, int],
    *,
    log: Callable[[str], None],
) -> list[NetworkResult]:
    """Train a family on the prepared dataset in `folder`."""
    torch.set_num_threads(1)
    conditions: dict[str, Any] = dict(family.conditions)
    data = load_split(folder, split, conditions.get("x_scale"))
    settings = training_settings(family, training)
    notes = {
        "data": data_checksum(read_record(folder / "record.json")),
        "code": str(TRAINING_VERSION),
        "package_version": qrt.__version__,
        "torch_version": torch.__version__,
        "threads": torch.get_num_threads(),
        "cpu": processor(),
    }
    results = []
    for network in _trained(data, family, settings, run_seed(split, seed), log):
        log(f"{network.variant.id}: {network.status} after {network.epochs} epochs, best {network.best_value:.4f}")
        results.append(_result(network, data, settings, run_seed(split, seed), notes))
    share = time.process_time() / len(results)  # counted from the start of the process
    return [replace(result, job_seconds=share) for result in results]


def _trained(
    data: SplitData, family: Family, settings: TrainingSettings, seed: int, log: Callable[[str], None]
) -> Iterator[TrainedNetwork]:
    """The networks of a family, trained as one stack for each base model and set of rows."""
    stacks: dict[tuple[str, int, str], list[Variant]] = {}
    for network in family.networks:
        stacks.setdefault((network.base_model, network.components, network.trained_on), []).append(network)
    for (model, components, rows), networks in stacks.items():
        log(f"{model} with {components} component(s) on {rows} rows: {len(networks)} network(s)")
        # Per-epoch records are of the main base model on training rows (docs/protocol.md, section 5).
        curves = settings.record_curves and (model, components, rows) == ("mlp", 3, "train")
        yield from train_stack(data, networks, replace(settings, record_curves=curves), seed, log)


def _result(
    network: TrainedNetwork, data: SplitData, settings: TrainingSettings, seed: int, notes: Mapping[str, Any]
) -> NetworkResult:
    result = NetworkResult(
        variant=network.variant,
        status=network.status,
        reason=network.reason,
        epochs=network.epochs,
        selected_epoch=network.selected_epoch,
        train_seconds=network.train_seconds,
        curves=network.curves,
        **notes,
    )
    if network.status != "ok":
        return result
    outputs = {part: network.outputs(data.part(part)[0]) for part in ("validation", "calibration", "test")}
    x, _ = data.part(network.variant.trained_on)
    if (rows := training_map_rows(network.variant, len(x), settings, seed)) is not None:
        outputs["map"] = network.outputs(x[rows.numpy()])
    if network.curves is not None:
        outputs["curves"] = network.outputs(x[curve_rows(len(x), seed).numpy()])
    # Rows outside training may have values far from those of training (docs/protocol.md, row 13).
    lost = [part for part, values in outputs.items() if not bool(values.isfinite().all())]
    if lost:
        return replace(result, status="diverged", reason=f"its outputs on {', '.join(lost)} rows are not finite")
    return replace(result, outputs=outputs, centres=network.own_centres)
