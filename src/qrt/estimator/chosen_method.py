"""The method that a user asks for: one of the paper's, with the user's own settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qrt.engine.registry import MAP_NAMES, BaseModel, PostHoc
from qrt.estimator.unusable_input import UnusableInput
from qrt.methods import BANDWIDTHS, Method, paper_methods, with_alpha


def chosen_method(
    name: str,
    *,
    base_model: BaseModel = "mlp",
    components: int = 3,
    alpha: float | None = None,
    bandwidth: float | Sequence[float] = BANDWIDTHS,
    posthoc_map: PostHoc | None = None,
) -> Method:
    """The method of this name with another base model, weight `alpha`, bandwidth(s) or post-hoc map.

    None leaves alpha or the map as the paper has it for the method.
    """
    methods = paper_methods(_bandwidths(bandwidth), base_model=base_model, components=components)
    if name not in methods:
        raise UnusableInput(f"method {name!r} is unknown: use one of {', '.join(methods)}")
    method = methods[name]
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
    return method


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
