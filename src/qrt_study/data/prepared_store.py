"""Prepared datasets on disk: plain .npy arrays with a small JSON record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qrt.atomic import whole_file
from qrt.engine.scaling import x_scale_matters
from qrt.engine.split import split_rows
from qrt.errors import UserError
from qrt_study.data.discreteness import duplicate_share, top10_share
from qrt_study.data.prepare import PreparedTable, prepare
from qrt_study.data.raw_store import read_raw
from qrt_study.data.raw_table import OWN_SOURCE
from qrt_study.data.record import file_sha256, read_record, write_record


def prepare_dataset(name: str, table_path: Path, record_path: Path, out: Path) -> dict[str, Any]:
    """Prepare one raw dataset into the folder `out` (x.npy, y.npy, record.json) and return its record."""
    raw = read_record(record_path)
    record: dict[str, Any] = {"dataset": name, "status": raw["status"], "reason": raw["reason"]}
    x, y = np.empty((0, 0), np.float32), np.empty(0, np.float32)
    if raw["status"] == "available":
        table = read_raw(table_path, raw)
        try:
            prepared = prepare(table)
        except UserError as error:
            record |= {"status": "invalid", "reason": str(error)}
        else:
            x, y = prepared.x, prepared.y
            record |= _prepared_record(prepared, raw)
    for array, file in ((x, "x.npy"), (y, "y.npy")):
        with whole_file(out / file) as partial, partial.open("wb") as stream:
            np.save(stream, array, allow_pickle=False)
    if record["status"] == "available":
        record |= {"x_sha256": file_sha256(out / "x.npy"), "y_sha256": file_sha256(out / "y.npy")}
    write_record(out / "record.json", record)
    return record


def _prepared_record(prepared: PreparedTable, raw: dict[str, Any]) -> dict[str, Any]:
    # Table 3 counts the targets of the training rows of split 0, on their own scale in float32.
    train_targets = prepared.y[split_rows(len(prepared.y), 0).train]
    # Records of the paper's datasets stay as they are, byte for byte: published results hold them.
    of_own_data = {"encoded_columns": prepared.encoded_columns} if raw["provenance"].get("source") == OWN_SOURCE else {}
    return {
        "rows": prepared.x.shape[0],
        "features": prepared.x.shape[1],
        "feature_names": list(prepared.features),
        "dropped_columns": prepared.dropped_columns,
        "dropped_rows": prepared.dropped_rows,
        **of_own_data,
        "train_rows": len(train_targets),
        "top10": top10_share(train_targets),
        "duplicates": duplicate_share(train_targets),
        "x_scale_matters": x_scale_matters(prepared.x),
        "provenance": raw["provenance"],
        "target": raw["target"],
        "target_transform": raw["target_transform"],
    }
