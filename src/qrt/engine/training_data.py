"""The border of the trainer: data that would end in a NaN is refused here, in words."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from qrt.engine.split import SplitData
from qrt.errors import UserError


def checked_part(data: SplitData, part: str) -> tuple[Tensor, Tensor]:
    """x: (n, features) and y: (n,) of a part of the data as float32 tensors that share its memory."""
    x_array, y_array = data.part(part)
    x, y = torch.from_numpy(x_array), torch.from_numpy(y_array)
    if x.dim() != 2 or y.dim() != 1 or len(x) != len(y):
        raise UserError(
            f"{part}: x has shape {tuple(x.shape)} and y {tuple(y.shape)}, but must be (n, features) and (n,)"
        )
    if x.dtype != torch.float32 or y.dtype != torch.float32:
        raise UserError(f"{part}: x is {x.dtype} and y {y.dtype}, but both must be float32")
    if x.shape[1] == 0:
        raise UserError(f"{part}: x has no columns; at least one feature is needed")
    if len(x) == 0:
        raise UserError(f"{part}: there are no rows in this part of the split; the dataset is too small")
    for name, values in (("x", x), ("y", y)):
        bad = ~values.isfinite()
        if bool(bad.any()):
            row = int(torch.nonzero(bad)[0, 0])
            raise UserError(
                f"{part}: {name} is not finite in {int(bad.sum())} places, the first in row {row} of this part; "
                "remove or impute missing values"
            )
    if part.startswith("train"):
        if len(x) < 2:
            raise UserError(f"{part}: a batch of one row cannot be trained on; at least 2 training rows are needed")
        if bool((y == y[0]).all()):
            raise UserError(
                f"{part}: the target is constant ({float(y[0]):g} after scaling), there is nothing to learn"
            )
    return x, y


def checked_weights(data: SplitData, part: str) -> Tensor | None:
    """The weights of a part's rows: (n,) float64 and above 0; None if all are the same."""
    weights = data.part_weights(part)
    if weights is None:
        return None
    if weights.dtype != "float64" or not (np.isfinite(weights) & (weights > 0)).all():
        raise UserError(f"{part}: weights of rows must be finite float64 numbers above 0; leave out rows of weight 0")
    return None if (weights == weights[0]).all() else torch.from_numpy(weights)
