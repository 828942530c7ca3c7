"""The paper's methods by name, as the study defines them, for data of one's own (docs/protocol.md, section 5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from qrt.engine.calibration_map import MAP_NAMES
from qrt.engine.variant import BaseModel, Variant
from qrt.estimator.unusable_input import UnusableInput
from qrt.study.experiments import USUAL_GRIDS, Method, all_experiments
from qrt.study.protocol import PROTOCOLS, Protocol

if TYPE_CHECKING:
    from qrt.study.config import StudyConfig
    from qrt.study.family import PostHoc

PAPER = PROTOCOLS["paper"]
_EXPERIMENTS = ("main", "regularised", "base_train", "ablation", "map_size", "posthoc_map")
_NO_METHOD_OF_THE_PAPER = ("QRT-F",)


@dataclass(frozen=True)
class _Asked:
    """All that the definition of the methods reads of a study's configuration."""

    protocol: Protocol
    grids: Mapping[str, tuple[float, ...]] = field(default_factory=lambda: USUAL_GRIDS)


@cache
def paper_methods(bandwidths: tuple[float, ...] = PAPER.bandwidth_grid) -> dict[str, Method]:
    """The methods by their names in the paper, tuned over these bandwidths."""
    asked = _Asked(replace(PAPER, bandwidth_grid=bandwidths))
    found = {
        method.name: method
        for experiment in all_experiments(cast("StudyConfig", asked))
        if experiment.name in _EXPERIMENTS
        for method in experiment.methods
    }
    return {name: method for name, method in found.items() if name not in _NO_METHOD_OF_THE_PAPER}


def chosen_method(
    name: str,
    *,
    base_model: BaseModel = "mlp",
    components: int = 3,
    alpha: float | None = None,
    bandwidth: float | Sequence[float] = PAPER.bandwidth_grid,
    posthoc_map: PostHoc | None = None,
) -> Method:
    """The method of this name with another base model, weight `alpha`, bandwidth(s) or post-hoc map.

    None leaves alpha or the map as the paper has it for the method.
    """
    methods = paper_methods(_bandwidths(bandwidth))
    if name not in methods:
        raise UnusableInput(f"method {name!r} is unknown: use one of {', '.join(methods)}")
    method = methods[name]
    if alpha is not None:
        method = replace(method, networks=tuple(_with_alpha(method, float(alpha))))
    if posthoc_map is not None:
        if posthoc_map not in ("none", *MAP_NAMES):
            raise UnusableInput(f"posthoc_map {posthoc_map!r} is unknown: use one of none, {', '.join(MAP_NAMES)}")
        if posthoc_map != "none" and method.networks[0].trained_on == "train+calibration":
            raise UnusableInput(
                f"{name} trains on the calibration rows, so that none are left for a post-hoc map: use "
                "posthoc_map=None, or method='QRC'"
            )
        method = replace(method, posthoc=posthoc_map)
    networks = (replace(network, base_model=base_model, components=components) for network in method.networks)
    return replace(method, networks=tuple(networks))


def _bandwidths(bandwidth: float | Sequence[float]) -> tuple[float, ...]:
    """One bandwidth or several as different numbers."""
    hint = "give a number above 0, or several, such as (0.05, 0.1)"
    try:
        values = np.atleast_1d(np.asarray(bandwidth, dtype=np.float64)).ravel().tolist()
    except (TypeError, ValueError) as error:
        raise UnusableInput(f"bandwidth is {bandwidth!r}: {hint}") from error
    if not values:
        raise UnusableInput(f"bandwidth has no value: {hint}")
    return tuple(dict.fromkeys(values))


def _with_alpha(method: Method, alpha: float) -> Iterable[Variant]:
    with_map = [network for network in method.networks if network.alpha != 0]
    if not with_map:
        raise UnusableInput(
            f"alpha is {alpha:g}, but {method.name} trains without a map, which has alpha 0: use alpha=None, or a "
            "method such as 'QRTC'"
        )
    if alpha == 0:
        return (Variant(trained_on=with_map[0].trained_on),)
    return dict.fromkeys(replace(network, alpha=alpha) for network in with_map)
