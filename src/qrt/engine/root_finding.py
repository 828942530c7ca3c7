"""Roots of increasing functions, many at once, to the last digits."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_MAX_ITERATIONS = 200
_NEWTON_STEP, _BISECTION_STEP = 1e-9, 1e-14  # shares of the first bracket
_EPS = torch.finfo(torch.float64).eps

Increasing = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


def increasing_root(function: Increasing, lower: Tensor, upper: Tensor, start: Tensor | None = None) -> Tensor:
    """Where an increasing function crosses zero, for each of n problems: (n,) float64.

    `function(x, which)` gives value and derivative at x: (m,) of the problems numbered `which`: (m,);
    problems that are solved are not asked again. Newton's method inside the bracket `lower`, `upper`: (n,),
    with bisection wherever Newton leaves the bracket, meets a flat or non-finite derivative, or fails to
    halve its step: no function can make it fail, a well-behaved one takes about five evaluations. `start`: (n,)
    in the bracket is where it begins (default: in the middle).
    """
    root = 0.5 * (lower + upper) if start is None else start.clone()
    span = upper - lower
    # What follows is kept for the problems that are not solved yet, the others are dropped from all of it.
    which, x, low, high, step_before = torch.arange(len(root)), root.clone(), lower, upper, span
    for _ in range(_MAX_ITERATIONS):
        if len(which) == 0:
            break
        value, slope = function(x, which)
        below = value < 0
        low, high = torch.where(below, x, low), torch.where(below, high, x)
        step = value.neg() / slope
        newton = x + step
        # False also when the step is NaN or infinite, so that a flat spot is bisected.
        trusted = (newton >= low) & (newton <= high) & (2 * step.abs() <= step_before)
        following = torch.where(trusted, newton, 0.5 * (low + high))
        moved = (following - x).abs()
        # Newton's error after a step is of the order of the square of the step; a bisection's is the step.
        share = torch.where(trusted, _NEWTON_STEP, _BISECTION_STEP)
        unsolved = (moved > share * span + 2 * _EPS * following.abs()) & (value != 0)
        root.index_copy_(0, which, following)
        left = unsolved.nonzero().flatten()
        if len(left) < len(which):
            which, following, low, high, moved, span = (
                values.index_select(0, left) for values in (which, following, low, high, moved, span)
            )
        x, step_before = following, moved
    return root
