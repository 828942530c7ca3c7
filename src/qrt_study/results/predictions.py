"""Published predictions as distributions to compute with: `predictions("Yacht", protocol="paper", method="QRTC")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from qrt.errors import UserError
from qrt.estimator.distribution import PredictedDistribution
from qrt.text.suggestion import did_you_mean
from qrt_study.results.predicted_network import PredictedNetwork
from qrt_study.results.prediction_file import Array, PredictionFile

PUBLISHED = Path(__file__).parents[3] / "replication/results/predictions"  # of a clone of the repository


class Predictions(NamedTuple):
    """Predicted distributions of some rows in the units of the target, and what came true."""

    distribution: PredictedDistribution
    y: Array  # (rows,)
    rows: Array  # their numbers in the prepared data, from 0


def predictions(
    dataset: str, *, protocol: str = "paper", method: str = "QRTC", split: int = 0, folder: Path = PUBLISHED
) -> Predictions:
    """The published predictions of a method of the main comparison on the test rows of a split."""
    path = folder / f"{dataset}.parquet"
    if not path.is_file():
        there = sorted(one.stem for one in folder.glob("*.parquet"))
        hint = did_you_mean(dataset, there) or f"; there are {', '.join(there) or 'none'}"
        raise UserError(f"{folder} has no predictions on {dataset!r}{hint}")
    file = PredictionFile(path)
    of_method = method_of(file, protocol, method)
    splits = file.described["networks"][of_method["network"]]["splits"]
    if splits.get(str(split), {}).get("status") != "ok":
        finished = [name for name, one in splits.items() if one["status"] == "ok"]
        raise UserError(f"{path}: {method} has no predictions on split {split}; use one of {', '.join(finished)}")
    predictive, y = PredictedNetwork.of_file(file, of_method["network"], split).predictive(of_method)
    return Predictions(PredictedDistribution(predictive), y.numpy(), file.rows(split, "test")[0])


def method_of(file: PredictionFile, protocol: str, method: str) -> dict[str, Any]:
    """What a file says of a method."""
    methods: list[dict[str, Any]] = file.described["methods"]
    for one in methods:
        if (one["protocol"], one["method"]) == (protocol, method):
            return one
    known = ", ".join(f"{one['protocol']} {one['method']}" for one in methods)
    raise UserError(f"{file.path}: there is no {method!r} under the protocol {protocol!r}; there are {known}")
