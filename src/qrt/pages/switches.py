"""The eleven disagreements between the paper and the released code, in words (docs/protocol.md, section 8)."""

from __future__ import annotations

from dataclasses import dataclass

from qrt.study.protocol import PROTOCOLS, Protocol


@dataclass(frozen=True)
class Switch:
    """One disagreement. `row` is its number in docs/protocol.md, section 8, `name` the field of `Protocol`."""

    row: int
    name: str
    topic: str
    paper: str
    released: str
    on_training: bool  # turned, it asks for other networks

    def setting(self, protocol: Protocol) -> str:
        """Whose meaning this protocol takes: "paper", "released" or, with a value of its own, "own"."""
        value = getattr(protocol, self.name)
        return next((name for name, preset in PROTOCOLS.items() if getattr(preset, self.name) == value), "own")


SWITCHES = (
    Switch(
        1,
        "posthoc_on",
        "post-hoc map of QRTC",
        "fitted to the PITs of F; F' is that map after F (Algorithm 1)",
        "fitted on top of the map of training: F' is the calibration map after the training map after F",
        False,
    ),
    Switch(
        2,
        "kernel_width",
        "kernel width",
        "logistic kernel with variance b² N^(−2/5): scale √3/π · b N^(−1/5)",
        "logistic kernel with scale b N^(−1/5)",
        True,
    ),
    Switch(3, "pce", "PCE", "at 100 levels", "mean distance of the sorted PITs from i/(n + 1)", False),
    Switch(
        4,
        "sd",
        "SD",
        "one estimator for all methods",
        "exact for BASE, but the standard deviation of 19 quantiles (about 10 % too small) for every post-hoc method",
        False,
    ),
    Switch(
        5,
        "cohens_d",
        "Cohen's d",
        "pooled standard deviation",
        "divided by the numbers of runs once more: larger by √5",
        False,
    ),
    Switch(
        6,
        "bandwidth_grid",
        "grid of b in the main comparison",
        "0.01, 0.05, 0.1, 0.2",
        "0.02, 0.05, 0.1, 0.2, 0.5, 1",
        True,
    ),
    Switch(
        7,
        "lambda_grid",
        "grid of λ of QREGC",
        "0, 0.01, 0.05, 0.2, 1, 5",
        "0, 0.01, 0.05, 0.1, 0.5, 1, 5, for MLP-3 only",
        True,
    ),
    Switch(8, "resnet", "ResNet", "BatchNorm and ReLU", "LayerNorm and ReGLU (inner layer twice as wide)", True),
    Switch(
        9,
        "ablation_baseline",
        "baseline of the ablation, discreteness and per-epoch figures",
        "BASE",
        "BASE without the calibration data",
        False,
    ),
    Switch(
        10,
        "time_per_epoch",
        "time per epoch",
        "training time divided by the epochs trained",
        "training time divided by the selected epoch",
        False,
    ),
    Switch(
        11,
        "posthoc_bandwidth",
        "bandwidth of the post-hoc map",
        "the tuned b of training; 0.1 for QRC",
        "0.1 for every method",
        False,
    ),
)
BY_NAME = {switch.name: switch for switch in SWITCHES}
