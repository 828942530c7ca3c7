"""What counts of the code of a module, for its fingerprint (`qrt.code_version`).

Every call of Snakemake asks for all modules, and to parse them takes about as long as all the rest of its start. What
was found is therefore remembered beside the compiled modules, by the checksum of the text it was found in, so that it
can never be that of another text.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any, NamedTuple

from qrt.atomic import write_text
from qrt.errors import UserError

_FILE = Path(cache_from_source(__file__)).with_suffix(".json")
_TALKING = {"log", "print"}
_MOST_REMEMBERED = 2000  # modules, old versions included
_LONGEST_NAME = 255  # of a file


class ModuleCode(NamedTuple):
    """A checksum of the code that counts, what it imports of ours, and those of its texts that may name a file.

    An import is a module and the names that are imported from it.
    """

    checksum: str
    imports: tuple[tuple[str, tuple[str, ...]], ...]
    texts: frozenset[str]


@cache
def module_code(text: str) -> ModuleCode:
    """What counts of a module with this `text`."""
    memory, key = _memory(), _key(text)
    if key not in memory.entries:
        found = _found_in(text)
        memory.entries[key] = {"checksum": found.checksum, "imports": found.imports, "texts": sorted(found.texts)}
        memory.has_grown = True
        return found
    entry = memory.entries[key]
    imports = tuple((module, tuple(names)) for module, names in entry["imports"])
    return ModuleCode(entry["checksum"], imports, frozenset(entry["texts"]))


@cache
def what_counts(text: str) -> str:
    """The code of a module without what cannot change a result."""
    return ast.dump(_WhatCounts().visit(ast.parse(text)))


def is_ours(module: str) -> bool:
    """Whether a module belongs to this package."""
    return module == "qrt" or module.startswith("qrt.")


def remember() -> None:
    """Keep what was found for the next call, where Python keeps compiled modules, if it may."""
    memory = _memory()
    if sys.dont_write_bytecode or not memory.has_grown:
        return
    with contextlib.suppress(UserError):  # the folder is read-only
        write_text(_FILE, json.dumps(dict(list(memory.entries.items())[-_MOST_REMEMBERED:])))
    memory.has_grown = False


@dataclass
class _Memory:
    """What is known of modules by the keys of their texts, and whether it is more than what the file has."""

    entries: dict[str, Any]
    has_grown: bool = False


@cache
def _memory() -> _Memory:
    try:
        return _Memory(json.loads(_FILE.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return _Memory({})  # nothing was remembered yet, or it cannot be read


def _key(text: str) -> str:
    """A checksum of a text and of this module, which decides what counts."""
    return hashlib.sha256(f"{_own_text()}\0{text}".encode()).hexdigest()


@cache
def _own_text() -> str:
    return Path(__file__).read_text(encoding="utf-8")


def _found_in(text: str) -> ModuleCode:
    tree = ast.parse(text)
    for_type_checkers = {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and _is_type_checking(node)
        for inside in ast.walk(node)
    }
    imports: list[tuple[str, tuple[str, ...]]] = []
    for node in ast.walk(tree):
        if node in for_type_checkers:
            continue
        if isinstance(node, ast.Import):
            imports += [(alias.name, ()) for alias in node.names if is_ours(alias.name)]
        elif isinstance(node, ast.ImportFrom) and node.module and is_ours(node.module):
            imports.append((node.module, tuple(alias.name for alias in node.names)))
    counts = _WhatCounts().visit(tree)
    texts = (node.value for node in ast.walk(counts) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    names = frozenset(text for text in texts if len(text) <= _LONGEST_NAME and "/" not in text)
    return ModuleCode(hashlib.sha256(ast.dump(counts).encode()).hexdigest(), tuple(imports), names)


class _WhatCounts(ast.NodeTransformer):
    """Takes out docstrings, lines that only talk, and where imported modules of ours are in the tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """A statement that is an expression: a docstring, or a call for what it does."""
        if isinstance(node.value, ast.Constant):
            return None
        if isinstance(node.value, ast.Call):
            called = node.value.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in _TALKING:
                return None
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """`from qrt.here import f`: the code of the module counts anyway, and only the name is told here."""
        if node.module and is_ours(node.module):
            return ast.ImportFrom(module="qrt", names=node.names, level=0)
        return node


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
