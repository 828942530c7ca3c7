"""One training job: its rows are the readings of its networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from qrt.data.fetch import fetch
from qrt.data.prepared_store import prepare_dataset
from qrt.data.split_store import load_split
from qrt.engine.calibration_map import fit_map
from qrt.engine.predictive import predictive_from_outputs
from qrt.engine.trainer import TrainingSettings, map_rows, train_stack
from qrt.engine.variant import Variant
from qrt.results.tables import CURVES, PREDICTIONS, RUNS, as_table
from qrt.study.family import Family
from qrt.training.family_job import JobResult, train_family

BASE, PLAIN = Variant(trained_on="train+calibration"), Variant()
QRT = Variant(alpha=1.0, bandwidth=0.2)
TRAINING = {"max_epochs": 4, "patience": 2}
FAMILY = Family(
    name="all",
    networks=(BASE, PLAIN, QRT),
    posthoc=(("none",), ("none", "REFL"), ("none", "REFL", "KDE")),
    kernel_width="scale",
    resnet_form=None,
    curves=True,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    here = tmp_path_factory.mktemp("data")
    table, record = here / "raw.parquet", here / "raw.json"
    place = {"cache": here / "cache", "lock": here / "lock.json"}
    fetch("skewed", table, record, attempt=1, sources=[], mirror=None, own=None, **place)
    prepare_dataset("skewed", table, record, here / "prepared")
    return here / "prepared"


@pytest.fixture(scope="module")
def result(folder: Path) -> JobResult:
    return train_family("skewed", folder, 1, FAMILY, TRAINING, examples=True, log=lambda line: None)


def readings(result: JobResult, network: Variant) -> set[tuple[object, ...]]:
    columns = ("posthoc_map", "posthoc_on", "posthoc_bandwidth", "kernel_width")
    return {tuple(row[name] for name in columns) for row in result.runs if row["variant"] == network.id}


def test_every_reading_that_needs_no_training_is_a_row(result: JobResult) -> None:
    assert readings(result, BASE) == {("none", "base", None, None)}
    assert readings(result, PLAIN) == {
        ("none", "base", None, None),
        ("REFL", "base", 0.1, "variance"),
        ("REFL", "base", 0.1, "scale"),
    }
    assert readings(result, QRT) == {
        ("none", "base", None, "scale"),
        ("none", "training_map", None, "scale"),
        *((name, on, b, "scale") for name in ("REFL", "KDE") for on in ("base", "training_map") for b in (0.1, 0.2)),
    }
    assert all(row["status"] == "ok" for row in result.runs)


def test_released_reading_puts_the_calibration_map_on_the_training_map(result: JobResult, folder: Path) -> None:
    # Written out: F' = Phi_cal o Phi_train o F on the original scale (spec, section 8, rows 1 and 11).
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


def test_curves_are_of_networks_on_training_rows(result: JobResult) -> None:
    curves = pd.DataFrame(result.curves)
    assert set(curves["variant"]) == {PLAIN.id, QRT.id}
    assert set(curves["epoch"]) == {2, 4}


def test_values_on_training_rows_are_those_of_the_curve_at_the_selected_epoch(result: JobResult, folder: Path) -> None:
    scale = np.log(load_split(folder, 1).y_scale)
    curves = pd.DataFrame(result.curves)
    for network, reading, column in ((PLAIN, "base", "nll_base"), (QRT, "training_map", "nll_recalibrated")):
        here = curves[(curves["variant"] == network.id) & (curves["part"] == "train")]
        selected = here[here["epoch"] == here["selected_epoch"]].iloc[0]
        (row,) = (
            row
            for row in result.runs
            if (row["variant"], row["posthoc_map"], row["posthoc_on"]) == (network.id, "none", reading)
        )
        assert row["train_nll"] == pytest.approx(selected[column] + scale, abs=1e-4)
        assert row["train_pce_levels"] == pytest.approx(selected["pce"], abs=1e-3)
    assert all("train_nll" not in row for row in result.runs if row["variant"] == BASE.id)


def test_example_densities_are_densities_over_the_central_mass(result: JobResult) -> None:
    predictions = pd.DataFrame(result.predictions)
    plain = predictions[(predictions["variant"] == PLAIN.id) & (predictions["posthoc_map"] == "none")]
    for _, row in plain.groupby("row"):
        assert 0.98 < np.trapezoid(row["density"], row["y"]) < 1.001
        assert row["y"].min() <= row["target"].iloc[0] <= row["y"].max()
        at_target = np.interp(row["target"].iloc[0], row["y"], row["density"])
        assert at_target == pytest.approx(np.exp(-row["nll"].iloc[0]), rel=0.02, abs=1e-3)


def test_rows_have_documented_columns_only(result: JobResult) -> None:
    for rows, columns in ((result.runs, RUNS), (result.curves, CURVES), (result.predictions, PREDICTIONS)):
        assert len(as_table(rows, columns)) == len(rows)


def test_same_job_gives_the_same_rows(result: JobResult, folder: Path) -> None:
    again = train_family("skewed", folder, 1, FAMILY, TRAINING, examples=True, log=lambda line: None)
    first, second = (pd.DataFrame(job.runs).drop(columns="train_seconds") for job in (result, again))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
