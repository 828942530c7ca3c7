"""What an extension of the study may have forgotten (docs/extending.md), found before anything runs.

A metric, a map or a base model is named in more than one place. Every call of Snakemake compares these places, so the
engine is read here and not imported: PyTorch would take seconds.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from qrt.engine.variant import Variant
from qrt.errors import UserError
from qrt.figures.kinds import KINDS
from qrt.results.tables import METRICS
from qrt.study.artifacts import FIGURES
from qrt.study.config import StudyConfig
from qrt.study.cost import TrainingJob
from qrt.study.experiments import BASE_MODELS, all_experiments
from qrt.study.family import Family
from qrt.study.protocol import PROTOCOLS

_SCHEMA = "workflow/schemas/config.schema.yaml"
_TRAINING = (
    "qrt.engine.training_step",
    "qrt.engine.stack",
    "qrt.engine.variant",
)  # where sources of maps are told apart


def refuse_forgotten_steps(study: StudyConfig, schema: Mapping[str, Any]) -> None:
    """Raise UserError with every step that was forgotten, and the file in which to make up for it."""
    problems = [*_metrics(), *_networks(study), *_names_in_the_schema(study, schema), *_figures(study)]
    if problems:
        raise UserError("\n  - ".join(["An extension is incomplete (docs/extending.md):", *problems]))


def refuse_unusable_claims() -> None:
    """Raise UserError if a claim cannot be judged. Slower than the rest: for the start of a run, not for every call."""
    from qrt.claims.claim import paper_claims

    try:
        paper_claims()
    except UserError as error:
        raise UserError(f"src/qrt/claims/claims.csv: {error}") from error


def _metrics() -> Iterator[str]:
    computed = _declared("qrt.engine.evaluation", "METRICS")
    for name in computed:
        if name not in METRICS:
            yield f"metric {name!r} has no meaning: add it to METRICS in src/qrt/results/tables.py"
        if name not in _used_in_functions("qrt.engine.evaluation"):
            yield f"metric {name!r} is never computed: add its formula in src/qrt/engine/evaluation.py"
    for name in METRICS:
        if name not in computed:
            yield f"metric {name!r} is unknown to the engine: add it to METRICS in src/qrt/engine/evaluation.py"


def _networks(study: StudyConfig) -> Iterator[str]:
    """What the networks of all experiments need of the engine."""
    methods = [method for experiment in all_experiments(study) for method in experiment.methods]
    maps = {"none", *_declared("qrt.engine.calibration_map", "MAP_NAMES")}
    for name in dict.fromkeys(method.posthoc for method in methods):
        if name not in maps:
            yield f"post-hoc map {name!r} is unknown: add it to MAP_NAMES in src/qrt/engine/calibration_map.py"
        elif name not in {"none"} | _used_in_functions("qrt.engine.calibration_map"):
            yield f"post-hoc map {name!r} is never fitted: add it to fit_map in src/qrt/engine/calibration_map.py"
    networks = {network for method in methods for network in method.networks}
    for model, network in {network.base_model: network for network in sorted(networks)}.items():
        if model not in _used_in_functions("qrt.engine.trainer"):
            yield f"base model {model!r} is never built: add it to build_network in src/qrt/engine/trainer.py"
        if not _has_cost(network):
            yield f"base model {model!r} has no cost: add it to the numbers of src/qrt/study/cost.py"
    in_training = set[str]().union(*map(_used_in_functions, _TRAINING))
    for source in sorted({network.map_source or "" for network in networks} - {""}):
        if source not in _declared("qrt.engine.stack", "_ORDER"):
            yield f"source {source!r} of a map has no place in a stack: add it to _ORDER in src/qrt/engine/stack.py"
        if source not in in_training:
            yield f"source {source!r} of a map has no term in the loss: add it to src/qrt/engine/training_step.py"


def _has_cost(network: Variant) -> bool:
    job = TrainingJob((1, 1), Family("", (network,), (), curves=False), max_epochs=1)
    try:
        return job.seconds > 0 and job.memory(attempt=1) > 0
    except KeyError:
        return False


def _names_in_the_schema(study: StudyConfig, schema: Mapping[str, Any]) -> Iterator[str]:
    methods = {method.asked_as for experiment in all_experiments(study) for method in experiment.methods}
    for key, names, where in (
        ("methods", methods, "src/qrt/study/experiments.py"),
        ("base_models", set(BASE_MODELS), "src/qrt/study/experiments.py"),
        ("sources", _used_in_functions("qrt.data.fetch"), "src/qrt/data/fetch.py"),
    ):
        allowed = set(schema["properties"][key]["items"]["enum"])
        for name in sorted(allowed - names):
            yield f"{key}: {name!r} may be asked for, but nothing answers to it: add it to {where}"
        if key != "sources":
            for name in sorted(names - allowed):
                yield f"{key}: {name!r} cannot be asked for: add it to the enum and the default in {_SCHEMA}"


def _figures(study: StudyConfig) -> Iterator[str]:
    # Under the paper's protocol, which has all experiments.
    everything = all_experiments(replace(study, protocol=PROTOCOLS["paper"]))
    known = {(experiment.name, method.name) for experiment in everything for method in experiment.methods}
    for name, artifact in FIGURES.items():
        if artifact.kind not in KINDS:
            yield f"{name}: {artifact.kind!r} is no kind of figure: add it to src/qrt/figures/kinds/__init__.py"
        if artifact.comparison is None:
            continue
        for one in (artifact.comparison.baseline, *artifact.comparison.compared):
            # The methods of experiments that are shown whole depend on the grids.
            if one.experiment not in artifact.comparison.whole and (one.experiment, one.method) not in known:
                what = f"no experiment {one.experiment!r} has a method {one.method!r}"
                yield f"{name}: {what}: correct src/qrt/study/artifacts.py, or add it to src/qrt/study/experiments.py"


def _declared(module: str, name: str) -> tuple[str, ...]:
    """The value of a constant of a module that is written out there."""
    for node in _parsed(module).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            value: tuple[str, ...] = ast.literal_eval(node.value)  # type: ignore[attr-defined]
            return value
    raise LookupError(f"{module} has no {name}")


@cache
def _used_in_functions(module: str) -> frozenset[str]:
    """The texts inside the functions of a module."""
    functions = (node for node in ast.walk(_parsed(module)) if isinstance(node, ast.FunctionDef))
    nodes = (node for function in functions for node in ast.walk(function))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@cache
def _parsed(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
