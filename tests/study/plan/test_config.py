from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import yaml

from conftest import PROJECT
from qrt.errors import UserError
from qrt_study.data.table_shape import column_names
from qrt_study.plan.config import PAPER_TRAINING, StudyConfig, load_config
from qrt_study.plan.protocol import PROTOCOLS, SCENARIOS, scenario_settings
from qrt_study.results.layout import Layout
from support.configured import SCHEMA


def load(raw: dict[str, Any], root: Path = PROJECT) -> StudyConfig:
    return load_config(raw, SCHEMA, root)


def every_key(schema: dict[str, Any], path: str = "") -> list[tuple[str, dict[str, Any]]]:
    keys = []
    for name, part in schema.get("properties", {}).items():
        keys.append((f"{path}{name}", part))
        keys += every_key(part, f"{path}{name}.")
    return keys


def test_every_key_is_documented_and_has_a_valid_default() -> None:
    for key, part in every_key(SCHEMA):
        assert part["description"].strip(), key
        jsonschema.validate(part["default"], part)


@pytest.mark.parametrize(
    ("config", "demonstration", "short"),
    [
        ({}, False, False),
        ({"datasets": ["Yacht", "linear"]}, False, False),
        ({"datasets": ["Yacht"], "training": {"max_epochs": 9000}}, False, False),
        ({"datasets": ["Yacht"], "training": {"max_epochs": 4999}}, True, True),
        ({"datasets": ["Yacht"], "training": {"patience": 14}}, True, True),
        ({"datasets": ["linear"]}, True, False),
        ({"datasets": ["linear", "skewed"], "training": {"max_epochs": 4}}, True, True),
    ],
)
def test_short_training_or_other_data_is_a_demonstration(
    config: dict[str, Any], demonstration: bool, short: bool
) -> None:
    study = load(config)
    assert (study.is_demonstration, study.is_short) == (demonstration, short)
    assert bool(study.demonstration) == demonstration
    assert ("short" in study.demonstration) == short
    assert ("embedded" in study.demonstration) == (demonstration and "linear" in study.datasets)


def test_study_of_own_data_alone_is_a_demonstration(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("x,y\n1,2\n")
    study = load({"datasets": ["linear"], "own_datasets": {"mine": {"path": "mine.csv", "target": "y"}}}, tmp_path)
    assert study.is_demonstration
    assert study.has_own_data


@pytest.mark.parametrize(
    ("training", "numbers"), [({}, ""), ({"max_epochs": 10_000}, "10,000 5,000"), ({"patience": 20}, "20 15")]
)
def test_training_that_is_not_the_papers_is_told(training: dict[str, int], numbers: str) -> None:
    words = load({"training": training}).training_words
    assert bool(words) == bool(training)
    assert all(number in words for number in numbers.split())


def test_empty_configuration_is_the_whole_study_under_the_papers_protocol() -> None:
    study = load({})
    assert len(study.datasets) == 57
    assert study.splits == (0, 1, 2, 3, 4)
    assert (study.scenarios, study.scenario, study.protocol) == (("paper",), "paper", PROTOCOLS["paper"])
    assert study.training == PAPER_TRAINING
    assert study.networks == "new"
    assert study.mirror is None


def test_shipped_configurations_are_valid() -> None:
    for file in ("config.yaml", "config/config.yaml", "workflow/profiles/smoke/study.yaml", "replication/study.yaml"):
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
        ("keep_outputs=true", "keep_outputs", True),
        ("protocols=[paper, released]", "scenarios", ("paper", "released")),
        ("mirror=null", "mirror", None),
        ("training={max_epochs: 4}", "training", {"max_epochs": 4, "patience": 15}),
        ("datasets=[Yacht]", "datasets", ("Yacht",)),
    ],
)
def test_values_of_the_command_line_are_what_the_schema_wants(typed: str, key: str, value: Any) -> None:
    name, _, text = typed.partition("=")
    assert getattr(load({name: as_typed(text)}), key) == value


def test_grids_and_own_data_of_the_command_line_are_what_the_schema_wants(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("1,2\n1,2\n")
    text = "{grids: {bandwidth_grid: [0.1, 1e-2], lambda_grid: null}, own_datasets: {mine: {path: 1.csv, target: 2}}}"
    study = load(as_typed(text), tmp_path)
    assert study.protocol.bandwidth_grid == (0.1, 0.01)
    assert study.protocol.lambda_grid == PROTOCOLS["paper"].lambda_grid
    assert study.own_datasets["mine"].target == "2", "the name of a column stays a text"


def test_study_has_the_switches_of_its_first_scenario_and_those_of_others_on_demand() -> None:
    study = load({"protocols": ["released.pce", "paper"], "grids": {"bandwidth_grid": [0.1]}})
    assert (study.scenario, study.protocol_name) == ("released.pce", "released")
    assert study.protocol == replace(scenario_settings("released.pce"), bandwidth_grid=(0.1,))
    paper = study.under("paper")
    assert paper.protocol == replace(PROTOCOLS["paper"], bandwidth_grid=(0.1,)), "grids are those of every scenario"
    assert paper.scenarios == study.scenarios


@pytest.mark.parametrize(
    ("config", "results", "networks"),
    [
        ({}, "results", "results/networks"),
        ({"datasets": ["Yacht"], "splits": [0], "protocols": ["released"]}, "results", "results/networks"),
        ({"networks": "published"}, "results_published", "results/networks"),
        ({"networks": "extend"}, "results", "results/networks"),
        ({"training": {"max_epochs": 4}}, "results_max_epochs_4", "results/networks_max_epochs_4"),
        ({"name": "mine", "training": {"patience": 2}}, "results_mine", "results/networks_patience_2"),
    ],
)
def test_study_with_other_networks_has_folders_of_its_own(config: dict[str, Any], results: str, networks: str) -> None:
    study = load(config)
    assert (Layout(study.networks_folder, study.name).results, study.networks_folder) == (results, networks)


def test_study_with_other_grids_has_a_folder_of_its_own() -> None:
    one, other = (load({"grids": {"bandwidth_grid": grid}}) for grid in ([0.1], [0.2]))
    assert len({one.name, other.name, ""}) == 3
    assert one.networks_folder == load({}).networks_folder, "families tell networks apart"


def test_groups_and_names_are_resolved_once_each() -> None:
    assert load({"datasets": ["Yacht", "uci"]}).datasets.count("Yacht") == 1
    assert len(load({"datasets": ["uci"]}).datasets) == 12


@pytest.mark.parametrize(
    ("raw", "parts"),
    [
        ({"protocl": ["paper"]}, ["protocl", "'protocols'"]),
        ({"protocols": ["realesed"]}, ["protocols", "'realesed'", "'released'"]),
        ({"protocols": ["paper.ds"]}, ["protocols", "'paper.ds'", "'paper.sd'"]),
        ({"protocols": ["mine"]}, ["protocols", "'mine'", "paper.sd"]),
        ({"protocols": []}, ["protocols"]),
        ({"grids": {"alphas": [1]}}, ["grids.alphas", "'alpha_study'"]),
        ({"networks": "publishd"}, ["networks", "'publishd'", "'published'"]),
        ({"networks": "extend", "training": {"patience": 2}}, ["networks", "'extend'", "training"]),
        ({"draw": ["fig29"]}, ["draw", "'fig29'"]),
        ({"draw": ["scorecrd"]}, ["draw", "'scorecrd'", "'scorecard'"]),
        ({"name": "../elsewhere"}, ["name", "'../elsewhere'"]),
        ({"datasets": ["Yact"]}, ["datasets", "'Yact'", "'Yacht'"]),
        ({"datasets": ["atlantis"]}, ["datasets", "'atlantis'", "own_datasets"]),
        ({"methods": ["QRTX"]}, ["methods.0", "'QRTX'", "'QRT'"]),
        ({"splits": "five"}, ["splits", "'five'", "a list"]),
        ({"splits": [0, 0]}, ["splits", "twice"]),
        ({"splits": [1.5]}, ["splits.0", "1.5", "whole number"]),
        ({"training": {"max_epochs": "many"}}, ["training.max_epochs", "'many'", "whole number"]),
        ({"grids": {"lambda_grid": [1]}}, ["grids.lambda_grid", "must hold the value 0"]),
        ({"grids": {"bandwidth_grid": [0]}}, ["grids.bandwidth_grid.0", "0"]),
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
        load({"protocl": ["paper"], "splits": "five"})
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
    told = str(refusal.value).splitlines()[1:]
    for line, parts in zip(
        told, ("target 'prise' 'price'", "categorical 'City' 'city'", "drop 'zzz' 'size'"), strict=True
    ):
        assert all(part in line for part in parts.split())
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


def test_facts_of_a_study_survive_their_way_through_json() -> None:
    study = load({"protocols": ["released", "paper"], "splits": [0, 3], "grids": {"map_sizes": [8]}, "draw": ["fig03"]})
    again = StudyConfig.from_facts(json.loads(json.dumps(study.facts_to_judge())))
    assert again.facts_to_judge() == study.facts_to_judge()
    assert (again.scenarios, again.protocol, again.splits) == (("released", "paper"), PROTOCOLS["released"], (0, 3))


def test_results_of_a_scenario_depend_neither_on_what_else_is_drawn_nor_on_where_data_is_found(tmp_path: Path) -> None:
    (tmp_path / "manifest.csv").write_text("group,name,file,sha256,target\n")
    alone = load({})
    more = load({"protocols": ["paper", "released"], "draw": ["fig03"], "mirror": str(tmp_path), "sources": ["mirror"]})
    assert alone.facts() == more.facts()
    assert alone.facts_to_judge() != more.facts_to_judge(), "claims are also read with the other's networks"
    assert alone.facts() != load({"splits": [0]}).facts()


def test_scenarios_are_the_protocols_with_each_switch_changed_to_that_of_the_other() -> None:
    paper, released = PROTOCOLS["paper"], PROTOCOLS["released"]
    assert len(vars(paper)) == 19
    assert len(SCENARIOS) == 2 + 2 * 19
    for name in SCENARIOS:
        protocol, _, switch = name.partition(".")
        preset, other = (paper, released) if protocol == "paper" else (released, paper)
        settings = scenario_settings(name)
        changed = [field for field in vars(preset) if getattr(settings, field) != getattr(preset, field)]
        assert changed == ([switch] if switch else [])
        assert all(getattr(settings, field) == getattr(other, field) for field in changed)
