"""The diagnosis of predicted distributions: metrics of the study, bands of calibrated models, plots that show both."""

from __future__ import annotations

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from scipy import stats

from qrt.engine.mixture import GaussianMixture
from qrt.engine.predictive import PredictiveDistribution
from qrt.engine.registry import METRICS
from qrt.estimator.diagnosis import Diagnosis, diagnose
from qrt.estimator.distribution import PredictedDistribution
from qrt.estimator.unusable_input import UnusableInput

ROWS = 400


def standard_normal(rows: int = ROWS, scale: float = 1.0) -> PredictedDistribution:
    zeros = torch.zeros(rows, 1, dtype=torch.float64)
    return PredictedDistribution(PredictiveDistribution(GaussianMixture(zeros, zeros + scale, zeros)))


@pytest.fixture(scope="module")
def targets() -> np.ndarray:
    return np.random.default_rng(0).normal(size=ROWS)


@pytest.fixture(scope="module")
def calibrated(targets: np.ndarray) -> Diagnosis:
    return diagnose(standard_normal(), targets)


def test_metrics_are_those_of_the_study_against_closed_forms(calibrated: Diagnosis, targets: np.ndarray) -> None:
    assert set(calibrated.metrics) < set(METRICS)
    assert calibrated.nll == pytest.approx(-stats.norm.logpdf(targets).mean())
    crps = targets * (2 * stats.norm.cdf(targets) - 1) + 2 * stats.norm.pdf(targets) - 1 / np.sqrt(np.pi)
    assert calibrated.crps == pytest.approx(crps.mean(), abs=1e-6)
    np.testing.assert_allclose(calibrated.pit, stats.norm.cdf(targets))
    assert calibrated.pce == calibrated.metrics["pce_levels"] < 0.05
    assert len(calibrated) == ROWS


def test_coverage_is_the_share_of_targets_in_the_central_interval(calibrated: Diagnosis, targets: np.ndarray) -> None:
    table = calibrated.coverage((0.5, 0.9))
    for row in table.itertuples():
        low, high = stats.norm.interval(row.coverage)
        assert row.observed == pytest.approx(((targets >= low) & (targets <= high)).mean())
        tails = stats.binom.cdf([row.lower * ROWS - 1, row.upper * ROWS], ROWS, row.coverage)
        assert tails[0] < 0.025
        assert tails[1] >= 0.975
    assert calibrated.metrics["coverage_90"] == pytest.approx(table["observed"].iloc[1])


def test_reliability_curve_and_histogram_count_pits() -> None:
    diagnosis = Diagnosis(np.array([0.05, 0.15, 0.15, 0.95]), {})
    curve = diagnosis.reliability([0.1, 0.15, 0.9])
    assert curve["observed"].tolist() == [0.25, 0.75, 0.75]
    assert diagnosis.pit_histogram(10)["density"].tolist() == [2.5, 5, 0, 0, 0, 0, 0, 0, 0, 2.5]
    assert len(diagnosis.reliability()) == 99


def test_bands_hold_what_calibrated_models_show_and_not_what_others_do(targets: np.ndarray) -> None:
    generator = np.random.default_rng(1)
    inside = []
    for _ in range(200):
        curve = Diagnosis(generator.uniform(size=100), {}).reliability([0.1, 0.5, 0.9])
        inside.append(((curve["lower"] <= curve["observed"]) & (curve["observed"] <= curve["upper"])).to_numpy())
    assert (np.mean(inside, axis=0) > 0.92).all()
    too_wide = diagnose(standard_normal(scale=3.0), targets)
    row = too_wide.coverage((0.9,)).iloc[0]
    assert row["observed"] > row["upper"]


def test_plot_shows_both_panels_and_is_the_same_each_time(calibrated: Diagnosis) -> None:
    pictures = []
    for _ in range(2):
        figure = calibrated.plot()
        assert [axes.get_title() for axes in figure.axes] == ["PIT histogram", "Reliability"]
        content = io.BytesIO()
        figure.savefig(content, format="png", metadata={"Software": None})
        plt.close(figure)
        pictures.append(content.getvalue())
    assert pictures[0] == pictures[1]


def test_summary_names_the_numbers_of_a_practitioner(calibrated: Diagnosis) -> None:
    words = str(calibrated)
    assert f"{ROWS} rows" in words
    assert f"NLL   {calibrated.nll:.4f}" in words
    assert "90 % interval: covers" in words
    assert repr(calibrated) == words, "shown in a notebook it is the summary, not thousands of PITs"


def test_large_targets_are_written_as_numbers_that_people_read() -> None:
    metrics = {"nll": 11.3711, "crps": 12023.4, "pce_levels": 0.0638, "rmse": 21908.2, "mae": 16980.0}
    metrics |= {"length_90": 94644.0, "coverage_90": 0.943}
    diagnosis = Diagnosis(np.linspace(0, 1, 70), metrics)
    assert "CRPS  12023 (in the units of y)" in str(diagnosis)
    assert "mean length 94644" in str(diagnosis)
    figure = diagnosis.plot()
    assert "CRPS 12023, PCE 0.0638, 90 % interval covers 94.3 %" in figure.get_suptitle()
    plt.close(figure)


def test_targets_that_do_not_fit_the_rows_are_refused() -> None:
    with pytest.raises(UnusableInput, match=r"shape \(3,\).* 5 rows"):
        diagnose(standard_normal(5), np.zeros(3))
    with pytest.raises(UnusableInput, match="no rows"):
        diagnose(standard_normal(0), [])
