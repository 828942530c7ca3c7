"""Stopping a study: its jobs stop with it, within seconds.

Left to itself, Snakemake waits on SIGTERM until running jobs are done, which may take hours, and on SIGINT too where
the signal does not reach the jobs (it does in a terminal, not from `kill`).
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from types import FrameType

import psutil  # type: ignore[import-untyped]

PATIENCE_SECONDS = 30.0


def stop_jobs_when_interrupted() -> None:
    """From now on SIGINT and SIGTERM end the processes this one has started, then this one, in order."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)


def _stop(number: int, _frame: FrameType | None) -> None:
    # Snakemake was once seen to hang after its last word, waiting for a thread of its own.
    last_resort = threading.Timer(PATIENCE_SECONDS, os._exit, (128 + number,))
    last_resort.daemon = True
    last_resort.start()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    raise KeyboardInterrupt
