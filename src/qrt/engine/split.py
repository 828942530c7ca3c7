"""The published splits: which rows train, validate, calibrate and test (docs/protocol.md, section 1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IndexArray = npt.NDArray[np.int64]

MAX_CALIBRATION_ROWS = 2048
MAX_ROWS = 76924  # ceil(50000 / 0.65), so that the training part is about 50,000 rows before the cap below
ORDER_SEED = 2001
PERMUTATION_SEED = 2000


@dataclass(frozen=True)
class SplitRows:
    """Row numbers of the four parts, disjoint, in the order the published study has them."""

    train: IndexArray
    validation: IndexArray
    calibration: IndexArray
    test: IndexArray


def part_sizes(rows: int) -> tuple[int, int, int, int]:
    """Sizes of train, validation, calibration and test for a table of `rows` rows.

    65 / 10 / 15 / 10 per cent; what calibration has beyond its cap is shared equally by the others.
    """
    shares = {"train": 0.65 * rows, "validation": 0.10 * rows, "test": 0.10 * rows}
    calibration = 0.15 * rows
    excess = max(0.0, calibration - MAX_CALIBRATION_ROWS)
    train = int(shares["train"] + excess / 3)
    validation = int(shares["validation"] + excess / 3)
    calibration_rows = int(calibration - excess)
    return train, validation, calibration_rows, rows - train - validation - calibration_rows


def split_rows(rows: int, split: int) -> SplitRows:
    """Row numbers of split number `split` of a table with `rows` rows, as in the published study."""
    order = np.random.RandomState(ORDER_SEED + split).choice(rows, min(rows, MAX_ROWS), replace=False)
    shuffled = order[_permutation(len(order), PERMUTATION_SEED + split)]
    train, validation, calibration, _ = part_sizes(len(shuffled))
    parts = np.split(shuffled, np.cumsum([train, validation, calibration]))
    return SplitRows(*parts)


def _permutation(rows: int, seed: int) -> IndexArray:
    """What PyTorch's `randperm` gives after `manual_seed(seed)`, which shuffled the published splits.

    Written out (Fisher and Yates with the numbers of MT19937), since importing PyTorch takes longer than preparing a
    dataset.
    """
    drawn = np.random.RandomState(seed).randint(0, 2**32, size=max(rows - 1, 0), dtype=np.uint32)
    order = list(range(rows))
    for place, further in enumerate((drawn % np.arange(rows, 1, -1)).tolist()):
        order[place], order[place + further] = order[place + further], order[place]
    return np.array(order, dtype=np.int64)


PARTS = ("train", "calibration", "validation", "test")


@dataclass(frozen=True)
class SplitTargets:
    """The targets of one split, standardised with the mean and standard deviation of its training rows.

    `y` (rows,) is float32 and holds the parts one after another in the order of PARTS, so that "train + calibration" is
    a view and not a copy; `sizes` has their numbers of rows in the same order.
    """

    y: npt.NDArray[np.float32]
    sizes: dict[str, int]
    y_mean: float
    y_scale: float

    def __post_init__(self) -> None:
        # In any other order `train+calibration` would hold rows that belong to another part.
        if tuple(self.sizes) != PARTS or sum(self.sizes.values()) != len(self.y):
            raise ValueError(f"a split has the parts {', '.join(PARTS)} in this order, and no other rows: {self.sizes}")

    def rows(self, part: str) -> slice:
        """The rows of `train`, `calibration`, `validation`, `test` or `train+calibration`."""
        if part == "train+calibration":
            return slice(0, self.sizes["train"] + self.sizes["calibration"])
        start = 0
        for name, size in self.sizes.items():
            if name == part:
                return slice(start, start + size)
            start += size
        raise KeyError(part)


@dataclass(frozen=True)
class SplitData(SplitTargets):
    """One split of one dataset: its targets, and x (rows, features) float32, standardised and in the same order.

    `weights` (rows,) are those of the rows, or None; the study has none.
    """

    x: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float64] | None = None

    def part(self, name: str) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """x and y of a part (`rows`), as views."""
        return self.x[self.rows(name)], self.y[self.rows(name)]

    def part_weights(self, name: str) -> npt.NDArray[np.float64] | None:
        """The weights of a part, as a view."""
        return None if self.weights is None else self.weights[self.rows(name)]
