"""Model files: facts as JSON and arrays as plain bytes. No pickle: reading a file never runs what is in it.

A file is three lines of text and the arrays:

    qrt model, format 2
    SHA-256 of all bytes that follow this line
    JSON: the facts, and name, type and shape of each array
    the arrays one after the other, in C order, little-endian

The checksum finds damage. A file that somebody has made to do harm can have the right one, so that every length is
checked before memory is taken for it, and whoever uses the contents checks them as any other input.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from qrt.atomic import whole_file
from qrt.estimator.unusable_input import UnusableInput

FORMAT = 2
_READABLE = (1, 2)  # format 1 has one network
_FIRST_LINE = b"qrt model, format "
_LONGEST_LINE = 100
_LARGEST_FACTS = 2**26  # bytes of JSON: a thousand columns with a thousand categories each
_MOST_DIMENSIONS = 8
_TYPES = ("<f4", "<f8", "<i8")

Arrays = Mapping[str, npt.NDArray[Any]]


def write_model_file(path: Path, facts: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model file, whole or not at all. The same contents give the same bytes."""
    stored = {name: np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")) for name, array in arrays.items()}
    table = [[name, array.dtype.str, list(array.shape)] for name, array in stored.items()]
    text = json.dumps({"facts": facts, "arrays": table}, allow_nan=False, ensure_ascii=True, sort_keys=True)
    content = b"\n".join([text.encode("ascii"), b"".join(array.tobytes() for array in stored.values())])
    checksum = hashlib.sha256(content).hexdigest().encode("ascii")
    with whole_file(path) as partial:
        partial.write_bytes(b"\n".join([_FIRST_LINE + str(FORMAT).encode("ascii"), checksum, content]))


def read_model_file(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The facts and arrays of a model file."""
    try:
        with path.open("rb") as file:
            first, checksum = (file.readline(_LONGEST_LINE).rstrip(b"\n") for _ in range(2))
            _check_format(path, first)
            content = file.read()
    except OSError as error:
        raise UnusableInput(f"{path}: cannot be read ({error.strerror or error})") from error
    if hashlib.sha256(content).hexdigest().encode("ascii") != checksum:
        raise UnusableInput(f"{path}: damaged (its checksum is wrong); save the model again, or copy the file again")
    text, newline, stored = content.partition(b"\n")
    if not newline or len(text) > _LARGEST_FACTS:
        raise refused(path, "the facts about the model are missing or too long")
    facts, table = _facts_and_table(path, text)
    return facts, _arrays(path, table, stored)


def refused(path: Path, reason: str) -> UnusableInput:
    """The error for a file that is whole but holds what no model has."""
    return UnusableInput(f"{path}: not a model that this package has saved ({reason}); it was not loaded")


def _check_format(path: Path, first: bytes) -> None:
    number = first.removeprefix(_FIRST_LINE)
    if number == first or not number.isdigit():
        raise refused(path, f"it does not begin with {_FIRST_LINE.decode()!r}")
    if int(number) not in _READABLE:
        raise UnusableInput(
            f"{path}: has format {int(number)}, but this version of the package reads formats up to {FORMAT}; "
            "install the version that has saved it, or fit the model again"
        )


def _facts_and_table(path: Path, text: bytes) -> tuple[dict[str, Any], list[Any]]:
    try:
        content = json.loads(text, parse_constant=_no_constant)
        facts, table = content["facts"], content["arrays"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise refused(path, "its facts are not JSON as saved") from error
    if not isinstance(facts, dict) or not isinstance(table, list):
        raise refused(path, "its facts are not JSON as saved")
    return facts, table


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _arrays(path: Path, table: list[Any], stored: bytes) -> dict[str, npt.NDArray[Any]]:
    arrays: dict[str, npt.NDArray[Any]] = {}
    start = 0
    for entry in table:
        try:
            name, kind, shape = entry
            sizes = tuple(shape)
            proper = isinstance(name, str) and kind in _TYPES and len(sizes) <= _MOST_DIMENSIONS
            proper = proper and all(type(size) is int and 0 <= size <= len(stored) for size in sizes)
        except (TypeError, ValueError):
            proper = False
        if not proper or name in arrays:
            raise refused(path, "its table of arrays is not as saved")
        count = math.prod(sizes)
        end = start + count * np.dtype(kind).itemsize
        if end > len(stored):
            raise refused(path, f"the array {name!r} is longer than the file")
        arrays[name] = np.frombuffer(stored, dtype=kind, count=count, offset=start).reshape(sizes).copy()
        start = end
    if start != len(stored):
        raise refused(path, "there are bytes after its last array")
    return arrays
