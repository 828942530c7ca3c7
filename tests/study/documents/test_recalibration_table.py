"""The table of the cookbook is what benchmarks/recalibration.csv gives, and the CSV what the benchmark measures."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from conftest import PROJECT
from qrt.estimator.any_distribution import AnyDistribution
from qrt.estimator.recalibrated import RecalibratedDistribution
from qrt_study.documents.written_block import with_block

TABLE = PROJECT / "benchmarks/recalibration.csv"


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """The module benchmarks/recalibration.py."""
    spec = importlib.util.spec_from_file_location("recalibration", PROJECT / "benchmarks/recalibration.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_is_written_from_the_table(benchmark: Any) -> None:
    page = (PROJECT / "docs/cookbook.md").read_text(encoding="utf-8")
    assert with_block(page, "recalibration", benchmark.block(pd.read_csv(TABLE))) == page


def test_every_model_was_measured_in_every_way_on_the_same_splits(benchmark: Any) -> None:
    table = pd.read_csv(TABLE)
    assert set(table["dataset"]) == set(benchmark.DATASETS)
    counts = table.groupby(["dataset", "split"]).size()
    assert set(counts) == {len(benchmark.MODELS) * len(benchmark.WAYS)}
    assert not table.duplicated(["dataset", "split", "model", "way"]).any()


def test_temperature_of_normal_distributions_is_the_factor_of_their_width(benchmark: Any) -> None:
    generator = np.random.default_rng(0)
    centre = generator.normal(size=4000)
    y = generator.normal(centre, 1.0)
    base = RecalibratedDistribution(AnyDistribution(stats.norm(centre, 0.4)), ())
    temperature = benchmark.tempered(base, y)
    assert temperature == pytest.approx(np.std(y - centre) / 0.4, rel=1e-3)
    stretched, truth = benchmark.Tempered(base, base.median(), temperature), stats.norm(centre, 0.4 * temperature)
    assert stretched.cdf(y) == pytest.approx(truth.cdf(y), abs=1e-9)
    assert stretched.log_score(y) == pytest.approx(-truth.logpdf(y), abs=1e-9)
    of_truth = RecalibratedDistribution(AnyDistribution(truth), ())
    assert stretched.crps(y) == pytest.approx(of_truth.crps(y), abs=1e-6)
