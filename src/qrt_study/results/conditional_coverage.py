"""Whether the 90 % interval covers 90 % wherever x is: can x tell which targets fall outside? No torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FOLDS = 5
FEWEST_OUTSIDE = FOLDS  # targets outside, and inside, that a classifier needs
DIRECTIONS, SLAB = 200, 0.2  # random directions of slabs, and the least share of the rows in one


def excess_risk(x: Array, outside: Array, random_state: int = 0) -> float:
    """How much better a classifier predicts from x which targets are outside their interval than their frequency does.

    The Brier score of the frequency minus that of gradient-boosted trees, as a share of the former; both are
    cross-fitted, so that it is 0 or a little below where x tells nothing. NaN with too few targets outside or inside.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold

    if min(outside.sum(), (~outside).sum()) < FEWEST_OUTSIDE:
        return float("nan")
    of_classifier, of_frequency = np.empty(len(x)), np.empty(len(x))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=random_state).split(x, outside):
        # Few and shallow trees: most of what is to be learned is small beside the noise.
        classifier = HistGradientBoostingClassifier(
            learning_rate=0.05, max_iter=40, max_leaf_nodes=8, early_stopping=False, random_state=random_state
        )
        of_classifier[test] = classifier.fit(x[train], outside[train]).predict_proba(x[test])[:, 1]
        of_frequency[test] = outside[train].mean()
    scores = [np.square(probability - outside).mean() for probability in (of_frequency, of_classifier)]
    return float(1 - scores[1] / scores[0])


def worst_slab_coverage(x: Array, inside: Array, random_state: int = 0) -> float:
    """The coverage of the slab a <= v'x <= b in which it is least, with a fifth of the rows or more.

    Over random directions v (Cauchois, Gupta and Duchi 2021). The slab is chosen on one half of the rows and its
    coverage taken on the other, and the other way round, so that the choice does not lower it.
    """
    generator = np.random.default_rng(random_state)
    directions = generator.normal(size=(x.shape[1], DIRECTIONS))
    projected = x @ (directions / np.linalg.norm(directions, axis=0))
    half = np.arange(len(x)) % 2 == 0
    found = []
    for chosen, scored in ((half, ~half), (~half, half)):
        slabs = [_worst_slab(values[chosen], inside[chosen]) for values in projected.T]
        best = int(np.argmin([coverage for coverage, _, _ in slabs]))
        _, low, high = slabs[best]
        within = (projected[scored, best] >= low) & (projected[scored, best] <= high)
        if within.any():
            found.append(float(inside[scored][within].mean()))
    return float(np.mean(found)) if found else float("nan")


def _worst_slab(values: Array, inside: Array) -> tuple[float, float, float]:
    """The least coverage of neighbours in one direction, and the ends of their slab."""
    order = np.argsort(values, kind="stable")
    hits = np.concatenate([[0], np.cumsum(inside[order])])
    size = max(1, int(np.ceil(SLAB * len(values))))
    # The worst slab has less than twice the least size: of two halves one covers no more than the whole.
    best = (np.inf, -np.inf, np.inf)
    for width in np.unique(np.linspace(size, min(2 * size, len(values)), 8).astype(int)):
        shares = (hits[width:] - hits[:-width]) / width
        first = int(np.argmin(shares))
        if shares[first] < best[0]:
            best = (float(shares[first]), float(values[order[first]]), float(values[order[first + width - 1]]))
    return best
