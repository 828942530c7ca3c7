"""Timing: the tuned networks of the main comparison, each trained alone on one thread (Table 2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from qrt.engine.variant import TrainingSettings, Variant

TIMED_METHODS = ("BASE", "QREGC", "QRTC")


def time_methods(
    dataset: str,
    split: int,
    methods: pd.DataFrame,
    folder: Path,
    training: dict[str, int],
    *,
    log: Callable[[str], None],
) -> list[dict[str, Any]]:
    """Rows of the table `times` for one dataset and split; `methods` are the tuned methods."""
    rows = []
    for row, place in _timed(dataset, split, methods):
        if row["status"] in ("unavailable", "invalid", "failed"):
            rows.append(place | {"status": row["status"], "reason": row["reason"]})
        else:
            rows.append(place | _train_alone(row, folder, split, training, log))
    return rows


def untimed(dataset: str, split: int, methods: pd.DataFrame, reason: str) -> list[dict[str, Any]]:
    """The same rows where the job could not be done."""
    return [place | {"status": "failed", "reason": reason} for _, place in _timed(dataset, split, methods)]


def _timed(dataset: str, split: int, methods: pd.DataFrame) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each tuned method to be timed, and the columns that name it."""
    here = methods[(methods["dataset"] == dataset) & (methods["split"] == split)]
    for row in here[here["method"].isin(TIMED_METHODS)].to_dict("records"):
        yield row, {"dataset": dataset, "split": split, "method": row["method"], "variant": row["variant"]}


def _train_alone(
    row: dict[str, Any], folder: Path, split: int, training: dict[str, int], log: Callable[[str], None]
) -> dict[str, Any]:
    import torch

    from qrt.data.split_store import load_split
    from qrt.engine.trainer import train_stack

    torch.set_num_threads(1)
    network = Variant(
        base_model=row["base_model"],
        components=int(row["components"]),
        alpha=float(row["alpha"]),
        bandwidth=None if pd.isna(row["bandwidth"]) else float(row["bandwidth"]),
        trained_on=row["trained_on"],
    )
    settings = TrainingSettings(
        max_epochs=training["max_epochs"],
        patience=training["patience"],
        kernel_width="variance" if pd.isna(row["kernel_width"]) else row["kernel_width"],
    )
    (trained,) = train_stack(load_split(folder, split), [network], settings, split, log)
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
