from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conftest import PROJECT
from qrt.documentation.results import documentation
from qrt.engine.evaluation import METRICS as EVALUATED
from qrt.errors import UserError
from qrt.results.tables import METRICS, RUNS, as_table, concatenate, read_frames, write_rows
from qrt.study.config import load_config, read_schema
from qrt.study.cost import training_memory, training_minutes
from qrt.study.experiments import Experiment, Plan, plan_study
from qrt.study.family import Family, failed_runs, network_columns


def plan(**config: Any) -> Plan:
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    return plan_study(load_config(config, schema, PROJECT))


def test_paper_trains_the_networks_of_the_spec() -> None:
    families = plan().families
    assert sum(len(family.networks) for family in families.values()) == 163
    everything = [network for family in families.values() for network in family.networks]
    assert len(set(everything)) == len(everything), "a network is trained once"
    assert {network.components for network in everything if network.base_model == "mlp"} == {1, 3, 10}


def test_full_study_is_about_five_thousand_jobs() -> None:
    assert len(plan().families) * 57 * 5 <= 4600


def test_an_experiment_needs_the_families_of_its_methods_and_no_others() -> None:
    needs = plan().needs
    assert needs["main"] == ("mlp-3.plain", "mlp-3.qrt.variance")
    assert needs["regularised"] == ("mlp-3.plain", "mlp-3.qreg.variance")
    assert needs["ablation"] == ("mlp-3.ablation.variance",)
    assert needs["posthoc_map"] == ("mlp-3.qrt.variance",)


def test_protocols_share_what_does_not_depend_on_them() -> None:
    paper, released = plan().families, plan(protocol="released").families
    shared = set(paper) & set(released)
    assert {"mlp-3.plain", "mlp-1.plain", "mlp-10.plain"} == shared
    assert all(paper[name] == released[name] for name in shared)


def test_released_protocol_regularises_the_main_base_model_only() -> None:
    assert {name for name in plan(protocol="released").experiments if name.startswith("regularised")} == {"regularised"}
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


def test_families_and_experiments_survive_the_command_line() -> None:
    study = plan()
    assert all(Family.from_json(family.json) == family for family in study.families.values())
    assert all(Experiment.from_json(one.to_json()) == one for one in study.experiments.values())
    texts = [one.json for one in study.families.values()] + [one.to_json() for one in study.experiments.values()]
    longest = max(map(len, texts))
    assert longest < 50_000, "a shell takes no argument beyond 128 kB"


def test_rows_name_only_the_settings_that_their_network_depends_on() -> None:
    (everything,) = plan(jobs="coarse").families.values()
    rows = pd.DataFrame([network_columns(everything, network) for network in everything.networks])
    assert (rows["resnet_form"].notna() == (rows["base_model"] == "resnet")).all()
    assert (rows["kernel_width"].notna() == (rows["alpha"] != 0)).all()


def test_cost_grows_with_the_data_and_with_each_attempt() -> None:
    family = plan().families["mlp-3.qreg.variance"]
    small, large = (training_minutes(name, family, 5000, 1) for name in ("Yacht", "Allstate_Claims_Severity"))
    assert small < large
    assert training_minutes("Yacht", family, 5000, 2) > small
    assert training_memory("Yacht", family, 1) < training_memory("Allstate_Claims_Severity", family, 1)
    assert training_minutes("linear", family, 10, 1) <= small


def test_planning_does_not_import_torch() -> None:
    modules = "qrt.study.experiments, qrt.results.tuning, qrt.results.tables, qrt.study.cost"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_metrics_of_the_tables_are_those_of_the_evaluation() -> None:
    assert tuple(METRICS) == EVALUATED


def test_data_dictionary_is_written_from_the_tables() -> None:
    assert (PROJECT / "docs/results.md").read_text() == documentation(), "run `make docs`"


def test_undocumented_column_is_refused() -> None:
    with pytest.raises(KeyError, match="undocumented"):
        as_table([{"surprise": 1}], RUNS)


def test_tables_are_joined_in_order_and_damage_is_named(tmp_path: Path) -> None:
    family = plan().families["mlp-3.plain"]
    files = [tmp_path / f"{name}.parquet" for name in ("one", "two")]
    for number, path in enumerate(files):
        write_rows(path, failed_runs(path.stem, number, family, "unavailable", "404"), RUNS)
    assert concatenate(files, tmp_path / "all.parquet", RUNS) == 4
    assert read_frames([tmp_path / "all.parquet"], "runs")["dataset"].tolist() == ["one", "one", "two", "two"]
    for content in (b"", b"PAR1", files[1].read_bytes()[:-30]):
        files[1].write_bytes(content)
        with pytest.raises(UserError, match=r"two\.parquet"):
            concatenate(files, tmp_path / "again.parquet", RUNS)
        assert not (tmp_path / "again.parquet").exists()
