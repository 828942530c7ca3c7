"""The 19 disagreements between the paper and the released code, each a switch: `switches.yaml` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Side:
    """What one side does: the value of the switch, and words."""

    value: Any
    words: str

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Side:
        """The side as YAML has it."""
        value = entry["value"]
        return cls(tuple(value) if isinstance(value, list) else value, entry["words"])


@dataclass(frozen=True)
class Switch:
    """One disagreement. `row` is its number in docs/protocol.md, section 8, `name` the field of `Protocol`."""

    row: int
    name: str
    topic: str
    acts: str
    paper: Side  # what the paper says
    released: Side  # what the released code did
    why: str  # why it matters

    @property
    def needs_networks(self) -> bool:
        """Whether the other setting asks for other networks."""
        return self.acts in {"on the data", "on training"}

    def setting(self, protocol: object) -> str:
        """Whose meaning a `Protocol` has: "paper", "released" or, with another value, "own"."""
        return {self.paper.value: "paper", self.released.value: "released"}.get(getattr(protocol, self.name), "own")


def _read() -> dict[str, Switch]:
    entries = yaml.safe_load(Path(__file__).with_name("switches.yaml").read_text(encoding="utf-8"))
    return {
        name: Switch(
            row, name, entry["topic"], entry["acts"], Side.of(entry["paper"]), Side.of(entry["released"]), entry["why"]
        )
        for row, (name, entry) in enumerate(entries.items(), start=1)
    }


SWITCHES: dict[str, Switch] = _read()
