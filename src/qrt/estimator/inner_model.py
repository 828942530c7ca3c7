"""Predicted distributions of a regressor inside of scikit-learn's own estimators: pipelines and searches."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from qrt.estimator.distribution import PredictedDistribution


def predict_distribution(model: Any, X: Any) -> PredictedDistribution:  # noqa: N803
    """The distribution of each row of X under a fitted `QRTRegressor`, or a pipeline or search that ends in one.

    `pipeline.predict` gives the mean alone; this is the way to intervals, quantiles and densities:
    `predict_distribution(pipeline, X).interval(0.9)`.
    """
    if isinstance(model, Pipeline):
        return predict_distribution(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    if hasattr(model, "best_estimator_"):
        return predict_distribution(model.best_estimator_, X)
    if not hasattr(model, "predict_distribution"):
        raise TypeError(
            f"{type(model).__name__} has no method predict_distribution: give a fitted QRTRegressor, or a pipeline or "
            "search that ends in one"
        )
    distribution: PredictedDistribution = model.predict_distribution(X)
    return distribution
