"""How discrete a target is (Table 3 and Appendix H)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def top10_share(targets: npt.NDArray[np.float32]) -> float:
    """Share of the targets among the ten most frequent values: the paper's discreteness level."""
    _, counts = np.unique(targets, return_counts=True)
    return float(np.sort(counts)[-10:].sum() / targets.size)


def duplicate_share(targets: npt.NDArray[np.float32]) -> float:
    """Share of the targets whose value occurs at least twice."""
    _, counts = np.unique(targets, return_counts=True)
    return float(counts[counts > 1].sum() / targets.size)
