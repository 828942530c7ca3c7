"""A fingerprint of the code a stage runs.

Snakemake sees only the command line of a rule, not the package behind it. Each rule therefore has the fingerprint
of its entry module as a parameter: of the module and of every `qrt` module it imports, directly or not, wherever
the import stands. Comments, docstrings and formatting do not count. So touching a plot never retrains, and touching
the trainer always does.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

# Changes to these cannot change a result: how errors are worded, how files get whole, how bytes are fetched, what the
# machine is called.
_INFRASTRUCTURE = {
    "qrt.errors",
    "qrt.atomic",
    "qrt.running.code_version",
    "qrt.data.download",
    "qrt.data.source_lock",
}


@cache
def code_version(module: str) -> str:
    """Fingerprint of `module` and the `qrt` modules it depends on."""
    return fingerprint(dependencies(module))


def fingerprint(modules: Iterable[str]) -> str:
    """Fingerprint of the code of these modules alone."""
    digest = hashlib.sha256()
    for name in sorted(modules):
        digest.update(name.encode())
        digest.update(_parsed(_text(name)).code.encode())
    return digest.hexdigest()[:16]


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
    """The code of a module without its docstrings, and the imports in it that can change a result."""

    code: str
    imports: tuple[ast.Import | ast.ImportFrom, ...]


@cache  # most modules stand behind several rules, and every call of Snakemake asks for all of them
def _parsed(text: str) -> _Parsed:
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    only_for_type_checkers = {
        inside for node in nodes if isinstance(node, ast.If) and _is_type_checking(node) for inside in ast.walk(node)
    }
    imports = (node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    return _Parsed(ast.dump(tree), tuple(node for node in imports if node not in only_for_type_checkers))


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
