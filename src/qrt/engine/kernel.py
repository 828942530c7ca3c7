"""The scale of the kernel of calibration maps, in training and after it (docs/protocol.md, row 2)."""

from __future__ import annotations

import math
from typing import Literal

from qrt.errors import UserError

KernelWidth = Literal["variance", "scale"]


def kernel_scale(bandwidth: float, n: float, width: KernelWidth) -> float:
    """Scale s of the logistic kernel for bandwidth b and n PITs (docs/protocol.md, section 8, row 2).

    `variance`: the kernel's variance is b^2 n^(-2/5), as in the paper; a logistic with scale s has variance
    (pi s)^2 / 3. `scale`: s = b n^(-1/5), as released.
    """
    if not (math.isfinite(bandwidth) and bandwidth > 0):
        raise UserError(f"bandwidth {bandwidth} is not usable: it must be a finite number above 0, for example 0.1")
    if n < 1:
        raise UserError("a calibration map needs at least one PIT, and got none")
    scale = bandwidth * n ** (-0.2)
    if width == "scale":
        return scale
    if width == "variance":
        return math.sqrt(3) / math.pi * scale
    raise UserError(f"kernel width {width!r} is unknown: use 'variance' (the paper's) or 'scale' (as released)")
