"""A family: the networks that one training job trains, and how they are read afterwards."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from qrt.engine.variant import ResNetForm, Variant

if TYPE_CHECKING:
    from qrt.engine.calibration_map import KernelWidth

PostHoc = Literal["none", "REFL", "KDE", "TRUNC"]

FIXED_BANDWIDTH = 0.1  # of the post-hoc map where it is not tuned (spec, section 8, row 11)
RESNET_FORMS: dict[str, ResNetForm] = {"batchnorm_relu": "paper", "layernorm_reglu": "released"}  # row 8


@dataclass(frozen=True)
class Family:
    """Networks of one dataset and split that one job trains, as one stack for each base model and set of rows.

    Networks that do not depend on the kernel's width or on the form of the ResNet are in families that do not either,
    so that studies under different protocols share them; these settings are then None.
    """

    name: str
    networks: tuple[Variant, ...]
    posthoc: tuple[tuple[PostHoc, ...], ...]  # of each network
    kernel_width: KernelWidth | None
    resnet_form: ResNetForm | None
    curves: bool  # whether per-epoch records are kept

    def to_json(self) -> str:
        """As one line of JSON, which `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Family:
        """The family that `to_json` wrote."""
        entries = json.loads(text)
        networks = tuple(Variant(**network) for network in entries.pop("networks"))
        posthoc = tuple(tuple(maps) for maps in entries.pop("posthoc"))
        return cls(networks=networks, posthoc=posthoc, **entries)


def network_columns(family: Family, network: Variant) -> dict[str, Any]:
    """The columns of a result table that say which network a row is about."""
    return {
        "family": family.name,
        "variant": network.id,
        "kernel_width": family.kernel_width if network.alpha else None,
        "resnet_form": family.resnet_form if network.base_model == "resnet" else None,
    } | asdict(network)


def failed_runs(dataset: str, split: int, family: Family, status: str, reason: str) -> list[dict[str, Any]]:
    """What a job leaves for a dataset without data: one run per network that says why."""
    place = {"dataset": dataset, "split": split, "status": status, "reason": reason, "posthoc_map": "none"}
    return [place | network_columns(family, network) for network in family.networks]
