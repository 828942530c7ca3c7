"""The pages of the extensions: what they say is what their tables have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle

from qrt_study.figures import style
from qrt_study.figures.gains import draw_gains
from qrt_study.pages.extension import (
    COVERAGE,
    GAINS,
    NOT_PAPER,
    STOPPING,
    Extension,
    extension_page,
    findings,
)
from qrt_study.plan.compared import Compared
from qrt_study.statistics.comparison import compare
from qrt_study.statistics.from_predictions import GAIN_METRICS
from support.mock_verdicts import mock_study

DATASETS = [f"set{number}" for number in range(12)]
SPLITS = range(3)


@pytest.fixture(scope="module")
def gains() -> Extension:
    """QRTC needs less calibration than BASE on every dataset, and its network is no better."""
    rng = np.random.default_rng(1)
    rows = []
    for dataset in DATASETS:
        for split in SPLITS:
            for method, less in (("BASE", 0.0), ("QRC", 0.1), ("QRTC", 0.3)):
                refined, to_calibrate = rng.normal(1, 0.01), 0.5 - less + rng.normal(0, 0.001)
                rows.append({
                    "experiment": "main", "method": method, "dataset": dataset, "split": split, "status": "ok",
                    "reason": "", "test_nll": refined + to_calibrate, "test_nll_refined": refined,
                    "test_nll_map_gain": to_calibrate, "test_crps": 2.0, "test_crps_refined": 1.5,
                    "test_crps_miscalibration": 0.5,
                })  # fmt: skip
    runs = pd.DataFrame(rows)
    compared = [Compared("main", name, name) for name in ("QRC", "QRTC")]
    statistics = compare(runs, compared, Compared("main", "BASE", "BASE"), GAIN_METRICS, DATASETS, "pooled", {})
    return Extension(GAINS, statistics.tables)


def test_findings_name_the_methods_that_differ_from_the_baseline(gains: Extension) -> None:
    told = dict(sentence.split(": ", 1) for sentence in findings(gains))
    assert "QRTC is lower than BASE (lower on 12 of 12 datasets" in told["NLL to calibrate"]
    assert told["refined NLL"] == "no method differs from BASE."
    assert told["CRPS to calibrate"] == "no method differs from BASE."


def test_summary_has_each_method_against_the_baseline_once(gains: Extension) -> None:
    rows = gains.summary[["metric", "left", "right"]].to_records(index=False).tolist()
    assert sorted(rows) == sorted((metric, method, "BASE") for metric in GAIN_METRICS for method in ("QRC", "QRTC"))
    effect = gains.per_dataset.query("metric == 'NLL to calibrate' and method == 'QRTC'")["cohens_d"].median()
    row = gains.summary.query("metric == 'NLL to calibrate' and left == 'QRTC'").iloc[0]
    assert (row["median_d"], row["left_lower"]) == (effect, len(DATASETS))


def test_summary_of_stopping_has_what_is_left_after_it(gains: Extension) -> None:
    rng = np.random.default_rng(2)
    values = {"QRC": 2.0, "QRC-STOP": 1.5, "QRTC": 1.0}
    rows = [
        {"experiment": "main", "method": method, "dataset": dataset, "split": split, "status": "ok", "reason": "",
         "test_nll": value + rng.normal(0, 0.01)}
        for dataset in DATASETS for split in SPLITS for method, value in values.items()
    ]  # fmt: skip
    baseline, *compared = (Compared("main", name, name) for name in values)
    statistics = compare(pd.DataFrame(rows), compared, baseline, {"NLL": "nll"}, DATASETS, "pooled", {})
    summary = Extension(STOPPING, statistics.tables).summary.set_index(["left", "right"])
    assert set(summary.index) == {("QRC-STOP", "QRC"), ("QRTC", "QRC"), ("QRTC", "QRC-STOP")}
    assert summary["left_lower"].eq(len(DATASETS)).all()
    assert summary["right_lower"].eq(0).all()
    assert summary["rank_share"].eq(1).all()
    expected = [values[left] - values[right] for left, right in summary.index]
    assert summary["median_difference"].tolist() == pytest.approx(expected, abs=0.05)
    assert summary["median_d"].isna().tolist() == [right == "QRC-STOP" for _, right in summary.index]
    told = findings(Extension(STOPPING, statistics.tables))
    assert "QRTC is lower than QRC-STOP (lower on 12 of 12 datasets" in told[0]


def test_pages_say_that_they_are_no_part_of_the_paper(gains: Extension) -> None:
    page = extension_page(gains, replace(mock_study(), more_pages={"coverage.html": "Coverage"}), b"picture")
    for text in (page.html, page.markdown):
        assert NOT_PAPER in text
        assert all(dataset in text for dataset in DATASETS)
    assert "coverage.html" in page.html


def test_page_without_results_says_so(gains: Extension) -> None:
    nothing = Extension(COVERAGE, {name: table.iloc[:0] for name, table in gains.tables.items()})
    page = extension_page(nothing, mock_study(), b"")
    assert "no results" in page.html
    assert "no results" in page.markdown


def test_gains_are_drawn_with_their_parts_as_bars(gains: Extension, tmp_path: Path) -> None:
    with style.paper_style():
        figure = draw_gains(gains.per_dataset)
        heights = [
            [bar.get_height() for bar in axes.patches if isinstance(bar, Rectangle) and bar.get_height()]
            for axes in figure.axes
        ]
        style.save(figure, tmp_path / "gains.pdf", tmp_path / "gains.png")
    order = gains.per_dataset.query("metric == 'NLL' and method == 'QRTC'").sort_values("difference")["dataset"]
    parts = gains.per_dataset.query("method == 'QRTC'").pivot(index="dataset", columns="metric", values="difference")
    expected = [*parts.loc[order, "refined NLL"], *parts.loc[order, "NLL to calibrate"]]
    found = [height for height in heights[0] if any(np.isclose(height, expected))]
    np.testing.assert_allclose(found, expected)
    assert (tmp_path / "gains.png").stat().st_size > 10_000


def test_nothing_to_draw_is_said(gains: Extension) -> None:
    with style.paper_style():
        assert draw_gains(gains.per_dataset.iloc[:0]).texts


def test_page_counts_the_datasets_that_it_shows_and_no_others(gains: Extension) -> None:
    study = mock_study()
    assert study.datasets != len(DATASETS)
    (basis,) = (line for line in extension_page(gains, study, b"").markdown.splitlines() if "Protocol:" in line)
    assert f"{len(DATASETS)} of " in basis
    assert f"{study.datasets} of " not in basis
