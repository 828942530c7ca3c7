from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pandas as pd

from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.experiments import USUAL_GRIDS, Plan, plan_study, x_scale_matters
from qrt_study.plan.family import CONDITIONS, Family, network_columns
from support.configured import SCHEMA, study_with


def plan(**config: Any) -> Plan:
    return plan_study(study_with(**config))


def test_paper_trains_the_networks_of_its_experiments() -> None:
    families = plan().families
    assert sum(len(family.networks) for family in families.values()) == 164
    everything = [network for family in families.values() for network in family.networks]
    assert len(set(everything)) == len(everything), "a network is trained once"
    assert {network.components for network in everything if network.base_model == "mlp"} == {1, 3, 10}


def test_an_experiment_needs_the_families_of_its_methods_and_no_others() -> None:
    needs = plan().needs
    assert needs["main"] == ("mlp-3.plain", "mlp-3.qrt.variance.same_pass")
    assert needs["regularised"] == ("mlp-3.plain", "mlp-3.qreg.variance.nll.same_pass")
    assert needs["ablation"] == ("mlp-3.ablation.variance.trained",)
    assert needs["posthoc_map"] == ("mlp-3.qrt.variance.same_pass",)


def test_protocols_share_what_does_not_depend_on_them() -> None:
    paper, released = plan().families, plan(protocols=["released"]).families
    shared = set(paper) & set(released)
    assert {"mlp-3.plain", "mlp-1.plain", "mlp-10.plain"} == shared
    assert all(paper[name] == released[name] for name in shared)


def test_released_protocol_regularises_the_main_base_model_only() -> None:
    assert {name for name in plan(protocols=["released"]).experiments if name.startswith("regularised")} == {
        "regularised"
    }
    assert "regularised_mlp_1" in plan().experiments


def test_asking_for_less_changes_no_family() -> None:
    everything = plan().families
    for config in ({"methods": ["BASE", "QRTC"]}, {"base_models": ["MLP-1"]}, {"methods": ["QRTC-KDE"]}):
        fewer = plan(**config).families
        assert set(fewer) < set(everything)
        assert all(everything[name] == family for name, family in fewer.items())


def test_stack_of_a_family_can_train_together() -> None:
    for family in plan().families.values():
        assert len({(network.base_model, network.components) for network in family.networks}) == 1


def test_families_survive_the_command_line() -> None:
    families = plan().families.values()
    assert all(Family.from_json(family.json) == family for family in families)
    assert max(len(family.json) for family in families) < 50_000, "a shell takes no argument beyond 128 kB"


def test_rows_name_only_the_settings_that_their_network_depends_on() -> None:
    (everything,) = plan(jobs="coarse").families.values()
    rows = pd.DataFrame([network_columns(everything, network) for network in everything.networks])
    with_map = rows["alpha"] != 0
    concerned = {
        "kernel_width": with_map,
        "resnet": rows["base_model"] == "resnet",
        "x_scale": pd.Series(False, rows.index),  # a matter of the dataset
        "free_centres": rows["ablation"] == "QRL",
        "map_rows_outside": rows["map_size"].notna(),
        "early_stopping": ~rows["alpha"].isin([0, 1]),
        "map_centres": with_map & rows["map_size"].isna() & rows["ablation"].isna(),
    }
    assert set(concerned) == set(CONDITIONS)
    for name, networks in concerned.items():
        assert (rows[name].notna() == networks).all(), name


def test_scale_of_x_is_a_condition_on_datasets_where_it_matters_alone() -> None:
    paper, released = plan(), plan(protocols=["released"])
    assert set(paper.families_on("linear")) == set(paper.families)
    matters = next(name for name in paper_datasets() if x_scale_matters(name))
    assert set(paper.families_on(matters)) == set(paper.families), "the usual scale has no name"
    assert "mlp-3.plain.epsilon" in released.families_on(matters)
    scaled = paper.families_on(matters)["mlp-3.plain"], released.families_on(matters)["mlp-3.plain.epsilon"]
    assert [family.conditions["x_scale"] for family in scaled] == ["unit", "epsilon"]
    assert all(family.condition("x_scale", network) for family in scaled for network in family.networks)
    assert x_scale_matters("data of the user's own"), "unknown data may have rare categories"


def test_what_happens_after_training_is_no_part_of_what_training_depends_on() -> None:
    family = plan().families["mlp-3.qrt.variance.same_pass"]
    other = replace(family, posthoc=tuple((*maps, "KDE") for maps in family.posthoc))
    assert family.for_training.json == other.for_training.json
    assert Family.from_json(family.for_training.json).networks == family.networks
    fewer = replace(family, networks=family.networks[:2])
    assert fewer.for_training.json != family.for_training.json


def test_other_grids_have_families_of_their_own() -> None:
    defaults = {name: part["default"] for name, part in SCHEMA["properties"]["grids"]["properties"].items()}
    assert {name: list(grid) for name, grid in USUAL_GRIDS.items()} == {
        name: grid for name, grid in defaults.items() if grid is not None
    }
    usual, other = plan(), plan(grids={"bandwidth_grid": [0.05, 0.3], "map_sizes": [16]})
    shared = set(usual.families) & set(other.families)
    assert all(usual.families[name] == other.families[name] for name in shared)
    assert {"mlp-3.plain", "mlp-1.plain"} <= shared
    assert not any("qrt" in name or "map_size" in name for name in shared)
    digests = [name for name in other.families if name not in shared]
    assert all(re.search(r"\.[0-9a-f]{8}$", name) for name in digests)
    for protocol in ("paper", "released"):
        assert not any(re.search(r"\.[0-9a-f]{8}$", name) for name in plan(protocols=[protocol]).families)
