"""Watching a command from outside: its time and memory, and its own processor time beside that of all it starts."""

from __future__ import annotations

import bisect
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qrt_study.training.machine import processor

PROJECT = Path(__file__).resolve().parent.parent
_TICKS = os.sysconf("SC_CLK_TCK")
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_BETWEEN_SAMPLES = 1.0


@dataclass(frozen=True)
class Cost:
    """Seconds and memory of one call, and the processor time of its first process beside that of all processes."""

    call: str
    seconds: float
    peak_megabytes: float
    own_cpu_seconds: float
    all_cpu_seconds: float


@dataclass
class OwnCpu:
    """The processor time of a process so far, noted about once a second."""

    times: list[float] = field(default_factory=list)  # of the clock
    seconds: list[float] = field(default_factory=list)

    def note(self, seconds: float) -> None:
        """Note the present value, unless the last note is fresh."""
        now = time.time()
        if not self.times or now - self.times[-1] >= _SECONDS_BETWEEN_SAMPLES:
            self.times.append(now)
            self.seconds.append(seconds)

    def at(self, moment: float) -> float:
        """The value noted last before this moment of the clock."""
        return self.seconds[max(0, bisect.bisect_right(self.times, moment) - 1)]


def jobs_environment() -> dict[str, str]:
    """The environment of this process, with this interpreter's programs first."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def children_cpu() -> float:
    """Processor time of all finished processes that this one has started, and of those they have started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def watched(
    call: str,
    command: Sequence[str],
    *,
    folder: Path = PROJECT,
    environment: Mapping[str, str] | None = None,
    limit_seconds: float = 3600.0,
    own_cpu: OwnCpu | None = None,
) -> Cost:
    """Run a command and watch it; end the benchmark if it fails or takes too long."""
    own_cpu = own_cpu or OwnCpu()
    own = peak = 0.0
    with tempfile.TemporaryFile() as said:
        before, start = children_cpu(), time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment or jobs_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
        )
        try:
            while process.poll() is None and time.perf_counter() - start < limit_seconds:
                own, peak = _looked_at(process.pid) or (own, peak)
                own_cpu.note(own)
                time.sleep(_SECONDS_BETWEEN_LOOKS)
        finally:
            late = process.poll() is None
            if late:  # Snakemake ends its jobs itself
                process.terminate()
            process.wait()
        if late or process.returncode:
            said.seek(0)
            problem = f"took more than {limit_seconds:.0f} s" if late else f"failed ({process.returncode})"
            raise SystemExit(f"{call} {problem}:\n{said.read().decode()[-5000:]}")
    return Cost(call, time.perf_counter() - start, peak, own, children_cpu() - before)


def _looked_at(pid: int) -> tuple[float, float] | None:
    """Processor seconds and peak MB of a process so far; None if it has just ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    # Not ru_maxrss, which starts with the memory of the process that forked.
    peak = next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM")), None)
    return None if peak is None else ((int(fields[11]) + int(fields[12])) / _TICKS, peak)


def snakemake(
    call: str,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    limit_seconds: float = 3600.0,
    own_cpu: OwnCpu | None = None,
) -> Cost:
    """Run Snakemake on the project's Snakefile and watch it."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    return watched(call, command, environment=environment, limit_seconds=limit_seconds, own_cpu=own_cpu)


def machine() -> dict[str, str | int | None]:
    """What the numbers were measured on."""
    return {
        "processor": processor(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def print_costs(costs: Sequence[Cost]) -> None:
    """One line for each call."""
    print(f"{'call':46} {'seconds':>8} {'peak MB':>8} {'own CPU s':>10} {'all CPU s':>10} {'share':>7}")
    for cost in costs:
        share = cost.own_cpu_seconds / cost.all_cpu_seconds
        print(
            f"{cost.call:46} {cost.seconds:8.1f} {cost.peak_megabytes:8.0f} {cost.own_cpu_seconds:10.1f} "
            f"{cost.all_cpu_seconds:10.1f} {share:7.1%}"
        )
