"""Rows of a small study, stored before training and evaluation were taken apart: the same networks have them still.

tests/stored has the rows of split 0 of the embedded dataset `skewed` in the demo, an MLP of each kind. When the two were
taken apart every bit stayed the same, those of ResNets too. Since then the evaluation adds up in another order, and the
biases that BatchNorm cancels are no longer trained (docs/engine.md).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from conftest import PROJECT
from qrt.engine.variant import Variant
from qrt.results.evaluation_job import EvaluatedFamily
from qrt.study.family import Family
from qrt.training.machine import processor
from support.small_jobs import evaluated, prepared_dataset, train_into

STORED = PROJECT / "tests/stored"
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
    ),
    posthoc=(("none",), *[("none", "REFL", "KDE", "TRUNC")] * 11),
    curves=True,
    conditions={
        "kernel_width": "variance",
        "free_centres": "trained",
        "map_rows_outside": "standard",
        "early_stopping": "nll",
        "map_centres": "same_pass",
    },
)
WAY = ["variant", "posthoc_map", "posthoc_on", "posthoc_bandwidth", "kernel_width"]
NOT_NUMBERS_OF_THE_NETWORK = ("train_seconds", "threads")
KEYS = {"runs": WAY, "curves": ["variant", "epoch", "part"], "predictions": [*WAY, "row", "point"]}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> EvaluatedFamily:
    folder: Path = prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")
    file = train_into(folder / "split0.networks.parquet", folder, 0, FAMILY)
    return evaluated({0: file}, folder, FAMILY, examples=True)


def by_key(frame: pd.DataFrame, key: list[str]) -> pd.DataFrame:
    if "point" in key:
        frame = frame.assign(point=frame.groupby(key[:-1], dropna=False).cumcount())
    frame = frame.fillna({name: {"posthoc_bandwidth": 0.0, "kernel_width": ""}.get(name, 0.0) for name in key[3:]})
    return frame.astype({name: float for name in ("posthoc_bandwidth",) if name in key}).set_index(key)


def same_machine() -> bool:
    """Whether the stored rows were made with this processor and PyTorch."""
    here = pd.read_parquet(STORED / "skewed_split0.runs.parquet").iloc[0]
    return bool(here["cpu"] == processor() and here["torch_version"] == torch.__version__)


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
    expected = by_key(stored, KEYS[kind])
    got = by_key(pd.DataFrame(getattr(rows, kind)), KEYS[kind]).reindex(expected.index)
    assert len(expected) == {"runs": 63, "curves": 32, "predictions": 3600}[kind]
    for name in numbers:
        ours, theirs = got[name].to_numpy(float), expected[name].to_numpy(float)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6 if same_machine() else 1e-5, err_msg=name)
