"""Predictions for everybody: what comes back from their files is what the study evaluated."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scoringrules
import torch

from qrt.engine.registry import METRICS
from qrt.errors import UserError
from qrt_study.__main__ import main
from qrt_study.data.record import file_sha256, write_record
from qrt_study.results.prediction_file import MOST, PRECISIONS, PredictionFile
from qrt_study.results.prediction_job import DatasetPredictions
from qrt_study.results.predictions import predictions
from qrt_study.training.networks_file import read_networks, write_networks
from support.damage import flip
from support.small_jobs import BASE, FAMILY, PLAIN, QRT, evaluated, prepared_dataset, train_into

SPLITS = (0, 1, 2)
# Methods as they are tuned: a network, and the way to take it.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "BASE": (BASE.id, {"posthoc_map": "none", "posthoc_on": "base"}),
    "QRC": (PLAIN.id, {"posthoc_map": "REFL", "posthoc_on": "base", "kernel_width": "variance"}),
    "QRT": (QRT.id, {"posthoc_map": "none", "posthoc_on": "training_map"}),
    "QRTC": (QRT.id, {"posthoc_map": "REFL", "posthoc_on": "training_map", "posthoc_bandwidth": 0.1}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")


@pytest.fixture(scope="module")
def outputs(folder: Path) -> dict[int, Path]:
    return {split: train_into(folder / f"split{split}.networks.parquet", folder, split) for split in SPLITS}


@pytest.fixture(scope="module")
def methods(folder: Path, outputs: dict[int, Path]) -> pd.DataFrame:
    """The rows of METHODS of the protocol `released`, as the study evaluated them."""
    runs = pd.DataFrame(evaluated(outputs, folder, examples=False).runs)
    chosen = []
    for method, (variant, way) in METHODS.items():
        rows = runs[(runs["variant"] == variant) & (runs[[*way]] == pd.Series(way)).all(axis=1)]
        chosen.append(rows.assign(method=method, protocol="released"))
    return pd.concat(chosen, ignore_index=True)


@pytest.fixture(scope="module")
def job(folder: Path, outputs: dict[int, Path], methods: pd.DataFrame) -> DatasetPredictions:
    return DatasetPredictions(folder, {FAMILY.name: FAMILY}, {FAMILY.name: outputs}, methods)


@pytest.fixture(scope="module")
def checks(job: DatasetPredictions) -> pd.DataFrame:
    return job.checked()[0]


@pytest.fixture(scope="module")
def published(job: DatasetPredictions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the predictions."""
    path = tmp_path_factory.mktemp("predictions") / "skewed.parquet"
    job.write(path, *job.checked())
    return path.parent


def test_methods_are_found_once_on_every_split(methods: pd.DataFrame) -> None:
    assert methods.groupby("method").size().to_dict() == dict.fromkeys(METHODS, len(SPLITS))


def test_outputs_give_the_metrics_of_the_study(checks: pd.DataFrame) -> None:
    assert set(checks["metric"]) == set(METRICS)
    np.testing.assert_allclose(checks["value"], checks["published"], rtol=1e-9, atol=1e-12)


def test_rounding_moves_no_metric_by_a_tenth_of_its_standard_error(checks: pd.DataFrame, published: Path) -> None:
    assert checks["rounding"].max() <= MOST
    described = PredictionFile(published / "skewed.parquet").described
    assert all(share <= MOST for share in described["rounding"].values())
    assert all(one["splits"][str(split)]["as_published"] for one in described["networks"].values() for split in SPLITS)


@pytest.mark.parametrize("method", METHODS)
def test_loaded_distributions_have_the_published_scores(published: Path, checks: pd.DataFrame, method: str) -> None:
    of_method = checks[(checks["method"] == method) & (checks["split"] == 1)].set_index("metric")
    test = predictions("skewed", protocol="released", method=method, split=1, folder=published)
    assert test.distribution.log_score(test.y).mean() == pytest.approx(of_method.loc["nll", "rounded"], rel=1e-9)
    assert test.distribution.crps(test.y).mean() == pytest.approx(of_method.loc["crps", "rounded"], rel=1e-9)
    low, high = test.distribution.interval(0.9).T
    assert ((low <= test.y) & (test.y <= high)).mean() == of_method.loc["coverage_90", "rounded"]


def test_crps_of_loaded_mixtures_is_that_of_scoringrules(published: Path) -> None:
    test = predictions("skewed", protocol="released", method="BASE", folder=published)
    means, scales, log_weights = test.distribution.predictive.mixture
    theirs = scoringrules.crps_mixnorm(test.y, means.numpy(), scales.numpy(), log_weights.exp().numpy())
    np.testing.assert_allclose(test.distribution.crps(test.y), theirs, rtol=1e-5, atol=1e-7)


def test_rows_are_those_of_the_prepared_data(published: Path, folder: Path) -> None:
    y = np.load(folder / "y.npy")
    for split in SPLITS:
        test = predictions("skewed", protocol="released", method="QRC", split=split, folder=published)
        np.testing.assert_allclose(y[test.rows], test.y, rtol=1e-5, atol=1e-6)


def test_narrow_components_are_kept_more_exactly(
    folder: Path, outputs: dict[int, Path], methods: pd.DataFrame, tmp_path: Path
) -> None:
    """Peaks as on discrete data: rounding moves them by more than their width."""
    files = {}
    for split, path in outputs.items():
        networks = []
        for one in read_networks(path, FAMILY.networks):
            if one.variant.id == PLAIN.id:
                peaks = {part: values.clone() for part, values in one.outputs.items()}
                for values in peaks.values():
                    values[:, 3:6] = -12.0  # scales near their floor of 0.001
                    values[:, :3] += 20.0
                one = replace(one, outputs=peaks)  # noqa: PLW2901
            networks.append(one)
        files[split] = tmp_path / f"split{split}.networks.parquet"
        write_networks(files[split], networks)
    chosen = methods[methods["method"] == "QRC"]
    _, precisions = DatasetPredictions(folder, {FAMILY.name: FAMILY}, {FAMILY.name: files}, chosen).checked()
    assert PRECISIONS[0] not in precisions.values()


def test_new_metric_needs_the_predictions_alone(published: Path, tmp_path: Path, checks: pd.DataFrame) -> None:
    out = tmp_path / "scores.parquet"
    file = str(published / "skewed.parquet")
    assert main(["score", "released", "--predictions", file, "--out", str(out)]) == 0
    scores = pd.read_parquet(out)
    tuned = scores[scores["as_tuned"] == 1].set_index(["method", "split"])
    for (method, split), rows in checks.groupby(["method", "split"]):
        for metric, rounded in zip(rows["metric"], rows["rounded"], strict=True):
            assert tuned.loc[(method, split), f"test_{metric}"] == pytest.approx(rounded, rel=1e-9, nan_ok=True)
    # Other post-hoc maps on the same networks.
    assert {"EMP", "DCP", "KDE", "TRUNC", "REFL", "none"} <= set(scores.loc[scores["method"] == "QRC", "posthoc_map"])


@pytest.mark.parametrize("asked", [{"dataset": "skewd"}, {"method": "QRTX"}, {"protocol": "papers"}, {"split": 7}])
def test_what_is_not_there_is_named(published: Path, asked: dict[str, object]) -> None:
    place = {"dataset": "skewed", "protocol": "released", "method": "QRC", "split": 0} | asked
    with pytest.raises(UserError, match=str(next(iter(asked.values())))):
        predictions(folder=published, **place)  # type: ignore[arg-type]


@pytest.fixture
def in_results(published: Path, tmp_path: Path) -> Path:
    """The predictions in a folder of published results, as they were before they had a checksum of their own."""
    path = tmp_path / "results/predictions/skewed.parquet"
    path.parent.mkdir(parents=True)
    table = pq.read_table(published / "skewed.parquet")
    described = PredictionFile(published / "skewed.parquet").described
    pq.write_table(table.replace_schema_metadata({b"qrt.predictions": json.dumps(described).encode()}), path)
    files = {"predictions/skewed.parquet": file_sha256(path)}
    manifest = {"datasets": {"skewed": "data"}, "families": {}, "splits": [0], "timed": {}, "files": files}
    write_record(tmp_path / "results/manifest.json", manifest)
    return path


def test_published_predictions_are_those_of_the_manifest(in_results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content, bits = in_results.read_bytes(), random.Random(3)
    asked: dict[str, Any] = {"protocol": "released", "method": "QRC", "folder": in_results.parent}
    assert len(predictions("skewed", **asked).y)
    for bit in bits.sample(range(len(content) * 8), 30):
        in_results.write_bytes(content)
        flip(in_results, bit)
        with pytest.raises(UserError, match="changed since it was published"):
            predictions("skewed", **asked)
    out = in_results.with_name("scores.out")
    assert main(["score", "released", "--predictions", str(in_results), "--out", str(out)]) == 2
    assert "changed since it was published" in capsys.readouterr().err
    assert not out.exists()
    in_results.rename(in_results.with_name("other.parquet"))
    with pytest.raises(UserError, match="changed since it was published"):
        predictions("other", **asked)


def test_flipped_bit_never_changes_predictions_of_a_study_unseen(published: Path, tmp_path: Path) -> None:
    path, bits, found = tmp_path / "predictions.parquet", random.Random(5), 0
    content, sound = (published / "skewed.parquet").read_bytes(), PredictionFile(published / "skewed.parquet")
    network, described = sound.described["methods"][0]["network"], json.dumps(sound.described)
    expected = sound.parameters(network, 0, "test")
    for bit in bits.sample(range(len(content) * 8), 150):
        path.write_bytes(content)
        flip(path, bit)
        try:
            got = PredictionFile(path).parameters(network, 0, "test")
        except UserError:
            found += 1
            assert not path.exists()
        else:
            np.testing.assert_array_equal(got, expected)
            assert json.dumps(PredictionFile(path).described) == described
    assert found > 50


@pytest.mark.parametrize(
    "metadata", [None, {b"qrt.predictions": b"{}"}, {b"qrt.predictions": b"\xff{"}, {b"qrt.predictions": b'{"data": 1'}]
)
def test_file_that_holds_no_predictions_is_refused(tmp_path: Path, metadata: dict[bytes, bytes] | None) -> None:
    pq.write_table(pa.table({"split": [0]}).replace_schema_metadata(metadata), tmp_path / "a.parquet")
    with pytest.raises(UserError, match=r"a\.parquet: not a whole file of predictions"):
        predictions("a", folder=tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 this is none PAR1")
    with pytest.raises(UserError, match=r"a\.parquet: not a whole file of predictions"):
        predictions("a", folder=tmp_path)


def test_file_is_read_without_this_package(published: Path) -> None:
    """Its columns are what docs/results.md says."""
    frame = pd.read_parquet(published / "skewed.parquet")
    network = f"{FAMILY.name}/{QRT.id}"
    assert {"split", "part", "row", "y", f"{network} mean1", f"{network} scale3", f"{network} pit"} <= set(frame)
    weights = np.exp(frame.loc[frame["part"] == "test", [f"{network} log_weight{k}" for k in (1, 2, 3)]].astype(float))
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=0.02)
    assert set(frame["part"]) == {"calibration", "test", "map"}
    assert json.dumps(PredictionFile(published / "skewed.parquet").described)
    assert torch.get_num_threads() == 1


def test_missing_network_is_named(folder: Path, outputs: dict[int, Path], methods: pd.DataFrame) -> None:
    fewer = {split: outputs[split] for split in SPLITS[:2]}
    with pytest.raises(UserError, match=QRT.id):
        DatasetPredictions(folder, {FAMILY.name: FAMILY}, {FAMILY.name: fewer}, methods)
