"""Small result tables for the tests of the per-epoch figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

METRICS = ("nll_recalibrated", "nll_base", "alpha_entropy_pit", "pce")
PARTS = ("train", "validation")
PLAIN, TRAINED = "mlp3_train_alpha0", "mlp3_train_alpha1_b0.1"


def curve_rows(
    dataset: str,
    split: int,
    variant: str,
    values: npt.ArrayLike,
    *,
    selected_epoch: int,
    kernel_width: str | None = None,
) -> pd.DataFrame:
    """Rows of the table curves, every 2 epochs: `values` are NLL of F' on validation rows, 1 less on training rows.

    H(Z) is 0 for PLAIN and -0.5 for others; PCE is a hundredth of the value.
    """
    nll = np.asarray(values, dtype=float)
    entropy = 0.0 if variant == PLAIN else -0.5
    parts = []
    for part, shift in (("train", -1.0), ("validation", 0.0)):
        columns = {
            "nll_recalibrated": nll + shift,
            "nll_base": nll + shift - entropy,
            "alpha_entropy_pit": np.full(len(nll), entropy),
            "pce": (nll + shift) / 100,
        }
        place = {"dataset": dataset, "split": split, "variant": variant, "kernel_width": kernel_width, "part": part}
        epochs = {"epoch": 2 * np.arange(1, len(nll) + 1), "selected_epoch": selected_epoch}
        parts.append(pd.DataFrame(place | epochs | columns))
    return pd.concat(parts, ignore_index=True)


def method_row(method: str, dataset: str, split: int, **columns: object) -> dict[str, object]:
    """A row of the table methods, status ok."""
    return {
        "experiment": "base_train" if method == "BASE-TRAIN" else "main",
        "method": method,
        "dataset": dataset,
        "split": split,
        "variant": PLAIN if method in ("BASE-TRAIN", "QRC") else TRAINED,
        "kernel_width": None if method == "BASE-TRAIN" else "variance",
        "status": "ok",
        "reason": "",
        "selected_epoch": 4,
        "val_nll": np.nan,
        "val_pce_levels": np.nan,
        "train_nll": np.nan,
        "train_pce_levels": np.nan,
    } | columns


def study(
    datasets: Sequence[str], splits: int = 3, epochs: int = 10, *, log_scale: float = 2.0
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Curves and methods of random runs that end at different epochs; QRC is BASE, QRTC is QRT (maps that do nothing).

    The original scale of y differs by `log_scale` times (split + 1).
    """
    generator = np.random.default_rng(5)
    curves, rows = [], []
    for dataset in datasets:
        for split in range(splits):
            shift = log_scale * (split + 1)
            for variant, width, names in (
                (PLAIN, None, ("BASE-TRAIN", "QRC")),
                (TRAINED, "variance", ("QRTC",)),
            ):
                length = epochs - int(generator.integers(0, epochs // 2 + 1))
                selected = 2 * int(generator.integers(1, length + 1))
                decay = 2 * np.exp(-np.arange(length) / 5) + generator.normal(0, 0.1, length)
                table = curve_rows(dataset, split, variant, decay, selected_epoch=selected, kernel_width=width)
                curves.append(table)
                at = table[table["epoch"] == selected].set_index("part")
                values = {
                    "selected_epoch": selected,
                    "val_nll": at["nll_recalibrated"]["validation"] + shift,
                    "train_nll": at["nll_recalibrated"]["train"] + shift,
                    "val_pce_levels": at["pce"]["validation"],
                    "train_pce_levels": at["pce"]["train"],
                }
                rows += [method_row(name, dataset, split, **values) for name in names]
    return pd.concat(curves, ignore_index=True), pd.DataFrame(rows)
