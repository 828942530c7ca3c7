"""The tutorial: every block of docs/using.md runs, in its order, in an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import pytest
from sklearn.datasets import load_diabetes

from conftest import PROJECT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_lines_of_the_front_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = _BLOCK.findall((PROJECT / "README.md").read_text(encoding="utf-8"))
    x, y = load_diabetes(return_X_y=True, as_frame=True)
    rows = {"X": x[:80], "y": y[:80], "X_new": x[80:83], "X_test": x[100:150], "y_test": y[100:150]}
    with mpl.rc_context({"backend": "agg"}):
        names: dict[str, object] = {"__name__": "front_page"} | rows
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102
    assert len(names["dist"]) == 3  # type: ignore[arg-type]
    assert (tmp_path / "model.qrt").exists()


def test_every_block_of_the_tutorial_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _BLOCK.findall((PROJECT / "docs/using.md").read_text(encoding="utf-8"))
    names: dict[str, object] = {"__name__": "tutorial"}
    with mpl.rc_context({"backend": "agg"}):
        for number, block in enumerate(blocks):
            exec(compile(block, f"block {number} of docs/using.md", "exec"), names)  # noqa: S102
    assert len(blocks) >= 8
    assert (tmp_path / "calibration.png").stat().st_size > 10_000
    assert (tmp_path / "model.qrt").exists()
    assert names["quantiles"].shape == (100, 3)  # type: ignore[attr-defined]
    assert names["tails"].shape == (100, 2)  # type: ignore[attr-defined]
    assert names["draws"].shape == (100, 1000)  # type: ignore[attr-defined]
