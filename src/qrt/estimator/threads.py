"""How many threads the estimators compute with: one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread, so that results do not depend on the number of processors.

    It is faster, too: the tensors are small, and threads that wait for each other take several times the processor
    time. As a decorator it does so in a whole function.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
