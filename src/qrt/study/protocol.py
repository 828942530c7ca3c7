"""The two protocols: what the paper's text says, and what the released code did (docs/protocol.md, section 8).

Each disagreement is one switch. A protocol is a preset of all nineteen; the configuration may change single ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

FIXED_BANDWIDTH = 0.1  # where a bandwidth is not tuned (rows 11 and 16)


@dataclass(frozen=True)
class Protocol:
    """One setting of the nineteen switches, in the order of the rows of docs/protocol.md, section 8."""

    posthoc_on: str  # 1: "base" (Algorithm 1) or "training_map" (on top of the map of the training rows)
    kernel_width: str  # 2: "variance" (sqrt(3)/pi * b N^(-1/5)) or "scale" (b N^(-1/5))
    pce: str  # 3: "levels" (100 levels) or "sorted" (sorted PITs)
    sd: str  # 4: "consistent" (one estimator) or "released" (19 quantiles for post-hoc methods)
    cohens_d: str  # 5: "pooled" or "released" (larger by sqrt(5))
    bandwidth_grid: tuple[float, ...]  # 6
    lambda_grid: tuple[float, ...]  # 7
    resnet: str  # 8: "batchnorm_relu" or "layernorm_reglu"
    ablation_baseline: str  # 9: "train+calibration" or "train"
    time_per_epoch: str  # 10: divided by the epochs "trained" or by the epoch "selected"
    posthoc_bandwidth: str  # 11: "tuned" (as in training; 0.1 for QRC) or "fixed" (0.1 for all)
    metric_rows: str  # 12: metrics of the "whole" part, or their mean over "batches" of 512 rows
    x_scale: str  # 13: columns constant in training have scale 1 ("unit"), or all are divided by SD + 1e-7 ("epsilon")
    free_centres: str  # 14: QRL's centres are "trained", or "fixed" at their random start
    map_rows_outside: str  # 15: QRTC-M's map outside training from min(2048, n) rows ("standard") or "map_size" rows
    kde_trunc_bandwidth: str  # 16: b of QRTC-KDE and QRTC-TRUNC is "tuned", or "fixed" at 0.1
    regularisation_choice: str  # 17: "bandwidth_first" (b for each lambda, then lambda) or lambda over all "pairs"
    early_stopping: str  # 18: for alpha other than 0 and 1 by "nll", or by the "objective"
    map_centres: str  # 19: PITs of the batch from the "same_pass", or from a "second_pass" with its own dropout masks

    @classmethod
    def from_dict(cls, switches: Mapping[str, Any]) -> Protocol:
        """The protocol with these switches; lists are as good as tuples."""
        entries: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in switches.items()
        }
        return cls(**entries)


PROTOCOLS: dict[str, Protocol] = {
    "paper": Protocol(
        posthoc_on="base",
        kernel_width="variance",
        pce="levels",
        sd="consistent",
        cohens_d="pooled",
        bandwidth_grid=(0.01, 0.05, 0.1, 0.2),
        lambda_grid=(0, 0.01, 0.05, 0.2, 1, 5),
        resnet="batchnorm_relu",
        ablation_baseline="train+calibration",
        time_per_epoch="trained",
        posthoc_bandwidth="tuned",
        metric_rows="whole",
        x_scale="unit",
        free_centres="trained",
        map_rows_outside="standard",
        kde_trunc_bandwidth="tuned",
        regularisation_choice="bandwidth_first",
        early_stopping="nll",
        map_centres="same_pass",
    ),
    "released": Protocol(
        posthoc_on="training_map",
        kernel_width="scale",
        pce="sorted",
        sd="released",
        cohens_d="released",
        bandwidth_grid=(0.02, 0.05, 0.1, 0.2, 0.5, 1),
        lambda_grid=(0, 0.01, 0.05, 0.1, 0.5, 1, 5),
        resnet="layernorm_reglu",
        ablation_baseline="train",
        time_per_epoch="selected",
        posthoc_bandwidth="fixed",
        metric_rows="batches",
        x_scale="epsilon",
        free_centres="fixed",
        map_rows_outside="map_size",
        kde_trunc_bandwidth="fixed",
        regularisation_choice="pairs",
        early_stopping="objective",
        map_centres="second_pass",
    ),
}
SWITCHES: tuple[str, ...] = tuple(field.name for field in fields(Protocol))


def describe(preset: str, protocol: Protocol) -> str:
    """The protocol in words: its preset, and which switches are changed."""
    changed = [name for name in SWITCHES if getattr(protocol, name) != getattr(PROTOCOLS[preset], name)]
    return f"{preset} ({', '.join(changed)} changed)" if changed else preset


def resolve_protocol(preset: str, switches: Mapping[str, Any]) -> Protocol:
    """The preset with single switches changed; a switch that is None stays as the preset has it."""
    changed: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in switches.items()
        if name in SWITCHES and value is not None
    }
    return replace(PROTOCOLS[preset], **changed)
