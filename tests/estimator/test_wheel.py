"""Sdist and wheel, built offline, and the wheel as a practitioner has it: beside its declared dependencies alone."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Callable
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pandas as pd
import pytest
from packaging.requirements import Requirement

import qrt
from conftest import PROJECT
from support.generated_splits import heteroscedastic

# -I and -S keep out PYTHONPATH and the project itself, which an environment for development has installed.
PYTHON = [sys.executable, "-I", "-S", "-c"]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
OFFLINE = ["--no-deps", "--no-index", "--no-build-isolation"]
IN_SDIST = ("pyproject.toml", "MANIFEST.in", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE")
START = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
sys.path += {paths!r}
"""
FIT = """
import numpy as np
import pandas as pd

from qrt import QRTRegressor

table = pd.read_csv("houses.csv")
X, y = table.drop(columns="price"), table["price"]
model = QRTRegressor(max_epochs=4, random_state=0).fit(X, y)
model.save("model.qrt")
loaded = QRTRegressor.load("model.qrt")
np.testing.assert_array_equal(loaded.predict_interval(X), model.predict_interval(X))
diagnosis = loaded.diagnose(X, y)
assert "90 % interval" in repr(diagnosis)
try:
    diagnosis.plot()
except ImportError as error:
    assert "Matplotlib" in str(error)
else:
    raise AssertionError("there is no Matplotlib to plot with")
"""
AS_MODULE = "import runpy\nsys.argv[1:] = {arguments!r}\nrunpy.run_module('qrt', run_name='__main__')"
AS_SCRIPT = """
from importlib.metadata import distribution

sys.argv[1:] = {arguments!r}
(script,) = distribution("qrt-replication").entry_points
assert script.name == "qrt"
sys.exit(script.load()())
"""
Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, built with the setuptools of the lock."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("sdist")
    for name in IN_SDIST:
        shutil.copy(PROJECT / name, source)
    shutil.copytree(PROJECT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(target)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
    (archive,) = target.glob("*.tar.gz")
    return archive


def install(distribution: Path, target: Path) -> None:
    """Install a wheel or an sdist into an empty folder, with nothing from an index."""
    subprocess.run([*PIP, "install", *OFFLINE, "--target", target, distribution], check=True)


@pytest.fixture(scope="module")
def installed(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel is installed, without its dependencies. The wheel is built from the sdist."""
    folder, target = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("installed")
    subprocess.run([*PIP, "wheel", *OFFLINE, "--wheel-dir", folder, sdist], check=True)
    (wheel,) = folder.glob("*.whl")
    install(wheel, target)
    return target


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed_by(package: Distribution) -> set[str]:
    """The names of the distributions that a distribution needs without extras, directly or not."""
    found = set[str]()
    waiting = [package]
    while waiting:
        for requirement in map(Requirement, waiting.pop().requires or ()):
            applies = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if applies and normal(requirement.name) not in found:
                found.add(normal(requirement.name))
                waiting.append(distribution(requirement.name))
    return found


@pytest.fixture
def run(installed: Path, tmp_path: Path) -> Run:
    """Runs code in a folder with two tables, where only the wheel and what it needs can be imported."""
    (metadata,) = installed.glob("*.dist-info")
    needed = needed_by(Distribution.at(metadata))
    others = {name for name, owners in packages_distributions().items() if not {*map(normal, owners)} & needed}
    assert {"pyarrow", "matplotlib", "seaborn", "snakemake", "openml", "yaml", "jsonschema"} <= others
    paths = [str(installed), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    start = START.format(missing=(others | {"qrt_study"}) - {"qrt"}, paths=paths)
    x, y, _ = heteroscedastic(200)
    houses = pd.DataFrame({"size": x[:, 0], "rooms": x[:, 1], "colour": ["red", "blue"] * 100, "price": y})
    houses.to_csv(tmp_path / "houses.csv", index=False)
    houses.drop(columns="price").head(7).to_csv(tmp_path / "new.csv", index=False)

    def run(code: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*PYTHON, start + code], cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


def files_below(folder: Path) -> set[Path]:
    """The files of the packages in a folder."""
    own = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {
        path.relative_to(folder)
        for path in own
        if not re.search(r"\.(dist|egg)-info|^bin/", str(path.relative_to(folder)))
    }


def test_sdist_installs_into_an_empty_folder_with_all_files_of_the_packages(
    sdist: Path, installed: Path, tmp_path: Path
) -> None:
    install(sdist, tmp_path / "target")
    assert files_below(tmp_path / "target") == files_below(PROJECT / "src")
    assert files_below(installed) == files_below(PROJECT / "src")
    (metadata,) = (tmp_path / "target").glob("*.dist-info")
    assert Distribution.at(metadata).version == qrt.__version__


def test_sdist_has_licence_citation_and_changes_and_no_tests(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        top = {name.split("/")[1] for name in archive.getnames() if "/" in name}
    assert top == {*IN_SDIST, "PKG-INFO", "setup.cfg", "src"}


def test_regressor_fits_predicts_saves_and_loads_without_the_packages_of_the_study(run: Run) -> None:
    result = run(FIT)
    assert result.returncode == 0, result.stderr


def test_predictions_from_the_command_line_need_no_package_of_the_study(run: Run, tmp_path: Path) -> None:
    fit = ["--data", "houses.csv", "--target", "price", "--max-epochs", "4", "--save-model", "model.qrt"]
    result = run(AS_MODULE.format(arguments=["predict", *fit, "--new", "new.csv", "--out", "first.csv"]))
    assert result.returncode == 0, result.stderr
    assert "Matplotlib" in (tmp_path / "first.calibration.html").read_text(encoding="utf-8")
    result = run(
        AS_SCRIPT.format(arguments=["predict", "--model", "model.qrt", "--new", "new.csv", "--out", "again.csv"])
    )
    assert result.returncode == 0, result.stderr
    assert len(pd.read_csv(tmp_path / "first.csv")) == 7
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "first.csv").read_bytes()


def test_parquet_without_pyarrow_is_refused_with_a_remedy(run: Run, tmp_path: Path) -> None:
    pd.read_csv(tmp_path / "houses.csv").to_parquet(tmp_path / "houses.parquet")
    arguments = ["predict", "--data", "houses.parquet", "--target", "price", "--new", "new.csv", "--out", "out.csv"]
    result = run(AS_SCRIPT.format(arguments=arguments))
    assert result.returncode == 2
    assert "houses.parquet: Parquet needs pyarrow" in result.stderr
