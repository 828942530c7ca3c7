"""Prepared datasets on disk: plain .npy arrays with a small JSON record, and the way back into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.atomic import whole_file
from qrt.data.discreteness import duplicate_share, top10_share
from qrt.data.prepare import PreparedTable, prepare
from qrt.data.raw_store import check_sha256, file_sha256, read_raw, read_record, write_record
from qrt.data.split import SplitData, split_rows
from qrt.errors import UserError

_BLOCK_ROWS = 1024  # rows at a time, so that loading and standardising need no second copy of the data


def prepare_dataset(name: str, table_path: Path, record_path: Path, out: Path) -> dict[str, Any]:
    """Prepare one raw dataset into the folder `out` (x.npy, y.npy, record.json) and return its record."""
    raw = read_record(record_path)
    record: dict[str, Any] = {"dataset": name, "status": raw["status"], "reason": raw["reason"]}
    x, y = np.empty((0, 0), np.float32), np.empty(0, np.float32)
    if raw["status"] == "available":
        table = read_raw(table_path, raw)
        try:
            prepared = prepare(table, name)
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
    return {
        "rows": prepared.x.shape[0],
        "features": prepared.x.shape[1],
        "feature_names": list(prepared.features),
        "dropped_columns": prepared.dropped_columns,
        "dropped_rows": prepared.dropped_rows,
        "train_rows": len(train_targets),
        "top10": top10_share(train_targets),
        "duplicates": duplicate_share(train_targets),
        "provenance": raw["provenance"],
        "target": raw["target"],
        "target_transform": raw["target_transform"],
    }


def load_split(folder: Path, split: int) -> SplitData:
    """One standardised split of the prepared dataset in `folder`.

    The rows are read block by block into their final place and standardised there, so that loading takes little
    more memory than the array itself.
    """
    record = read_record(folder / "record.json")
    if record["status"] != "available":
        raise UserError(f"{record['dataset']}: {record['status']} ({record['reason']})")
    for file, checksum in (("x.npy", "x_sha256"), ("y.npy", "y_sha256")):
        if checksum in record:
            check_sha256(folder / file, record[checksum])
    total = len(_array(folder / "y.npy"))
    rows = split_rows(total, split)
    order = np.concatenate([rows.train, rows.calibration, rows.validation, rows.test])
    x, y = (_in_order(folder / file, order, total) for file in ("x.npy", "y.npy"))
    sizes = {
        "train": len(rows.train),
        "calibration": len(rows.calibration),
        "validation": len(rows.validation),
        "test": len(rows.test),
    }
    mean, scale = _mean_and_scale(x[: sizes["train"]])
    for start in range(0, len(x), _BLOCK_ROWS):
        chunk = x[start : start + _BLOCK_ROWS]
        chunk[...] = (chunk - mean) / scale
    y_mean, y_scale = _mean_and_scale(y[: sizes["train"], None])
    y = ((y - y_mean) / y_scale).astype(np.float32)
    return SplitData(x=x, y=y, sizes=sizes, y_mean=float(y_mean[0]), y_scale=float(y_scale[0]))


def _array(path: Path) -> npt.NDArray[np.float32]:
    try:
        array: npt.NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: missing or damaged ({error}); delete its folder and run again") from error
    return array


def _in_order(path: Path, order: npt.NDArray[np.int64], total: int) -> npt.NDArray[np.float32]:
    """The rows of the array of `total` rows at `path`, in the given order."""
    place = np.full(total, -1)  # where each row of the file goes; -1: nowhere
    place[order] = np.arange(len(order))
    ordered = np.empty((len(order), *_array(path).shape[1:]), np.float32)
    for start in range(0, total, _BLOCK_ROWS):
        # Mapped anew for each block: the pages of the blocks before do not stay in memory.
        block, to = _array(path)[start : start + _BLOCK_ROWS], place[start : start + _BLOCK_ROWS]
        ordered[to[to >= 0]] = block[to >= 0]
    return ordered


def _mean_and_scale(x: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and standard deviation per column in float64; the scale of a constant column is 1."""
    mean = x.mean(axis=0, dtype=np.float64)
    squares = np.zeros_like(mean)
    for start in range(0, len(x), _BLOCK_ROWS):
        squares += np.square(x[start : start + _BLOCK_ROWS] - mean).sum(axis=0)
    scale = np.sqrt(squares / len(x))
    return mean, np.where(scale > 0, scale, 1.0)
