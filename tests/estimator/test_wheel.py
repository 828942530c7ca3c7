"""The wheel as a practitioner has it: in a folder of its own, beside its declared dependencies and nothing else."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pandas as pd
import pytest
from packaging.requirements import Requirement

from conftest import PROJECT
from support.generated_splits import heteroscedastic

# -I and -S keep out PYTHONPATH and the project itself, which an environment for development has installed.
PYTHON = [sys.executable, "-I", "-S", "-c"]
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
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel is installed, without its dependencies."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, source)
    shutil.copytree(PROJECT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", source, source], check=True)
    (wheel,) = source.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--target", target, wheel], check=True)
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
