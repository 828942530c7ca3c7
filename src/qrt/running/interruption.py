"""Stopping a study: its jobs stop with it, within seconds.

Left to itself, Snakemake waits on SIGTERM until running jobs are done, which may take hours, and on SIGINT too where
the signal does not reach the jobs (it does in a terminal, not from `kill`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType

import psutil  # type: ignore[import-untyped]

PATIENCE_SECONDS = 30.0


def stop_jobs_when_interrupted(last_word: Callable[[], None]) -> None:
    """From now on SIGINT and SIGTERM end the processes this one has started, then this one, in order.

    `last_word` is what must be done in the end also if Snakemake does not come to it by itself.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        # Snakemake waits for threads of its own; on a cluster for minutes, for the one that asks how jobs are.
        last_resort = threading.Timer(PATIENCE_SECONDS, _leave, (128 + number, last_word))
        last_resort.daemon = True
        last_resort.start()
        _end_processes()
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _leave(status: int, last_word: Callable[[], None]) -> None:
    _end_processes()
    try:
        last_word()
    finally:
        os._exit(status)


def _end_processes() -> None:
    """End all processes this one has started, and those they have started."""
    halted: set[psutil.Process] = set()
    # Halted first: a shell that is ended just after it was asked for its children may have got another one.
    while found := set(psutil.Process().children(recursive=True)) - halted:
        for process in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.suspend()
        halted |= found
    for process in halted:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
            process.resume()
