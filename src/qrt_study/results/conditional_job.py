"""Conditional coverage of the main comparison: from predictions and x to rows of the table `conditional`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from qrt_study.results.conditional_coverage import excess_risk, worst_slab_coverage
from qrt_study.results.predicted_network import PredictedNetwork
from qrt_study.results.prediction_file import PredictionFile
from qrt_study.results.tables import CONDITIONAL, write_rows

_INTERVAL = torch.tensor([0.05, 0.95], dtype=torch.float64)


def condition(protocol: str, *, predictions: Path, x: Path, out: Path) -> None:
    """Ask for whom the predictions on one dataset are calibrated: coverage given x, which is in the file `x`."""
    rows = list(conditional_rows(PredictionFile(predictions), protocol, x))
    write_rows(out, rows, CONDITIONAL)
    print(f"{predictions}: {len(rows)} rows under the protocol {protocol}")


def conditional_rows(file: PredictionFile, protocol: str, x_file: Path) -> Iterator[dict[str, Any]]:
    """The rows of one protocol; `x_file` has x of the prepared data."""
    torch.set_num_threads(1)
    x_of_all = np.load(x_file, mmap_mode="r", allow_pickle=False)
    for method in file.described["methods"]:
        if method["protocol"] != protocol:
            continue
        for split, outcome in file.described["networks"][method["network"]]["splits"].items():
            row = {"dataset": file.described["dataset"], "split": int(split), "seed": 0, "method": method["method"]}
            if outcome["status"] != "ok":
                yield row | {"status": outcome["status"]}
                continue
            predictive, y = PredictedNetwork.of_file(file, method["network"], int(split)).predictive(method)
            low, high = predictive.quantile(_INTERVAL).T
            inside = ((low <= y) & (y <= high)).numpy()
            numbers = file.rows(int(split), "test")[0]
            x = _standardised(np.asarray(x_of_all[np.sort(numbers)], dtype=np.float64)[np.argsort(np.argsort(numbers))])
            yield row | {
                "status": "ok",
                "test_outside": int((~inside).sum()),
                "test_excess_risk": excess_risk(x, ~inside),
                "test_worst_slab": worst_slab_coverage(x, inside),
                # The same search among as many targets that fall outside by chance.
                "test_worst_slab_calibrated": worst_slab_coverage(x, _by_chance(len(y), int(split))),
            }


def _standardised(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    deviation = x.std(axis=0)
    scaled: np.ndarray[Any, Any] = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return scaled


def _by_chance(rows: int, seed: int) -> np.ndarray[Any, Any]:
    inside: np.ndarray[Any, Any] = np.random.default_rng(seed).uniform(size=rows) < 0.9
    return inside
