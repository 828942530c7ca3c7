"""Replication of *Probabilistic Calibration by Design for Neural Network Regression* (AISTATS 2024).

For data of your own: `from qrt import QRTRegressor` (see `qrt.estimator.regressor`). For models of other packages:
`from qrt import QuantileRecalibrator` (see `qrt.estimator.recalibrator`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qrt.estimator.bars import distribution_from_bars
    from qrt.estimator.inner_model import predict_distribution
    from qrt.estimator.recalibrator import QuantileRecalibrator
    from qrt.estimator.regressor import QRTRegressor
    from qrt.estimator.wrapped_arrays import distribution_from_quantiles, distribution_from_samples

__all__ = [
    "QRTRegressor",
    "QuantileRecalibrator",
    "distribution_from_bars",
    "distribution_from_quantiles",
    "distribution_from_samples",
    "predict_distribution",
]
__version__ = "1.0.0"

_PLACES = {  # imported when asked for: `import qrt` stays light
    "QRTRegressor": "qrt.estimator.regressor",
    "QuantileRecalibrator": "qrt.estimator.recalibrator",
    "distribution_from_bars": "qrt.estimator.bars",
    "distribution_from_quantiles": "qrt.estimator.wrapped_arrays",
    "distribution_from_samples": "qrt.estimator.wrapped_arrays",
    "predict_distribution": "qrt.estimator.inner_model",
}


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
