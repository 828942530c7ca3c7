"""Roots of increasing functions, many at once, to the last digits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_MAX_ITERATIONS = 200
_NEWTON_STEP, _BISECTION_STEP = 1e-9, 1e-14  # shares of the first bracket
_EPS = torch.finfo(torch.float64).eps

Increasing = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def increasing_root(function: Increasing, lower: Tensor, upper: Tensor) -> Tensor:
    """Where an increasing function crosses zero, for each of n problems: (n,) float64.

    `function(x, which)` gives value and derivative at x: (m,) of the problems numbered `which`: (m,);
    problems that are solved are not asked again. Newton's method inside the bracket `lower`, `upper`: (n,),
    with bisection wherever Newton leaves the bracket, meets a flat or non-finite derivative, or fails to
    halve its step: no function can make it fail, a well-behaved one takes about five evaluations.
    """
    low, high = lower.clone(), upper.clone()
    root = 0.5 * (low + high)
    which = torch.arange(len(root))
    step_before = high - low
    span = high - low
    for _ in range(_MAX_ITERATIONS):
        if len(which) == 0:
            break
        x, lo, hi = root[which], low[which], high[which]
        value, slope = function(x, which)
        below = value < 0
        lo, hi = torch.where(below, x, lo), torch.where(below, hi, x)
        low[which], high[which] = lo, hi
        step = -value / slope
        newton = x + step
        # False also when the step is NaN or infinite, so that a flat spot is bisected.
        trusted = (newton >= lo) & (newton <= hi) & (2 * step.abs() <= step_before[which])
        following = torch.where(trusted, newton, 0.5 * (lo + hi))
        moved = (following - x).abs()
        root[which] = following
        step_before[which] = moved
        # Newton's error after a step is of the order of the square of the step; a bisection's is the step.
        share = torch.where(trusted, _NEWTON_STEP, _BISECTION_STEP)
        which = which[(moved > share * span[which] + 2 * _EPS * following.abs()) & (value != 0)]
    return root
