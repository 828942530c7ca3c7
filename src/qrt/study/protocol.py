"""The two protocols: what the paper's text says, and what the released code did (spec, section 8).

Each disagreement is one switch. A protocol is a preset of all eleven; the configuration may turn single ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Protocol:
    """One setting of the eleven switches, in the order of the rows of the spec's table."""

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
    ),
}


def describe(preset: str, protocol: Protocol) -> str:
    """The protocol in words: its preset, and which switches are turned."""
    names = [field.name for field in fields(Protocol)]
    turned = [name for name in names if getattr(protocol, name) != getattr(PROTOCOLS[preset], name)]
    return f"{preset} ({', '.join(turned)} turned)" if turned else preset


def resolve_protocol(preset: str, switches: Mapping[str, Any]) -> Protocol:
    """The preset with single switches turned; a switch that is None stays as the preset has it."""
    names = {field.name for field in fields(Protocol)}
    turned: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in switches.items()
        if name in names and value is not None
    }
    return replace(PROTOCOLS[preset], **turned)
