"""The dear stages make what they made when they got their version."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from qrt.engine.trainer import TrainedNetwork, train_stack
from qrt_study.plan.family import CONDITIONS
from support import golden_stages
from support.golden_files import GOLDEN_FILES, GoldenFile, this_machine
from support.golden_networks import JOBS, RELEASED, USUAL, golden_networks

NETWORKS, EVALUATION, PREPARATION = GOLDEN_FILES
ALONE = [job for job in JOBS if job[3].name == "alone"]


@pytest.mark.parametrize("golden", GOLDEN_FILES, ids=lambda golden: golden.path.stem)
def test_nothing_has_moved(golden: GoldenFile) -> None:
    stored, now = golden.stored(), golden.compute()
    assert stored["version"] == golden.version, "the version was raised: `make golden` writes the file anew"
    assert golden.complaint(stored, now) == ""
    assert now.keys() == stored["entries"].keys(), "`make golden` stores new ones"


def test_every_switch_of_training_has_networks_both_ways() -> None:
    assert {*USUAL, "x_scale"} == {*RELEASED, "x_scale"} == CONDITIONS.keys()


def _with_other_decay(decay: float) -> Any:
    """A trainer with another weight decay for ResNets."""

    def train(data: Any, variants: Any, settings: Any, *others: Any) -> list[TrainedNetwork]:
        if variants[0].base_model == "resnet":
            settings = replace(settings, weight_decay=decay)
        return train_stack(data, variants, settings, *others)

    return train


@pytest.mark.parametrize(
    ("decay", "machine"), [(0.012, this_machine()), (30.0, {})], ids=["bit by bit", "on another machine"]
)
def test_trainer_that_moves_a_network_is_reported(
    decay: float, machine: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"machine": machine, "entries": golden_networks(ALONE)}
    assert NETWORKS.complaint(stored, golden_networks(ALONE)) == ""
    monkeypatch.setattr("qrt_study.training.family_job.train_stack", _with_other_decay(decay))
    now = golden_networks(ALONE)
    assert set(NETWORKS.moved(stored, now)) == {"alone: resnet3_train_alpha1_b0.2"}
    complaint = NETWORKS.complaint(stored, now)
    assert "alone: resnet3_train_alpha1_b0.2" in complaint
    assert "raise TRAINING_VERSION" in complaint


def test_moved_values_are_stored_under_a_new_version_alone(tmp_path: Any) -> None:
    values: dict[str, Any] = {"a": {"metric": 1.0}}
    golden = replace(EVALUATION, path=tmp_path / "golden.json", compute=lambda: values)
    golden.write()
    values |= {"a": {"metric": 1.0 + 1e-9}, "b": {"metric": 2.0}}
    golden.write()  # rounding, and one more
    assert golden.stored()["entries"].keys() == {"a", "b"}
    values["a"] = {"metric": 1.1}
    with pytest.raises(SystemExit, match="a: other values of metric"):
        golden.write()
    del values["a"]
    with pytest.raises(SystemExit, match="a: is not there any more"):
        golden.write()
    replace(golden, version=golden.version + 1).write()
    assert golden.stored()["version"] == EVALUATION.version + 1


def test_other_metric_and_other_preparation_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qrt.engine.evaluation.pce_levels", lambda pits, weights=None: pits.mean())
    assert "pce_levels" in EVALUATION.complaint(EVALUATION.stored(), golden_stages.golden_evaluation())
    monkeypatch.setattr("qrt_study.data.prepare.np.float32", np.float64)
    assert "x_sha256" in PREPARATION.complaint(PREPARATION.stored(), golden_stages.golden_preparation())
