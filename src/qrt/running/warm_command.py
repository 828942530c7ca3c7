"""A command whose Snakemake and jobs start at once: `python -m qrt.running.warm_command COMMAND ARGUMENTS`.

Where a study has hundreds of short jobs, as the demo has and the drawing of all figures, most of the time would go into
starting Python (`qrt.running.warm_python`). The command finds it as `python`, for example in `python -m snakemake`.
Elsewhere than on Linux, and where the warm Python does not start, it finds the usual one.
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
    """Run the command that the arguments of this call are."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = os.environ | {"PATH": path}
    with ExitStack() as stack:
        if sys.platform == "linux":
            try:
                programs = stack.enter_context(warm_programs(environment))
                environment["PATH"] = f"{programs}{os.pathsep}{path}"
            except WarmPythonError as error:
                print(f"{error}; jobs start as usual, which takes longer", file=sys.stderr)
        call = subprocess.Popen(sys.argv[1:], env=environment)  # noqa: S603 - what the user asks for
        return _end_of(call)


def _end_of(call: subprocess.Popen[bytes]) -> int:
    """The status of a call; who asks this process to end asks the call to."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal, which interrupts the call itself
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: call.send_signal(received))
    return call.wait()


if __name__ == "__main__":
    sys.exit(main())
