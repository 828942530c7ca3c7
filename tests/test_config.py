from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from conftest import PROJECT
from qrt.data.table_shape import column_names
from qrt.documentation.configuration import documentation
from qrt.errors import UserError
from qrt.study.config import PAPER_TRAINING, StudyConfig, load_config, read_config, read_schema
from qrt.study.protocol import PROTOCOLS

SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")


def load(raw: dict[str, Any], root: Path = PROJECT) -> StudyConfig:
    return load_config(raw, SCHEMA, root)


def every_key(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    keys = []
    for name, part in schema.get("properties", {}).items():
        keys.append((f"{path}{name}", part))
        keys += every_key(part, f"{path}{name}.")
    return keys


@pytest.mark.parametrize(("key", "part"), every_key(SCHEMA))
def test_every_key_is_documented_and_has_a_valid_default(key: str, part: dict[str, Any]) -> None:
    import jsonschema

    assert part["description"].strip()
    assert "default" in part, key
    jsonschema.validate(part["default"], part)


def test_full_training_is_the_default() -> None:
    assert load({}).training == PAPER_TRAINING


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, ""),
        ({"datasets": ["Yacht", "linear"]}, ""),
        ({"datasets": ["Yacht"], "training": {"max_epochs": 9000}}, ""),
        ({"datasets": ["Yacht"], "training": {"max_epochs": 4999}}, "short training"),
        ({"datasets": ["Yacht"], "training": {"patience": 14}}, "short training"),
        ({"datasets": ["linear"]}, "training on embedded data"),
        ({"datasets": ["linear", "skewed"], "training": {"max_epochs": 4}}, "short training on embedded data"),
    ],
)
def test_short_training_or_other_data_is_a_demonstration(config: dict[str, Any], words: str) -> None:
    study = load(config)
    assert study.is_demonstration == bool(words)
    assert study.demonstration == (f"demonstration: {words}, no statement about the paper" if words else "")


def test_study_of_own_data_alone_is_a_demonstration(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("x,y\n1,2\n")
    study = load({"datasets": ["linear"], "own_datasets": {"mine": {"path": "mine.csv", "target": "y"}}}, tmp_path)
    assert study.demonstration == "demonstration: training on other data, no statement about the paper"


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ({}, ""),
        ({"max_epochs": 4}, "trained for at most 4 epochs (5,000 in the paper)"),
        ({"max_epochs": 10_000}, "trained for at most 10,000 epochs (5,000 in the paper)"),
        ({"patience": 20}, "patience 20 (15 in the paper)"),
    ],
)
def test_training_that_is_not_the_papers_is_told(training: dict[str, int], words: str) -> None:
    assert load({"training": training}).training_words == words


def test_empty_configuration_is_the_whole_study_under_the_papers_protocol() -> None:
    study = load({})
    assert len(study.datasets) == 57
    assert study.splits == (0, 1, 2, 3, 4)
    assert study.protocol == PROTOCOLS["paper"]
    assert study.mirror is None


def test_shipped_configurations_are_valid() -> None:
    for file in ("config.yaml", "workflow/profiles/smoke/study.yaml"):
        load(yaml.safe_load((PROJECT / file).read_text()))


def as_typed(text: str) -> Any:
    """As Snakemake reads what is no plain number after `--config`: lists, groups of keys, and texts."""
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506


@pytest.mark.parametrize(
    ("typed", "key", "value"),
    [
        ("splits=[0, 3]", "splits", (0, 3)),
        ("seeds=2", "seeds", (0, 1)),
        ("published=false", "published", False),
        ("only_finished=true", "only_finished", True),
        ("mirror=null", "mirror", None),
        ("training={max_epochs: 4}", "training", {"max_epochs": 4, "patience": 15}),
        ("datasets=[Yacht]", "datasets", ("Yacht",)),
    ],
)
def test_values_of_the_command_line_are_what_the_schema_wants(typed: str, key: str, value: Any) -> None:
    name, _, text = typed.partition("=")
    assert getattr(load({name: as_typed(text)}), key) == value


def test_switches_and_own_data_of_the_command_line_are_what_the_schema_wants(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("1,2\n1,2\n")
    text = "{switches: {bandwidth_grid: [0.1, 1e-2], pce: null}, own_datasets: {mine: {path: 1.csv, target: 2}}}"
    study = load(as_typed(text), tmp_path)
    assert study.protocol.bandwidth_grid == (0.1, 0.01)
    assert study.protocol.pce == PROTOCOLS["paper"].pce
    assert study.own_datasets["mine"].target == "2", "the name of a column stays a text"


def test_single_switch_is_changed_against_the_preset() -> None:
    protocol = load({"protocol": "released", "switches": {"pce": "levels", "bandwidth_grid": [0.1]}}).protocol
    assert (protocol.pce, protocol.bandwidth_grid) == ("levels", (0.1,))
    assert protocol.posthoc_on == PROTOCOLS["released"].posthoc_on


def test_presets_differ_in_every_one_of_the_nineteen_switches() -> None:
    paper, released = (vars(PROTOCOLS[name]) for name in ("paper", "released"))
    assert len(paper) == 19
    assert all(paper[name] != released[name] for name in paper)


def test_schema_has_a_switch_for_every_field_of_a_protocol() -> None:
    assert set(SCHEMA["properties"]["switches"]["properties"]) == set(vars(PROTOCOLS["paper"]))


def test_groups_and_names_are_resolved_once_each() -> None:
    assert load({"datasets": ["Yacht", "uci"]}).datasets.count("Yacht") == 1
    assert len(load({"datasets": ["uci"]}).datasets) == 12


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ({"protocl": "paper"}, ["protocl", "unknown key", "did you mean 'protocol'?"]),
        ({"switches": {"pc": "levels"}}, ["switches.pc", "unknown key", "did you mean 'pce'?"]),
        ({"protocol": "realesed"}, ["protocol", "'realesed'", "did you mean 'released'?"]),
        ({"datasets": ["Yact"]}, ["datasets", "'Yact'", "did you mean 'Yacht'?"]),
        ({"datasets": ["atlantis"]}, ["datasets", "'atlantis'", "own_datasets"]),
        ({"methods": ["QRTX"]}, ["methods.0", "'QRTX'", "did you mean"]),
        ({"splits": "five"}, ["splits", "'five'", "a list"]),
        ({"splits": [0, 0]}, ["splits", "twice"]),
        ({"splits": [1.5]}, ["splits.0", "1.5", "whole number"]),
        ({"training": {"max_epochs": "many"}}, ["training.max_epochs", "'many'", "whole number"]),
        ({"switches": {"lambda_grid": [1]}}, ["lambda_grid", "must hold the value 0"]),
        ({"switches": {"bandwidth_grid": [0]}}, ["bandwidth_grid.0", "0"]),
        ({"mirror": "nowhere"}, ["mirror", "'nowhere'", "manifest.csv"]),
        ({"own_datasets": {"mine": {"path": "no.csv", "target": "y"}}}, ["own_datasets.mine.path", "no.csv"]),
        ({"own_datasets": {"mine": {"path": "no.csv"}}}, ["own_datasets.mine", "target missing"]),
        ({"own_datasets": {"Yacht": {"path": "README.md", "target": "y"}}}, ["'Yacht' is taken"]),
        (
            {"own_datasets": {"a; rm -rf": {"path": "x.csv", "target": "y"}}},
            ["'a; rm -rf'", "letters, digits"],
        ),
    ],
)
def test_mistake_is_named_with_key_value_and_remedy(raw: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        load(raw)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(UserError, match="2 problems") as caught:
        load({"protocl": "paper", "splits": "five"})
    assert "protocl" in str(caught.value)
    assert "splits" in str(caught.value)


def test_mirror_comes_from_the_environment_where_the_config_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifest.csv").write_text("group,name,file,sha256,target\n")
    monkeypatch.setenv("QRT_MIRROR", str(tmp_path))
    assert load({}).mirror == tmp_path


def test_own_datasets_join_the_study(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("x,y\n1,2\n")
    study = load({"datasets": ["Yacht"], "own_datasets": {"mine": {"path": "mine.csv", "target": "y"}}}, tmp_path)
    assert study.datasets == ("Yacht", "mine")
    assert study.own_datasets["mine"].path == tmp_path / "mine.csv"


def test_columns_of_own_data_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "houses.csv").write_text("\ufeffprice,city,size\n1,A,2\n", encoding="utf-8")
    entry = {"path": "houses.csv", "target": "prise", "categorical": ["City"], "drop": ["zzz"]}
    with pytest.raises(UserError) as refusal:
        load({"own_datasets": {"houses": entry}}, tmp_path)
    for part in (
        "own_datasets.houses.target: houses.csv has no column 'prise' (did you mean 'price'?)",
        "own_datasets.houses.categorical: houses.csv has no column 'City' (did you mean 'city'?)",
        "own_datasets.houses.drop: houses.csv has no column 'zzz'; its columns are 'price', 'city', 'size'",
    ):
        assert part in str(refusal.value)
    right = {"path": "houses.csv", "target": "price", "categorical": ["city"], "drop": ["size"]}
    assert load({"own_datasets": {"houses": right}}, tmp_path).own_datasets["houses"].drop == ("size",)


@pytest.mark.parametrize("key", ["categorical", "drop"])
def test_target_of_own_data_is_nothing_else(tmp_path: Path, key: str) -> None:
    (tmp_path / "houses.csv").write_text("price,size\n1,2\n")
    entry = {"path": "houses.csv", "target": "price", key: ["price"]}
    with pytest.raises(UserError, match=rf"own_datasets\.houses\.{key}: 'price' is the target"):
        load({"own_datasets": {"houses": entry}}, tmp_path)


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_names_of_columns_are_read_from_every_kind_of_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"mine.{ending}"
    table = pd.DataFrame({"a, b": [1.0], 'the "c"': [2.0], "line\nbreak": [3.0]})
    table.to_parquet(path) if ending == "parquet" else table.to_csv(path, index=False)
    assert column_names(path) == tuple(table.columns)


@pytest.mark.parametrize("content", [b"", b"\xe9t\xe9,y\n1,2\n", b"x" * 300_000], ids=["empty", "latin-1", "no table"])
def test_file_without_a_readable_header_is_left_to_whoever_reads_it(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mine.csv").write_bytes(content)
    assert column_names(tmp_path / "mine.csv") == ()
    assert load({"own_datasets": {"mine": {"path": "mine.csv", "target": "y"}}}, tmp_path).own_datasets


def test_wrong_mirror_is_blamed_on_whoever_named_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QRT_MIRROR", str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"^Configuration: the environment variable QRT_MIRROR: '.*nowhere' has no"):
        load({})
    with pytest.raises(UserError, match=r"^Configuration: mirror: 'elsewhere' has no manifest"):
        load({"mirror": "elsewhere"}, tmp_path)


def test_documentation_is_written_from_the_schema() -> None:
    page = (PROJECT / "docs/configuration.md").read_text()
    assert page == documentation(SCHEMA), "run `make docs`"


def test_later_configuration_changes_single_values_of_an_earlier_one(tmp_path: Path) -> None:
    first, second = tmp_path / "one.yaml", tmp_path / "two.yaml"
    first.write_text("splits: [0, 1]\ntraining: {max_epochs: 4, patience: 2}\n")
    second.write_text("training: {patience: 3}\n")
    assert read_config([first, second]) == {"splits": [0, 1], "training": {"max_epochs": 4, "patience": 3}}
    with pytest.raises(UserError, match=r"three\.yaml: not a readable configuration"):
        read_config([tmp_path / "three.yaml"])


def test_facts_of_a_study_survive_their_way_through_json() -> None:
    study = load({"protocol": "released", "splits": [0, 3], "grids": {"map_sizes": [8]}})
    again = StudyConfig.from_facts(json.loads(json.dumps(study.facts())))
    assert again.facts() == study.facts()
    assert again.protocol == PROTOCOLS["released"]
