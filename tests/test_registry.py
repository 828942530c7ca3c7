"""Every name that can be asked for is handled: by the engine, by the cost formula, by the schema, by the figures.

The calibration maps are asked for in test_calibration_map.py, the metrics in test_evaluation.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from qrt.engine.registry import ABLATIONS, MAP_NAMES, BaseModel, MapSource
from qrt.engine.trainer import TrainingSettings, build_network, train_stack
from qrt.engine.variant import Variant
from qrt.methods import BASE_MODELS
from qrt_study.data.fetch import SOURCES
from qrt_study.figures.kinds import KINDS
from qrt_study.plan.artifacts import FIGURES
from qrt_study.plan.config import load_config, read_schema
from qrt_study.plan.cost import TrainingJob
from qrt_study.plan.experiments import all_experiments
from qrt_study.plan.family import Family
from support.generated_splits import small_split

PROJECT = Path(__file__).parents[1]
SCHEMA = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
EXPERIMENTS = all_experiments(load_config({}, SCHEMA, PROJECT))


def of_source(source: MapSource) -> Variant:
    """A network whose map in training has its centres from this source."""
    ablation = next((name for name, changed in ABLATIONS.items() if changed == source), None)
    return Variant(alpha=1.0, bandwidth=0.1, ablation=ablation, map_size=8 if source == "sample" else None)


@pytest.mark.parametrize("source", get_args(MapSource))
def test_network_with_every_source_of_a_map_trains(source: MapSource) -> None:
    variant = of_source(source)
    assert variant.map_source == source
    (network,) = train_stack(small_split(), [variant], TrainingSettings(max_epochs=2), seed=0)
    assert network.status == "ok"


@pytest.mark.parametrize("base_model", get_args(BaseModel))
def test_every_base_model_can_be_built_and_has_a_cost(base_model: BaseModel) -> None:
    variant = Variant(base_model, alpha=1.0, bandwidth=0.1)
    assert build_network(variant, 3, TrainingSettings()).parameter_shapes
    family = Family("", (variant,), (), curves=False, conditions={"map_centres": "second_pass"})
    job = TrainingJob((1000, 3), family, max_epochs=10)
    assert job.seconds > 0
    assert job.memory(attempt=1) > 0


def test_names_in_the_schema_are_those_that_are_handled() -> None:
    methods = [method for experiment in EXPERIMENTS for method in experiment.methods]
    handled = {
        "methods": {method.asked_as for method in methods},
        "base_models": set(BASE_MODELS),
        "sources": set(SOURCES),
    }
    entries = {key: SCHEMA["properties"][key] for key in handled}
    assert {key: set(entry["items"]["enum"]) for key, entry in entries.items()} == handled
    usual = handled | {"sources": handled["sources"] - {"openml_parquet"}}  # files without a published checksum
    assert {key: set(entry["default"]) for key, entry in entries.items()} == usual
    assert {method.posthoc for method in methods} <= {"none", *MAP_NAMES}


def test_figures_are_of_known_kinds_and_compare_methods_that_exist() -> None:
    assert {figure.kind for figure in FIGURES.values()} <= set(KINDS)
    known = {(experiment.name, method.name) for experiment in EXPERIMENTS for method in experiment.methods}
    comparisons = [figure.comparison for figure in FIGURES.values() if figure.comparison is not None]
    # The methods of experiments that are shown whole depend on the grids.
    compared = {
        (one.experiment, one.method)
        for comparison in comparisons
        for one in (comparison.baseline, *comparison.compared)
        if one.experiment not in comparison.whole
    }
    assert compared <= known
