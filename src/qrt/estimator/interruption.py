"""Ctrl-C during training: the best networks so far are kept."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_IN_EARNEST = 2.0  # seconds between two of Ctrl-C that are to end everything, such as a search over many fits
_last = -_IN_EARNEST


@contextmanager
def stopped_by_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Gives a function that says whether Ctrl-C (SIGINT) was pressed; pressed twice in a row, it interrupts as always.

    An exception could come in the middle of an update of the networks and leave half of it. Nothing is changed in
    threads, which get no signals, nor where somebody else handles this one.
    """
    asked = threading.Event()

    def note(number: int, frame: FrameType | None) -> None:
        global _last
        before, _last = _last, time.monotonic()
        if _last - before < _IN_EARNEST:
            signal.default_int_handler(number, frame)
        asked.set()

    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield asked.is_set
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield asked.is_set
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
