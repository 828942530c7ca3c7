"""The notebooks in examples/: each runs from top to bottom, and what is stored in it is what it shows."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import PROJECT

NOTEBOOKS = sorted((PROJECT / "examples").glob("*.ipynb"))
PREDICTIONS = PROJECT / "replication/results/predictions/abalone.parquet"  # of published_predictions.ipynb


def shown(notebook: nbformat.NotebookNode) -> list[list[str]]:
    """For each cell of code the kinds of what it shows: text, or pictures."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [sorted({kind for output in cell.outputs for kind in output.get("data", ["text"])}) for cell in cells]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
# The messaging library of the kernel leaves a socket to be collected.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_notebook_runs_and_shows_what_is_stored_in_it(path: Path, tmp_path: Path) -> None:
    if path.stem == "published_predictions" and not PREDICTIONS.is_file():
        pytest.skip(f"this clone has no {PREDICTIONS.relative_to(PROJECT)}")
    stored = nbformat.read(path, as_version=4)
    again = nbformat.read(path, as_version=4)
    NotebookClient(again, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert shown(again) == shown(stored)
    assert ["image/png", "text/plain"] in shown(stored)
