"""What a training job asks for, beside what jobs were seen to take."""

from __future__ import annotations

import gzip
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from conftest import PROJECT
from qrt.engine.variant import Variant
from qrt_study.data.table_shape import estimated_shape
from qrt_study.plan.config import PAPER_TRAINING
from qrt_study.plan.cost import (
    MB_OF_SNAKEMAKE,
    START_SECONDS,
    UNKNOWN_SHAPE,
    USUAL_EPOCHS,
    TrainingJob,
    table_shape,
    timing_seconds,
    usual_epochs,
)
from qrt_study.plan.family import Family
from qrt_study.plan.own_dataset import OwnDataset
from qrt_study.published import table2
from qrt_study.results.archive import hours_of_times
from qrt_study.running.study_files import StudyFiles
from support.configured import study_with

PUBLISHED_TIMES = PROJECT / "replication/results/times/paper.parquet"
LONGEST, WIDEST = "Allstate_Claims_Severity", "Santander_transaction_value"
# Peak MB of jobs by base model and number of networks, measured (docs/costs.md; `benchmarks/load.py --shapes`).
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
    return Family("f", networks, (("none", "REFL"),) * number, False, {})


def job(dataset: str, family: Family | None = None, max_epochs: int = 5000) -> TrainingJob:
    return TrainingJob(table_shape(dataset), family or family_of(20), max_epochs)


def study_files(**config: Any) -> StudyFiles:
    return StudyFiles(study_with(**config))


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


def measured_jobs() -> list[tuple[float, float, float]]:
    """CPU seconds of the jobs in docs/costs.md, what the page says the formula gives, and what it gives."""
    row = re.compile(
        r"\| (\S+) \([^|]*\) \| (paper|released) \| `(\S+)` \(\d+\) \| ([\d,]+) \| \d+ \| (\S+) \| (\S+) \|"
    )
    page = (PROJECT / "docs/costs.md").read_text(encoding="utf-8")
    studies = {protocol: study_files(protocols=[protocol]) for protocol in ("paper", "released")}
    jobs = []
    for dataset, protocol, family, most, seconds, told in row.findall(page):
        planned = studies[protocol].training_job(dataset, family)
        found = replace(planned, max_epochs=int(most.replace(",", "")))
        jobs.append((float(seconds), float(told), found.seconds))
    return jobs


def test_formula_is_close_to_most_measured_jobs() -> None:
    jobs = measured_jobs()
    assert len(jobs) >= 30
    assert all(told == pytest.approx(found, abs=0.06) for _, told, found in jobs), "docs/costs.md is out of date"
    close = [1 / 1.5 < found / seconds < 1.5 for seconds, _, found in jobs]
    assert sum(close) >= 0.8 * len(close)


def test_formula_of_evaluation_is_close_to_measured_jobs() -> None:
    """CPU seconds of all five splits in the study of docs/costs.md: small and large data, with and without maps."""
    measured = {
        ("paper", "CPU", "mlp-3.plain"): 3.3,
        ("paper", "CPU", "mlp-3.qrt.variance.same_pass"): 8.7,
        ("paper", "Concrete", "mlp-3.qreg.variance.nll.same_pass"): 23.5,
        ("paper", "quake", "mlp-3.qrt.variance.same_pass"): 17.4,
        ("released", "CPU", "mlp-3.qrt.scale.second_pass"): 14.6,
        ("released", "quake", "mlp-3.qrt.scale.second_pass"): 25.3,
    }
    for (protocol, dataset, family), seconds in measured.items():
        expected = study_files(protocols=[protocol]).training_job(dataset, family).evaluation_seconds
        assert 1 / 1.5 < expected / seconds < 1.5, (dataset, family)


def test_epochs_are_those_published_for_the_dataset() -> None:
    published = table2().set_index("dataset").loc["Airfoil"]
    selected = [published[f"epochs_{method}"] for method in ("BASE", "QREGC", "QRTC")]
    assert usual_epochs("Airfoil") == pytest.approx(sum(selected) / 3 + 2 * PAPER_TRAINING["patience"])
    assert usual_epochs("linear") == USUAL_EPOCHS
    files = study_files(datasets=["Airfoil", "us_crime"])
    longer, shorter = (files.training_job(name, "mlp-3.plain") for name in ("Airfoil", "us_crime"))
    assert shorter.shape[0] > longer.shape[0]
    assert longer.seconds > shorter.seconds


@pytest.mark.parametrize("base_model", ["mlp", "resnet"])
def test_second_pass_costs_more(base_model: Literal["mlp", "resnet"]) -> None:
    family = family_of(4, base_model=base_model)
    same, second = (
        job("Power", replace(family, conditions={"map_centres": setting})) for setting in ("same_pass", "second_pass")
    )
    assert same.seconds < second.seconds


def test_released_resnet_costs_more_than_that_of_the_paper() -> None:
    family = family_of(2, base_model="resnet")
    paper, released = (
        job("Power", replace(family, conditions={"resnet": form})) for form in ("batchnorm_relu", "layernorm_reglu")
    )
    assert paper.seconds < released.seconds


def test_map_costs_more_the_more_rows_it_has_and_no_more_than_the_dataset_has() -> None:
    def seconds(dataset: str, size: int) -> float:
        return job(dataset, Family("f", (Variant(alpha=1.0, bandwidth=0.1, map_size=size),), (), False)).seconds

    assert seconds("Power", 8) < seconds("Power", 512) < seconds("Power", 2048)
    assert seconds("Yacht", 512) == seconds("Yacht", 2048)


def test_number_of_components_costs_nothing() -> None:
    assert job("Power", family_of(4, components=10)).seconds == job("Power", family_of(4, components=1)).seconds


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


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_rows_are_counted_whatever_they_end_with(tmp_path: Path, end: str) -> None:
    (tmp_path / "mine.csv").write_bytes(end.join(["a,y", *["1,2"] * 99, ""]).encode())
    assert estimated_shape(tmp_path / "mine.csv") == (100, 2)


@pytest.mark.parametrize("name", ["mine.csv", "mine.csv.gz", "mine.parquet"])
@pytest.mark.parametrize("damage", [b"", b"\x00" * 100, gzip.compress(b"a,b\n" * 9999)[:60] + b"\xff" * 60])
def test_file_that_is_no_table_has_no_shape_worth_a_message(tmp_path: Path, name: str, damage: bytes) -> None:
    (tmp_path / name).write_bytes(damage)
    rows, _ = estimated_shape(tmp_path / name)
    assert rows <= 1, "whoever reads the table says what is wrong with it"


def test_unknown_shape_of_own_data_is_taken_to_be_large() -> None:
    assert table_shape("mine", {"mine": OwnDataset(Path("mine.csv"), "y")}) == UNKNOWN_SHAPE


@pytest.mark.skipif(not PUBLISHED_TIMES.exists(), reason="this clone has no published results in replication/results")
def test_times_of_table_2_cost_about_what_published_ones_took() -> None:
    measured = hours_of_times(pq.read_table(PUBLISHED_TIMES))
    splits = 5
    starts = splits * len(measured) * START_SECONDS / 3600  # not in the measured ones
    expected = sum(splits * timing_seconds(table_shape(name), usual_epochs(name)) for name in measured) / 3600 - starts
    assert 1 / 1.5 < sum(measured.values()) / expected < 1.5
