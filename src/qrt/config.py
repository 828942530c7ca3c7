"""The configuration: defaults filled in, checked as a whole, and refused with messages a user can act on."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import jsonschema
import yaml

from qrt.data.embedded import EMBEDDED
from qrt.data.sheet import paper_datasets
from qrt.errors import UserError
from qrt.protocol import Protocol, resolve_protocol

MIRROR_VARIABLE = "QRT_MIRROR"


@dataclass(frozen=True)
class OwnDataset:
    """A dataset of the user's: a file and its target column."""

    path: Path
    target: str
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class StudyConfig:
    """A checked configuration with every default filled in."""

    protocol_name: str
    protocol: Protocol
    datasets: tuple[str, ...]  # single names, groups resolved, own datasets last
    own_datasets: dict[str, OwnDataset]
    splits: tuple[int, ...]
    mirror: Path | None
    sources: tuple[str, ...]
    methods: tuple[str, ...]
    base_models: tuple[str, ...]
    grids: dict[str, tuple[float, ...]]
    training: dict[str, int]
    coarse_jobs: bool  # one job per base model instead of one per family
    published: bool  # whether figures show the published values beside ours
    results: str  # folder of what depends on the protocol


def dataset_groups() -> dict[str, list[str]]:
    """Names that stand for several datasets in `datasets:`."""
    groups: dict[str, list[str]] = {"paper": list(paper_datasets()), "embedded": list(EMBEDDED)}
    for row in paper_datasets().values():
        groups.setdefault(row.group, []).append(row.name)
    return groups


def read_schema(path: Path) -> dict[str, Any]:
    """The schema as a dictionary."""
    schema: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return schema


def load_config(raw: Mapping[str, Any], schema: Mapping[str, Any], root: Path) -> StudyConfig:
    """Check `raw` against `schema`; relative paths in it are relative to `root`.

    All problems found are told in one message (UserError).
    """
    problems = [_message(error) for error in _violations(raw, schema)]
    if problems:
        raise UserError(_summary(problems))
    config = with_defaults(raw, schema)
    own = {
        name: OwnDataset((root / entry["path"]).resolve(), entry["target"], tuple(entry["categorical"]))
        for name, entry in config["own_datasets"].items()
    }
    datasets, problems = _resolve_datasets(config["datasets"], own)
    problems += _path_problems(own)
    mirror = config["mirror"] or os.environ.get(MIRROR_VARIABLE) or None
    mirror_path = (root / mirror).resolve() if mirror else None
    if mirror_path is not None and not (mirror_path / "manifest.csv").is_file():
        problems.append(f"mirror: {mirror!r} has no manifest.csv; give a folder laid out as docs/data.md says")
    if problems:
        raise UserError(_summary(problems))
    return StudyConfig(
        protocol_name=config["protocol"],
        protocol=resolve_protocol(config["protocol"], config["switches"]),
        datasets=datasets,
        own_datasets=own,
        splits=tuple(config["splits"]),
        mirror=mirror_path,
        sources=tuple(config["sources"]),
        methods=tuple(config["methods"]),
        base_models=tuple(config["base_models"]),
        grids={name: tuple(values) for name, values in config["grids"].items()},
        training=dict(config["training"]),
        coarse_jobs=config["jobs"] == "coarse",
        published=config["published"],
        results=_results_folder(config["protocol"], config["switches"]),
    )


def with_defaults(value: Any, schema: Mapping[str, Any]) -> Any:
    """`value` with the schema's defaults wherever a key is missing, at any depth."""
    if not isinstance(value, Mapping):
        return value
    properties: Mapping[str, Any] = schema.get("properties", {})
    others = schema.get("additionalProperties")
    filled = {name: part.get("default") for name, part in properties.items() if "default" in part}
    filled.update(value)
    return {
        name: with_defaults(entry, properties.get(name) or (others if isinstance(others, Mapping) else {}))
        for name, entry in filled.items()
    }


def _results_folder(preset: str, switches: Mapping[str, Any]) -> str:
    """`results` for the paper's protocol; other protocols and turned switches have folders of their own."""
    turned = {name: value for name, value in switches.items() if value is not None}
    name = "results" if preset == "paper" else f"results_{preset}"
    if not turned:
        return name
    digest = hashlib.sha256(json.dumps(turned, sort_keys=True).encode()).hexdigest()[:8]
    return "_".join([name, *sorted(turned), digest])


def _resolve_datasets(names: Iterable[str], own: Mapping[str, OwnDataset]) -> tuple[tuple[str, ...], list[str]]:
    groups = dataset_groups()
    single = {*paper_datasets(), *EMBEDDED}
    chosen: dict[str, None] = {}  # a dictionary keeps the order and drops what a group and a name both bring
    problems = []
    for name in names:
        if name in groups:
            chosen.update(dict.fromkeys(groups[name]))
        elif name in single or name in own:
            chosen[name] = None
        else:
            right = _did_you_mean(name, [*single, *groups, *own])
            problems.append(
                f"datasets: there is no dataset or group {name!r}{right or '; groups are ' + ', '.join(groups)}. "
                "Data of your own goes under own_datasets"
            )
    for name in own:
        if name in single or name in groups:
            problems.append(f"own_datasets: the name {name!r} is taken by a dataset or group; choose another")
    chosen.update(dict.fromkeys(own))
    return tuple(chosen), problems


def _path_problems(own: Mapping[str, OwnDataset]) -> list[str]:
    problems = []
    for name, entry in own.items():
        if not entry.path.is_file():
            problems.append(f"own_datasets.{name}.path: there is no file {str(entry.path)!r}")
        elif not entry.path.name.endswith((".csv", ".csv.gz", ".parquet")):
            problems.append(f"own_datasets.{name}.path: {entry.path.name!r} is none of .csv, .csv.gz and .parquet")
    return problems


def _violations(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> list[jsonschema.ValidationError]:
    errors = jsonschema.Draft202012Validator(schema).iter_errors(raw)
    return sorted(errors, key=lambda error: [str(part) for part in error.absolute_path])


def _message(error: jsonschema.ValidationError) -> str:
    """One violation in words: the key, the value, and what would be right."""
    where = ".".join(str(part) for part in error.absolute_path) or "configuration"
    rule, value = str(error.validator), cast(Any, error.instance)
    schema = cast(Mapping[str, Any], error.schema)
    if rule == "additionalProperties":
        known = list(schema["properties"])
        unknown = [name for name in value if name not in known]
        prefix = "" if where == "configuration" else f"{where}."
        return "; ".join(
            f"{prefix}{name}: unknown key{_did_you_mean(str(name), known) or '; known are ' + ', '.join(known)}"
            for name in unknown
        )
    if rule == "enum":
        allowed = [choice for choice in schema["enum"] if choice is not None]
        return f"{where}: {value!r} is not one of {', '.join(allowed)}{_did_you_mean(str(value), allowed)}"
    if rule == "type":
        expected = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return f"{where}: {value!r} should be {' or '.join(_TYPE_WORDS[name] for name in expected)}"
    if rule == "required":
        missing = [name for name in schema["required"] if name not in value]
        return f"{where}: {', '.join(missing)} missing"
    if rule == "contains":
        return f"{where}: {value!r} must hold the value {schema['contains']['const']!r}"
    if rule == "pattern" and error.schema_path and "propertyNames" in error.schema_path:
        return f"{where}: the name {value!r} may have letters, digits, '_', '-' and '.' only (at most 64)"
    if rule == "uniqueItems":
        return f"{where}: {value!r} has an entry twice"
    return f"{where}: {value!r} is not allowed ({error.message})"


_TYPE_WORDS = {
    "array": "a list, such as [a, b]",
    "object": "a group of keys",
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    by_lower = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def _summary(problems: list[str]) -> str:
    if len(problems) == 1:
        return f"Configuration: {problems[0]}."
    lines = "\n".join(f"  - {problem}" for problem in problems)
    return f"Configuration: {len(problems)} problems\n{lines}"
