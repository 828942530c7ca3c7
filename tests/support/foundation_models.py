"""Outputs of the shapes of TabPFN's and TabICL's, as files of tests/estimator/files: their weights cannot be had here.

`python tests/support/foundation_models.py` writes them, always the same. The truth is a normal distribution for each
row; what is stored is a network's guess of it that is too narrow, with noise on its logits or quantiles.

tabpfn.npz   `borders` (B + 1,) and `logits` (N, B) of `predict(X, output_type="full")`: that of `criterion.borders` and
             "logits"; float32, as version 9.2 has them, though there with thousands of bars. `y` (N,) is what came.
tabicl.npz   `quantiles` (N, L) of `predict(X, output_type="quantiles", alphas=levels)`, float32, of version 2.2;
             `levels` (L,), `y` (N,)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

FOLDER = Path(__file__).resolve().parent.parent / "estimator/files"
ROWS, BARS = 240, 60
LEVELS = np.arange(1, 20) / 20
TOO_NARROW = 0.75


def outputs() -> dict[str, dict[str, Any]]:
    """The arrays of each file."""
    generator = np.random.default_rng(2026)
    x = generator.uniform(-1, 1, ROWS)
    centre, spread = 200 + 60 * np.sin(3 * x), 20 + 15 * np.abs(x)
    y = generator.normal(centre, spread)
    guess = stats.norm(centre[:, None], TOO_NARROW * spread[:, None])
    # As TabPFN chooses them: equally likely before anything is known, in the units of the target.
    borders = 200 + 80 * stats.norm.ppf(np.linspace(0.0005, 0.9995, BARS + 1))
    probabilities = np.diff(guess.cdf(borders), axis=1)
    probabilities[:, 0] += guess.cdf(borders[:1])[:, 0]
    probabilities[:, -1] += guess.sf(borders[-1:])[:, 0]
    logits = np.log(np.maximum(probabilities, 1e-30)) + generator.normal(0, 0.1, probabilities.shape)
    quantiles = guess.ppf(LEVELS) + generator.normal(0, 0.5, (ROWS, len(LEVELS)))
    return {
        "tabpfn": {"borders": borders.astype(np.float32), "logits": logits.astype(np.float32), "y": y},
        "tabicl": {"levels": LEVELS, "quantiles": quantiles.astype(np.float32), "y": y},
    }


if __name__ == "__main__":
    for name, arrays in outputs().items():
        np.savez_compressed(FOLDER / f"{name}.npz", **arrays)
