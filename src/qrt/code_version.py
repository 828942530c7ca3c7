"""A fingerprint of the code a rule runs.

Snakemake sees only the command line of a rule, not the package behind it. Each rule therefore has the fingerprint of
its command as a parameter: of the module `qrt.commands.RULE`, of every `qrt` module it imports, directly or not,
wherever the import stands, and of the data files beside these modules that they name. So touching a plot never
retrains, touching the trainer always does, and a corrected table redraws what is based on it.

What cannot change a result does not count: comments, docstrings, formatting, lines that only log or print, where a
module is in the tree, the version number of the package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from qrt.module_code import module_code, remember, what_counts

# Changes to these cannot change a result: how errors are worded, how files get whole, how bytes are fetched, how
# attempts are counted, what the version number is.
_INFRASTRUCTURE = {
    "qrt",
    "qrt.errors",
    "qrt.atomic",
    "qrt.commands",
    "qrt.commands.arguments",
    "qrt.data.download",
    "qrt.data.source_lock",
    "qrt.running",
    "qrt.running.attempts",
    "qrt.code_version",
    "qrt.module_code",
}


@cache
def code_version(module: str) -> str:
    """Fingerprint of `module`, of the `qrt` modules it depends on, and of their data files."""
    return fingerprint(dependencies(module))


def fingerprint(modules: Iterable[str]) -> str:
    """Fingerprint of the code of these modules alone, and of their data files."""
    parts = set()
    for name in modules:
        text = _text(name)
        checksum, _, texts = module_code(text)
        if files := [path.read_bytes() for path in _data_files(_source(name), texts)]:
            checksum = hashlib.sha256(b"\0".join([what_counts(text).encode(), *files])).hexdigest()
        parts.add(checksum)
    remember()
    return hashlib.sha256("".join(sorted(parts)).encode()).hexdigest()[:16]


def dependencies(module: str) -> set[str]:
    """`module` and every `qrt` module it imports, directly or not, without the infrastructure."""
    found: set[str] = set()
    waiting = {module}
    while waiting:
        name = waiting.pop()
        if name in found or name in _INFRASTRUCTURE:
            continue
        found.add(name)
        for imported, names in module_code(_text(name)).imports:
            waiting |= _modules_in(imported, names)
    return found


def _text(module: str) -> str:
    return _source(module).read_text(encoding="utf-8")


def _source(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    return Path(spec.origin)


def _data_files(source: Path, texts: frozenset[str]) -> list[Path]:
    """The files beside a module that it names: those whose name is one of its texts."""
    beside = (path for path in source.parent.iterdir() if path.suffix != ".py" and path.is_file())
    return sorted(path for path in beside if path.name in texts)


def _modules_in(imported: str, names: Iterable[str]) -> set[str]:
    """The modules behind an import: of a module, with these names from it."""
    if not _is_package(imported):
        return {imported}
    # `from qrt.engine import mixture` imports a module, `from qrt.engine.mixture import cdf` a function.
    inside = {f"{imported}.{name}" for name in names}
    return {imported} | {name for name in inside if find_spec(name) is not None}


def _is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None
