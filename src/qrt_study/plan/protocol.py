"""The two protocols: what the paper's text says, and what the released code did (docs/protocol.md, section 8).

Each disagreement is one switch. A protocol is a preset of all nineteen; a scenario may change one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from qrt_study.plan.switches import SWITCHES


@dataclass(frozen=True)
class Protocol:
    """One setting of the nineteen switches, whose values and meaning are in `switches.yaml`."""

    posthoc_on: str
    kernel_width: str
    pce: str
    sd: str
    cohens_d: str
    bandwidth_grid: tuple[float, ...]
    lambda_grid: tuple[float, ...]
    resnet: str
    ablation_baseline: str
    time_per_epoch: str
    posthoc_bandwidth: str
    metric_rows: str
    x_scale: str
    free_centres: str
    map_rows_outside: str
    kde_trunc_bandwidth: str
    regularisation_choice: str
    early_stopping: str
    map_centres: str

    @classmethod
    def from_dict(cls, switches: Mapping[str, Any]) -> Protocol:
        """The protocol with these switches; lists are as good as tuples."""
        entries: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in switches.items()
        }
        return cls(**entries)


PROTOCOLS: dict[str, Protocol] = {
    "paper": Protocol(**{name: switch.paper.value for name, switch in SWITCHES.items()}),
    "released": Protocol(**{name: switch.released.value for name, switch in SWITCHES.items()}),
}
OTHER_PROTOCOL = {"paper": "released", "released": "paper"}


def protocol_of(scenario: str) -> str:
    """The protocol of a scenario: a protocol by itself (`paper`), or with one switch changed (`paper.sd`)."""
    return scenario.partition(".")[0]


def switch_of(scenario: str) -> str:
    """The switch that a scenario changes; empty for a protocol by itself."""
    return scenario.partition(".")[2]


def switched(protocol: str) -> list[str]:
    """The scenarios with one switch of this protocol changed to what the other one has."""
    return [f"{protocol}.{switch}" for switch in SWITCHES]


SCENARIOS: tuple[str, ...] = tuple(scenario for protocol in PROTOCOLS for scenario in (protocol, *switched(protocol)))


def scenario_settings(scenario: str) -> Protocol:
    """The nineteen switches as a scenario has them."""
    preset, switch = PROTOCOLS[protocol_of(scenario)], switch_of(scenario)
    if not switch:
        return preset
    other = PROTOCOLS[OTHER_PROTOCOL[protocol_of(scenario)]]
    return replace(preset, **{switch: getattr(other, switch)})


def describe(scenario: str, settings: Protocol) -> str:
    """A scenario in words: its protocol, and which switches are changed."""
    preset = protocol_of(scenario)
    changed = [name for name in SWITCHES if getattr(settings, name) != getattr(PROTOCOLS[preset], name)]
    return f"{preset} ({', '.join(changed)} changed)" if changed else preset
