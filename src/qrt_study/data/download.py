"""One way to the network: patient, polite to servers, and every file whole or not at all."""

from __future__ import annotations

import contextlib
import datetime
import email.utils
import fcntl
import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

import requests
import urllib3

from qrt import __version__
from qrt.atomic import whole_file
from qrt.errors import UserError
from qrt_study.data.raw_table import SourceUnavailable

USER_AGENT = f"qrt-replication/{__version__}"
_CHUNK_BYTES = 1 << 18
_TOO_MANY_REQUESTS = 429
# What a page for people begins with, where a file was asked for.
_PAGE_BEGINNING = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<(!doctype\s+html|html|head|body)", re.I | re.S
)

T = TypeVar("T")


@dataclass(frozen=True)
class TransferSettings:
    """How long to wait, how often to try, and how many transfers a server has to bear at a time."""

    connect_seconds: float = 15.0
    read_seconds: float = 60.0  # longest silence, not longest transfer
    attempts: int = 5
    first_wait_seconds: float = 1.0  # doubles with every attempt
    longest_wait_seconds: float = 30.0
    longest_retry_after_seconds: float = 120.0  # how much of a server's Retry-After is granted
    transfers_per_server: int = 3
    slot_poll_seconds: float = 0.2
    largest_bytes: int = 4 << 30


@dataclass(frozen=True)
class Received:
    """Size and checksums of the bytes that came."""

    size: int
    sha256: str
    md5: str


class TryAgain(Exception):
    """A fault that may pass: `reason` completes the sentence "address: ..."."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after


def download(
    address: str,
    path: Path,
    slots: Path,
    settings: TransferSettings | None = None,
    check: Callable[[Received], None] | None = None,
) -> Received:
    """Fetch `address` into `path`, whole or not at all, and return what came.

    `slots` is the directory of the lock files that limit transfers per server across processes. `check` sees
    size and checksums before the file gets its name; when it raises, nothing is left. Raises
    `SourceUnavailable` for whatever the server does wrong, `UserError` when the file cannot be written.
    """
    settings = settings or TransferSettings()

    def attempt() -> Received:
        with server_slot(address, slots, settings), _answer(address, settings) as response:
            refuse_error_status(address, response)
            with whole_file(path) as partial, partial.open("wb") as sink:
                received = _receive(address, response, sink.write, settings)
                if check is not None:
                    check(received)
            return received

    return persistently(address, settings, attempt)


def beginning(address: str, slots: Path, settings: TransferSettings) -> bytes:
    """The first bytes of a file that is there; the rest is not fetched. Raises as `download` does."""

    def attempt() -> bytes:
        with server_slot(address, slots, settings), _answer(address, settings) as response:
            refuse_error_status(address, response)
            chunk = next(_body(address, response, settings), b"")
            if not chunk or looks_like_a_page(chunk[:4096], response.headers.get("Content-Type", "")):
                raise SourceUnavailable(f"{address}: sent {'an HTML page' if chunk else 'nothing'} instead of data.")
            return chunk

    return persistently(address, settings, attempt)


def digest_of_file(path: Path) -> Received:
    """Size and checksums of a file that is already here."""
    size, sha256, md5 = 0, hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            size += len(chunk)
            sha256.update(chunk)
            md5.update(chunk)
    return Received(size, sha256.hexdigest(), md5.hexdigest())


def persistently(address: str, settings: TransferSettings, attempt: Callable[[], T]) -> T:
    """The result of `attempt`, repeated with growing waits as long as it asks to `TryAgain`."""
    for number in range(1, settings.attempts + 1):
        try:
            return attempt()
        except TryAgain as fault:
            if number == settings.attempts:
                times = "once" if number == 1 else f"{number} times"
                raise SourceUnavailable(f"{address}: {fault.reason} (tried {times}).") from fault
            time.sleep(waiting_seconds(number, fault.retry_after, settings))
    raise AssertionError("settings.attempts must be at least 1")


def waiting_seconds(number: int, retry_after: float | None, settings: TransferSettings) -> float:
    """How long to wait after failed attempt `number` (from 1): what the server asks for, within bounds, or
    exponential back-off with jitter, so that many clients do not come back at the same moment.
    """
    if retry_after is not None:
        return min(max(retry_after, 0.0), settings.longest_retry_after_seconds)
    longest = min(settings.first_wait_seconds * 2.0 ** (number - 1), settings.longest_wait_seconds)
    return longest * random.uniform(0.5, 1.0)


@contextlib.contextmanager
def server_slot(address: str, slots: Path, settings: TransferSettings) -> Iterator[None]:
    """Hold one of the server's few slots, waiting for a free one; a slot ends with its process."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", urlsplit(address).netloc)
    names = [slots / f"{host}-{number}.slot" for number in range(settings.transfers_per_server)]
    while (handle := _free_slot(names)) is None:
        time.sleep(settings.slot_poll_seconds)
    try:
        yield
    finally:
        os.close(handle)


def _free_slot(names: list[Path]) -> int | None:
    for name in names:
        try:
            name.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(name, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UserError(
                f"{name}: cannot be made ({error.strerror}); the cache directory must be writable."
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
        except OSError as error:
            os.close(handle)
            raise UserError(
                f"{name}: cannot be locked ({error.strerror}); the cache must be on a file system with file locks."
            ) from error
        else:
            return handle
    return None


@contextlib.contextmanager
def network_faults(address: str, settings: TransferSettings) -> Iterator[None]:
    """Turn what `requests` raises into `TryAgain` where it may pass, else into `SourceUnavailable`.

    Exceptions of requests are OSErrors; without this they would be taken for faults of the local disk.
    """
    try:
        yield
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise TryAgain(f"no answer within {_time_limit(error, settings):g} s") from error
    except (requests.exceptions.ChunkedEncodingError, urllib3.exceptions.ProtocolError) as error:
        raise TryAgain("the server closed the connection half-way") from error
    except requests.ConnectionError as error:
        if error.args and isinstance(error.args[0], urllib3.exceptions.ReadTimeoutError):
            raise TryAgain(f"no answer within {settings.read_seconds:g} s") from error
        raise TryAgain(f"cannot be reached ({_root_cause(error)})") from error
    except requests.exceptions.ContentDecodingError as error:
        raise TryAgain("sent a damaged compressed answer") from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        raise SourceUnavailable(f"{address}: cannot be asked for ({_root_cause(error)}).") from error


def refuse_error_status(address: str, response: requests.Response) -> None:
    """`TryAgain` for 429 and 5xx, `SourceUnavailable` for every other answer that is not a success.

    No success either: an answer to https that came by way of plain http, where anyone may have written it.
    """
    ask_again_if_busy(response)
    way = [urlsplit(step.url).scheme for step in (*response.history, response)]
    if urlsplit(address).scheme == "https" and set(way) != {"https"}:
        raise SourceUnavailable(f"{address}: was redirected to {response.url}, which is not https; it is refused.")
    if not response.ok:
        raise SourceUnavailable(
            f"{address}: the server answered {response.status_code} {response.reason or ''}".rstrip() + "."
        )


def ask_again_if_busy(response: requests.Response) -> None:
    """`TryAgain` for 429 and 5xx, after the time the server names, where it names one."""
    if response.status_code == _TOO_MANY_REQUESTS or response.status_code >= 500:
        reason = f"the server answered {response.status_code} {response.reason or ''}".rstrip()
        raise TryAgain(reason, _retry_after(response.headers.get("Retry-After")))


def looks_like_a_page(beginning: bytes, content_type: str = "") -> bool:
    """Whether the first bytes are those of a page for people; the declared type alone decides nothing."""
    declared = "html" in content_type.lower() and beginning.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    return declared or _PAGE_BEGINNING.match(beginning) is not None


@contextlib.contextmanager
def _answer(address: str, settings: TransferSettings) -> Iterator[requests.Response]:
    with network_faults(address, settings):
        response = requests.get(
            address,
            stream=True,
            timeout=(settings.connect_seconds, settings.read_seconds),
            headers={"User-Agent": USER_AGENT},
        )
    with response:
        yield response


def _receive(
    address: str, response: requests.Response, write: Callable[[bytes], int], settings: TransferSettings
) -> Received:
    size, sha256, md5 = 0, hashlib.sha256(), hashlib.md5(usedforsecurity=False)
    for chunk in _body(address, response, settings):
        if size == 0 and looks_like_a_page(chunk[:4096], response.headers.get("Content-Type", "")):
            raise SourceUnavailable(f"{address}: sent an HTML page instead of data.")
        size += len(chunk)
        if size > settings.largest_bytes:
            raise SourceUnavailable(f"{address}: sent more than {settings.largest_bytes} bytes.")
        sha256.update(chunk)
        md5.update(chunk)
        write(chunk)
    # urllib3 has read the length off the wire, before any decompression: that is what Content-Length counts.
    declared, came = response.headers.get("Content-Length"), response.raw.tell()
    if declared is not None and declared.isdigit() and came != int(declared):
        raise TryAgain(f"the server closed the connection after {came} of {declared} bytes")
    if size == 0:
        raise SourceUnavailable(f"{address}: sent an empty file.")
    return Received(size, sha256.hexdigest(), md5.hexdigest())


def _body(address: str, response: requests.Response, settings: TransferSettings) -> Iterator[bytes]:
    # Only reading from the network is inside, so that a full disk is not mistaken for a lost connection.
    chunks = response.iter_content(_CHUNK_BYTES)
    while True:
        with network_faults(address, settings):
            chunk = next(chunks, None)
        if chunk is None:
            return
        if chunk:
            yield chunk


def _time_limit(error: Exception, settings: TransferSettings) -> float:
    connecting = isinstance(error, requests.ConnectTimeout | urllib3.exceptions.ConnectTimeoutError)
    return settings.connect_seconds if connecting else settings.read_seconds


def _retry_after(header: str | None) -> float | None:
    if header is None:
        return None
    if header.strip().isdigit():
        return float(header)
    try:
        moment = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return (moment - datetime.datetime.now(datetime.UTC)).total_seconds()


def _root_cause(error: BaseException) -> str:
    """The innermost reason, without the layers of pools and retries around it."""
    while (inner := error.__cause__ or error.__context__) is not None:
        error = inner
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
