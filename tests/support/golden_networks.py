"""Golden networks: every kind of network that the study trains, trained for a few epochs on generated data."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qrt.engine.variant import Variant
from qrt_study.data.record import file_sha256, write_record
from qrt_study.plan.family import Family
from qrt_study.training.family_job import train_family
from qrt_study.training.networks_file import NetworkResult

# Relative to the largest number of its kind, where processor or PyTorch round sums otherwise. With the kernels that
# PyTorch has for other processors (ATEN_CPU_CAPABILITY) no number is further off than an eighth of it.
TOLERANCE = 1e-3
# Of records, which stop and select nothing and are published in single precision: on the machine that they came from.
CURVES_TOLERANCE = 1e-6
SHOWN_ROWS = 3

SMALL_BATCHES = {"max_epochs": 6, "patience": 2, "batch_size": 64}
# One batch has all rows. Few steps, since Adam makes whole ones of gradients that are zero but for rounding, and a
# ResNet has such gradients.
TWO_STEPS = {"max_epochs": 2, "patience": 2}
STOPPING_EARLY = {"max_epochs": 40, "patience": 1, "learning_rate": 0.01}
USUAL = {
    "kernel_width": "variance",
    "resnet": "batchnorm_relu",
    "free_centres": "trained",
    "map_rows_outside": "standard",
    "early_stopping": "nll",
    "map_centres": "same_pass",
}
RELEASED = {
    "kernel_width": "scale",
    "resnet": "layernorm_reglu",
    "free_centres": "fixed",
    "map_rows_outside": "map_size",
    "early_stopping": "objective",
    "map_centres": "second_pass",
}


def _qrt(**other: Any) -> Variant:
    return Variant(**{"alpha": 1.0, "bandwidth": 0.2} | other)


QREG, QRT_MINUS = _qrt(alpha=-0.05), _qrt(alpha=2.0)
ABLATIONS = tuple(_qrt(ablation=kind) for kind in ("QRI", "QRG", "QRL"))
MAP_SIZES = (_qrt(map_size=8), _qrt(map_size=128))
MLPS = (
    Variant(trained_on="train+calibration"),
    *(Variant(), _qrt(), _qrt(bandwidth=0.05), QREG, QRT_MINUS),
    *(*MAP_SIZES, *ABLATIONS),
    *(Variant(components=1), _qrt(components=1), Variant(components=10), _qrt(components=10)),
)
RESNETS = tuple(replace(network, base_model="resnet") for network in (Variant(), _qrt(), QREG))
# Switch -> networks to train with it alone as released.
ONE_SWITCH: dict[str, tuple[Variant, ...]] = {
    "kernel_width": (_qrt(), QREG, *MAP_SIZES, *ABLATIONS),
    "free_centres": (ABLATIONS[-1],),
    "map_rows_outside": MAP_SIZES,
    "early_stopping": (QREG, QRT_MINUS),
    "map_centres": (_qrt(), QRT_MINUS, _qrt(components=10)),
}


def _family(name: str, networks: tuple[Variant, ...], **conditions: str) -> Family:
    return Family(name=name, networks=networks, posthoc=(), curves=True, conditions=USUAL | conditions)


# Folder of the data, split, seed, family, training.
Job = tuple[str, int, int, Family, Mapping[str, Any]]
JOBS: tuple[Job, ...] = (
    ("small", 0, 0, _family("usual", MLPS), SMALL_BATCHES),
    ("small", 0, 0, _family("usual", RESNETS), TWO_STEPS),
    ("small", 0, 0, _family("released", MLPS, **RELEASED), SMALL_BATCHES),
    ("small", 0, 0, _family("released", RESNETS, **RELEASED), TWO_STEPS),
    *(
        ("small", 0, 0, _family(f"{switch} {RELEASED[switch]}", some, **{switch: RELEASED[switch]}), SMALL_BATCHES)
        for switch, some in ONE_SWITCH.items()
    ),
    ("small", 0, 0, _family("x_scale epsilon", (Variant(), _qrt()), x_scale="epsilon"), SMALL_BATCHES),
    *(("small", 0, 0, _family("alone", (network,)), TWO_STEPS) for network in (Variant(), _qrt(), RESNETS[1])),
    ("small", 0, 0, _family("stopping early", (Variant(), _qrt(), QREG)), STOPPING_EARLY),
    ("small", 0, 0, _family("stopping by a map", (_qrt(ablation="STOP"),)), STOPPING_EARLY),
    ("small", 1, 2, _family("split 1, seed 2", (Variant(), _qrt())), SMALL_BATCHES),
    ("large", 0, 0, _family("large", (Variant(), _qrt(), _qrt(bandwidth=0.05), *MAP_SIZES, ABLATIONS[0])), TWO_STEPS),
)
ROWS = {"small": 240, "large": 3600}  # of the large one more rows train than a map has centres, in four batches


def golden_networks(jobs: Sequence[Job] = JOBS) -> dict[str, dict[str, Any]]:
    """What golden networks become, by family and id of the network."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in ROWS.items():
            _write_data(Path(folder) / name, rows)
        for name, split, seed, family, training in jobs:
            for network in train_family(Path(folder) / name, split, seed, family, training, log=lambda line: None):
                found[f"{family.name}: {network.variant.id}"] = _seen(network)
    return found


def network_difference(before: Mapping[str, Any], now: Mapping[str, Any], *, exactly: bool) -> str:
    """What differs between two results of the same network; empty if nothing does."""
    if (epochs := before["selected_epoch"]) != now["selected_epoch"]:
        return f"selects epoch {now['selected_epoch']} instead of {epochs}"
    for name in ("curves", "outputs"):
        old, new = np.array(before[name]), np.array(now[name])
        if old.shape != new.shape:
            return f"{name} has shape {new.shape} instead of {old.shape}"
        tolerance = CURVES_TOLERANCE if exactly and name == "curves" else TOLERANCE
        if old.size and (distance := float(np.abs(new - old).max() / np.abs(old).max())) > tolerance:
            return f"{name} differs by {distance:.1g}, relatively"
    return "differs in single bits" if exactly and before["checksum"] != now["checksum"] else ""


def _write_data(folder: Path, rows: int) -> None:
    """A prepared dataset: y depends on x in mean, scale and skewness; the scale of the last column of x matters."""
    generator = np.random.default_rng(20260101)
    x = generator.normal(size=(rows, 4)) * [1.0, 3.0, 0.5, 1e-6]
    y = np.sin(2 * x[:, 0]) + 0.3 * np.exp(0.5 * x[:, 2]) * generator.exponential(size=rows) + 1e5 * x[:, 3]
    folder.mkdir()
    for name, array in (("x", x), ("y", y)):
        np.save(folder / f"{name}.npy", array.astype(np.float32))
    checksums = {f"{name}_sha256": file_sha256(folder / f"{name}.npy") for name in ("x", "y")}
    write_record(folder / "record.json", {"dataset": folder.name, "status": "available", "reason": ""} | checksums)


def _seen(network: NetworkResult) -> dict[str, Any]:
    """What is kept of a network: a checksum of all that its training job writes but records; records; some outputs."""
    assert network.status == "ok", network.reason
    content = hashlib.sha256(f"{network.epochs} {network.selected_epoch}".encode())
    for _, tensor in sorted(network.outputs.items()):
        content.update(tensor.numpy().tobytes())
    if network.centres is not None:
        content.update(network.centres.numpy().tobytes())
    records = [(c.nll_recalibrated, c.nll_base, c.alpha_entropy_pit, c.pce) for c in network.curves or ()]
    return {
        "checksum": content.hexdigest()[:16],
        "selected_epoch": network.selected_epoch,
        "curves": [[float(f"{value:.8g}") for value in record] for record in records],
        "outputs": [[float(f"{value:.7g}") for value in row] for row in network.outputs["test"][:SHOWN_ROWS].tolist()],
    }
