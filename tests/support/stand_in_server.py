"""A server on loopback that answers as it is told: well, late, half, or not at all."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

Behaviour = Callable[["_Handler"], None]


def answer(body: bytes, status: int = 200, **headers: str) -> Behaviour:
    """A whole answer; underscores in header names stand for hyphens."""

    def behave(handler: _Handler) -> None:
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return behave


def gzipped(body: bytes) -> Behaviour:
    """A whole answer, compressed on its way as OpenML does it."""
    return answer(gzip.compress(body), Content_Encoding="gzip", Content_Type="text/xml")


def hang(handler: _Handler) -> None:
    """No answer at all until the server is stopped."""
    handler.stand_in.ended.wait()


def close_half_way(body: bytes) -> Behaviour:
    """The length of the whole, and half of it."""

    def behave(handler: _Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2])

    return behave


def hang_half_way(body: bytes) -> Behaviour:
    """Half of the answer, then silence until the server is stopped."""

    def behave(handler: _Handler) -> None:
        close_half_way(body)(handler)
        handler.wfile.flush()
        hang(handler)

    return behave


def in_company(body: bytes, expected: int, then: float) -> Behaviour:
    """An answer that waits for `expected` requests at once, and `then` seconds for one too many."""

    def behave(handler: _Handler) -> None:
        stand_in = handler.stand_in
        with stand_in.changed:
            stand_in.changed.wait_for(lambda: stand_in.most_at_a_time >= expected, timeout=20)
        time.sleep(then)
        answer(body)(handler)

    return behave


class StandInServer:
    """Serves what `serve` says, on a free port of loopback, between `with` and its end."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most_at_a_time = 0
        self.ended = threading.Event()
        self.changed = threading.Condition()
        self._now = 0
        self._routes: dict[str, list[Behaviour]] = {}
        handler = type("Handler", (_Handler,), {"stand_in": self})
        self._server = _QuietServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    @property
    def address(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def serve(self, path: str, *behaviours: Behaviour) -> str:
        """Answer requests for `path` with one behaviour after the other, the last one for ever.

        A path that ends in * stands for all that begin like it. Returns the full address.
        """
        with self.changed:
            self._routes[path] = list(behaviours)
        return self.address + path

    def behaviour(self, path: str) -> Behaviour:
        """The next behaviour for `path`."""
        with self.changed:
            for route, behaviours in self._routes.items():
                if path == route or (route.endswith("*") and path.startswith(route[:-1])):
                    return behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        return answer(b"no such file", status=404)

    def begin(self, path: str) -> None:
        """Count a request that has come in."""
        with self.changed:
            self.asked.append(path)
            self._now += 1
            self.most_at_a_time = max(self.most_at_a_time, self._now)
            self.changed.notify_all()

    def end(self) -> None:
        """Count a request as done."""
        with self.changed:
            self._now -= 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    stand_in: StandInServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        self.stand_in.begin(path)
        try:
            self.stand_in.behaviour(path)(self)
        finally:
            self.stand_in.end()

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _QuietServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # clients that give up are what the tests are about
