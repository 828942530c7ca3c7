"""A headless chromium for the tests of pages: its DevTools protocol over a pair of pipes, without further packages."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium")
PATIENCE = 60.0  # seconds until a browser that says nothing is taken for dead
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
# Chromium reads commands from file 3 and writes answers to file 4.
_ON_PIPES = (
    "import os, sys; r, w = map(int, sys.argv[1:3]); os.dup2(r, 3); os.dup2(w, 4); os.execv(sys.argv[3], sys.argv[3:])"
)


class Browser:
    """One tab. `errors` has script errors, `dialogs` the messages of alerts; both are of the page opened last."""

    def __init__(self) -> None:
        assert CHROMIUM is not None
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        self._loaded = False
        self._number = 0
        self._unread = b""
        self._profile = tempfile.TemporaryDirectory(prefix="qrt-chromium-", ignore_cleanup_errors=True)
        commands, self._to_browser = os.pipe()
        self._from_browser, answers = os.pipe()
        # Above 9, so that neither is one of the files 3 and 4 that they become.
        ends = [_above(commands), _above(answers)]
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _ON_PIPES,
                *map(str, ends),
                CHROMIUM,
                *_FLAGS,
                f"--user-data-dir={self._profile.name}",
            ],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for end in (commands, answers, *ends):
            os.close(end)
        self._session = ""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and its children, and remove its profile."""
        os.close(self._to_browser)  # the browser ends when nobody can command it any more
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._from_browser)
        self._profile.cleanup()

    def open(
        self,
        page: Path,
        *,
        width: int = 1400,
        height: int = 900,
        fragment: str = "",
        scheme: str = "light",
        media: str = "",
    ) -> None:
        """Load a page from disk in a window of this size and wait until it is there."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self._call(
            "Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self._load("about:blank")  # else a change of the fragment alone would not load the page anew
        self.errors.clear()
        self.dialogs.clear()
        self._load(page.resolve().as_uri() + (f"#{fragment}" if fragment else ""))

    def _load(self, address: str) -> None:
        self._loaded = False
        self._call("Page.navigate", url=address)
        while not self._loaded:
            self._take(self._message())

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page, promises awaited."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_until(self, condition: str) -> None:
        """Wait until a JavaScript expression is true; an assertion fails if it never is."""
        deadline = time.monotonic() + PATIENCE
        while not self.evaluate(condition):
            assert time.monotonic() < deadline, f"never true: {condition}"
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click on the middle of an element, as a mouse does."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'});"
            "const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def press(self, key: str, code: int) -> None:
        """Press and release a key on the element with the focus."""
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def pdf(self) -> bytes:
        """The page as it is printed."""
        printed = self._call("Page.printToPDF", preferCSSPageSize=True)
        return base64.b64decode(printed["data"])

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and wait for its answer; events that come before it are taken in."""
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._to_browser, json.dumps(command).encode() + b"\0")
        while True:
            message = self._message()
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return dict(message["result"])
            self._take(message)

    def _take(self, event: dict[str, Any]) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Page.javascriptDialogOpening":
            self.dialogs.append(parameters["message"])
            command = {
                "id": 0,
                "sessionId": self._session,
                "method": "Page.handleJavaScriptDialog",
                "params": {"accept": True},
            }
            os.write(self._to_browser, json.dumps(command).encode() + b"\0")

    def _message(self) -> dict[str, Any]:
        """The next message of the browser; messages end with a zero byte."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._from_browser], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, "the browser does not answer"
            part = os.read(self._from_browser, 1 << 20)
            assert part, "the browser has ended"
            self._unread += part
        first, self._unread = self._unread.split(b"\0", 1)
        return dict(json.loads(first))


def _above(file: int) -> int:
    """A copy of the file descriptor with a number of at least 10."""
    import fcntl

    return fcntl.fcntl(file, fcntl.F_DUPFD, 10)
