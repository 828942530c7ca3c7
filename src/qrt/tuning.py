"""The choice of b and lambda among trained networks by their validation metrics (docs/protocol.md, section 5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CRPS_LIMIT = 1.1  # lambda may cost at most this factor of the validation CRPS of lambda = 0


class Candidate(NamedTuple):
    """A network that may be chosen, with its validation metrics (means over splits); NaN is a missing value.

    `number` tells it from the others, `complete` says whether none of its runs failed.
    """

    number: int
    alpha: float
    bandwidth: float
    complete: bool
    nll: float
    pce: float
    crps: float


def choose(candidates: Sequence[Candidate], *, lambda_over_pairs: bool = False) -> Candidate:
    """The best bandwidth by NLL of the weight alpha = -lambda with the lowest PCE within the limit on CRPS.

    The PCE of a lambda is that of its best bandwidth, or the lowest of all its pairs with a bandwidth (section 8,
    row 17). Candidates that are not complete are not chosen while there is another; ties go to the smaller bandwidth
    and the smaller lambda.
    """
    usable = [one for one in candidates if one.complete] or candidates
    by_bandwidth = sorted(usable, key=lambda one: (*_low(one.nll), *_low(one.bandwidth)))
    best: dict[float, Candidate] = {}  # of each weight
    for one in by_bandwidth:
        best.setdefault(one.alpha, one)
    among = by_bandwidth if lambda_over_pairs else list(best.values())
    limit = CRPS_LIMIT * best[0.0].crps if 0.0 in best else math.nan
    allowed = [one for one in among if one.crps <= limit] if math.isfinite(limit) and len(best) > 1 else among
    return best[min(allowed, key=lambda one: (*_low(one.pce), abs(one.alpha))).alpha]


def _low(value: float) -> tuple[bool, float]:
    """What to sort by so that the lowest value comes first and a missing one last."""
    return (True, 0.0) if math.isnan(value) else (False, value)
