"""What a training job asks for, beside what jobs were seen to take."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

from conftest import PROJECT
from qrt.data.table_shape import estimated_shape
from qrt.engine.variant import Variant
from qrt.running.study_files import StudyFiles
from qrt.study.config import OwnDataset, load_config, read_schema
from qrt.study.cost import MB_OF_SNAKEMAKE, UNKNOWN_SHAPE, TrainingJob, table_shape
from qrt.study.family import Family

LONGEST, WIDEST = "Allstate_Claims_Severity", "Santander_transaction_value"
# Peak MB of jobs by base model and number of networks, measured (docs/cluster.md; `benchmarks/load.py --shapes`).
MEASURED: list[tuple[str, Literal["mlp", "resnet"], int, int, int]] = [
    (LONGEST, "mlp", 3, 2, 700),
    (LONGEST, "mlp", 3, 4, 651),
    (LONGEST, "mlp", 3, 20, 666),
    (LONGEST, "resnet", 3, 2, 741),
    (LONGEST, "resnet", 3, 4, 897),
    (WIDEST, "mlp", 3, 2, 484),
    (WIDEST, "mlp", 3, 4, 537),
    (WIDEST, "mlp", 3, 20, 692),
    (WIDEST, "mlp", 10, 24, 685),
    (WIDEST, "resnet", 3, 2, 589),
    (WIDEST, "resnet", 3, 4, 902),
    (WIDEST, "resnet", 3, 6, 1126),
    (WIDEST, "resnet", 3, 8, 1114),
    ("CPU", "mlp", 3, 2, 328),
    ("CPU", "mlp", 3, 20, 349),
    ("CPU", "resnet", 3, 4, 640),
    ("abalone", "mlp", 1, 24, 387),
    ("Power", "mlp", 3, 20, 380),
]


def family_of(number: int, *, base_model: Literal["mlp", "resnet"] = "mlp", components: int = 3) -> Family:
    """A family of so many networks with a map."""
    networks = tuple(
        Variant(base_model=base_model, components=components, alpha=1.0, bandwidth=0.1 * (i + 1)) for i in range(number)
    )
    return Family("f", networks, (), False, {})


def job(dataset: str, family: Family | None = None, max_epochs: int = 5000) -> TrainingJob:
    return TrainingJob(table_shape(dataset), family or family_of(20), max_epochs)


def study_files(**config: Any) -> StudyFiles:
    return StudyFiles(load_config(config, read_schema(PROJECT / "workflow/schemas/config.schema.yaml"), PROJECT))


@pytest.mark.parametrize(("dataset", "base_model", "components", "number", "peak"), MEASURED)
def test_memory_asked_for_is_above_the_measured_peak_and_not_wasteful(
    dataset: str, base_model: Literal["mlp", "resnet"], components: int, number: int, peak: int
) -> None:
    family = family_of(number, base_model=base_model, components=components)
    asked = job(dataset, family).memory(attempt=1) - MB_OF_SNAKEMAKE
    assert 1.2 * peak < asked < 1.7 * peak


def test_each_attempt_asks_for_as_much_memory_again() -> None:
    first, second, third = (job("Yacht").memory(attempt) for attempt in (1, 2, 3))
    assert first < second < third
    assert abs(third - second - first) <= 2


def test_cost_grows_with_the_data_and_with_each_attempt() -> None:
    small, large = job("Yacht"), job(LONGEST)
    assert small.minutes(1) < large.minutes(1)
    assert small.minutes(1) < small.minutes(2)
    assert small.memory(1) < large.memory(1)
    assert small.evaluation_minutes(1) < large.evaluation_minutes(1)
    assert large.evaluation_memory(1) < large.evaluation_memory(2)
    assert job("linear", max_epochs=10).minutes(1) <= small.minutes(1)


def test_short_jobs_share_a_job_of_the_cluster_and_long_ones_do_not() -> None:
    assert job("linear", max_epochs=4).group == "train_seconds"
    assert job(LONGEST, family_of(4, base_model="resnet")).group is None


def test_largest_datasets_of_the_measurements_are_those_of_the_paper() -> None:
    assert table_shape(LONGEST) == (53_164, 477)
    assert table_shape(WIDEST) == (2_898, 3_611)


def test_shape_of_own_data_is_that_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("a,b,y\n" + "1.25,2.5,3.75\n" * 4000)
    own = {"mine": {"path": str(file), "target": "y"}}
    files = study_files(datasets=["linear"], own_datasets=own)
    rows, features = files.shape("mine")
    assert rows == pytest.approx(0.65 * 4000, rel=0.1)
    assert features == pytest.approx(2, abs=1)
    assert files.large_datasets == []
    family = next(iter(files.plan.families_on("mine")))
    assert files.training_job("mine", family).group == "train_seconds"


@pytest.mark.parametrize("rows", [40, 40_000])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_shape_of_a_file_is_estimated_without_reading_all_of_it(tmp_path: Path, ending: str, rows: int) -> None:
    path = tmp_path / f"mine.{ending}"
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(rows, 5)))
    table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    found, columns = estimated_shape(path)
    assert found == pytest.approx(rows, rel=0.1)
    assert columns == 5


@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz", "mine.parquet"])
@pytest.mark.parametrize("damage", [b"", b"\x00" * 100, gzip.compress(b"a,b\n" * 9999)[:60] + b"\xff" * 60])
def test_file_that_is_no_table_has_no_shape_worth_a_message(tmp_path: Path, name: str, damage: bytes) -> None:
    (tmp_path / name).write_bytes(damage)
    rows, _ = estimated_shape(tmp_path / name)
    assert rows <= 1, "whoever reads the table says what is wrong with it"


def test_unknown_shape_of_own_data_is_taken_to_be_large() -> None:
    assert table_shape("mine", {"mine": OwnDataset(Path("mine.csv"), "y", ())}) == UNKNOWN_SHAPE
