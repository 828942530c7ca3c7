"""Random `kill -9` over small studies: whatever dies, nothing is lost and nothing is wrong.

    python tests/support/random_kills.py --kills 200 --minutes 60

Kills jobs, Snakemake alone, or both at random moments, calls the same command again until the study is finished,
compares its tables with those of an undisturbed run, and starts over. Not part of `make test`: it takes half an hour or
more.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.projects import LAYOUT, Project

TABLES = tuple(LAYOUT.table("paper", name) for name in ("runs", "methods", "curves", "predictions"))
OPTIONS = ("--retries", "2")  # after a third kill in one call a job would end as rows that say so


def processes(group: int, pattern: str) -> list[int]:
    """Ids of the processes of a group whose command line matches."""
    found = subprocess.run(["pgrep", "-g", str(group), "-f", pattern], capture_output=True, text=True, check=False)
    return [int(number) for number in found.stdout.split()]


def kill(process: int) -> bool:
    """Kill a process; whether it was still there."""
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def disturbed_call(project: Project, chance: random.Random, kills: Counter[str], most: int) -> int | None:
    """One call with kills at random moments; its exit status, or None if it was killed itself."""
    project.run("--unlock")  # the lock of a killed call stays
    command, variables = project.command(*TABLES, *OPTIONS)
    silent = subprocess.DEVNULL
    call = subprocess.Popen(
        command, cwd=project.folder, env=variables, stdout=silent, stderr=silent, start_new_session=True
    )
    end = time.monotonic() + chance.uniform(5, 120)
    while time.monotonic() < end and call.poll() is None and kills.total() < most:
        time.sleep(chance.uniform(1, 12))  # seconds: some jobs must get through
        if jobs := processes(call.pid, "^python -m qrt"):
            kills["a job"] += kill(chance.choice(jobs))
    if call.poll() is None and kills.total() < most:
        if chance.random() < 0.5:
            kills["Snakemake alone, its jobs a little later"] += kill(call.pid)
            time.sleep(chance.uniform(0, 3))
        else:
            kills["everything at once"] += 1
        os.killpg(call.pid, signal.SIGKILL)
        call.wait()
        return None
    return call.wait()


def differences(reference: Project, project: Project) -> list[str]:
    """What is lost, wrong or left over after a finished study."""
    found = []
    for name in TABLES:
        try:
            pd.testing.assert_frame_equal(project.read(name), reference.read(name), check_exact=True)
        except AssertionError as error:
            found.append(f"{name}: {error}")
    found += [f"left over: {path}" for path in project.folder.rglob("*.partial")]
    return found + [f"damaged: {path}" for path in project.folder.rglob("*.damaged")]


def main() -> int:
    """Kill until there were enough kills or the time is up; status 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, kills, calls, studies = random.Random(options.seed), Counter[str](), 0, 0
    wrong: list[str] = []
    status: int | None = None
    end = time.monotonic() + options.minutes * 60
    with tempfile.TemporaryDirectory() as folder:
        for name in ("reference", "killed"):
            (Path(folder) / name).mkdir()
        reference, project = (Project.new(Path(folder) / name) for name in ("reference", "killed"))
        undisturbed = reference.run(*TABLES)
        assert undisturbed.returncode == 0, undisturbed.stderr
        while kills.total() < options.kills and time.monotonic() < end:
            calls += 1
            status = disturbed_call(project, chance, kills, options.kills)
            print(f"{kills.total()} kills in {calls} calls, {studies} studies finished", flush=True)
            if status == 0:
                studies += 1
                wrong += differences(reference, project)
                for made in ("data", "results", LAYOUT.results, "logs", ".snakemake"):
                    shutil.rmtree(project.folder / made)
        if status != 0:
            project.run("--unlock")
            last = project.run(*TABLES, *OPTIONS)
            wrong += differences(reference, project) if last.returncode == 0 else [last.stderr]
            studies += last.returncode == 0
    for what, count in sorted(kills.items()):
        print(f"killed {what}: {count}")
    print(f"{kills.total()} kills in {calls} calls; {studies} studies finished; lost or wrong: {wrong or 'nothing'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
