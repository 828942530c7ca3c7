"""Snakemake on one machine with jobs that start at once: `python -m qrt.running.warm_snakemake ARGUMENTS`.

Where a study has hundreds of short jobs, as the demo has and the drawing of all figures, most of the time would go into
starting Python (`qrt.running.warm_python`). Elsewhere than on Linux, and where that fails, it is Snakemake as usual.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from qrt.running.warm_python import WarmPythonError, warm_python

# What Snakemake and the commands of a study import of other packages. Their own modules are those of each call.
_IMPORTS = (
    *(
        "snakemake.cli",
        "snakemake.scheduling.job_scheduler",
        "snakemake.executors.local",
        "snakemake.report.html_reporter",
    ),
    *("torch", "pandas", "pyarrow.parquet", "scipy.stats", "sklearn", "jsonschema", "yaml"),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf", "seaborn"),
)
# Libraries that make threads when they are imported: none may be there when the server forks, and jobs use one.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@contextmanager
def warm_programs(environment: dict[str, str]) -> Iterator[Path]:
    """A folder with a `python` for the front of the PATH, as long as the context lasts."""
    with (
        tempfile.TemporaryDirectory() as folder,
        warm_python(Path(folder) / "bin", _IMPORTS, environment | _ONE_THREAD) as programs,
    ):
        yield programs


def main() -> int:
    """Run Snakemake with the arguments of this call."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment, python = os.environ | {"PATH": path}, Path(sys.executable)
    with ExitStack() as stack:
        if sys.platform == "linux":
            try:
                python = stack.enter_context(warm_programs(environment)) / "python"
                environment["PATH"] = f"{python.parent}{os.pathsep}{path}"
            except WarmPythonError as error:
                print(f"{error}; jobs start as usual, which takes longer", file=sys.stderr)
        # What the user asks for, by this interpreter.
        call = subprocess.Popen([python, "-m", "snakemake", *sys.argv[1:]], env=environment)  # noqa: S603
        return _end_of(call)


def _end_of(call: subprocess.Popen[bytes]) -> int:
    """The status of a call; who asks this process to end asks the call to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, which interrupts the call itself
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: call.send_signal(received))
    return call.wait()


if __name__ == "__main__":
    sys.exit(main())
