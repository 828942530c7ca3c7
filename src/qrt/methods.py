"""The methods of the paper by name: their networks, their post-hoc map, and the grids they are tuned over.

They are those of docs/protocol.md, section 5. Both the regressor and the replication take them from here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from qrt.engine.registry import Ablation, BaseModel, PostHoc
from qrt.engine.variant import Variant

# Base models of the paper: kind of network and number of mixture components.
BASE_MODELS: dict[str, tuple[BaseModel, int]] = {
    "MLP-3": ("mlp", 3),
    "MLP-1": ("mlp", 1),
    "MLP-10": ("mlp", 10),
    "ResNet-3": ("resnet", 3),
}
MAIN_MODEL = "MLP-3"
# The paper's grids.
BANDWIDTHS: tuple[float, ...] = (0.01, 0.05, 0.1, 0.2)
LAMBDAS: tuple[float, ...] = (0, 0.01, 0.05, 0.2, 1, 5)
MAP_SIZES: tuple[float, ...] = (8, 32, 128, 512, 2048)
FIXED_BANDWIDTH = 0.1  # where a bandwidth is not tuned
OTHER_MAPS: tuple[PostHoc, ...] = ("KDE", "TRUNC")
_ABLATIONS: tuple[Ablation, ...] = ("QRI", "QRG", "QRL")


@dataclass(frozen=True)
class Method:
    """A named method: the networks among which it is tuned (`qrt.tuning`), and its post-hoc map.

    `asked_as` is the name under which a study asks for the method, by default its own. `built_on` is what the method's
    distribution is built on: "base" (F), "training_map" (Phi_train o F), or "protocol" where the protocol decides
    (docs/protocol.md, section 8, row 1; the paper's is "base").
    """

    name: str
    networks: tuple[Variant, ...]
    posthoc: PostHoc
    asked_as: str = ""
    built_on: Literal["protocol", "base", "training_map"] = "protocol"

    def __post_init__(self) -> None:
        if not self.asked_as:
            object.__setattr__(self, "asked_as", self.name)


def paper_methods(
    bandwidths: Iterable[float] = BANDWIDTHS,
    lambdas: Iterable[float] = LAMBDAS,
    map_sizes: Iterable[float] = MAP_SIZES,
    *,
    base_model: BaseModel = "mlp",
    components: int = 3,
) -> dict[str, Method]:
    """The methods by their names in the paper, on a base model, tuned over these grids."""
    bandwidths, sizes = tuple(bandwidths), [int(size) for size in map_sizes]
    plain = Variant(base_model, components)

    def with_map(alpha: float, **settings: Any) -> tuple[Variant, ...]:
        return tuple(replace(plain, alpha=float(alpha), bandwidth=float(b), **settings) for b in bandwidths)

    trained = with_map(1)
    regularised = (plain, *(network for strength in lambdas if strength for network in with_map(-strength)))
    methods = (
        Method("BASE", (replace(plain, trained_on="train+calibration"),), "none"),
        Method("QRC", (plain,), "REFL"),
        Method("QRT", trained, "none", built_on="training_map"),
        Method("QRTC", trained, "REFL"),
        Method("QREGC", regularised, "REFL"),
        Method("QREG", regularised, "none", asked_as="QREGC", built_on="base"),
        Method("BASE-TRAIN", (plain,), "none"),
        *(Method(f"{ablation}C", with_map(1, ablation=ablation), "REFL") for ablation in _ABLATIONS),
        *(Method(f"QRTC-{size}", with_map(1, map_size=size), "REFL", asked_as="QRTC-M") for size in sizes),
        *(Method(f"QRTC-{name}", trained, name) for name in OTHER_MAPS),
    )
    return {method.name: method for method in methods}


def with_bandwidths(method: Method, bandwidths: Iterable[float]) -> Method:
    """A method that trains with a map, tuned over other bandwidths."""
    networks = (replace(network, bandwidth=float(b)) for b in bandwidths for network in method.networks)
    return replace(method, networks=tuple(dict.fromkeys(networks)))


def with_alpha(method: Method, alpha: float) -> Method:
    """A method that trains with a map, with another weight of it; 0 is one network without a map."""
    with_map = [network for network in method.networks if network.alpha != 0]
    if alpha == 0:
        networks = [replace(with_map[0], alpha=0.0, bandwidth=None, map_size=None, ablation=None)]
    else:
        networks = [replace(network, alpha=float(alpha)) for network in with_map]
    return replace(method, networks=tuple(dict.fromkeys(networks)))
