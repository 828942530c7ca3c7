"""PITs of the main comparison, counted: the histograms and reliability curves of its predictions on test rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from qrt.atomic import write_text
from qrt.estimator.diagnosis import calibrated_band
from qrt.estimator.weights import effective_rows
from qrt_study.results.pit_table import BINS, HISTOGRAM, LEVELS, PITS, RELIABILITY
from qrt_study.results.predicted_network import PredictedNetwork
from qrt_study.results.prediction_file import Array, PredictionFile


def pits(*, predictions: list[Path], out: Path) -> None:
    """Count the PITs of predictions, one file for each dataset, under every protocol."""
    torch.set_num_threads(1)
    rows = [row for path in predictions for row in pit_rows(PredictionFile(path))]
    write_text(out, pd.DataFrame(rows, columns=list(PITS)).to_csv(index=False))


def pit_rows(file: PredictionFile) -> Iterator[dict[str, Any]]:
    """The rows of PITS of one dataset."""
    for method in file.described["methods"]:
        splits = file.described["networks"][method["network"]]["splits"]
        finished = [int(split) for split, outcome in splits.items() if outcome["status"] == "ok"]
        if not finished:
            continue
        place = {"protocol": method["protocol"], "dataset": file.described["dataset"], "method": method["method"]}
        values = np.concatenate([_pits(file, method, split) for split in finished])
        _, times = np.unique(np.concatenate([file.rows(split, "test")[0] for split in finished]), return_counts=True)
        independent = max(1, round(effective_rows(times.astype(np.float64))))
        counted = {"splits": len(finished), "rows": len(values), "effective_rows": independent}
        for row in (*_histogram(values, independent), *_reliability(values, independent)):
            yield place | counted | row


def _pits(file: PredictionFile, method: Mapping[str, Any], split: int) -> Array:
    """F'(y) of the test rows of a split: (rows,)."""
    predictive, y = PredictedNetwork.of_file(file, method["network"], split).predictive(method)
    found: Array = predictive.pit(y).numpy()
    return found


def _histogram(values: Array, independent: int) -> Iterator[dict[str, Any]]:
    counts, edges = np.histogram(values, bins=BINS, range=(0.0, 1.0))
    return _rows(HISTOGRAM, edges[1:], counts / len(values), calibrated_band(np.full(BINS, 1 / BINS), independent))


def _reliability(values: Array, independent: int) -> Iterator[dict[str, Any]]:
    shares = np.searchsorted(np.sort(values), LEVELS, side="right") / len(values)
    return _rows(RELIABILITY, LEVELS, shares, calibrated_band(LEVELS, independent))


def _rows(shows: str, levels: Array, shares: Array, band: tuple[Array, Array]) -> Iterator[dict[str, Any]]:
    for level, share, lower, upper in zip(levels, shares, *band, strict=True):
        yield {"shows": shows, "level": level, "share": share, "lower": lower, "upper": upper}
