"""What a training job asks for, beside what jobs were seen to take."""

from __future__ import annotations

import pytest

from conftest import PROJECT
from qrt.study.config import load_config, read_schema
from qrt.study.cost import MB_OF_SNAKEMAKE, table_shape, training_memory
from qrt.study.experiments import plan_study
from qrt.study.family import Family

LONGEST, WIDEST = "Allstate_Claims_Severity", "Santander_transaction_value"
# Peak MB of jobs, measured (docs/cluster.md; `python benchmarks/load.py --shapes`).
MEASURED = [
    (LONGEST, "mlp-3.plain", 700),
    (LONGEST, "mlp-3.qrt.variance", 651),
    (LONGEST, "mlp-3.qreg.variance", 666),
    (LONGEST, "resnet-3.batchnorm_relu.plain", 741),
    (LONGEST, "resnet-3.batchnorm_relu.qrt.variance", 897),
    (WIDEST, "mlp-3.plain", 484),
    (WIDEST, "mlp-3.qrt.variance", 537),
    (WIDEST, "mlp-3.qreg.variance", 639),
    (WIDEST, "mlp-3.map_size.variance", 692),
    (WIDEST, "mlp-10.trained.variance", 685),
    (WIDEST, "resnet-3.batchnorm_relu.plain", 589),
    (WIDEST, "resnet-3.batchnorm_relu.qrt.variance", 902),
    (WIDEST, "resnet-3.batchnorm_relu.qreg0.variance", 1114),
    (WIDEST, "resnet-3.layernorm_reglu.qrt.scale", 1126),
    ("CPU", "mlp-3.plain", 328),
    ("CPU", "mlp-3.qreg.variance", 349),
    ("CPU", "resnet-3.batchnorm_relu.qrt.variance", 640),
    ("abalone", "mlp-1.trained.variance", 387),
    ("Power", "mlp-3.qreg.variance", 380),
]


def families(protocol: str) -> dict[str, Family]:
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    return plan_study(load_config({"protocol": protocol}, schema, PROJECT)).families


FAMILIES = families("released") | families("paper")


@pytest.mark.parametrize(("dataset", "family", "peak"), MEASURED)
def test_memory_asked_for_is_above_the_measured_peak_and_not_wasteful(dataset: str, family: str, peak: int) -> None:
    asked = training_memory(dataset, FAMILIES[family], attempt=1) - MB_OF_SNAKEMAKE
    assert 1.2 * peak < asked < 1.7 * peak


def test_each_attempt_asks_for_as_much_memory_again() -> None:
    family = FAMILIES["mlp-3.qrt.variance"]
    first, second, third = (training_memory("Yacht", family, attempt) for attempt in (1, 2, 3))
    assert first < second < third
    assert abs(third - second - first) <= 2


def test_largest_datasets_of_the_measurements_are_those_of_the_paper() -> None:
    assert table_shape(LONGEST) == (53_164, 477)
    assert table_shape(WIDEST) == (2_898, 3_611)
