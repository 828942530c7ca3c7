from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qrt import code_version as module
from qrt import module_code
from qrt.code_version import code_version, dependencies


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file with what is remembered of modules, empty at first."""
    file = tmp_path / "memory.json"
    monkeypatch.setattr(module_code, "_FILE", file)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    forget()
    yield file
    forget()


def forget() -> None:
    """Be as a process that has just started."""
    for function in (module_code.module_code, module_code._memory, module_code.what_counts, code_version):
        function.cache_clear()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of `qrt` itself."""
    folder = tmp_path / "qrt"
    (folder / "engine").mkdir(parents=True)
    (folder / "engine/maps.py").write_text("def f():\n    return 1\n")
    (folder / "engine/trainer.py").write_text("def train():\n    from qrt.engine.maps import f\n\n    return f()\n")
    (folder / "figures.py").write_text("from qrt.engine import maps\n")
    (folder / "other.py").write_text("import numpy\n")
    sources = {
        "qrt.engine": folder / "engine/__init__.py",
        "qrt.engine.maps": folder / "engine/maps.py",
        "qrt.engine.trainer": folder / "engine/trainer.py",
        "qrt.figures": folder / "figures.py",
        "qrt.other": folder / "other.py",
    }
    (folder / "engine/__init__.py").write_text("")
    monkeypatch.setattr(module, "_source", sources.__getitem__)
    monkeypatch.setattr(module, "_is_package", lambda name: name == "qrt.engine")
    monkeypatch.setattr(module, "find_spec", sources.get)
    return folder


def version(name: str) -> str:
    code_version.cache_clear()
    return code_version(name)


def test_imports_are_followed_wherever_they_stand(package: Path) -> None:
    assert dependencies("qrt.engine.trainer") == {"qrt.engine.trainer", "qrt.engine.maps"}
    assert dependencies("qrt.figures") == {"qrt.figures", "qrt.engine", "qrt.engine.maps"}
    assert dependencies("qrt.other") == {"qrt.other"}


def test_changed_code_counts_and_changed_words_do_not(package: Path) -> None:
    before = version("qrt.engine.trainer")
    maps = package / "engine/maps.py"
    maps.write_text('"""About maps."""\n\n\ndef f():  # one\n    """Give one."""\n    return 1\n')
    assert version("qrt.engine.trainer") == before
    (package / "figures.py").write_text("x = 1\n")
    assert version("qrt.engine.trainer") == before
    maps.write_text("def f():\n    return 2\n")
    assert version("qrt.engine.trainer") != before


def test_preparation_does_not_depend_on_tables_and_fetching_not_on_preparation() -> None:
    assert "qrt.data.split" in dependencies("qrt.data.prepared_store")
    assert not any(name.startswith("qrt.tables") for name in dependencies("qrt.data.prepared_store"))
    assert "qrt.data.prepare" not in dependencies("qrt.data.fetch")
    assert "qrt.data.embedded" in dependencies("qrt.data.fetch")


def test_training_depends_on_all_of_the_engine_that_it_runs() -> None:
    engine = {f"qrt.engine.{name}" for name in ("trainer", "reflected_density", "optimiser", "resnet", "curves")}
    assert engine <= dependencies("qrt.commands.train")
    assert engine | {"qrt.engine.quadrature"} <= dependencies("qrt.commands.evaluate")
    assert "qrt.engine.quadrature" not in dependencies("qrt.commands.train")


def test_data_file_that_a_module_names_counts_and_others_do_not(package: Path) -> None:
    (package / "engine/numbers.csv").write_text("1")
    (package / "engine/maps.py").write_text('def f():\n    return open("numbers.csv")\n')
    before = version("qrt.engine.trainer")
    (package / "engine/other.csv").write_text("1")
    assert version("qrt.engine.trainer") == before
    (package / "engine/numbers.csv").write_text("2")
    assert version("qrt.engine.trainer") != before


def test_lines_that_only_talk_do_not_count_and_what_they_stand_among_does(package: Path) -> None:
    before = version("qrt.other")
    (package / "other.py").write_text("import numpy\n\nprint(numpy)\n")
    assert version("qrt.other") == before
    (package / "other.py").write_text("import numpy\n\nprint(numpy)\nnumpy.seterr()\n")
    assert version("qrt.other") != before


def test_imports_for_type_checkers_do_not_count(package: Path) -> None:
    (package / "other.py").write_text(
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from qrt.figures import x\n"
    )
    assert dependencies("qrt.other") == {"qrt.other"}


def test_what_was_found_once_is_not_looked_for_again(
    package: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "engine/numbers.csv").write_text("1")
    (package / "engine/maps.py").write_text('def f():\n    return open("numbers.csv")\n')
    names = ("qrt.engine.trainer", "qrt.figures", "qrt.other")
    found = [version(name) for name in names]
    forget()
    with monkeypatch.context() as patch:
        patch.setattr(module_code, "_found_in", lambda text: pytest.fail("parsed again"))
        assert [version(name) for name in names] == found
    forget()
    (package / "engine/maps.py").write_text("def f():\n    return 3\n")
    assert version("qrt.engine.trainer") != found[0]


@pytest.mark.parametrize("content", ["", "{", "\xff"])
def test_damaged_memory_is_written_again(package: Path, memory: Path, content: str) -> None:
    found = version("qrt.engine.trainer")
    whole = memory.read_text()
    memory.write_bytes(content.encode("latin-1"))
    forget()
    assert version("qrt.engine.trainer") == found
    assert memory.read_text() == whole


def test_nothing_is_remembered_where_python_keeps_no_compiled_modules(
    package: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    version("qrt.engine.trainer")
    assert not memory.exists()


def test_folder_that_cannot_be_written_to_is_no_fault(package: Path, memory: Path) -> None:
    memory.mkdir()
    assert version("qrt.engine.trainer") == version("qrt.engine.trainer")
