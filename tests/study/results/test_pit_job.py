"""Counted PITs: against the published predictions as distributions, counted row by row."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from qrt_study.__main__ import main
from qrt_study.results.pit_table import BINS, HISTOGRAM, LEVELS, PITS, RELIABILITY
from qrt_study.results.predictions import PUBLISHED, predictions

SPLITS = range(5)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    out: Path = tmp_path_factory.mktemp("pits") / "pits.csv"
    files = [str(PUBLISHED / f"{name}.parquet") for name in ("Yacht", "CPU")]
    assert main(["pits", "--predictions", *files, "--out", str(out)]) == 0
    return pd.read_csv(out)


@pytest.mark.parametrize(("protocol", "method"), [("paper", "BASE"), ("released", "QRTC")])
def test_shares_are_those_of_the_pooled_pits(table: pd.DataFrame, protocol: str, method: str) -> None:
    predicted = [predictions("Yacht", protocol=protocol, method=method, split=split) for split in SPLITS]
    pits = np.concatenate([one.distribution.cdf(one.y) for one in predicted])
    rows = table.query("dataset == 'Yacht' and protocol == @protocol and method == @method").set_index("shows")
    histogram, reliability = rows.loc[HISTOGRAM], rows.loc[RELIABILITY]
    bins = Counter(min(int(pit * BINS), BINS - 1) for pit in pits)
    assert list(histogram["share"]) == pytest.approx([bins[place] / len(pits) for place in range(BINS)])
    assert list(reliability["share"]) == pytest.approx([np.mean(pits <= level) for level in LEVELS])
    assert set(rows["rows"]) == {len(pits)}
    assert set(rows["splits"]) == {len(SPLITS)}


def test_band_is_that_of_independent_rows(table: pd.DataFrame) -> None:
    times = Counter(row for split in SPLITS for row in predictions("Yacht", split=split).rows)
    independent = sum(times.values()) ** 2 / sum(count**2 for count in times.values())
    rows = table[table["dataset"] == "Yacht"]
    (effective,) = set(rows["effective_rows"])
    assert effective == round(independent)
    assert effective < rows["rows"].iloc[0]
    levels = np.where(rows["shows"] == HISTOGRAM, 1 / BINS, rows["level"])
    for low, high, level in zip(rows["lower"], rows["upper"], levels, strict=True):
        below, above = (round(end * effective) for end in (low, high))
        assert stats.binom.cdf(below - 1, effective, level) < 0.025 <= stats.binom.cdf(below, effective, level)
        assert stats.binom.cdf(above - 1, effective, level) < 0.975 <= stats.binom.cdf(above, effective, level)


def test_every_method_of_every_protocol_and_dataset_is_counted(table: pd.DataFrame) -> None:
    assert list(table) == list(PITS)
    counted = table.groupby(["protocol", "dataset", "method"]).size()
    assert len(counted) == 2 * 2 * 6
    assert set(counted) == {BINS + len(LEVELS)}


def test_study_without_predictions_has_an_empty_table(tmp_path: Path) -> None:
    assert main(["pits", "--predictions", "--out", str(tmp_path / "pits.csv")]) == 0
    assert list(pd.read_csv(tmp_path / "pits.csv")) == list(PITS)
