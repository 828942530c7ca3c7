"""The method that a user asks for: the ensemble, or one of the paper's, with the user's own settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from qrt.engine.registry import MAP_NAMES, BaseModel, PostHoc
from qrt.engine.variant import Variant
from qrt.estimator.unusable_input import UnusableInput
from qrt.methods import BANDWIDTHS, Method, paper_methods, with_alpha

STEP_MAPS = ("EMP", "DCP")
# The default of the regressor, as docs/ensembles.md measures it: networks of QRT with one bandwidth, from different
# starts, and two maps on their pool, of which the second mends what the smoothing of the first leaves.
ENSEMBLE = "ensemble"
_ENSEMBLE_BANDWIDTH = 0.2
_ENSEMBLE_POSTHOC = (0.2, 0.1)
_MEMBERS, _FEW_MEMBERS = 8, 2  # of few training rows, where they take seconds, and of more
_FEW_ROWS = 2000


@dataclass(frozen=True)
class ChosenMethod:
    """A method, how many networks of each of its kinds are pooled, and the bandwidths of its post-hoc maps.

    `members` None depends on the number of training rows. Each of several post-hoc maps is fitted on top of those
    before. No bandwidths are the paper's: one map, with the bandwidth of training, and 0.1 for networks without a map.
    `squashes` says whether values beyond the range of the training rows are drawn back, which the paper's methods do
    not.
    """

    method: Method
    members: int | None
    posthoc_bandwidths: tuple[float, ...]
    squashes: bool

    def members_for(self, training_rows: int) -> int:
        """How many networks of each kind are pooled if so many rows train each."""
        return self.members or (_MEMBERS if training_rows <= _FEW_ROWS else _FEW_MEMBERS)


def chosen_method(
    name: str,
    *,
    base_model: BaseModel = "mlp",
    components: int = 3,
    members: int | None = None,
    alpha: float | None = None,
    bandwidth: float | Sequence[float] | None = None,
    posthoc_map: PostHoc | None = None,
    posthoc_bandwidth: float | Sequence[float] | None = None,
) -> ChosenMethod:
    """The method of this name with another base model, number of members, weight `alpha`, bandwidth(s) or maps.

    None leaves each as the method has it.
    """
    is_ensemble = name == ENSEMBLE
    default = (_ENSEMBLE_BANDWIDTH,) if is_ensemble else BANDWIDTHS
    bandwidths = default if bandwidth is None else _numbers("bandwidth", bandwidth)
    methods = paper_methods(dict.fromkeys(bandwidths), base_model=base_model, components=components)
    if is_ensemble:
        trained = tuple(Variant(base_model, components, alpha=1.0, bandwidth=b) for b in dict.fromkeys(bandwidths))
        method = Method(ENSEMBLE, trained, "REFL", built_on="base")
    elif name in methods:
        method = methods[name]
    else:
        raise UnusableInput(f"method {name!r} is unknown: use one of {ENSEMBLE}, {', '.join(methods)}")
    if alpha is not None:
        if all(network.alpha == 0 for network in method.networks):
            raise UnusableInput(
                f"alpha is {alpha:g}, but {name} trains without a map, which has alpha 0: use alpha=None, or a method "
                "such as 'QRTC'"
            )
        method = with_alpha(method, float(alpha))
    if posthoc_map is not None:
        if posthoc_map not in ("none", *MAP_NAMES):
            raise UnusableInput(f"posthoc_map {posthoc_map!r} is unknown: use one of none, {', '.join(MAP_NAMES)}")
        if posthoc_map != "none" and method.networks[0].trained_on == "train+calibration":
            raise UnusableInput(
                f"{name} trains on the calibration rows, so that none are left for a post-hoc map: use "
                "posthoc_map=None, or method='QRC'"
            )
        method = replace(method, posthoc=posthoc_map)
    if members is None:
        members = None if is_ensemble else 1
    elif isinstance(members, bool) or not isinstance(members, int | np.integer) or members < 1:
        raise UnusableInput(f"members is {members!r}: it must be a whole number, 1 or more")
    posthoc: tuple[float, ...] = _ENSEMBLE_POSTHOC if is_ensemble else ()
    if posthoc_bandwidth is not None:
        posthoc = _numbers("posthoc_bandwidth", posthoc_bandwidth)
    # A step function has no bandwidth, and leaves nothing for a second one.
    return ChosenMethod(method, members, posthoc[:1] if method.posthoc in STEP_MAPS else posthoc, is_ensemble)


def _numbers(name: str, value: float | Sequence[float]) -> tuple[float, ...]:
    """One bandwidth or several as numbers."""
    hint = "give a number above 0, or several, such as (0.05, 0.1)"
    try:
        values = np.atleast_1d(np.asarray(value, dtype=np.float64)).ravel().tolist()
    except (TypeError, ValueError) as error:
        raise UnusableInput(f"{name} is {value!r}: {hint}") from error
    if not values:
        raise UnusableInput(f"{name} has no value: {hint}")
    return tuple(values)
