"""Scores of predicted distributions for scikit-learn: `GridSearchCV(model, grid, scoring=neg_crps)`, `cross_val_score`.

A scorer takes a fitted model, X, y and, if there are any, weights of the rows; the model is a `QRTRegressor`, or a
pipeline or search that ends in one. Higher is better, so that each is the negative of its score:

    neg_crps            continuous ranked probability score, in the units of y
    neg_log_score       negative log-likelihood; not for EMP and DCP maps, which have no density
    neg_pce             calibration error: mean distance of levels and shares of PITs; says nothing of sharpness
    neg_interval_score  interval score of the central 90 % interval; `interval_scorer(0.5)` for others
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from qrt.engine.calibration_error import pce_levels
from qrt.engine.scores import interval_scores
from qrt.estimator.asked_values import central_levels
from qrt.estimator.distribution import FloatArray, PredictedDistribution
from qrt.estimator.inner_model import predict_distribution
from qrt.estimator.unusable_input import UnusableInput
from qrt.estimator.weights import checked_weights

Loss = Callable[[PredictedDistribution, FloatArray, FloatArray | None], float]


@dataclass(frozen=True)
class DistributionScorer:
    """A scorer as scikit-learn's tools take it: the negative of a `loss`."""

    name: str
    loss: Loss

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        """The score of a fitted model's predictions for the rows X, y; higher is better."""
        targets = np.array(y, dtype=np.float64)  # a copy: pandas gives arrays that PyTorch must not write to
        weights = checked_weights(sample_weight, len(targets))
        return -self.loss(predict_distribution(model, X), targets, weights)

    def __repr__(self) -> str:
        return self.name


def interval_scorer(coverage: float) -> DistributionScorer:
    """A scorer by the interval score of central intervals with this probability."""
    central_levels(coverage)  # refuses what is no probability
    return DistributionScorer(f"interval_scorer({coverage:g})", partial(_interval_score, coverage))


def _crps(distribution: PredictedDistribution, y: FloatArray, weights: FloatArray | None) -> float:
    return float(np.average(distribution.crps(y), weights=weights))


def _log_score(distribution: PredictedDistribution, y: FloatArray, weights: FloatArray | None) -> float:
    score = float(np.average(distribution.log_score(y), weights=weights))
    if np.isnan(score):
        raise UnusableInput("EMP and DCP maps have no density, hence no log score: use neg_crps or another posthoc_map")
    return score


def _pce(distribution: PredictedDistribution, y: FloatArray, weights: FloatArray | None) -> float:
    pits = torch.from_numpy(distribution.cdf(y))
    return float(pce_levels(pits, None if weights is None else torch.from_numpy(weights)))


def _interval_score(
    coverage: float, distribution: PredictedDistribution, y: FloatArray, weights: FloatArray | None
) -> float:
    interval = torch.from_numpy(distribution.interval(coverage))
    return float(np.average(interval_scores(interval, coverage, torch.from_numpy(y)).numpy(), weights=weights))


neg_crps = DistributionScorer("neg_crps", _crps)
neg_log_score = DistributionScorer("neg_log_score", _log_score)
neg_pce = DistributionScorer("neg_pce", _pce)
neg_interval_score = DistributionScorer("neg_interval_score", partial(_interval_score, 0.9))
