"""The experiments of the paper as data: which methods they compare, which networks a method needs.

They are those of docs/protocol.md, section 5.

Rules, tuning, figures and tables all derive what they need from here. A *method* is a name of the paper with the
networks among which it is tuned and the post-hoc map on top. A *family* is the set of networks that one job trains.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from qrt.engine.registry import PostHoc
from qrt.engine.variant import Variant
from qrt.methods import (
    BASE_MODELS,
    FIXED_BANDWIDTH,
    MAIN_MODEL,
    MAP_SIZES,
    OTHER_MAPS,
    Method,
    paper_methods,
    with_alpha,
    with_bandwidths,
)
from qrt_study.data.embedded import EMBEDDED
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.family import CONDITIONS, X_SCALE, Family
from qrt_study.plan.protocol import PROTOCOLS, Protocol

if TYPE_CHECKING:
    from qrt_study.plan.config import StudyConfig

# Of the additional studies; a test compares them with the defaults of the configuration.
USUAL_GRIDS: dict[str, tuple[float, ...]] = {
    "bandwidth_study": (0.02, 0.05, 0.1, 0.2, 0.5, 1),
    "alpha_study": (-5, -1, -0.5, -0.1, -0.05, -0.01, 0, 0.1, 0.5, 1, 2, 5),
    "map_sizes": MAP_SIZES,
}


@dataclass(frozen=True)
class Experiment:
    """Methods that the paper compares with each other."""

    name: str
    description: str
    methods: tuple[Method, ...]


@dataclass(frozen=True)
class Plan:
    """Everything a study trains and compares. Families are named as on datasets where the scale of x is no matter."""

    experiments: dict[str, Experiment]
    families: dict[str, Family]
    needs: dict[str, tuple[str, ...]]  # the families of each experiment
    x_scale: str

    def families_on(self, dataset: str, names: Iterable[str] | None = None) -> dict[str, Family]:
        """The families, or those with these names, as they are trained on a dataset, by the names they have there."""
        scaled = self._scaled if x_scale_matters(dataset) else self.families
        chosen = (scaled[name] for name in (self.families if names is None else names))
        return {family.name: family for family in chosen}

    @cached_property
    def _scaled(self) -> dict[str, Family]:
        """The families on datasets where the scale of x matters, by the names they have elsewhere."""
        return {name: family.on(self.x_scale) for name, family in self.families.items()}


def plan_study(study: StudyConfig) -> Plan:
    """The experiments that the configuration asks for, and the families of networks they need.

    What a family trains depends on the grids only, not on which methods or base models are asked for: asking for less
    trains nothing, asking for more trains only what is new.
    """
    by_model = {model: list(_experiments(model, study)) for model in BASE_MODELS}
    everything = [experiment for of_model in by_model.values() for experiment in of_model]
    members = _members(everything, study)
    names = _names(members, study)
    families = {names[kind]: _family(names[kind], members[kind], study, everything) for kind in members}
    experiments, needs = {}, {}
    for model in study.base_models:
        for experiment in by_model[model]:
            asked = tuple(method for method in experiment.methods if method.asked_as in study.methods)
            if asked and in_scope(experiment.name, study.scope):
                experiments[experiment.name] = replace(experiment, methods=asked)
                networks = (network for method in asked for network in method.networks)
                kinds = dict.fromkeys(_family_name(network, study) for network in networks)
                needs[experiment.name] = tuple(names[kind] for kind in kinds)
    needed = dict.fromkeys(name for names in needs.values() for name in names)
    return Plan(experiments, {name: families[name] for name in needed}, needs, study.protocol.x_scale)


def all_experiments(study: StudyConfig) -> list[Experiment]:
    """The experiments on all base models, whether the configuration asks for them or not."""
    return [experiment for model in BASE_MODELS for experiment in _experiments(model, study)]


def _members(experiments: Iterable[Experiment], study: StudyConfig) -> dict[str, list[Variant]]:
    """The networks of every family, by its name without a word on other grids."""
    members: dict[str, dict[Variant, None]] = {}
    for method in (method for experiment in experiments for method in experiment.methods):
        for network in method.networks:
            members.setdefault(_family_name(network, study), {})[network] = None
    return {name: sorted(networks) for name, networks in members.items()}


def _names(members: dict[str, list[Variant]], study: StudyConfig) -> dict[str, str]:
    """The names of families. One with other networks than usual has a digest of them in its name.

    So a study with other grids never replaces networks. Usual are the grids of the protocol whose kernel it has.
    """
    usual = PROTOCOLS["released" if study.protocol.kernel_width == "scale" else "paper"]
    protocol = replace(study.protocol, bandwidth_grid=usual.bandwidth_grid, lambda_grid=usual.lambda_grid)
    if protocol == study.protocol and study.grids == USUAL_GRIDS:
        return {kind: kind for kind in members}
    with_usual_grids = replace(study, protocol=protocol, grids=USUAL_GRIDS)
    expected = _members(all_experiments(with_usual_grids), with_usual_grids)

    def name(kind: str) -> str:
        if members[kind] == expected.get(kind):
            return kind
        identity = " ".join(network.id for network in members[kind])
        return f"{kind}.{hashlib.sha256(identity.encode()).hexdigest()[:8]}"

    return {kind: name(kind) for kind in members}


def in_scope(experiment: str, scope: str) -> bool:
    """Whether an experiment belongs to the `main` comparison, to what was `published`, or just to `everything`."""
    if scope == "main":
        return experiment in ("main", "regularised", "base_train")
    # The published study regularised the main base model only, and did not ask what early stopping does.
    return scope == "everything" or not (experiment.startswith("regularised_") or experiment == "stopping")


def left_out(protocol: Protocol) -> set[str]:
    """Experiments that a protocol lacks: the released code tunes lambda for the main base model only (row 7)."""
    if protocol.lambda_grid != PROTOCOLS["released"].lambda_grid:
        return set()
    return {f"regularised{_suffix(model)}" for model in BASE_MODELS if model != MAIN_MODEL}


def compared_on(model: str) -> Iterator[str]:
    """The experiments whose methods are compared with each other on one base model."""
    yield from (f"{name}{_suffix(model)}" for name in ("main", "regularised"))
    if model == MAIN_MODEL:
        yield "base_train"


def _suffix(model: str) -> str:
    """What the names of experiments on a base model end in."""
    return "" if model == MAIN_MODEL else f"_{model.lower().replace('-', '_')}"


def _experiments(model: str, study: StudyConfig) -> Iterable[Experiment]:
    """All experiments with one base model."""
    protocol = study.protocol
    base_model, components = BASE_MODELS[model]
    methods = paper_methods(
        protocol.bandwidth_grid,
        protocol.lambda_grid,
        study.grids["map_sizes"],
        base_model=base_model,
        components=components,
    )

    def named(*names: str) -> tuple[Method, ...]:
        return tuple(methods[name] for name in names)

    suffix = _suffix(model)
    without_its_map = replace(methods["QRT"], name="QRT-F", built_on="base")
    yield Experiment(
        f"main{suffix}",
        f"the main comparison with base model {model}",
        (*named("BASE", "QRC", "QRT", "QRTC"), without_its_map),
    )
    if f"regularised{suffix}" not in left_out(protocol):
        yield Experiment(
            f"regularised{suffix}",
            f"regularisation in the main comparison with base model {model}",
            named("QREGC", "QREG"),
        )
    if model != MAIN_MODEL:
        return
    yield Experiment("base_train", "BASE without the calibration data", named("BASE-TRAIN"))
    yield Experiment(
        "ablation",
        "QRT with its map fixed at the start, without the map's gradient, or with free centres",
        named("QRIC", "QRGC", "QRLC"),
    )
    # Ours, not the paper's: QRTC leads QRC in training and in when it stops. This is QRC with the latter alone.
    stopped = replace(methods["QRC"].networks[0], alpha=1.0, bandwidth=FIXED_BANDWIDTH, ablation="STOP")
    yield Experiment(
        "stopping",
        "QRC on a network that stops by the NLL after a map of training rows, as QRT does",
        (Method("QRC-STOP", (stopped,), "REFL", built_on="base"),),
    )
    yield Experiment(
        "map_size",
        "the map of training from M training rows (Algorithm 2)",
        named(*(f"QRTC-{int(size)}" for size in study.grids["map_sizes"])),
    )
    studied = study.grids["bandwidth_study"]
    yield Experiment(
        "bandwidth",
        "QRTC with fixed bandwidths, and tuned over all of them",
        (
            replace(with_bandwidths(methods["QRTC"], studied), name="QRTC tuned"),
            *(replace(with_bandwidths(methods["QRTC"], [one]), name=f"QRTC b={one:g}") for one in studied),
        ),
    )
    yield Experiment(
        "alpha",
        "other weights alpha of the entropy term",
        tuple(
            replace(with_alpha(methods["QRTC"], alpha), name=f"alpha={alpha:g}") for alpha in study.grids["alpha_study"]
        ),
    )
    with_other_maps = named(*(f"QRTC-{name}" for name in OTHER_MAPS))
    if protocol.kde_trunc_bandwidth == "fixed":  # row 16
        with_other_maps = tuple(with_bandwidths(method, [FIXED_BANDWIDTH]) for method in with_other_maps)
    yield Experiment("posthoc_map", "other post-hoc maps on the networks of QRTC", with_other_maps)


def _family_name(network: Variant, study: StudyConfig) -> str:
    """The family that trains `network`: fine enough that one figure trains little else, and no job takes hours."""
    protocol = study.protocol
    if study.coarse_jobs:
        return ".".join(["all", *(getattr(protocol, name) for name in CONDITIONS if name != X_SCALE)])
    model = next(name for name, shape in BASE_MODELS.items() if shape == (network.base_model, network.components))
    kind = _kind(network, protocol)
    conditions = _conditions_of(network, protocol)
    if kind == "ablation":
        conditions["free_centres"] = protocol.free_centres  # that of QRL, which trains in the same job
    return ".".join([model.lower(), kind, *conditions.values()])


def _conditions_of(network: Variant, protocol: Protocol) -> dict[str, str]:
    """The settings of the switches that concern this network on every dataset."""
    return {
        name: getattr(protocol, name) for name, concerns in CONDITIONS.items() if name != X_SCALE and concerns(network)
    }


def _kind(network: Variant, protocol: Protocol) -> str:
    """What a network is trained for."""
    if network.alpha == 0:
        return "plain"
    if network.ablation == "STOP":
        return "stopping"
    if network.ablation:
        return "ablation"
    if network.map_size:
        return "map_size"
    if network.alpha == 1:
        return "qrt" if network.bandwidth in protocol.bandwidth_grid else "bandwidth"
    return "qreg" if -network.alpha in protocol.lambda_grid else "alpha"


def _family(name: str, networks: list[Variant], study: StudyConfig, experiments: list[Experiment]) -> Family:
    maps: dict[Variant, dict[PostHoc, None]] = {network: {"none": None} for network in networks}
    for method in (method for experiment in experiments for method in experiment.methods):
        for network in method.networks:
            if network in maps:
                maps[network][method.posthoc] = None
    for network in filter(_is_main_qrt, networks):  # whichever way row 16 has it
        maps[network] |= dict.fromkeys(OTHER_MAPS)
    conditions: dict[str, str] = {}
    for network in networks:
        conditions |= _conditions_of(network, study.protocol)
    return Family(
        name=name,
        networks=tuple(networks),
        posthoc=tuple(tuple(maps[network]) for network in networks),
        curves=name.startswith(("all.", f"{MAIN_MODEL.lower()}.plain", f"{MAIN_MODEL.lower()}.qrt")),
        conditions=conditions,
    )


def _is_main_qrt(network: Variant) -> bool:
    main = (network.base_model, network.components) == BASE_MODELS[MAIN_MODEL]
    return main and network.alpha == 1 and network.map_source == "batch"


def x_scale_matters(dataset: str) -> bool:
    """Whether row 13 of docs/protocol.md can change a network of this dataset; for unknown data it can."""
    if dataset in EMBEDDED:
        return False
    return dataset not in paper_datasets() or paper_datasets()[dataset].x_scale_matters
