"""Tuned methods of several seeds, for the tests of their statistics and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

METRICS = {"NLL": "nll", "PCE": "pce_levels", "CRPS": "crps_wis", "SD": "sd"}


def methods_table(differences: Mapping[str, Sequence[Sequence[float]]], *, base: float = 2.0) -> pd.DataFrame:
    """Tuned methods on datasets whose QRTC - BASE is given by split (rows) and seed; QRC is halfway between."""
    rows = []
    for dataset, table in differences.items():
        for split, seeds in enumerate(table):
            for seed, difference in enumerate(seeds):
                for method, part in (("BASE", 0.0), ("QRC", 0.5), ("QRTC", 1.0)):
                    place = {"dataset": dataset, "split": split, "seed": seed, "experiment": "main", "method": method}
                    values = {f"test_{metric}": base + part * difference for metric in METRICS.values()}
                    rows.append(place | {"status": "ok"} | values)
    return pd.DataFrame(rows)


def noisy_table(datasets: Sequence[str], seeds: int = 3, splits: int = 5) -> pd.DataFrame:
    generator = np.random.default_rng(1)
    return methods_table(
        {name: generator.normal(place - 1, 0.4, (splits, seeds)).tolist() for place, name in enumerate(datasets)}
    )
