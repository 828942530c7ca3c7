"""A `python` for benchmarks whose `python -m qrt ...` starts at once.

Most of a tiny job is the import of PyTorch. To load Snakemake itself with thousands of jobs, a server imports the
package once and forks for each job; a small client, first on the PATH of the jobs, hands over its arguments, folder,
environment and output, and ends with the job's status. Any other call of `python` is passed on to the real one.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import socket
import sys
import traceback

# What the commands of a study import when they run.
WARM = (
    "qrt.__main__",
    "qrt.data.fetch",
    "qrt.data.prepared_store",
    "qrt.results.evaluation_job",
    "qrt.results.trained_data",
    "qrt.results.tuning",
    "qrt.running.attempts",
    "qrt.training.family_job",
)


def ask(socket_path: str, arguments: list[str]) -> int:
    """Let the server run `python -m qrt ARGUMENTS` as this process would; the job's status."""
    request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(socket_path)
        socket.send_fds(connection, [b"."], [1, 2])
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1)
    return answer[0] if answer else 1


def serve(socket_path: str) -> None:
    """Run jobs until standard input closes, which it does with the benchmark, however that ends."""
    from pathlib import Path

    for module in WARM:
        importlib.import_module(module)
    # A fork takes along no thread but its own: a job would wait for ever for those of a pool made before. The one of
    # Arrow's memory allocator starts again by itself.
    threads = [Path(f"/proc/self/task/{number}/comm").read_text() for number in os.listdir("/proc/self/task")]
    assert len([name for name in threads if not name.startswith("jemalloc")]) == 1, threads
    running: set[int] = set()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(socket_path)
        listener.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                child = os.fork()
                if child == 0:
                    listener.close()
                    _be_the_job(connection)
            running.add(child)
            running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG) != (0, 0)}
    for pid in running:
        os.waitpid(pid, 0)


def _be_the_job(connection: socket.socket) -> None:
    """Run what the connection asks for, tell its status, and end."""
    status = 1
    try:
        _, streams, _, _ = socket.recv_fds(connection, 1, 2)
        request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
        for stream, number in zip(streams, (1, 2), strict=True):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        status = _run(request["arguments"])
    finally:  # never back into the server's loop
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([status]))
        os._exit(status)


def _run(arguments: list[str]) -> int:
    from qrt.__main__ import main

    try:
        return main(arguments)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except Exception:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        real_python, path, *given = sys.argv[1:]
        if given[:2] == ["-m", "qrt"]:
            sys.exit(ask(path, given[2:]))
        os.execv(real_python, [real_python, *given])  # noqa: S606 - a shell would read the arguments once more
