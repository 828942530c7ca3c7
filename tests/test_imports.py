"""The rooms of the house: who may import whom, and how little `import qrt` itself takes."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import qrt
from conftest import PROJECT

PACKAGE = PROJECT / "src/qrt"
# A room may import itself and the rooms of lines before its own.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "atomic", "module_code", "code_version", "parquet_file"),
    ("text",),
    ("data",),
    ("published",),  # its tables have the datasets by name
    ("engine",),
    ("study",),
    ("training",),
    ("results",),
    ("estimator",),
    ("statistics",),
    ("figures", "tables"),
    ("claims",),
    ("pages",),
    ("running",),
    ("documentation",),
    ("golden",),
    ("commands",),
    ("__main__",),
)
# Modules of the ground floor that are based on one another.
GROUND = {
    "errors": set[str](),
    "atomic": {"errors"},
    "module_code": {"errors", "atomic"},
    "code_version": {"module_code"},
    "parquet_file": {"errors", "atomic"},
}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def imports_of(source: str) -> Iterator[ast.Import | ast.ImportFrom]:
    """The import statements of a module, wherever they stand, without those for type checkers."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def import_graph(package: Path) -> dict[str, set[str]]:
    """For each module of a package named `qrt` the modules of it that it imports."""
    modules = {}
    for path in package.rglob("*.py"):
        parts = ["qrt", *path.relative_to(package).with_suffix("").parts]
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {}
    for name, path in modules.items():
        found = set()
        for node in imports_of(path.read_text(encoding="utf-8")):
            assert isinstance(node, ast.Import) or node.level == 0, f"{name} has a relative import"
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif node.module:
                found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        graph[name] = (found & modules.keys()) - {name, "qrt"}
    return graph


def room_of(module: str) -> str:
    return module.split(".")[1]


def imports_that_go_up(graph: dict[str, set[str]]) -> list[str]:
    """The imports of a room that is not below."""
    found = []
    for name, imported in graph.items():
        if name == "qrt":
            found += [f"qrt imports {other}" for other in imported]
            continue
        here = room_of(name)
        for other in map(room_of, imported):
            if other != here and FLOOR[other] >= FLOOR[here] and other not in GROUND.get(here, ()):
                found.append(f"{name} imports from {other}")
    return sorted(set(found))


def write_package(folder: Path, **modules: str) -> dict[str, set[str]]:
    """The import graph of a package with these modules (`__` for a dot)."""
    for name, source in ({"__init__": ""} | modules).items():
        path = folder / f"{name if name.startswith('__') else name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    return import_graph(folder)


def test_every_room_has_its_floor() -> None:
    assert {room_of(name) for name in import_graph(PACKAGE) if name != "qrt"} == set(FLOOR)


def test_no_import_goes_up() -> None:
    assert imports_that_go_up(import_graph(PACKAGE)) == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    TopologicalSorter(import_graph(PACKAGE)).prepare()


def test_import_that_goes_up_is_found_wherever_it_stands(tmp_path: Path) -> None:
    graph = write_package(
        tmp_path,
        data__table="def f():\n    from qrt.figures import style\n",
        engine__trainer="if TYPE_CHECKING:\n    from qrt.figures.style import Grey\nimport qrt.data.table\n",
        figures__style="from qrt.engine.trainer import train",
        tables__times="from qrt.figures.style import grey",
    )
    assert imports_that_go_up(graph) == ["qrt.data.table imports from figures", "qrt.tables.times imports from figures"]


def test_circle_is_found(tmp_path: Path) -> None:
    graph = write_package(tmp_path, data__a="from qrt.data.b import b", data__b="from qrt.data import a")
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


def test_importing_the_package_is_light() -> None:
    heavy = {"numpy", "pandas", "pyarrow", "scipy", "sklearn", "torch", "yaml"}
    code = f"import sys, qrt; print(*{heavy} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_estimators_are_found_in_the_package_and_nothing_else_is() -> None:
    from qrt.estimator.regressor import QRTRegressor

    assert qrt.QRTRegressor is QRTRegressor
    assert "QRTRegressor" in dir(qrt)
    with pytest.raises(AttributeError, match="QRTClassifier"):
        qrt.QRTClassifier  # noqa: B018
