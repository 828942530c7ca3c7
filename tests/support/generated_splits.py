"""Splits of small generated datasets for the tests of the trainer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qrt.engine.split import SplitData

FloatArray = npt.NDArray[np.float64]


def split_of(x: FloatArray, y: FloatArray, *, train: int, validation: int, calibration: int = 20) -> SplitData:
    """x and y in the parts of a split, the rest as test rows, standardised as the package does it."""
    sizes = {"train": train, "calibration": calibration, "validation": validation}
    sizes["test"] = len(y) - sum(sizes.values())
    x = (x - x[:train].mean(axis=0)) / x[:train].std(axis=0)
    y_mean, y_scale = float(y[:train].mean()), float(y[:train].std())
    return SplitData(
        x=x.astype(np.float32),
        y=((y - y_mean) / y_scale).astype(np.float32),
        sizes=sizes,
        y_mean=y_mean,
        y_scale=y_scale,
    )


def heteroscedastic(rows: int, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """x: (rows, 3), y: (rows,) normal with a mean and a scale that depend on x, and the true log-density of y."""
    generator = np.random.default_rng(seed)
    x = generator.uniform(-1, 1, size=(rows, 3))
    mean, scale = np.sin(3 * x[:, 0]), 0.5 * np.exp(x[:, 1])
    noise = generator.normal(size=rows)
    return x, mean + scale * noise, -0.5 * noise**2 - np.log(scale) - 0.5 * np.log(2 * np.pi)


def small_split(train: int = 96, seed: int = 0) -> SplitData:
    """A heteroscedastic split with so many training rows, 32 for validation, 20 for calibration and for test."""
    x, y, _ = heteroscedastic(train + 72, seed)
    return split_of(x, y, train=train, validation=32)
