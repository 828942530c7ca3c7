"""The result tables: their columns, with types and meaning. Rows are those of docs/protocol.md, section 8.

docs/results.md, the data dictionary, is written from here by `make docs`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from qrt.engine.registry import METRICS
from qrt_study.parquet_file import COUNT, NUMBER, TEXT, Column, as_table, read_tables, write_rows

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_table", "read_frames", "write_rows"]

_PLACE: dict[str, Column] = {
    "dataset": (TEXT, "name of the dataset"),
    "split": (COUNT, "number of the split"),
    "seed": (COUNT, "number of the random start within the split; 0 is the study's"),
}
_NOT_CONCERNED = "missing where it has no effect"
_NETWORK: dict[str, Column] = {
    "family": (TEXT, "family of networks that one job trained as a stack"),
    "variant": (TEXT, "id of the trained network within dataset and split"),
    "base_model": (TEXT, "mlp or resnet"),
    "components": (COUNT, "Gaussian components of the mixture"),
    "trained_on": (TEXT, "rows of the training: train or train+calibration"),
    "alpha": (NUMBER, "weight of the entropy term in training; 0: plain NLL"),
    "bandwidth": (NUMBER, "bandwidth b of the map in training; missing where alpha is 0"),
    "map_size": (COUNT, "rows M of the map in training (Algorithm 2); missing: the batch"),
    "ablation": (TEXT, "QRI, QRG or QRL; missing: none"),
    "kernel_width": (TEXT, f"meaning of b (row 2): variance or scale; {_NOT_CONCERNED}"),
    "resnet": (TEXT, f"form of the ResNet (row 8): batchnorm_relu or layernorm_reglu; {_NOT_CONCERNED}"),
    "x_scale": (TEXT, f"scale of the columns of x (row 13): unit or epsilon; {_NOT_CONCERNED}"),
    "free_centres": (TEXT, f"centres of QRL (row 14): trained or fixed; {_NOT_CONCERNED}"),
    "map_rows_outside": (TEXT, f"map of QRTC-M outside training (row 15): standard or map_size; {_NOT_CONCERNED}"),
    "early_stopping": (TEXT, f"criterion of early stopping (row 18): nll or objective; {_NOT_CONCERNED}"),
    "map_centres": (TEXT, f"centres of the map in training (row 19): same_pass or second_pass; {_NOT_CONCERNED}"),
}
_POSTHOC: dict[str, Column] = {
    "posthoc_map": (TEXT, "post-hoc map on the calibration rows: none, REFL, KDE or TRUNC"),
    "posthoc_on": (TEXT, "base of the post-hoc map (row 1): base (F), or training_map"),
    "posthoc_bandwidth": (NUMBER, "bandwidth of the post-hoc map (row 11); missing without one"),
}
_OUTCOME: dict[str, Column] = {
    "status": (TEXT, "ok; diverged; unavailable or invalid (the dataset); failed (out of memory or time)"),
    "reason": (TEXT, "why, where the status is not ok"),
    "epochs": (COUNT, "epochs trained"),
    "selected_epoch": (COUNT, "epochs after which the parameters were best on validation rows"),
    "train_seconds": (NUMBER, "the network's share of the CPU time that its stack took to train"),
}
_METRICS: dict[str, Column] = {
    f"{part}_{name}": (NUMBER, f"{meaning}; {rows} rows, original scale")
    for part, rows in (("val", "validation"), ("test", "test"))
    for name, meaning in METRICS.items()
}
_TRAIN_METRICS: dict[str, Column] = {
    f"train_{name}": (
        NUMBER,
        f"{METRICS[name]}; the training rows of the curves, original scale; missing for networks without curves",
    )
    for name in ("nll", "pce_levels", "pce_sorted")
}
_COST: dict[str, Column] = {
    "job_seconds": (
        NUMBER,
        "the network's share of the CPU time of its whole training job",
    ),
    "evaluation_seconds": (NUMBER, "its share of the CPU time of the whole evaluation job"),
}
_FINGERPRINT: dict[str, Column] = {
    "data": (TEXT, "checksum of the prepared data"),
    "code": (TEXT, "version of training; before there were versions, a fingerprint of its code"),
    "package_version": (TEXT, "version of this package"),
    "torch_version": (TEXT, "version of PyTorch"),
    "threads": (COUNT, "threads used"),
    "cpu": (TEXT, "processor"),
}

RUNS = _PLACE | _NETWORK | _POSTHOC | _OUTCOME | _METRICS | _TRAIN_METRICS | _COST | _FINGERPRINT
METHODS = (
    {"experiment": (TEXT, "experiment of the paper"), "method": (TEXT, "method by its name in the paper")}
    | _PLACE
    | {
        "chosen_bandwidth": (NUMBER, "b chosen by mean validation NLL over splits; missing where there is none"),
        "chosen_lambda": (NUMBER, "lambda chosen by validation PCE under the CRPS limit; missing where there is none"),
    }
    | {name: column for name, column in RUNS.items() if name not in (*_PLACE, *_COST, *_FINGERPRINT)}
)
CURVES = (
    _PLACE
    | _NETWORK
    | {
        "epoch": (COUNT, "epochs trained so far; the published curves count from 0 and show epoch - 1"),
        "part": (TEXT, "rows: train or validation"),
        "nll_recalibrated": (NUMBER, "NLL of F' (of F for alpha 0), standardised targets"),
        "nll_base": (NUMBER, "NLL of F"),
        "alpha_entropy_pit": (NUMBER, "alpha * H(Z)"),
        "pce": (NUMBER, "PCE of F' over 100 levels"),
        "selected_epoch": (COUNT, "epochs after which the network's parameters were best"),
    }
)
PREDICTIONS = (
    _PLACE
    | _NETWORK
    | _POSTHOC
    | {
        "row": (COUNT, "number of the test row, counted from 0 within the test part"),
        "target": (NUMBER, "its realised target"),
        "nll": (NUMBER, "negative log-likelihood of the realised target"),
        "y": (NUMBER, "point of the grid, original scale"),
        "density": (NUMBER, "predictive density at that point"),
    }
)
TIMES = _PLACE | {
    "method": (TEXT, "BASE, QREGC or QRTC, as tuned"),
    "way": (TEXT, "how: ours, or released (a second forward pass, and the map's formula pair by pair)"),
    "variant": (TEXT, "id of the network"),
    "status": (TEXT, "ok; diverged; unavailable or invalid (the dataset); failed (out of memory or time)"),
    "reason": (TEXT, "why, where the status is not ok"),
    "train_seconds": (NUMBER, "CPU time to train the network alone, one thread"),
    "epochs": (COUNT, "epochs trained"),
    "selected_epoch": (COUNT, "epochs of the selected parameters"),
    "seconds_per_trained_epoch": (NUMBER, "time per epoch of the paper (docs/protocol.md, row 10)"),
    "seconds_per_selected_epoch": (NUMBER, "time per epoch of the released code; missing if no epoch was selected"),
}
_FIFTHS = {
    f"test_coverage_sd{number}": (NUMBER, f"share inside the 90 % interval, fifth {number} of the predicted SD")
    for number in range(1, 6)
}
SCORES = _PLACE | {
    "method": (TEXT, "method of the main comparison, as tuned"),
    "posthoc_on": (TEXT, "base of the post-hoc map (row 1): base (F), or training_map"),
    "posthoc_map": (TEXT, "post-hoc map on the calibration rows, or none"),
    "as_tuned": (COUNT, "1: the method itself; 0: another way to take its networks"),
    "status": (TEXT, "ok; or as for runs"),
    "as_published": (COUNT, "1: the network has the published test NLL; 0: it was trained on another processor"),
    "rows": (COUNT, "test rows"),
    **{f"test_{name}": (NUMBER, f"{meaning}; test rows, original scale") for name, meaning in METRICS.items()},
    "test_nll_map_gain": (NUMBER, "what the best map of the PITs takes from test_nll, cross-fitted on test rows"),
    "test_nll_refined": (NUMBER, "test_nll under that map"),
    "test_crps_miscalibration": (NUMBER, "test_crps = miscalibration - discrimination + uncertainty, by isotonic fits"),
    "test_crps_discrimination": (NUMBER, "how far it tells rows apart"),
    "test_crps_uncertainty": (NUMBER, "CRPS of the targets' own distribution"),
    "test_interval_score_90": (NUMBER, "interval score of the central 90 % interval; lower is better"),
    **_FIFTHS,
    "test_coverage_gap": (NUMBER, "mean distance of these five from 0.9"),
    "test_coverage_gap_calibrated": (NUMBER, "what a model shows on as many rows that covers 90 % in each"),
    "pce_levels_calibrated": (NUMBER, "test_pce_levels that a calibrated model shows on as many rows"),
    "pce_sorted_calibrated": (NUMBER, "test_pce_sorted that a calibrated model shows on as many rows"),
}
CONDITIONAL = _PLACE | {
    "method": (TEXT, "method of the main comparison, as tuned"),
    "status": (TEXT, "ok; or as for runs"),
    "test_outside": (COUNT, "test targets outside the central 90 % interval"),
    "test_excess_risk": (
        NUMBER,
        "share of the Brier score of their frequency that a cross-fitted classifier on x saves; missing where too few",
    ),
    "test_worst_slab": (NUMBER, "coverage of the worst slab of x, chosen on other rows"),
    "test_worst_slab_calibrated": (NUMBER, "the same where targets fall outside by chance"),
}
MAPS: dict[str, Column] = {
    "map": (TEXT, "EMP, KDE, TRUNC or REFL; TRUE: the beta distribution of the PITs"),
    "z": (NUMBER, "point in [0, 1]"),
    "cdf": (NUMBER, "value of the map at z"),
    "density": (NUMBER, "density of the map at z; missing for EMP, infinite for TRUE at 0 and 1"),
}
SAMPLE: dict[str, Column] = {"z": (NUMBER, "a simulated PIT")}
TABLES: dict[str, tuple[str, Mapping[str, Column]]] = {
    "runs": ("One row per trained network and post-hoc map.", RUNS),
    "methods": ("One row per experiment, named method, dataset and split, after tuning.", METHODS),
    "curves": ("One row per network, validation and part of the data: the per-epoch study.", CURVES),
    "predictions": ("Predictive densities of example test rows on a grid.", PREDICTIONS),
    "times": ("Training times of the tuned methods, each network trained alone.", TIMES),
    "scores": ("From predictions: every metric of the main comparison, taken apart, and of other maps.", SCORES),
    "conditional": ("From predictions and x: for whom the 90 % interval covers 90 %.", CONDITIONAL),
    "maps": ("Figure 11: calibration maps of simulated PITs.", MAPS),
    "sample": ("Figure 11: the simulated PITs.", SAMPLE),
}


def read_frames(paths: Sequence[Path], kind: str) -> pd.DataFrame:
    """Result tables of one kind as one data frame, in their order.

    Without files it is an empty one with the kind's columns. All damaged files are set aside and named at once.
    """
    return read_tables(paths, TABLES[kind][1]).to_pandas()


def of_reported_seed(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of seed 0, the one that figures and verdicts use; a table that has no seeds is returned as it is."""
    return table[table["seed"] == 0] if "seed" in table else table
