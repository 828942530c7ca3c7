"""A fingerprint of the code a rule runs.

Snakemake sees only the command line of a rule, not the package behind it. Each rule therefore has the fingerprint of
its command as a parameter: of the module `qrt.commands.RULE`, of every `qrt` module it imports, directly or not,
wherever the import stands, and of the data files beside these modules that they name. So touching a plot never
retrains, touching the trainer always does, and a corrected table redraws what is based on it.

What cannot change a result does not count: comments, docstrings, formatting, lines that only log or print, where a
module is in the tree, the version number of the package.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

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
}
_TALKING = {"log", "print"}


@cache
def code_version(module: str) -> str:
    """Fingerprint of `module`, of the `qrt` modules it depends on, and of their data files."""
    return fingerprint(dependencies(module))


def fingerprint(modules: Iterable[str]) -> str:
    """Fingerprint of the code of these modules alone, and of their data files."""
    parts = set()
    for name in modules:
        text = _text(name)
        files = [path.read_bytes() for path in _data_files(_source(name), _parsed(text).texts)]
        parts.add(hashlib.sha256(b"\0".join([_parsed(text).code.encode(), *files])).hexdigest())
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
        for imported in _parsed(_text(name)).imports:
            waiting |= _modules_in(imported)
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


def _modules_in(imported: ast.Import | ast.ImportFrom) -> set[str]:
    """The modules of ours that a statement imports."""
    if isinstance(imported, ast.Import):
        return {alias.name for alias in imported.names if _is_ours(alias.name)}
    if not imported.module or not _is_ours(imported.module):
        return set()
    names = {imported.module}
    if _is_package(imported.module):
        # `from qrt.engine import mixture` imports a module, `from qrt.engine.mixture import cdf` a function.
        inside = {f"{imported.module}.{alias.name}" for alias in imported.names}
        names |= {name for name in inside if find_spec(name) is not None}
    return names


def _is_ours(module: str) -> bool:
    return module == "qrt" or module.startswith("qrt.")


def _is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


class _Parsed(NamedTuple):
    """What counts of a module's code, the imports in it that can change a result, and its texts."""

    code: str
    imports: tuple[ast.Import | ast.ImportFrom, ...]
    texts: frozenset[str]


@cache  # most modules stand behind several rules, and every call of Snakemake asks for all of them
def _parsed(text: str) -> _Parsed:
    tree = ast.parse(text)
    only_for_type_checkers = {
        inside
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and _is_type_checking(node)
        for inside in ast.walk(node)
    }
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    counted = tuple(node for node in imports if node not in only_for_type_checkers)
    code = ast.dump(_WhatCounts().visit(tree))
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return _Parsed(code, counted, frozenset(texts))


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
        if node.module and _is_ours(node.module):
            return ast.ImportFrom(module="qrt", names=node.names, level=0)
        return node


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
