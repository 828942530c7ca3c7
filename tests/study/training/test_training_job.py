"""One training job: it writes what its networks say on the rows that an evaluation needs, and no metric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from qrt.engine.split import split_rows
from qrt.engine.trainer import TrainingSettings, map_rows, train_stack
from qrt.engine.variant import Variant
from qrt.engine.version import TRAINING_VERSION
from qrt_study.data.record import data_checksum, file_sha256, read_record, write_record
from qrt_study.data.split_store import load_split, load_targets
from qrt_study.plan.family import Family
from qrt_study.training.family_job import run_seed, train_family, training_settings
from qrt_study.training.networks_file import NETWORKS, PARTS, NetworkResult, read_networks, write_networks
from support.small_jobs import BASE, FAMILY, PLAIN, QRT, TRAINING, prepared_dataset, train_into

SETTINGS = TrainingSettings(max_epochs=4, patience=2, kernel_width="scale")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")


@pytest.fixture(scope="module")
def networks(folder: Path) -> dict[Variant, NetworkResult]:
    file = train_into(folder / "split1.networks.parquet", folder, 1)
    return {network.variant: network for network in read_networks(file, FAMILY.networks)}


def test_outputs_are_those_of_the_network_on_each_part(networks: dict[Variant, NetworkResult], folder: Path) -> None:
    data = load_split(folder, 1)
    (trained,) = train_stack(data, [QRT], SETTINGS, seed=1)
    for part in ("validation", "calibration", "test"):
        assert torch.equal(networks[QRT].outputs[part], trained.outputs(data.part(part)[0]))
    x, _ = data.part("train")
    assert torch.equal(networks[QRT].outputs["map"], trained.outputs(x[map_rows(len(x), 1).numpy()]))


def test_parts_are_those_that_the_evaluation_of_a_network_needs(networks: dict[Variant, NetworkResult]) -> None:
    always = {"validation", "calibration", "test"}
    assert set(networks[BASE].outputs) == always, "no map, no per-epoch records"
    assert set(networks[PLAIN].outputs) == always | {"curves"}
    assert set(networks[QRT].outputs) == always | {"curves", "map"} == set(PARTS)


def test_no_metric_is_written() -> None:
    words = ("nll", "pce", "crps", "coverage", "rmse", "mae")
    assert not [name for name in NETWORKS if any(word in name for word in words)]


def test_network_remembers_how_and_on_what_it_was_trained(networks: dict[Variant, NetworkResult], folder: Path) -> None:
    for network in networks.values():
        assert (network.status, network.reason, network.epochs) == ("ok", "", 4)
        assert network.selected_epoch in (2, 4)
        assert network.train_seconds is not None
        assert network.train_seconds > 0
        assert network.job_seconds is not None
        assert network.job_seconds > network.train_seconds, "the job starts, reads and writes, too"
        assert (network.code, network.threads) == (str(TRAINING_VERSION), 1)
        assert network.torch_version == torch.__version__
        assert network.data == data_checksum(read_record(folder / "record.json"))


def test_records_per_epoch_are_of_networks_on_training_rows(networks: dict[Variant, NetworkResult]) -> None:
    assert networks[BASE].curves is None
    for network in (PLAIN, QRT):
        curves = networks[network].curves
        assert curves is not None
        assert {(record.epoch, record.part) for record in curves} == {
            (epoch, part) for epoch in (2, 4) for part in ("train", "validation")
        }


def test_file_gives_back_every_bit(folder: Path, tmp_path: Path) -> None:
    kinds = (Variant(alpha=1.0, bandwidth=0.2, ablation="QRL"), PLAIN)
    family = Family("f", kinds, (), True, {"kernel_width": "variance", "free_centres": "trained"})
    before = train_family(folder, 0, 0, family, TRAINING, log=lambda line: None)
    write_networks(tmp_path / "file.parquet", before)
    after = read_networks(tmp_path / "file.parquet", kinds)
    for one, other in zip(before, after, strict=True):
        plain = {name: value for name, value in vars(one).items() if name not in ("outputs", "centres")}
        assert plain == {name: getattr(other, name) for name in plain}
        assert {part: tensor.tolist() for part, tensor in one.outputs.items()} == {
            part: tensor.tolist() for part, tensor in other.outputs.items()
        }
    assert before[0].centres is not None
    assert after[0].centres is not None
    # Kept in single precision, as they were trained.
    assert torch.equal(before[0].centres.float(), after[0].centres)
    assert after[1].centres is None


def test_file_takes_little_more_than_the_numbers_in_it(folder: Path, tmp_path: Path) -> None:
    file = train_into(tmp_path / "file.parquet", folder, 0)
    networks = read_networks(file, FAMILY.networks)
    numbers = sum(outputs.nbytes for network in networks for outputs in network.outputs.values())
    assert file.stat().st_size < numbers + 20_000


def test_network_whose_outputs_overflow_outside_training_has_diverged(folder: Path, tmp_path: Path) -> None:
    overflowing = tmp_path / "skewed"
    overflowing.mkdir()
    x = np.load(folder / "x.npy")
    column = np.zeros((len(x), 1), np.float32)
    column[split_rows(len(x), 0).test[0]] = np.inf  # as in a network that overflows
    np.save(overflowing / "x.npy", np.hstack([x, column]))
    np.save(overflowing / "y.npy", np.load(folder / "y.npy"))
    checksums = {f"{name}_sha256": file_sha256(overflowing / f"{name}.npy") for name in "xy"}
    write_record(overflowing / "record.json", {"dataset": "d", "status": "available", "reason": ""} | checksums)
    (network,) = train_family(overflowing, 0, 0, replace(FAMILY, networks=(PLAIN,)), TRAINING, log=lambda line: None)
    assert (network.status, network.reason) == ("diverged", "its outputs on test rows are not finite")
    assert network.outputs == {}


def test_same_job_gives_the_same_networks(networks: dict[Variant, NetworkResult], folder: Path) -> None:
    for again in train_family(folder, 1, 0, FAMILY, TRAINING, log=lambda line: None):
        first = networks[again.variant]
        assert all(torch.equal(again.outputs[part], first.outputs[part]) for part in first.outputs)
        assert again.curves == first.curves


def test_another_seed_starts_from_other_weights_on_the_same_rows(
    networks: dict[Variant, NetworkResult], folder: Path
) -> None:
    (other,) = train_family(folder, 1, 1, replace(FAMILY, networks=(PLAIN,)), TRAINING, log=lambda line: None)
    first = networks[PLAIN]
    assert other.data == first.data
    assert other.outputs["test"].shape == first.outputs["test"].shape
    assert not torch.equal(other.outputs["test"], first.outputs["test"])


def test_seeds_of_all_splits_and_starts_differ_and_start_0_has_the_number_of_its_split() -> None:
    assert [run_seed(split, 0) for split in range(5)] == [0, 1, 2, 3, 4]
    seeds = [run_seed(split, seed) for split in (0, 4, 9999) for seed in range(5)]
    assert len(set(seeds)) == len(seeds)


def test_conditions_of_a_family_are_the_settings_of_its_training() -> None:
    conditions = {"resnet": "layernorm_reglu", "map_centres": "second_pass", "x_scale": "epsilon"}
    family = Family("f", (QRT,), (), False, conditions)
    settings = training_settings(family, TRAINING)
    assert (settings.resnet_form, settings.map_centres, settings.max_epochs) == ("released", "second_pass", 4)
    assert settings.early_stopping == TrainingSettings().early_stopping, "concerns none of them"


def test_targets_alone_are_those_of_the_whole_split(folder: Path) -> None:
    data, targets = load_split(folder, 1), load_targets(folder, 1)
    assert np.array_equal(targets.y, data.y)
    assert (targets.sizes, targets.y_mean, targets.y_scale) == (data.sizes, data.y_mean, data.y_scale)
