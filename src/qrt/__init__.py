"""Replication of *Probabilistic Calibration by Design for Neural Network Regression* (AISTATS 2024)."""

from typing import Any

__version__ = "0.1.0"

# What people with data of their own need, imported when it is asked for: `import qrt` itself stays light.
_ESTIMATORS = {
    "QuantileRecalibrator": "qrt.estimator.recalibrator",
    "distribution_from_quantiles": "qrt.estimator.wrapped_arrays",
    "distribution_from_samples": "qrt.estimator.wrapped_arrays",
}


def __getattr__(name: str) -> Any:
    if name not in _ESTIMATORS:
        raise AttributeError(f"module 'qrt' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_ESTIMATORS[name]), name)
