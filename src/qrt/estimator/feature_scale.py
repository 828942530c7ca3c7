"""Means and scales of encoded features: dense or sparse, with weights, without the missing values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from qrt.engine.scaling import mean_and_scale

FloatArray = npt.NDArray[np.float64]
Encoded: TypeAlias = Any  # npt.NDArray[Any], or scipy.sparse.csr_array if the user's table is sparse

_BLOCK_ROWS = 4096


def blocks(encoded: Encoded) -> Iterator[tuple[int, npt.NDArray[Any]]]:
    """Parts of the rows, dense and of bounded memory, with the number of their first row."""
    for start in range(0, encoded.shape[0], _BLOCK_ROWS):
        block = encoded[start : start + _BLOCK_ROWS]
        yield start, block.toarray() if sparse.issparse(block) else block


def means_and_scales(encoded: Encoded, weights: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of each feature; the scale of a constant one is 1."""
    if weights is not None or sparse.issparse(encoded) or np.isnan(encoded).any():
        return _of_present_values(encoded, weights)
    means, scales = mean_and_scale(encoded)
    # In float64, the mean of equal numbers may differ from them by rounding, which would become their scale.
    constant = (encoded == encoded[:1]).all(axis=0)
    return np.where(constant, encoded[0], means), np.where(constant, 1.0, scales)


def _of_present_values(encoded: Encoded, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """The same by `weights`: (rows,), of sparse rows, and without the missing values."""
    features = encoded.shape[1]
    of_rows = np.ones(encoded.shape[0]) if weights is None else weights
    total, sums, squares = np.zeros((3, features))
    low, high = np.full(features, np.inf), np.full(features, -np.inf)
    for start, block in blocks(encoded):
        present = ~np.isnan(block)
        weight = of_rows[start : start + len(block), None] * present
        total += weight.sum(axis=0)
        sums += (weight * np.where(present, block, 0.0)).sum(axis=0)
        low, high = np.fmin(low, np.fmin.reduce(block)), np.fmax(high, np.fmax.reduce(block))
    means = np.divide(sums, total, out=np.zeros(features), where=total > 0)
    for start, block in blocks(encoded):
        off = np.nan_to_num(block - means, nan=0.0, posinf=np.inf, neginf=-np.inf)
        squares += (of_rows[start : start + len(block), None] * np.square(off)).sum(axis=0)
    deviations = np.sqrt(np.divide(squares, total, out=np.zeros(features), where=total > 0))
    constant = low == high
    return np.where(constant, low, means), np.where(constant | (deviations == 0), 1.0, deviations)
