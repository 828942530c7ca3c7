"""A job ends soon after the Snakemake that started it, also when that was killed and could not end its jobs."""

from __future__ import annotations

import os
import signal
import sys
import time
from threading import Thread

VARIABLE = "QRT_CALLER"  # the process of the Snakemake; empty for a command that a user has started
_SECONDS = 2.0


def end_with_caller() -> None:
    """Watch the Snakemake that started this process, if one did."""
    caller = int(os.environ.get(VARIABLE) or 0)
    if caller > 1:
        Thread(target=_watch, args=(caller,), daemon=True).start()


def _watch(caller: int) -> None:
    while _is_there(caller):
        time.sleep(_SECONDS)
    print("error: the Snakemake that started this job has ended without it; so the job ends", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
