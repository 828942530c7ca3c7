"""Memory that is used again at every training step.

A fresh tensor of a megabyte costs the operating system a page fault per 4 kB, which is as much time as the arithmetic
done on it. What has the same shape at every step is therefore taken from here.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Workspace:
    """Named, uninitialised tensors. The same name gives the same memory, so what it held before is overwritten."""

    def __init__(self) -> None:
        self._memory: dict[tuple[str, torch.dtype], Tensor] = {}
        self._views: dict[tuple[str, tuple[int, ...], torch.dtype], Tensor] = {}

    def tensor(self, name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
        """An uninitialised tensor of this shape in the memory called `name`."""
        view = self._views.get((name, shape, dtype))
        if view is None:
            size = torch.Size(shape).numel()
            memory = self._memory.get((name, dtype))
            if memory is None or memory.numel() < size:
                memory = torch.empty(size, dtype=dtype)
                self._memory[name, dtype] = memory
                # Views of the smaller memory would keep it alive beside the new one.
                self._views = {key: kept for key, kept in self._views.items() if key[::2] != (name, dtype)}
            view = memory[:size].view(shape)
            self._views[name, shape, dtype] = view
        return view
