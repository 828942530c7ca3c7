"""What a training job writes: for each network its outputs on the rows that an evaluation needs, and how it trained.

One row per network. Numbers are stored as bytes (float32, rows after rows; curves in float64), so that a file is read
without running anything. A job that lacks memory leaves rows too: PyTorch is loaded only where there are outputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qrt.engine.variant import Variant
from qrt_study.parquet_file import BYTES, COUNT, NUMBER, TEXT, Column, read_tables, write_rows

if TYPE_CHECKING:
    from torch import Tensor

    from qrt.engine.curves import CurveRecord, Part

# The rows on which outputs are kept. `map` are the training rows of the map of training (min(2048, n)), `curves` those
# of the per-epoch records (at most 8192; networks with records only).
PARTS = ("map", "curves", "validation", "calibration", "test")
_CURVE_PARTS: tuple[Part, ...] = ("train", "validation")

NETWORKS: dict[str, Column] = {
    "variant": (TEXT, "id of the network"),
    "status": (TEXT, "ok; diverged; unavailable or invalid (the dataset); failed (out of memory or time)"),
    "reason": (TEXT, "why, where the status is not ok"),
    "epochs": (COUNT, "epochs trained"),
    "selected_epoch": (COUNT, "epochs after which the parameters were best on validation rows"),
    "train_seconds": (NUMBER, "the network's share of the CPU time that its stack took to train"),
    "job_seconds": (NUMBER, "the network's share of the CPU time of its whole training job"),
    "data": (TEXT, "checksum of the prepared data"),
    "code": (TEXT, "version of training; before there were versions, a fingerprint of its code"),
    "package_version": (TEXT, "version of this package"),
    "torch_version": (TEXT, "version of PyTorch"),
    "threads": (COUNT, "threads used"),
    "cpu": (TEXT, "processor"),
    "centres": (BYTES, "centres of a map of its own (QRI, QRL): (N,) float32"),
    "records": (BYTES, "per-epoch records: (n, 6) float64, epoch, part, nll_recalibrated, nll_base, entropy, pce"),
    **{part: (BYTES, f"outputs on the rows of `{part}`: (n, 3K) float32") for part in PARTS},
}


@dataclass(frozen=True, eq=False)
class NetworkResult:
    """One network after training. `outputs` are (n, 3K) float32 by part; empty where it has not finished."""

    variant: Variant
    status: str
    reason: str = ""
    epochs: int | None = None
    selected_epoch: int | None = None
    train_seconds: float | None = None
    job_seconds: float | None = None
    data: str = ""
    code: str = ""
    package_version: str = ""
    torch_version: str = ""
    threads: int | None = None
    cpu: str = ""
    centres: Tensor | None = None
    curves: Sequence[CurveRecord] | None = None
    outputs: dict[str, Tensor] = field(default_factory=dict)


def write_networks(path: Path, networks: Sequence[NetworkResult]) -> None:
    """Write the results of one training job, whole or not at all."""
    write_rows(path, [_row(network) for network in networks], NETWORKS)


def read_networks(path: Path, variants: Sequence[Variant]) -> list[NetworkResult]:
    """The results of the networks `variants`, which one training job wrote."""
    by_id = {variant.id: variant for variant in variants}
    return [_network(row, by_id[row["variant"]]) for row in read_tables([path], NETWORKS).to_pylist()]


_PLAIN = tuple(name for name, (kind, _) in NETWORKS.items() if kind != BYTES and name != "variant")


def _row(network: NetworkResult) -> dict[str, Any]:
    row: dict[str, Any] = {"variant": network.variant.id} | {name: getattr(network, name) for name in _PLAIN}
    row |= {part: _bytes(outputs) for part, outputs in network.outputs.items()}
    if network.centres is not None:
        row["centres"] = _bytes(network.centres)
    if network.curves is not None:
        records = [
            [record.epoch, _CURVE_PARTS.index(record.part), *list(asdict(record).values())[2:]]
            for record in network.curves
        ]
        row["records"] = np.array(records, dtype=np.float64).tobytes()
    return row


def _network(row: dict[str, Any], variant: Variant) -> NetworkResult:
    plain: dict[str, Any] = {name: row[name] for name in _PLAIN}
    return NetworkResult(
        variant=variant,
        **plain,
        centres=None if row["centres"] is None else _tensor(row["centres"]),
        curves=None if row["records"] is None else _curves(row["records"]),
        outputs={
            part: _tensor(row[part]).reshape(-1, 3 * variant.components) for part in PARTS if row[part] is not None
        },
    )


def _bytes(tensor: Tensor) -> bytes:
    import torch

    values: bytes = tensor.detach().to(torch.float32).contiguous().numpy().tobytes()
    return values


def _tensor(content: bytes) -> Tensor:
    import torch

    return torch.from_numpy(np.frombuffer(content, dtype=np.float32).copy())


def _curves(content: bytes) -> list[CurveRecord]:
    from qrt.engine.curves import CurveRecord

    rows = np.frombuffer(content, dtype=np.float64).reshape(-1, 6)
    return [CurveRecord(int(epoch), _CURVE_PARTS[int(part)], *values) for epoch, part, *values in rows.tolist()]
