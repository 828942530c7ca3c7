"""docs/configuration.md, written from the schema by `make docs`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from qrt_study.plan.config import dataset_groups

_HEAD = """# Configuration

Written from `workflow/schemas/config.schema.yaml` by `make docs`; edit the schema, not this page. A key that is left
out has its default. Anything that is not listed here is refused before anything runs. The switches of the protocols are
in [protocol.md](protocol.md#8-where-paper-and-released-code-disagree).
"""


def documentation(schema: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    lines = [_HEAD, "| key | meaning | may be | default |", "|---|---|---|---|"]
    for key, part in _keys(schema):
        meaning = " ".join(part["description"].split())
        default = f"`{json.dumps(part['default'])}`" if "default" in part else "required"
        lines.append(f"| `{key}` | {meaning} | {_allowed(part)} | {default} |")
    lines += ["", "## The groups of datasets", ""]
    lines += [f"- `{group}` ({len(names)}): {', '.join(names)}" for group, names in dataset_groups().items()]
    return "\n".join([*lines, ""])


def _keys(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    for name, part in schema.get("properties", {}).items():
        yield f"{path}{name}", part
        yield from _keys(part, f"{path}{name}.")
        if isinstance(others := part.get("additionalProperties"), Mapping):
            yield from _keys(others, f"{path}{name}.NAME.")


def _allowed(part: Mapping[str, Any]) -> str:
    items = part.get("items", {})
    choices = [choice for choice in part.get("enum", items.get("enum", [])) if choice is not None]
    words = {"array": "list", "object": "group of keys", "string": "text", "integer": "whole number"}
    kinds = part.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else [kind for kind in kinds if kind != "null"]
    named = " or ".join(words.get(kind, kind) for kind in kinds)
    shown = ", ".join(f"`{choice}`" for choice in choices)
    return f"{named} of {shown}" if named and shown else named or shown
