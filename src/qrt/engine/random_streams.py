"""Random numbers of a training run: one stream per purpose, all from the run's seed.

What a network sees may not depend on which other networks train beside it. So every purpose (initial weights, order of
the rows, dropout, the map's sample) has its own generator, seeded by the run's seed and the purpose's name.
"""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Tensor


def stream(seed: int, purpose: str) -> torch.Generator:
    """The generator of `purpose` in the run with this seed."""
    digest = hashlib.blake2b(f"{seed}: {purpose}".encode(), digest_size=8).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest, "little") >> 1)


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
