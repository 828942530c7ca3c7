"""Table 2 for people: training times of BASE, QREGC and QRTC, ours and the published ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from qrt_study.statistics.times import METHODS, OURS, RELEASED, time_ratios

# Column of the statistics -> heading before the method's name, formats of our value and of the published one.
_SHOWN = {
    "train_seconds": ("Time", ".2f", ".2f"),
    "epochs": ("Epochs", ".1f", ".1f"),
    "seconds_per_epoch": ("Per epoch", ".2g", ".2f"),
}
RATIO = {OURS: "QRTC / BASE", RELEASED: "the same, as released"}
MEDIAN = "Median"


def times_table(statistics: pd.DataFrame) -> pd.DataFrame:
    """The table `times` as text: one line per dataset, the published value in brackets behind ours, and medians.

    A median is over the datasets that have our value and the published one, so that the two can be compared; where
    none has both, ours is over all we have.
    """
    datasets = list(statistics["dataset"].unique())
    by_method = statistics[statistics["way"] == OURS].set_index(["dataset", "method"])
    shown: dict[str, Sequence[str]] = {"Dataset": [*datasets, MEDIAN] if datasets else []}
    for name, (heading, *formats) in _SHOWN.items():
        for method in METHODS:
            places = [(dataset, method) for dataset in datasets]
            ours, theirs = (by_method.loc[places, column].to_numpy(float) for column in (name, f"published_{name}"))
            shown[f"{heading} {method}"] = _with_median(ours, theirs, *formats)
    for way, heading in RATIO.items():
        ratios = time_ratios(statistics, way).set_index("dataset").reindex(datasets)
        ours, theirs = ratios["ratio"].to_numpy(float), ratios["published_ratio"].to_numpy(float)
        shown[heading] = _with_median(ours, theirs, ".2f", ".2f")
    return pd.DataFrame(shown)


def caption(per_epoch: str) -> str:
    """What the numbers are, and which of them can be compared."""
    epochs = {"trained": "all epochs trained", "selected": "the selected epoch, as released"}[per_epoch]
    return (
        "Training time in seconds on one thread, selected epoch and time per epoch, means over splits; in brackets: "
        f"the paper's Table 2. Our time per epoch is divided by {epochs}, the published one by the selected epoch, "
        "which the paper counts from 0 and we from 1. Times of different machines cannot be compared; the ratio of the "
        "times per epoch of QRTC and BASE can, if QRTC is trained as it was, with a second forward pass and the map's "
        "formula pair by pair (last column). BASE also trains on the calibration rows, so its epochs are longer. "
        "Last line: medians over the datasets with both values."
    )


def _with_median(ours: np.ndarray, theirs: np.ndarray, our_format: str, their_format: str) -> list[str]:
    """The cells of one column, and of the line of medians below; no cells for no datasets."""
    if not len(ours):
        return []
    both = np.isfinite(ours) & np.isfinite(theirs)
    counted = both if both.any() else np.isfinite(ours)
    median_ours = np.median(ours[counted]) if counted.any() else np.nan
    median_theirs = np.median(theirs[both]) if both.any() else np.nan
    pairs = zip([*ours, median_ours], [*theirs, median_theirs], strict=True)
    return [
        ("–" if np.isnan(mine) else format(mine, our_format))
        + ("" if np.isnan(published) else f" ({published:{their_format}})")
        for mine, published in pairs
    ]
