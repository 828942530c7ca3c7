"""Random numbers of a training run: one stream per purpose, all from the run's seed.

What a network sees may not depend on which other networks train beside it. So every purpose (initial weights, order of
the rows, dropout, the map's sample) has its own generator, seeded by the run's seed and the purpose's name.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def stream(seed: int, purpose: str) -> torch.Generator:
    """The generator of `purpose` in the run with this seed."""
    return torch.Generator().manual_seed(_number(seed, purpose))


def member_seeds(seed: int, members: int) -> list[int]:
    """The seeds of an ensemble's members: the run's own, and others that follow from it."""
    return [seed, *(_number(seed, f"member {member}") for member in range(1, members))]


def _number(seed: int, purpose: str) -> int:
    """A number from 0 up to but without 2^63 that follows from both."""
    digest = hashlib.blake2b(f"{seed}: {purpose}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


class Streams:
    """The streams of one purpose for the networks of a stack: one that all share, or one for each of their seeds."""

    def __init__(self, seeds: Sequence[int], purpose: str) -> None:
        self._generators = {seed: stream(seed, purpose) for seed in seeds}

    def draw(self, seeds: Sequence[int], function: Callable[[torch.Generator], Tensor]) -> Tensor:
        """`function` of the common stream; of several, those of networks with these seeds, stacked: (R, ...)."""
        (drawn,) = self.draw_lists(seeds, lambda generator: [function(generator)])
        return drawn

    def draw_lists(self, seeds: Sequence[int], function: Callable[[torch.Generator], list[Tensor]]) -> list[Tensor]:
        """The same for a `function` that gives several tensors."""
        drawn = {seed: function(self._generators[seed]) for seed in dict.fromkeys(seeds)}
        if len(self._generators) == 1:
            return next(iter(drawn.values()))
        return [torch.stack(of_networks) for of_networks in zip(*(drawn[seed] for seed in seeds), strict=True)]


def rows_of_networks(values: Tensor, first: int, last: int) -> Tensor:
    """Of values (R, n, ..) of each network, those from `first` up to but without `last`; common ones (n, ..) whole."""
    return values[first:last] if values.dim() > 2 else values


def sample_rows(rows: int, size: int, generator: torch.Generator) -> Tensor:
    """Numbers of min(size, rows) rows drawn without replacement: (min(size, rows),)."""
    return torch.randperm(rows, generator=generator)[:size]


def dropout_mask(shape: tuple[int, ...], probability: float, generator: torch.Generator) -> Tensor:
    """0 with the given probability (to 1/65536), else 1 / (1 - probability): float32 of this shape.

    Four 16-bit numbers are cut from each 64-bit draw: torch's own Bernoulli sampler would cost as much as a fifth of
    a training step.
    """
    size = math.prod(shape)
    draws = torch.empty(-(-size // 4), dtype=torch.int64).random_(-(2**63), None, generator=generator)
    mask = draws.view(torch.int16)[:size].view(shape).to(torch.float32)
    # The draws are whole numbers from -32768, so the cut lies between two of them and the clamp gives 0 or 1.
    dropped = round(probability * 65536)
    return mask.sub_(dropped - 32769.0).clamp_(0.0, 1.0).mul_(1 / (1 - probability))
