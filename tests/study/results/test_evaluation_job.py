"""From what trained networks say to rows: every way to take their distribution that needs no training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from qrt.engine.calibration_map import fit_map
from qrt.engine.predictive import predictive_from_outputs
from qrt.engine.trainer import TrainingSettings, map_rows, train_stack
from qrt.engine.variant import Variant
from qrt_study.data.split_store import load_split
from qrt_study.results.evaluation_job import EvaluatedFamily
from qrt_study.results.tables import CURVES, PREDICTIONS, RUNS, as_table
from qrt_study.training.networks_file import NetworkResult, write_networks
from support.small_jobs import BASE, FAMILY, PLAIN, QRT, evaluated, prepared_dataset, train_into


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared_dataset(tmp_path_factory.mktemp("data"), "skewed")


@pytest.fixture(scope="module")
def files(folder: Path) -> dict[int, Path]:
    """What the networks of splits 1 and 0 say, in this order."""
    return {split: train_into(folder / f"split{split}.networks.parquet", folder, split) for split in (1, 0)}


@pytest.fixture(scope="module")
def both(files: dict[int, Path], folder: Path) -> EvaluatedFamily:
    return evaluated(files, folder, examples=True)


@pytest.fixture(scope="module")
def result(both: EvaluatedFamily) -> EvaluatedFamily:
    """The rows of split 1."""
    return EvaluatedFamily(
        runs=[row for row in both.runs if row["split"] == 1], curves=[row for row in both.curves if row["split"] == 1]
    )


def ways(result: EvaluatedFamily, network: Variant) -> set[tuple[object, ...]]:
    columns = ("posthoc_map", "posthoc_on", "posthoc_bandwidth", "kernel_width")
    return {tuple(row[name] for name in columns) for row in result.runs if row["variant"] == network.id}


def test_every_way_that_needs_no_training_is_a_row(result: EvaluatedFamily) -> None:
    assert ways(result, BASE) == {("none", "base", None, None)}
    assert ways(result, PLAIN) == {
        ("none", "base", None, None),
        ("REFL", "base", 0.1, "variance"),
        ("REFL", "base", 0.1, "scale"),
    }
    assert ways(result, QRT) == {
        ("none", "base", None, "scale"),
        ("none", "training_map", None, "scale"),
        *((name, on, b, "scale") for name in ("REFL", "KDE") for on in ("base", "training_map") for b in (0.1, 0.2)),
    }
    assert all(row["status"] == "ok" for row in result.runs)


def test_released_way_puts_the_calibration_map_on_the_training_map(result: EvaluatedFamily, folder: Path) -> None:
    # Written out: F' = Phi_cal o Phi_train o F on the original scale (docs/protocol.md, section 8, rows 1 and 11).
    data = load_split(folder, 1)
    settings = TrainingSettings(max_epochs=4, patience=2, kernel_width="scale")
    (network,) = train_stack(data, [QRT], settings, seed=1)

    def pits_and_log_density(part: str, rows: np.ndarray | slice = slice(None)) -> tuple[torch.Tensor, torch.Tensor]:
        x, y = data.part(part)
        log_density, pit = predictive_from_outputs(network.outputs(x[rows])).log_density_and_pit(
            torch.from_numpy(y[rows]).double()
        )
        return pit, log_density

    train_pits, _ = pits_and_log_density("train", map_rows(data.sizes["train"], 1).numpy())
    inner = fit_map("REFL", train_pits, 0.2, "scale")
    outer = fit_map("REFL", inner.cdf(pits_and_log_density("calibration")[0]), 0.1, "scale")
    pit, log_density = pits_and_log_density("test")
    total = log_density + inner.log_density(pit) + outer.log_density(inner.cdf(pit)) - np.log(data.y_scale)
    (row,) = (
        row
        for row in result.runs
        if row["variant"] == QRT.id
        and (row["posthoc_map"], row["posthoc_on"], row["posthoc_bandwidth"]) == ("REFL", "training_map", 0.1)
    )
    assert row["test_nll"] == pytest.approx(-float(total.mean()), abs=1e-4)


def test_curves_are_of_networks_on_training_rows(result: EvaluatedFamily) -> None:
    curves = pd.DataFrame(result.curves)
    assert set(curves["variant"]) == {PLAIN.id, QRT.id}
    assert set(curves["epoch"]) == {2, 4}


def test_values_on_training_rows_are_those_of_the_curve_at_the_selected_epoch(
    result: EvaluatedFamily, folder: Path
) -> None:
    scale = np.log(load_split(folder, 1).y_scale)
    curves = pd.DataFrame(result.curves)
    for network, on, column in ((PLAIN, "base", "nll_base"), (QRT, "training_map", "nll_recalibrated")):
        here = curves[(curves["variant"] == network.id) & (curves["part"] == "train")]
        selected = here[here["epoch"] == here["selected_epoch"]].iloc[0]
        (row,) = (
            row
            for row in result.runs
            if (row["variant"], row["posthoc_map"], row["posthoc_on"]) == (network.id, "none", on)
        )
        assert row["train_nll"] == pytest.approx(selected[column] + scale, abs=1e-4)
        assert row["train_pce_levels"] == pytest.approx(selected["pce"], abs=1e-3)
    assert all("train_nll" not in row for row in result.runs if row["variant"] == BASE.id)


def test_example_densities_are_densities_over_the_central_mass(both: EvaluatedFamily) -> None:
    predictions = pd.DataFrame(both.predictions)
    assert set(predictions["split"]) == {0}
    plain = predictions[(predictions["variant"] == PLAIN.id) & (predictions["posthoc_map"] == "none")]
    for _, row in plain.groupby("row"):
        assert 0.98 < np.trapezoid(row["density"], row["y"]) < 1.001
        assert row["y"].min() <= row["target"].iloc[0] <= row["y"].max()
        at_target = np.interp(row["target"].iloc[0], row["y"], row["density"])
        assert at_target == pytest.approx(np.exp(-row["nll"].iloc[0]), rel=0.02, abs=1e-3)


def test_dataset_that_no_figure_shows_has_no_example_densities(files: dict[int, Path], folder: Path) -> None:
    assert evaluated({0: files[0]}, folder, examples=False).predictions == []


def test_splits_are_evaluated_apart_and_in_their_order(
    both: EvaluatedFamily, result: EvaluatedFamily, files: dict[int, Path], folder: Path
) -> None:
    assert list(dict.fromkeys(row["split"] for row in both.runs)) == [1, 0]
    alone = evaluated({1: files[1]}, folder, examples=True)
    tables = [pd.DataFrame(one.runs).drop(columns="evaluation_seconds") for one in (alone, result)]
    pd.testing.assert_frame_equal(*tables, check_exact=True)
    assert alone.curves == result.curves


def test_rows_have_documented_columns_only(both: EvaluatedFamily) -> None:
    for rows, columns in ((both.runs, RUNS), (both.curves, CURVES), (both.predictions, PREDICTIONS)):
        assert len(as_table(rows, columns)) == len(rows)


def test_network_that_was_not_trained_is_a_row_with_its_status_and_reason(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file.parquet"
    write_networks(file, [NetworkResult(network, "failed", "killed") for network in FAMILY.networks])
    rows = evaluated({0: file}, folder, examples=True)
    assert [row["variant"] for row in rows.runs] == [network.id for network in FAMILY.networks]
    assert {(row["status"], row["reason"]) for row in rows.runs} == {("failed", "killed")}
    assert all("test_nll" not in row for row in rows.runs)
    assert (rows.curves, rows.predictions) == ([], [])
