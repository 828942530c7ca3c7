from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest

# One thread everywhere: results do not depend on the machine's number of cores.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

PROJECT = Path(__file__).resolve().parent.parent
SHARED = PROJECT.parent / "shared"
pytest_plugins = ["support.finished_study"]


def pytest_collection_finish() -> None:
    """What the modules of all tests have imported stays for good: the garbage collector need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _without_a_mirror_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QRT_MIRROR", raising=False)


@pytest.fixture(scope="session")
def shared_datasets() -> Path:
    folder = SHARED / "datasets"
    if not (folder / "manifest.csv").is_file():
        pytest.skip("needs the real datasets in ../shared/datasets, which are not beside this clone")
    return folder
