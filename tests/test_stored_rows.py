"""Rows of a small study, stored before training and evaluation were taken apart: the same networks have them still.

tests/stored has the rows of split 0 of the embedded dataset `skewed` in the demo, a network of each kind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from conftest import PROJECT
from qrt.engine.variant import Variant
from qrt.results.evaluation_job import EvaluatedFamily
from qrt.study.family import Family
from support.small_jobs import evaluated, prepared_dataset, train_into

STORED = PROJECT / "tests/stored"
_MAPS: Any = ("none", "REFL", "KDE", "TRUNC")
FAMILY = Family(
    name="all",
    networks=(
        Variant(trained_on="train+calibration"),
        Variant(),
        Variant(alpha=1.0, bandwidth=0.2),
        Variant(alpha=2.0, bandwidth=0.05),
        Variant(alpha=-0.05, bandwidth=0.2),
        Variant(alpha=1.0, bandwidth=0.2, map_size=8),
        *(Variant(alpha=1.0, bandwidth=0.2, ablation=kind) for kind in ("QRI", "QRG", "QRL")),
        Variant(components=1, alpha=1.0, bandwidth=0.05),
        Variant(components=10),
        Variant(components=10, alpha=1.0, bandwidth=0.2),
        Variant(base_model="resnet"),
        Variant(base_model="resnet", alpha=1.0, bandwidth=0.2),
    ),
    posthoc=(("none",), *[_MAPS] * 13),
    curves=True,
    conditions={
        "kernel_width": "variance",
        "resnet": "batchnorm_relu",
        "free_centres": "trained",
        "map_rows_outside": "standard",
        "early_stopping": "nll",
        "map_centres": "same_pass",
    },
)
WAY = ["variant", "posthoc_map", "posthoc_on", "posthoc_bandwidth", "kernel_width"]
NOT_NUMBERS_OF_THE_NETWORK = ("train_seconds", "threads")
KEYS = {"runs": WAY, "curves": ["variant", "epoch", "part"], "predictions": [*WAY, "row"]}
ROWS = {"runs": 72, "curves": 32, "predictions": 3600}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedFamily:
    folder: Path = prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")
    file = train_into(folder / "split0.networks.parquet", folder, 0, FAMILY)
    return evaluated({0: file}, folder, FAMILY, examples=True)


def in_order(frame: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    """The rows in the order of their keys; points of a grid stay in their own order."""
    missing = {"posthoc_bandwidth": 0.0, "kernel_width": ""}
    filled = frame.fillna({name: value for name, value in missing.items() if name in key})
    return filled.sort_values(key, kind="stable").reset_index(drop=True)


def tolerance(column: str, base_model: str) -> float:
    """How far, relatively, a number may be from what the first version of the code gave on any machine.

    Since then the evaluation sums in another order, values on training rows come from tables of maps and the series
    of the records, and the ResNet's gradient is written out, which leaves it the same up to rounding after each step.
    """
    if base_model == "resnet":
        return 0.05
    return 1e-3 if column.startswith("train_") or column == "pce" else 1e-5


@pytest.mark.parametrize("kind", KEYS)
def test_rows_equal_those_before_training_and_evaluation_were_taken_apart(rows: EvaluatedFamily, kind: str) -> None:
    stored = pd.read_parquet(STORED / f"skewed_split0.{kind}.parquet")
    if "posthoc_on" in stored:
        # Since then the map of QRI and QRL has their own centres outside training too (docs/protocol.md, row 14).
        stored = stored[~(stored["ablation"].isin(["QRI", "QRL"]) & (stored["posthoc_on"] == "training_map"))]
    numbers = [
        name
        for name in stored.select_dtypes("number")
        if name not in (*KEYS[kind], *NOT_NUMBERS_OF_THE_NETWORK) and stored[name].notna().any()
    ]
    expected = in_order(stored, KEYS[kind])
    everything = pd.DataFrame(getattr(rows, kind))
    got = in_order(everything, KEYS[kind]).merge(expected[KEYS[kind]].drop_duplicates(), on=KEYS[kind])
    assert len(expected) == len(got) == ROWS[kind]
    for base_model in expected["base_model"].unique():
        ours, theirs = (frame[frame["base_model"] == base_model] for frame in (got, expected))
        for name in numbers:
            allowed = tolerance(name, base_model)
            np.testing.assert_allclose(
                ours[name].to_numpy(float), theirs[name].to_numpy(float), rtol=allowed, atol=1e-6, err_msg=name
            )
