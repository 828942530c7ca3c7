"""Continue the replication: train what is not published yet, in the order of replication/steps.yaml."""

from __future__ import annotations

import math
from pathlib import Path


def run(
    *, minutes: float = math.inf, steps: list[str] | None = None, cores: int | None = None, plan: bool = False
) -> None:
    """Call Snakemake for one step and group of datasets after the other, in the project in this folder.

    Nothing is begun that would not be finished in so many `minutes` by the cost formula. `steps` are numbers of steps,
    all without; `plan` only says what would be done. Finished work is kept: the same command continues.
    """
    import os
    import signal
    import sys
    import time

    from qrt_study.running.step_calls import call_snakemake, do, tasks
    from qrt_study.running.steps import Steps

    cores = cores or os.cpu_count() or 1
    waiting = tasks(Steps(Path()).in_order(), cores, set(steps or ()))
    if plan:
        print("\n".join(f"{task.words}: {60 * task.hours:.1f} min on {cores} cores" for task in waiting))
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # and end Snakemake, too
    until = time.time() + 60 * minutes
    do(waiting, lambda task: call_snakemake(task, cores, until), until)
