"""Replication of *Probabilistic Calibration by Design for Neural Network Regression* (AISTATS 2024).

For data of your own: `from qrt import QRTRegressor` (see `qrt.estimator.regressor`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qrt.estimator.regressor import QRTRegressor

__all__ = ["QRTRegressor"]
__version__ = "0.1.0"

_PLACES = {"QRTRegressor": "qrt.estimator.regressor"}  # imported when asked for: `import qrt` stays light


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
