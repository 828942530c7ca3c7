"""The two packages and their rooms: who may import whom, and what the light package needs."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import qrt
from conftest import PROJECT

# A room may import itself and the rooms of lines before its own; every room of `qrt_study` may import `qrt`.
FLOORS: dict[str, tuple[tuple[str, ...], ...]] = {
    "qrt": (
        ("errors",),
        ("atomic", "text"),
        ("engine",),
        ("methods", "tuning"),
        ("estimator",),
        ("golden", "predict_command", "scoring"),
        ("__main__",),
    ),
    "qrt_study": (
        ("code_version", "inside", "parquet_file", "versions"),
        ("data",),
        ("published",),  # its tables have the datasets by name
        ("plan",),
        ("training",),
        ("results",),
        ("running",),
        ("statistics",),
        ("figures", "tables"),
        ("verdicts",),
        ("pages",),
        ("documents",),
        ("commands",),
        ("__main__",),
    ),
}
FLOOR = {
    (package, room): number
    for package, floors in FLOORS.items()
    for number, rooms in enumerate(floors)
    for room in rooms
}
# Distributions of the light package that are imported by another name, and what it may use if it is there.
IMPORT_NAMES = {"scikit-learn": "sklearn"}
IF_INSTALLED = {
    "matplotlib": {"qrt.estimator.diagnosis", "qrt.estimator.calibration_page"},
    "pyarrow": {"qrt.estimator.text_table"},
    "skpro": {"qrt.estimator.skpro_adapter"},
}


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


@cache
def imported_names(source: Path) -> dict[str, set[str]]:
    """For each module of the packages in a folder, all that it imports."""
    graph = {}
    for path in (path for package in FLOORS for path in (source / package).rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        graph[name] = set[str]()
        for node in imports_of(path.read_text(encoding="utf-8")):
            assert isinstance(node, ast.Import) or node.level == 0, f"{name} has a relative import"
            if isinstance(node, ast.Import):
                graph[name] |= {alias.name for alias in node.names}
            elif node.module:
                graph[name] |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return graph


def import_graph(source: Path) -> dict[str, set[str]]:
    """For each module of the packages in a folder, the modules of them that it imports."""
    names = imported_names(source)
    return {name: (imported & names.keys()) - {name, *FLOORS} for name, imported in names.items()}


def room_of(module: str) -> tuple[str, str]:
    package, room, *_ = module.split(".")
    return package, room


def may_import(here: tuple[str, str], other: tuple[str, str]) -> bool:
    if here[0] != other[0]:
        return other[0] == "qrt"
    return here == other or FLOOR[other] < FLOOR[here]


def imports_that_go_up(graph: dict[str, set[str]]) -> list[str]:
    """The imports of a room that is not below; a package itself imports none."""
    return sorted(
        f"{name} imports {other}"
        for name, imported in graph.items()
        for other in imported
        if name in FLOORS or not may_import(room_of(name), room_of(other))
    )


def write_packages(folder: Path, **modules: str) -> dict[str, set[str]]:
    """The import graph of packages with these modules (`__` for a dot)."""
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return import_graph(folder)


def test_every_room_has_its_floor() -> None:
    assert {room_of(name) for name in import_graph(PROJECT / "src") if name not in FLOORS} == set(FLOOR)


def test_no_import_goes_up_or_from_the_light_package_to_the_study() -> None:
    assert imports_that_go_up(import_graph(PROJECT / "src")) == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    TopologicalSorter(import_graph(PROJECT / "src")).prepare()


def test_light_package_imports_its_declared_dependencies_only() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {entry.split(">")[0] for entry in project["dependencies"]}
    allowed = {"qrt", *sys.stdlib_module_names, *(IMPORT_NAMES.get(name, name) for name in declared)}
    found: dict[str, set[str]] = {}
    for module, names in imported_names(PROJECT / "src").items():
        for package in {name.split(".")[0] for name in names} - allowed:
            if module.split(".")[0] == "qrt":
                found.setdefault(package, set()).add(module)
    assert found == IF_INSTALLED


def test_import_that_goes_up_is_found_wherever_it_stands(tmp_path: Path) -> None:
    graph = write_packages(
        tmp_path,
        qrt__engine__trainer="if TYPE_CHECKING:\n    from qrt_study.plan.config import Study\nimport qrt.text.words\n",
        qrt__text__words="import qrt_study.plan.config",
        qrt_study__plan__config="def f():\n    from qrt_study.figures import style\n",
        qrt_study__figures__style="from qrt.engine.trainer import train",
        qrt_study__tables__times="from qrt_study.figures.style import grey",
    )
    assert imports_that_go_up(graph) == [
        "qrt.text.words imports qrt_study.plan.config",
        "qrt_study.plan.config imports qrt_study.figures.style",
        "qrt_study.tables.times imports qrt_study.figures.style",
    ]


def test_circle_is_found(tmp_path: Path) -> None:
    graph = write_packages(
        tmp_path,
        qrt_study__data__a="from qrt_study.data.b import b",
        qrt_study__data__b="from qrt_study.data import a",
    )
    with pytest.raises(CycleError):
        TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("qrt", {"numpy", "pandas", "pyarrow", "scipy", "sklearn", "torch", "yaml"}),
        ("qrt.methods, qrt.tuning, qrt.engine.registry", {"numpy", "pandas", "torch"}),
        ("qrt_study.running.drawn_files, qrt_study.results.tuning, qrt_study.results.archive", {"torch", "matplotlib"}),
    ],
)
def test_importing_is_light(modules: str, heavy: set[str]) -> None:
    code = f"import sys, {modules}; print(*{heavy} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""


def test_estimators_are_found_in_the_package_and_nothing_else_is() -> None:
    from qrt.estimator.regressor import QRTRegressor

    assert qrt.QRTRegressor is QRTRegressor
    assert "QRTRegressor" in dir(qrt)
    with pytest.raises(AttributeError, match="QRTClassifier"):
        qrt.QRTClassifier  # noqa: B018
