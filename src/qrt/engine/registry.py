"""The names that the engine knows: base models, calibration maps, sources of maps in training, ablations, metrics.

They are here without PyTorch, so that networks can be planned, tabulated and drawn where it is not wanted. A new name
needs its code in the engine, too: tests/test_registry.py asks for every name.
"""

from __future__ import annotations

from typing import Literal, get_args

BaseModel = Literal["mlp", "resnet"]

# Calibration maps (docs/protocol.md, section 3).
MapName = Literal["EMP", "DCP", "KDE", "TRUNC", "REFL"]
MAP_NAMES: tuple[MapName, ...] = get_args(MapName)
PostHoc = Literal["none"] | MapName

# Where the centres of the map in training come from (`qrt.engine.objective`), and the ablations that change it. The map
# of "validation" is no part of the training objective: it acts on early stopping alone. STOP is ours, not the paper's.
MapSource = Literal["batch", "sample", "detached", "initial", "learned", "validation"]
Ablation = Literal["QRI", "QRG", "QRL", "STOP"]
ABLATIONS: dict[Ablation, MapSource] = {
    "QRI": "initial",
    "QRG": "detached",
    "QRL": "learned",
    "STOP": "validation",
}

# Metrics of predictive distributions (`qrt.engine.evaluation`), with their meaning; "the" model is F'. Rows are those
# of docs/protocol.md, section 8.
METRICS: dict[str, str] = {
    "nll": "negative log-likelihood, mean over rows",
    "pce_levels": "probabilistic calibration error over 100 levels j/101 (paper)",
    "pce_sorted": "probabilistic calibration error from the sorted PITs (released code)",
    "crps_wis": "CRPS as published: weighted interval score over 19 levels with extended tails",
    "crps": "accurate CRPS",
    "sd": "mean standard deviation, one estimator for all methods",
    "sd_released": "mean standard deviation as released: from 19 quantiles for post-hoc methods",
    "coverage_90": "share of targets inside the central 90 % interval",
    "length_90": "mean length of the central 90 % interval",
    "rmse": "root mean squared error of the mean",
    "mae": "mean absolute error of the median",
    "pit_variance": "variance of the PITs; 1/12 if calibrated, less if under-confident",
    "nll_batched": "nll as released: the plain mean over consecutive batches of 512 rows (row 12)",
    "pce_levels_batched": "pce_levels, the plain mean over consecutive batches of 512 rows (row 12)",
    "pce_sorted_batched": "pce_sorted as released: the plain mean over consecutive batches of 512 rows (row 12)",
    "crps_wis_batched": "crps_wis as released: the plain mean over consecutive batches of 512 rows (row 12)",
}
