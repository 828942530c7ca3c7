"""Datasets from OpenML: found and described through the `openml` package, fetched and read by our own rules.

The package (0.15) asks without a time-out, holds a whole file in memory three times over to check it, keeps
what it downloads as pickles, and writes into the home directory. So it gets a session that is patient within
bounds and a directory that is thrown away; the data themselves come through `qrt_study.data.download`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import logging
import os
import re
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.parsers.expat import ExpatError

import pandas as pd
import requests

from qrt.errors import UserError
from qrt_study.data.arff_reader import ArffTable, NotArff, read_arff
from qrt_study.data.download import (
    TransferSettings,
    TryAgain,
    ask_again_if_busy,
    looks_like_a_page,
    network_faults,
    persistently,
    refuse_error_status,
    server_slot,
)
from qrt_study.data.openml_parquet import NotTheTable, read_openml_parquet
from qrt_study.data.raw_table import RawTable, SourceUnavailable
from qrt_study.data.sheet import SheetRow
from qrt_study.data.source_lock import Origin, SourceLock, locked_file

SERVER_VARIABLE = "QRT_OPENML_SERVER"
DEFAULT_SERVER = "https://www.openml.org/api/v1/xml"
_MD5 = re.compile(r"[0-9a-fA-F]{32}")
# What OpenML's numbers mean, where its own words do not say it.
_WORDS = {
    112: "the dataset is not shared with everybody, or was withdrawn",
    372: "it found nothing for what was asked",
}
# OpenML's word for "the database is busy", sent with a status that says nothing.
_NAMESPACE = "{http://openml.org/openml}"
_DATABASE_BUSY = re.compile(rb"<oml:code>\s*107\s*</oml:code>")
_LOGGER = logging.getLogger("qrt.openml")
_LOGGER.addHandler(logging.NullHandler())
_ONE_AT_A_TIME = threading.Lock()  # the package is configured by its module variables


@dataclass(frozen=True)
class _Description:
    """What OpenML says about a dataset."""

    origin: Origin
    target: str | None
    left_out: tuple[str, ...]  # row identifiers and attributes to ignore
    kinds: dict[str, str]  # numeric, nominal, ... by column; empty where the server has not analysed the data
    parquet: str  # address of the same data in Parquet; empty: none


def fetch_openml(
    row: SheetRow, cache: Path, lock: SourceLock, settings: TransferSettings | None = None, *, parquet: bool = False
) -> RawTable:
    """The table of `row` from OpenML, its bytes checked against the published md5 and the lock file.

    The dataset is the one with the id of the sheet, if it has the name of the sheet. The ARFF file, or with `parquet`
    the one that OpenML has made from it and publishes no checksum of, is kept below `cache / "openml"`. The environment
    variable QRT_OPENML_SERVER replaces the address of the API. Raises `SourceUnavailable` when it is unavailable or is
    not the data.
    """
    settings = settings or TransferSettings()
    with _client(cache, settings) as openml:
        description = _describe(openml, row)
    origin = description.origin
    if parquet:
        if not description.parquet:
            raise SourceUnavailable(f"{row.name}: OpenML names no Parquet file.")
        origin = replace(origin, source="openml_parquet", address=description.parquet, md5=None)
    path = cache / "openml" / f"{origin.openml_id}.{'parquet' if parquet else 'arff'}"
    with locked_file(row.name, path, origin=origin, lock=lock, slots=cache / "slots", settings=settings) as entry:
        table = _read(path, row, origin, description.kinds if parquet else None)
        frame, target = _without_left_out(table, description, row)
    nominal = {*table.nominal, *(name for name, kind in description.kinds.items() if kind == "nominal")}
    provenance: dict[str, str | int | None] = {
        "source": entry.source,
        "address": entry.address,
        "openml_id": entry.openml_id,
        "openml_name": entry.openml_name,
        "openml_version": entry.openml_version,
        "md5": entry.md5,
        "sha256": entry.sha256,
        "size": entry.size,
    }
    return RawTable(
        frame=frame,
        target=target,
        categorical=tuple(name for name in frame.columns if name in nominal and name != target),
        rules="uci" if row.group == "uci" else "openml",
        missing_column_threshold=row.missing_column_threshold,
        provenance={name: value for name, value in provenance.items() if value is not None},
    )


@contextlib.contextmanager
def descriptions(cache: Path, settings: TransferSettings) -> Iterator[Callable[[SheetRow], tuple[Origin, str]]]:
    """A function, also for threads, that asks where the data of a row is and what status OpenML gives it.

    By OpenML's description alone; it raises `SourceUnavailable` if the data is not there.
    """
    with _client(cache, settings) as openml:

        def ask(row: SheetRow) -> tuple[Origin, str]:
            with _answers(openml, openml.config.server):
                origin = _origin(row, _dataset(openml, row))
                # As the package has just kept it; its dataset leaves the status out.
                folder = Path(openml.config.get_cache_directory(), "datasets", str(row.openml_id))
                status = ElementTree.parse(folder / "description.xml").findtext(f"{_NAMESPACE}status", "")
            return origin, status

        yield ask


def _dataset(openml: types.ModuleType, row: SheetRow) -> Any:
    """OpenML's description of the dataset with the id of the sheet."""
    if row.openml_id is None:
        raise SourceUnavailable(f"{row.name}: is not on OpenML.")
    return openml.datasets.get_dataset(
        row.openml_id, download_data=False, download_qualities=False, download_features_meta_data=False
    )


def _origin(row: SheetRow, dataset: Any) -> Origin:
    """What OpenML says about the bytes of a dataset, if it is the one of the sheet."""
    md5 = dataset.md5_checksum or ""
    origin = Origin(
        source="openml",
        address=dataset.url,
        openml_id=dataset.dataset_id,
        openml_version=dataset.version,
        openml_name=dataset.name,
        md5=md5 if _MD5.fullmatch(md5) else None,  # `NotApplicable` occurs
    )
    if str(dataset.name).casefold() != row.name.casefold():
        raise _not_the_data(row, origin, f"OpenML's dataset {row.openml_id} is named {dataset.name!r}")
    return origin


def _describe(openml: types.ModuleType, row: SheetRow) -> _Description:
    dataset = _dataset(openml, row)
    return _Description(
        origin=_origin(row, dataset),
        target=dataset.default_target_attribute,
        left_out=(*_listed(dataset.ignore_attribute), *_listed(dataset.row_id_attribute)),
        kinds=_kinds(openml, dataset.dataset_id),
        parquet=dataset._parquet_url or "",
    )


def _listed(names: str | list[str] | None) -> tuple[str, ...]:
    """Names of columns, of which the package makes a list where there are several."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def _kinds(openml: types.ModuleType, data_id: int) -> dict[str, str]:
    try:
        # The package's own reader of this answer leaves a pickle behind.
        answer = openml._api_calls._perform_api_call(f"data/features/{data_id}", "get")
    except openml.exceptions.OpenMLServerException:
        return {}  # the server has not analysed the dataset; the header of the file says it too
    if "<!DOCTYPE" in answer:  # entities that grow to gigabytes
        raise ValueError("an answer that defines entities")
    root = ElementTree.fromstring(answer)
    if root.tag != f"{_NAMESPACE}data_features":
        raise ValueError(f"{root.tag} instead of data_features")
    features = root.iter(f"{_NAMESPACE}feature")
    return {item.findtext(f"{_NAMESPACE}name", ""): item.findtext(f"{_NAMESPACE}data_type", "") for item in features}


def _read(path: Path, row: SheetRow, origin: Origin, kinds: dict[str, str] | None) -> ArffTable:
    try:
        table = read_arff(path) if kinds is None else read_openml_parquet(path, kinds)
    except (NotArff, NotTheTable) as error:
        raise _not_the_data(row, origin, str(error)) from error
    if table.frame.empty:
        raise _not_the_data(row, origin, "it has no rows")
    return table


def _without_left_out(table: ArffTable, description: _Description, row: SheetRow) -> tuple[pd.DataFrame, str]:
    """The table without identifiers and ignored columns, and the name of its target."""
    frame, origin = table.frame, description.origin
    target = row.target or description.target or ""
    if target not in frame.columns:
        raise _not_the_data(row, origin, f"it has no column {target!r}, which is to be the target")
    left_out = set(description.left_out)
    for several in description.left_out:
        # Some descriptions name several attributes in one, separated by commas.
        left_out.update(name.strip() for name in several.split(","))
    frame = frame.drop(columns=[name for name in frame.columns if name in left_out and name != target])
    if not pd.api.types.is_numeric_dtype(frame[target]):
        # A target that is declared nominal may still be a number; if it is not, the preparation says so.
        with contextlib.suppress(ValueError):
            frame = frame.assign(**{target: pd.to_numeric(frame[target])})
    return frame, target


def _not_the_data(row: SheetRow, origin: Origin, reason: str) -> SourceUnavailable:
    return SourceUnavailable(f"{origin.address}: does not look like the data of {row.name}, {reason}.")


@contextlib.contextmanager
def _client(cache: Path, settings: TransferSettings) -> Iterator[types.ModuleType]:
    """The `openml` package, set up for one conversation with the server and tidied up behind."""
    server = os.environ.get(SERVER_VARIABLE) or DEFAULT_SERVER
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _ONE_AT_A_TIME, tempfile.TemporaryDirectory(prefix=".openml-", dir=cache) as scratch:
            openml = _imported(scratch)
            openml.config.server = server
            openml.config.apikey = ""
            openml.config.show_progress = False
            openml.config.set_retry_policy("human", n_retries=1)  # the session below has its own patience
            openml.config.set_root_cache_directory(scratch)
            session = functools.partial(_PatientSession, cache / "slots", settings)
            with _asking_through(openml, session), _answers(openml, server):
                yield openml
    except OSError as error:
        raise UserError(f"{cache}: cannot be written ({error.strerror or error}).") from error


def _imported(scratch: str) -> types.ModuleType:
    """The package, whose first import makes a configuration and a cache directory, by default in the home."""
    if "openml" not in sys.modules:
        before = dict(os.environ)
        os.environ.update(HOME=scratch, XDG_CONFIG_HOME=scratch, OPENML_CACHE_DIR=scratch)
        try:
            importlib.import_module("openml")
        finally:
            os.environ.clear()
            os.environ.update(before)
    return sys.modules["openml"]


@contextlib.contextmanager
def _asking_through(openml: types.ModuleType, session: Callable[[], requests.Session]) -> Iterator[None]:
    """Let the package make its sessions with `session`; it offers no other way to give it a time-out.

    And let it speak to a logger of its own: by speaking to the root logger it would configure that one.
    """
    api_calls = openml._api_calls
    before = api_calls.requests, api_calls.logging
    api_calls.logging = _LOGGER
    api_calls.requests = types.SimpleNamespace(Session=session, exceptions=requests.exceptions, codes=requests.codes)
    try:
        yield
    finally:
        api_calls.requests, api_calls.logging = before


@contextlib.contextmanager
def _answers(openml: types.ModuleType, server: str) -> Iterator[None]:
    """Whatever the package makes of a wrong answer, as one sentence."""
    try:
        yield
    except (openml.exceptions.OpenMLServerException, openml.exceptions.OpenMLPrivateDatasetError) as error:
        private = isinstance(error, openml.exceptions.OpenMLPrivateDatasetError)  # which has no number
        words = _WORDS.get(112 if private else getattr(error, "code", 0))
        told = str(error.message).removesuffix(" - None") + (f" ({words})" if words else "")
        raise SourceUnavailable(f"{getattr(error, 'url', None) or server}: OpenML answers: {told}.") from error
    except (
        openml.exceptions.PyOpenMLError,
        ExpatError,
        ElementTree.ParseError,
        KeyError,
        ValueError,
        TypeError,
        AssertionError,
    ) as error:
        first = str(error).splitlines()[0][:200] if str(error) else ""
        raise SourceUnavailable(
            f"{server}: sent an answer that is not OpenML's ({type(error).__name__}: {first})."
        ) from error


class _PatientSession(requests.Session):
    """A session with time-outs, retries and the server's slots, in place of the one that waits for ever."""

    def __init__(self, slots: Path, settings: TransferSettings) -> None:
        super().__init__()
        self._slots = slots
        self._settings = settings

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        """Ask until there is an answer the package can read; `SourceUnavailable` if there is none."""
        address = url.decode() if isinstance(url, bytes) else url
        kwargs["timeout"] = (self._settings.connect_seconds, self._settings.read_seconds)

        def attempt() -> requests.Response:
            with (
                server_slot(address, self._slots, self._settings),
                network_faults(address, self._settings),
            ):
                response = super(_PatientSession, self).request(method, url, *args, **kwargs)
            ask_again_if_busy(response)
            if _DATABASE_BUSY.search(response.content[:4096]):
                raise TryAgain("OpenML's database is busy")
            if b"oml:error" not in response.content[:4096]:
                refuse_error_status(address, response)
            if not response.content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
                raise TryAgain("the server answered without XML, as OpenML does when it is overloaded")
            if looks_like_a_page(response.content[:4096], response.headers.get("Content-Type", "")):
                raise SourceUnavailable(f"{address}: sent an HTML page instead of data.")
            return response

        return persistently(address, self._settings, attempt)
