"""The configuration: defaults filled in, checked as a whole, and refused with messages a user can act on."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from qrt.errors import UserError
from qrt.text.suggestion import did_you_mean
from qrt.text.terminal import printable
from qrt_study.data.embedded import EMBEDDED
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.artifacts import artifacts_by_name
from qrt_study.plan.own_dataset import OwnDataset, is_file
from qrt_study.plan.protocol import SCENARIOS, Protocol, protocol_of, scenario_settings

if TYPE_CHECKING:
    import jsonschema  # jobs know the study without checking it again

MIRROR_VARIABLE = "QRT_MIRROR"
_LARGEST = 100_000  # entries of a configuration
_NO_FACTS = ("own_datasets", "mirror", "sources", "draw")
ARCHIVE = "replication/results"  # the published results, in the project
_TUNED_GRIDS = ("bandwidth_grid", "lambda_grid")  # rows 6 and 7 of docs/protocol.md, section 8
PAPER_TRAINING = {"max_epochs": 5000, "patience": 15}


@dataclass(frozen=True)
class StudyConfig:
    """A checked configuration with every default filled in, under one of the scenarios that it asks for."""

    scenarios: tuple[str, ...]  # those to draw: protocols, or protocols with one switch changed
    scenario: str  # the one of these settings
    protocol: Protocol  # its switches
    datasets: tuple[str, ...]  # single names, groups resolved, own datasets last
    own_datasets: dict[str, OwnDataset]
    splits: tuple[int, ...]
    seeds: tuple[int, ...]  # random starts of each split
    mirror: Path | None
    sources: tuple[str, ...]
    methods: tuple[str, ...]
    base_models: tuple[str, ...]
    grids: dict[str, tuple[float, ...]]
    training: dict[str, int]
    scope: str  # main, published or everything
    coarse_jobs: bool  # one job per dataset and split instead of one per family
    keep_outputs: bool  # whether the networks' outputs are kept after their evaluation
    networks: str  # new (all are trained), published (none is), or extend (those that are not published)
    published: bool  # whether figures show the published values beside ours
    draw: tuple[str, ...]  # figures, tables and pages that a call without a target makes
    name: str  # of the folders of its results and figures; empty: the study as the paper has it
    networks_folder: str  # of trained networks, which depends on the length of training only
    archive: str  # folder of the published results, relative to that of the study; empty if it takes none

    def under(self, scenario: str) -> StudyConfig:
        """The same study under another scenario."""
        return replace(self, scenario=scenario, protocol=_settings(scenario, self.grids))

    def facts(self) -> dict[str, Any]:
        """What the results of a scenario depend on, as JSON has it: not what else is drawn, nor where data is found."""
        return self.facts_to_judge() | {"scenarios": [self.scenario]}

    def facts_to_judge(self) -> dict[str, Any]:
        """The same with the other scenarios, whose networks are read with a switch changed."""
        return {name: value for name, value in asdict(self).items() if name not in _NO_FACTS}

    @property
    def protocol_name(self) -> str:
        """The protocol of the scenario."""
        return protocol_of(self.scenario)

    @property
    def is_demonstration(self) -> bool:
        """Whether results say nothing about the paper: training is shorter, or no dataset is one of the paper's."""
        return self.is_short or not self._has_paper_data

    @property
    def demonstration(self) -> str:
        """What figures and pages say of a demonstration; empty for a study of the paper."""
        if not self.is_demonstration:
            return ""
        training = "short training" if self.is_short else "training"
        if not self._has_paper_data:
            training += f" on {'embedded data' if set(self.datasets) <= set(EMBEDDED) else 'other data'}"
        return f"demonstration: {training}, no statement about the paper"

    @property
    def training_words(self) -> str:
        """How training differs from the paper's; empty where it does not."""
        epochs, patience = self.training["max_epochs"], self.training["patience"]
        of_paper = PAPER_TRAINING["max_epochs"], PAPER_TRAINING["patience"]
        words = []
        if epochs != of_paper[0]:
            words.append(f"trained for at most {epochs:,} epochs ({of_paper[0]:,} in the paper)")
        if patience != of_paper[1]:
            words.append(f"patience {patience} ({of_paper[1]} in the paper)")
        return ", ".join(words)

    @property
    def is_short(self) -> bool:
        """Whether training is shorter than the paper's: a trial."""
        return any(self.training[name] < of_paper for name, of_paper in PAPER_TRAINING.items())

    @property
    def has_own_data(self) -> bool:
        """Whether a dataset is the user's."""
        return bool(set(self.datasets) - {*paper_datasets(), *EMBEDDED})

    @property
    def _has_paper_data(self) -> bool:
        return bool(set(self.datasets) & set(paper_datasets()))

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> StudyConfig:
        """The study with these facts (`facts` after a way through JSON); it cannot fetch data."""
        entries: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()
        }
        entries["protocol"] = Protocol.from_dict(entries["protocol"])
        entries["grids"] = {name: tuple(values) for name, values in entries["grids"].items()}
        return cls(**entries, own_datasets={}, mirror=None, sources=(), draw=())


def dataset_groups() -> dict[str, list[str]]:
    """Names that stand for several datasets in `datasets:`."""
    groups: dict[str, list[str]] = {"paper": list(paper_datasets()), "embedded": list(EMBEDDED)}
    for row in paper_datasets().values():
        groups.setdefault(row.group, []).append(row.name)
    return groups


def read_schema(path: Path) -> dict[str, Any]:
    """The schema as a dictionary."""
    import yaml

    schema: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return schema


def load_config(raw: Mapping[str, Any], schema: Mapping[str, Any], root: Path) -> StudyConfig:
    """Check `raw` against `schema`; relative paths in it are relative to `root`.

    All problems found are told in one message (UserError).
    """
    try:
        if _is_larger(raw, _LARGEST):
            raise UserError(_summary([f"it has more than {_LARGEST:,} entries (YAML aliases count each time)"]))
        raw = without_texts(raw, schema)
        # Python refuses to print an integer of thousands of digits, so these come before the schema has its say.
        problems = [f"{where}: should be a finite number" for where in _infinite(raw)]
    except RecursionError as error:
        raise UserError(_summary(["it is nested too deeply, or a part of it holds itself (a YAML alias)"])) from error
    if not problems:
        problems = [_message(error) for error in _violations(raw, schema)] + _name_problems(raw)
    if problems:
        raise UserError(_summary(problems))
    config = with_defaults(raw, schema)
    own = {
        name: OwnDataset.from_entry(_resolved(root, entry["path"]), entry)
        for name, entry in config["own_datasets"].items()
    }
    datasets, problems = _resolve_datasets(config["datasets"], own)
    problems += [f"own_datasets.{name}.{problem}" for name, entry in own.items() for problem in entry.problems()]
    right = "; use paper, released, or one of them with a switch, such as paper.sd"
    problems += [
        f"protocols: there is no scenario {name!r}{did_you_mean(name, SCENARIOS) or right}"
        for name in config["protocols"]
        if name not in SCENARIOS
    ]
    if config["networks"] != "new" and _length_of_training(config, schema):
        problems.append(
            f"networks: {config['networks']!r} takes networks that trained as long as the paper's; leave `training` out"
        )
    draw, unknown = artifacts_by_name(config["draw"])
    problems += unknown
    mirror = config["mirror"] or os.environ.get(MIRROR_VARIABLE) or None
    mirror_path = _resolved(root, mirror) if mirror else None
    if mirror_path is not None and not is_file(mirror_path / "manifest.csv"):
        named_by = "mirror" if config["mirror"] else f"the environment variable {MIRROR_VARIABLE}"
        problems.append(f"{named_by}: {mirror!r} has no manifest.csv; give a folder laid out as docs/data.md says")
    if problems:
        raise UserError(_summary(problems))
    grids = {
        name: tuple(map(int, values) if name == "map_sizes" else values)
        for name, values in config["grids"].items()
        if values is not None
    }
    scenarios = tuple(config["protocols"])
    as_given: dict[str, Any] = {name: tuple(config[name]) for name in ("sources", "methods", "base_models")}
    as_given |= {name: config[name] for name in ("scope", "keep_outputs", "networks", "published")}
    return StudyConfig(
        scenarios=scenarios,
        scenario=scenarios[0],
        protocol=_settings(scenarios[0], grids),
        datasets=datasets,
        own_datasets=own,
        splits=tuple(map(int, config["splits"])),  # to JSON Schema 1.0 is a whole number too
        seeds=tuple(range(int(config["seeds"]))),
        mirror=mirror_path,
        **as_given,
        grids=grids,
        training={name: int(value) for name, value in config["training"].items()},
        coarse_jobs=config["jobs"] == "coarse",
        draw=draw,
        name=config["name"] or _usual_name(config, schema),
        networks_folder=f"results/networks{_length_of_training(config, schema)}",
        archive="" if config["networks"] == "new" else os.path.relpath(root / ARCHIVE),
    )


def load_study(raw: Mapping[str, Any], project: Path) -> StudyConfig:
    """Check `raw` against the schema of a project."""
    return load_config(raw, read_schema(project / "workflow/schemas/config.schema.yaml"), project)


def _settings(scenario: str, grids: Mapping[str, tuple[float, ...]]) -> Protocol:
    """The switches of a scenario, with the grids that the configuration has for every scenario."""
    own: dict[str, Any] = {name: grids[name] for name in _TUNED_GRIDS if name in grids}
    return replace(scenario_settings(scenario), **own)


def _usual_name(config: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The name of a study without one: its results never replace those of a study with other training or grids."""
    if config["networks"] == "published":
        return "published"
    grids = {name: values for name, values in config["grids"].items() if name in _TUNED_GRIDS and values is not None}
    digest = hashlib.sha256(json.dumps(grids, sort_keys=True).encode()).hexdigest()[:8]
    return (_length_of_training(config, schema) + (f"_grids_{digest}" if grids else "")).removeprefix("_")


def without_texts(value: Any, schema: Mapping[str, Any]) -> Any:
    """`value` with numbers, true, false and null in place of texts wherever the schema wants those, at any depth.

    Snakemake hands over what is in brackets or braces on the command line as texts: `--config splits=[0]`.
    """
    if isinstance(value, Mapping):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties") or {}
        return {name: without_texts(entry, properties.get(name, others)) for name, entry in value.items()}
    if isinstance(value, list):
        return [without_texts(entry, schema.get("items", {})) for entry in value]
    if not isinstance(value, str):
        return value
    kinds = schema.get("type", [])
    if value == "null" and ("null" in kinds or None in schema.get("enum", [])):
        return None
    if value in ("true", "false") and "boolean" in kinds:
        return value == "true"
    return _number(value) if "number" in kinds or "integer" in kinds else value


def _number(text: str) -> int | float | str:
    """The number that a text stands for; the text, if it stands for none."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


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


def _length_of_training(config: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    """The end of a folder's name for networks that train longer or shorter than usual: they never replace those."""
    usual = {name: part["default"] for name, part in schema["properties"]["training"]["properties"].items()}
    other = {name: int(value) for name, value in config["training"].items() if value != usual[name]}
    return "".join(f"_{name}_{value}" for name, value in sorted(other.items()))


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
            right = did_you_mean(name, [*single, *groups, *own])
            problems.append(
                f"datasets: there is no dataset or group {name!r}{right or '; groups are ' + ', '.join(groups)}. "
                "Data of your own goes under own_datasets"
            )
    for name in own:
        if name in single or name in groups:
            problems.append(f"own_datasets: the name {name!r} is taken by a dataset or group; choose another")
    chosen.update(dict.fromkeys(own))
    return tuple(chosen), problems


def _resolved(root: Path, path: str) -> Path:
    try:
        return (root / path).resolve()
    except (OSError, ValueError, RuntimeError):  # a null byte, half a surrogate pair, links in a circle
        return root / path


def _name_problems(raw: Mapping[str, Any]) -> list[str]:
    """Names that the schema's pattern lets through: those that are no text."""
    own = raw.get("own_datasets")
    names = own if isinstance(own, Mapping) else {}
    return [_bad_name("own_datasets", name) for name in names if not isinstance(name, str)]


def _is_larger(value: Any, most: int) -> bool:
    """Whether a tree has more entries: nine levels of YAML aliases are a few hundred bytes and do not end."""
    left, seen = [value], 0
    while left and seen <= most:
        entry = left.pop()
        inside = [*entry, *entry.values()] if isinstance(entry, Mapping) else entry if isinstance(entry, list) else ()
        left.extend(inside)
        seen += 1
    return seen > most


def _infinite(value: Any, where: str = "") -> Iterator[str]:
    """The places of all numbers in a tree that no float can hold."""
    if isinstance(value, Mapping | list):
        for key, entry in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _infinite(entry, f"{where}.{key}" if where else str(key))
    elif isinstance(value, float | int):
        try:
            finite = math.isfinite(value)
        except OverflowError:
            finite = False
        if not finite:
            yield where


def _bad_name(where: str, name: Any) -> str:
    return f"{where}: the name {name!r} may have letters, digits, '_', '-' and '.' only (at most 64)"


def _violations(raw: Mapping[str, Any], schema: Mapping[str, Any]) -> list[jsonschema.ValidationError]:
    import jsonschema

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
            f"{prefix}{name}: unknown key{did_you_mean(str(name), known) or '; known are ' + ', '.join(known)}"
            for name in unknown
        )
    if rule == "enum":
        allowed = [choice for choice in schema["enum"] if choice is not None]
        return f"{where}: {value!r} is not one of {', '.join(allowed)}{did_you_mean(str(value), allowed)}"
    if rule == "type":
        expected = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        return f"{where}: {value!r} should be {' or '.join(_TYPE_WORDS[name] for name in expected)}"
    if rule == "required":
        missing = [name for name in schema["required"] if name not in value]
        return f"{where}: {', '.join(missing)} missing"
    if rule == "contains":
        return f"{where}: {value!r} must hold the value {schema['contains']['const']!r}"
    if rule == "pattern" and error.schema_path and "propertyNames" in error.schema_path:
        return _bad_name(where, value)
    if rule == "uniqueItems":
        return f"{where}: {value!r} has an entry twice"
    return f"{where}: {value!r} is not allowed ({error.message})"


_TYPE_WORDS = {
    "array": "a list, such as [a, b]",
    "object": "a group of keys",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}


def _summary(problems: list[str]) -> str:
    problems = list(dict.fromkeys(printable(line, keep="") for line in problems))
    if len(problems) == 1:
        return f"Configuration: {problems[0]}."
    lines = "\n".join(f"  - {problem}" for problem in problems)
    return f"Configuration: {len(problems)} problems\n{lines}"
