"""The adapter to skpro. `make test-skpro` runs these in an environment that has skpro; elsewhere they are skipped."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import make_friedman1
from sklearn.linear_model import LinearRegression

pytest.importorskip("skpro", reason="skpro needs other versions than the lock has: make test-skpro")

from skpro.distributions.normal import Normal
from skpro.metrics import CRPS, LogLoss
from skpro.regression.residual import ResidualDouble
from skpro.utils import check_estimator

from qrt import QRTRegressor, QuantileRecalibrator
from qrt.estimator.skpro_adapter import (
    QRTDistribution,
    QRTProbaRegressor,
    RecalibratedProbaRegressor,
    SkproRecalibrated,
)

ADAPTED = (QRTDistribution, SkproRecalibrated, QRTProbaRegressor, RecalibratedProbaRegressor)
DISTRIBUTIONS = (QRTDistribution, SkproRecalibrated)


@pytest.mark.filterwarnings("default")  # skpro's checks also call what it approximates, with a warning
@pytest.mark.parametrize("adapted", ADAPTED)
def test_checks_of_skpro_pass(adapted: Any) -> None:
    results = check_estimator(adapted, raise_exceptions=True, verbose=False)
    assert len(results) > 50


@pytest.mark.parametrize("adapted", DISTRIBUTIONS)
@pytest.mark.parametrize("scalar", [False, True])
def test_nothing_is_sampled_and_everything_agrees_with_brute_force(adapted: Any, scalar: bool) -> None:
    found = adapted.create_test_instance()
    if scalar:
        found = found.iat[1, 0]
    # Equally likely values. Approximations of skpro's would warn, and warnings are errors here.
    levels = (np.arange(2000) + 0.5) / 2000
    values = np.stack([np.ravel(found.ppf(level)) for level in levels])
    y = values[300]
    frame = y[0] if scalar else pd.DataFrame(y, index=found.index, columns=found.columns)
    assert np.ravel(found.cdf(frame)) == pytest.approx(levels[300])
    step = 1e-5
    slope = (np.ravel(found.cdf(frame + step)) - np.ravel(found.cdf(frame - step))) / (2 * step)
    assert np.ravel(found.pdf(frame)) == pytest.approx(slope, rel=1e-5)
    assert np.ravel(found.log_pdf(frame)) == pytest.approx(np.log(slope), abs=1e-5)
    assert np.ravel(found.mean()) == pytest.approx(values.mean(axis=0), abs=1e-3)
    assert np.ravel(found.var()) == pytest.approx(values.var(axis=0), rel=1e-2)
    assert np.ravel(found.energy(frame)) == pytest.approx(np.abs(values - y).mean(axis=0), rel=1e-3)
    pairs = [np.abs(column[:, None] - column).mean() for column in values.T]
    assert np.ravel(found.energy()) == pytest.approx(pairs, rel=2e-3)


@pytest.mark.parametrize("adapted", DISTRIBUTIONS)
def test_rows_are_those_that_were_asked_for(adapted: Any) -> None:
    whole = adapted.create_test_instance()
    some = whole.iloc[[2, 0]]
    assert (some.ppf(0.3).to_numpy() == whole.ppf(0.3).iloc[[2, 0]].to_numpy()).all()
    assert some.index.equals(whole.index[[2, 0]])
    assert whole.iat[2, 0].ppf(0.3) == pytest.approx(whole.ppf(0.3).iat[2, 0])


def friedman(rows: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    x, y = make_friedman1(rows, noise=1.0, random_state=0)
    return pd.DataFrame(x).add_prefix("x"), pd.DataFrame({"y": y})


def test_regressor_predicts_what_the_regressor_of_this_package_predicts() -> None:
    x, y = friedman(300)
    plain = QRTRegressor(max_epochs=6, random_state=0).fit(x[:200], y["y"][:200])
    adapted = QRTProbaRegressor(QRTRegressor(max_epochs=6, random_state=0)).fit(x[:200], y[:200])
    predicted, expected = adapted.predict_proba(x[200:]), plain.predict_distribution(x[200:])
    assert predicted.cdf(y[200:])["y"].to_numpy() == pytest.approx(expected.cdf(y["y"][200:]))
    assert adapted.predict(x[200:])["y"].to_numpy() == pytest.approx(plain.predict(x[200:]))
    assert list(predicted.index) == list(range(200, 300))
    quantiles = adapted.predict_quantiles(x[200:], alpha=[0.1, 0.9])
    assert quantiles.to_numpy() == pytest.approx(expected.ppf([0.1, 0.9]))
    # Metrics of skpro are ours: CRPS from energies, log-loss from log_pdf.
    assert CRPS()(y[200:], predicted) == pytest.approx(expected.crps(y["y"][200:]).mean(), rel=1e-6)
    assert LogLoss()(y[200:], predicted) == pytest.approx(expected.log_score(y["y"][200:]).mean(), rel=1e-6)


def test_missing_values_reach_the_regressor() -> None:
    x, y = friedman(120)
    x.loc[::7, "x1"] = np.nan
    model = QRTProbaRegressor(QRTRegressor(max_epochs=4, random_state=0)).fit(x, y)
    assert "x1 is missing" in model.regressor_.columns_.features
    assert np.isfinite(model.predict_quantiles(x, alpha=[0.1, 0.9])).all(axis=None)


class TooWide(ResidualDouble):
    """A regressor of skpro whose distributions are three times as wide as they were."""

    def _predict_proba(self, X: pd.DataFrame) -> Normal:  # noqa: N803
        usual = super()._predict_proba(X)
        return Normal(usual.mean(), 3 * np.sqrt(usual.var()), index=usual.index, columns=usual.columns)


def test_recalibrated_regressor_is_calibrated() -> None:
    x, y = friedman(3000)
    base = TooWide(LinearRegression())
    wide = base.clone().fit(x[:2000], y[:2000]).predict_proba(x[2000:])
    found = RecalibratedProbaRegressor(base, bandwidth=0.05, calibration_fraction=0.5, random_state=0)
    recalibrated = found.fit(x[:2000], y[:2000]).predict_proba(x[2000:])

    def distance(predicted: Any) -> float:
        return float(stats.kstest(predicted.cdf(y[2000:])["y"], "uniform").statistic)

    assert distance(wide) > 0.1
    # Two samples of 1,000 are further apart than 0.087 in one of 1,000 cases (Smirnov).
    assert distance(recalibrated) < 0.087
    assert CRPS()(y[2000:], recalibrated) < CRPS()(y[2000:], wide)


def test_recalibrator_takes_distributions_of_skpro() -> None:
    centre = np.linspace(-1, 1, 40)
    y = np.random.default_rng(0).normal(centre, 1.0)
    of_skpro, of_scipy = Normal(mu=centre[:, None], sigma=2.0), stats.norm(centre, 2.0)
    found = QuantileRecalibrator().fit_distribution(of_skpro, y).transform(of_skpro)
    expected = QuantileRecalibrator().fit_distribution(of_scipy, y).transform(of_scipy)
    for method in ("cdf", "logpdf", "crps"):
        assert getattr(found, method)(y) == pytest.approx(getattr(expected, method)(y))
    assert found.ppf([0.1, 0.9]) == pytest.approx(expected.ppf([0.1, 0.9]))
    assert found.std() == pytest.approx(expected.std())
    single = QuantileRecalibrator().fit(of_scipy.cdf(y)).transform(Normal(mu=0.0, sigma=2.0))
    assert single.cdf([0.1, 0.4]).shape == (2,)
