"""A family: the networks that one training job trains, under which conditions, and how they are evaluated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from qrt.engine.registry import PostHoc
from qrt.engine.scaling import USUAL_X_SCALE
from qrt.engine.variant import Variant

# The switches that act on training, and the networks that each concerns. What no switch concerns is trained once for
# all protocols.
CONDITIONS: dict[str, Callable[[Variant], bool]] = {
    "kernel_width": lambda network: network.alpha != 0,
    "resnet": lambda network: network.base_model == "resnet",
    "x_scale": lambda network: True,  # on datasets where it matters (`Family.on`)
    "free_centres": lambda network: network.ablation == "QRL",
    "map_rows_outside": lambda network: network.map_size is not None,
    "early_stopping": lambda network: network.alpha not in (0, 1),
    "map_centres": lambda network: network.map_source == "batch",
}
X_SCALE = "x_scale"


@dataclass(frozen=True)
class Family:
    """Networks of one dataset and split that one job trains, as one stack for each base model and set of rows.

    `conditions` has the settings of the switches that concern at least one of its networks. The name tells them apart,
    so that networks trained under different conditions never share a file.
    """

    name: str
    networks: tuple[Variant, ...]
    posthoc: tuple[tuple[PostHoc, ...], ...]  # of each network
    curves: bool  # whether per-epoch records are kept
    conditions: Mapping[str, str] = field(default_factory=dict)

    def on(self, x_scale: str | None) -> Family:
        """The family on a dataset where the scale of x matters and is `x_scale`; None where it does not matter."""
        if x_scale is None:
            return self
        name = self.name if x_scale == USUAL_X_SCALE else f"{self.name}.{x_scale}"
        return replace(self, name=name, conditions={**self.conditions, X_SCALE: x_scale})

    def condition(self, switch: str, network: Variant) -> str | None:
        """The setting of a switch, if it concerns this network; else None."""
        return self.conditions.get(switch) if CONDITIONS[switch](network) else None

    @cached_property
    def for_training(self) -> Family:
        """What training depends on: not on what happens to the networks afterwards."""
        return replace(self, posthoc=())

    @cached_property
    def json(self) -> str:
        """As one line of JSON, which `from_json` reads."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Family:
        """The family with this `json`."""
        entries = json.loads(text)
        networks = tuple(Variant(**network) for network in entries.pop("networks"))
        posthoc = tuple(tuple(maps) for maps in entries.pop("posthoc"))
        return cls(networks=networks, posthoc=posthoc, **entries)


def network_columns(family: Family, network: Variant) -> dict[str, Any]:
    """The columns of a result table that say which network a row is about."""
    conditions = {switch: family.condition(switch, network) for switch in CONDITIONS}
    return {"family": family.name, "variant": network.id} | asdict(network) | conditions
