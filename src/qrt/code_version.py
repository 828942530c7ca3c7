"""A fingerprint of the code a stage runs.

Snakemake sees only the command line of a rule, not the package behind it. Each rule therefore has the fingerprint
of its entry module as a parameter: of the module and of every `qrt` module it imports, directly or not, wherever
the import stands. Comments, docstrings and formatting do not count. So touching a plot never retrains, and touching
the trainer always does.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

# Changes to these cannot change a result: how errors are worded, how files get whole, how bytes are fetched, what the
# machine is called.
_INFRASTRUCTURE = {
    "qrt.errors",
    "qrt.atomic",
    "qrt.code_version",
    "qrt.data.download",
    "qrt.data.source_lock",
}


@cache
def code_version(module: str) -> str:
    """Fingerprint of `module` and the `qrt` modules it depends on."""
    digest = hashlib.sha256()
    for name in sorted(dependencies(module)):
        digest.update(name.encode())
        digest.update(_code_of(_source(name)).encode())
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
        waiting |= _imports(_source(name))
    return found


def _source(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    return Path(spec.origin)


def _imports(source: Path) -> set[str]:
    names: set[str] = set()
    tree = _WithoutTypeChecking().visit(ast.parse(source.read_text(encoding="utf-8")))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if _is_ours(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and _is_ours(node.module):
            names.add(node.module)
            if _is_package(node.module):
                # `from qrt.engine import mixture` imports a module, `from qrt.engine.mixture import cdf` a function.
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                names |= {name for name in inside if find_spec(name) is not None}
    return names


class _WithoutTypeChecking(ast.NodeTransformer):
    """Leaves out what only type checkers read: it cannot change a result."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        """Drop `if TYPE_CHECKING:` blocks."""
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)


def _is_ours(module: str) -> bool:
    return module == "qrt" or module.startswith("qrt.")


def _is_package(module: str) -> bool:
    spec = find_spec(module)
    return spec is not None and spec.submodule_search_locations is not None


def _code_of(source: Path) -> str:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:]
    return ast.dump(tree)
