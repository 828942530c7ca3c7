"""A `python` whose `python -m qrt ...` and `python -m snakemake ...` start at once.

Most of a tiny job is the import of PyTorch, most of a dry run that of Snakemake. A server imports what they import and
forks for each call; a small client, first on the PATH, hands over its arguments, folder, environment and output, and
ends with the status of the call. Any other call of `python` is passed on to the real one. A call runs in a process of
the server's: a client that is asked to end (SIGTERM, SIGHUP) asks the call to, but one that is killed leaves it behind.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

MODULES = ("qrt", "snakemake")  # that run warm
_SOCKET = "socket"  # in the folder of the server
_PROCESS = struct.Struct("i")  # number of the process of a call


class WarmPythonError(RuntimeError):
    """There is no warm Python on this machine."""


@contextmanager
def warm_python(folder: Path, imports: Sequence[str], environment: dict[str, str]) -> Iterator[Path]:
    """A new folder with a `python` that has `imports` ready, as long as the context lasts."""
    import shlex
    import subprocess

    folder.mkdir()
    client = shlex.join([sys.executable, "-IS", __file__, sys.executable, str(folder)])
    (folder / "python").write_text(f'#!/bin/sh\nexec {client} "$@"\n')
    (folder / "python").chmod(0o700)
    server = subprocess.Popen(  # noqa: S603 - this program itself
        [sys.executable, __file__, "serve", str(folder), *imports],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdout is not None
        if server.stdout.readline() != b"ready\n":
            raise WarmPythonError("the Python that starts at once did not start")
        yield folder
    finally:
        server.communicate()  # closes its standard input, on which it ends


def ask(server: str, arguments: list[str]) -> int:
    """Let the server run `python -m ARGUMENTS` as this process would; the status of the call."""
    request = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
    os.chdir(server)  # the address of a socket is short, the path of its folder need not be
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_SOCKET)
        socket.send_fds(connection, [b"."], [1, 2])
        connection.sendall(json.dumps(request).encode())
        connection.shutdown(socket.SHUT_WR)
        (process,) = _PROCESS.unpack(connection.recv(_PROCESS.size, socket.MSG_WAITALL))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal interrupts the call, too
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda received, _: _tell(process, received))
        answer = connection.recv(1)
    return answer[0] if answer else 1


def _tell(process: int, number: int) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.kill(process, number)


def serve(folder: str, imports: Sequence[str]) -> None:
    """Run calls until standard input closes, which it does with the caller, however that ends."""
    import gc
    import importlib
    import select

    del sys.path[0]  # the folder of this file, which no call would have
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: it ends the calls, and the server with the caller
    for module in imports:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    # A fork takes along no thread but its own: a call would wait for ever for those of a pool made before. The one of
    # Arrow's memory allocator starts again by itself.
    threads = [Path(f"/proc/self/task/{number}/comm").read_text() for number in os.listdir("/proc/self/task")]
    assert len([name for name in threads if not name.startswith("jemalloc")]) == 1, threads
    os.chdir(folder)
    running: set[int] = set()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(_SOCKET)
        listener.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            with connection:
                child = os.fork()
                if child == 0:
                    listener.close()
                    _be_the_call(connection)
            running.add(child)
            running -= {pid for pid in running if os.waitpid(pid, os.WNOHANG) != (0, 0)}
    for pid in running:
        os.waitpid(pid, 0)


def _be_the_call(connection: socket.socket) -> None:
    """Run what the connection asks for, tell its status, and end."""
    import atexit

    status = 1
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        connection.sendall(_PROCESS.pack(os.getpid()))
        _, streams, _, _ = socket.recv_fds(connection, 1, 2)
        request = json.loads(b"".join(iter(lambda: connection.recv(65536), b"")))
        with open(os.devnull) as nothing:
            for stream, number in zip((nothing.fileno(), *streams), (0, 1, 2), strict=True):
                os.dup2(stream, number)
        for stream in streams:
            os.close(stream)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        status = _run(*request["arguments"])
        atexit._run_exitfuncs()
    finally:  # never back into the server's loop
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([status]))
        os._exit(status)


def _run(module: str, *arguments: str) -> int:
    """`python -m MODULE ARGUMENTS` in this process; its status."""
    import runpy
    import traceback

    sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = [module, *arguments]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Exception:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3:])
    else:
        real_python, server, *given = sys.argv[1:]
        if given[:1] == ["-m"] and given[1] in MODULES:
            sys.exit(ask(server, given[1:]))
        os.execv(real_python, [real_python, *given])  # noqa: S606 - a shell would read the arguments once more
