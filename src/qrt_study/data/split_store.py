"""From a prepared dataset on disk to one standardised split in memory; no pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.engine.scaling import USUAL_X_SCALE, XScale, mean_and_scale
from qrt.engine.split import SplitData, SplitRows, SplitTargets, split_rows
from qrt.errors import UserError
from qrt_study.data.record import check_sha256, read_record

_BLOCK_ROWS = 1024  # rows at a time, so that loading and standardising need no second copy of the data


def load_split(folder: Path, split: int, x_scale: XScale | None = None) -> SplitData:
    """One standardised split of the prepared dataset in `folder`.

    `x_scale` None is for datasets where the scale of x does not matter (row 13 of docs/protocol.md); others are
    refused then. The rows are read block by block into their final place and standardised there, so that loading takes
    little more memory than the array itself.
    """
    record = _checked_record(folder, "x.npy", "y.npy")
    if x_scale is None and record.get("x_scale_matters"):
        raise UserError(
            f"{record['dataset']}: the scale of its rare or narrow columns matters (row 13 of docs/protocol.md), but "
            "datasets.csv says no; put 'yes' into its column x_scale_matters"
        )
    order, targets = _targets(folder, split)
    x = _in_order(folder / "x.npy", order)
    mean, scale = mean_and_scale(x[targets.rows("train")], x_scale or USUAL_X_SCALE)
    for start in range(0, len(x), _BLOCK_ROWS):
        chunk = x[start : start + _BLOCK_ROWS]
        chunk[...] = (chunk - mean) / scale
    return SplitData(x=x, **vars(targets))


def load_targets(folder: Path, split: int) -> SplitTargets:
    """The targets of one split alone, as `load_split` has them."""
    _checked_record(folder, "y.npy")
    return _targets(folder, split)[1]


def _checked_record(folder: Path, *files: str) -> dict[str, Any]:
    record = read_record(folder / "record.json")
    if record["status"] != "available":
        raise UserError(f"{record['dataset']}: {record['status']} ({record['reason']})")
    for file in files:
        if checksum := record.get(f"{file[0]}_sha256"):
            check_sha256(folder / file, checksum)
    return record


def _targets(folder: Path, split: int) -> tuple[npt.NDArray[np.int64], SplitTargets]:
    """The rows of a split in the order of `SplitTargets`, and its standardised targets."""
    rows: SplitRows = split_rows(len(_array(folder / "y.npy")), split)
    parts = {
        "train": rows.train,
        "calibration": rows.calibration,
        "validation": rows.validation,
        "test": rows.test,
    }
    order = np.concatenate(list(parts.values()))
    y = _in_order(folder / "y.npy", order)
    y_mean, y_scale = mean_and_scale(y[: len(rows.train), None])
    standardised = ((y - y_mean) / y_scale).astype(np.float32)
    sizes = {part: len(numbers) for part, numbers in parts.items()}
    return order, SplitTargets(y=standardised, sizes=sizes, y_mean=float(y_mean[0]), y_scale=float(y_scale[0]))


def _array(path: Path) -> npt.NDArray[np.float32]:
    try:
        array: npt.NDArray[np.float32] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: missing or damaged ({error}); delete its folder and run again") from error
    return array


def _in_order(path: Path, order: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
    """The rows of the array at `path`, in the given order."""
    total = len(_array(path))
    place = np.full(total, -1)  # where each row of the file goes; -1: nowhere
    place[order] = np.arange(len(order))
    ordered = np.empty((len(order), *_array(path).shape[1:]), np.float32)
    for start in range(0, total, _BLOCK_ROWS):
        # Mapped again for each block: the pages of the blocks before do not stay in memory.
        block, to = _array(path)[start : start + _BLOCK_ROWS], place[start : start + _BLOCK_ROWS]
        ordered[to[to >= 0]] = block[to >= 0]
    return ordered
