"""Standardisation of x in both ways of row 13 of docs/protocol.md."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from qrt.engine.scaling import mean_and_scale, x_scale_matters
from qrt.engine.split import split_rows
from qrt.errors import UserError
from qrt_study.data.record import write_record
from qrt_study.data.split_store import load_split


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A prepared dataset whose second column is a category that one test row of split 0 has, and no training row."""
    generator = np.random.default_rng(0)
    x = np.column_stack([generator.normal(5, 2, 200), np.zeros(200)]).astype(np.float32)
    x[split_rows(200, 0).test[3], 1] = 1.0
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", generator.normal(size=200).astype(np.float32))
    write_record(
        tmp_path / "record.json",
        {"dataset": "rare", "status": "available", "reason": "", "x_scale_matters": x_scale_matters(x)},
    )
    return tmp_path


def test_category_that_no_training_row_has_becomes_ten_million_as_released(folder: Path) -> None:
    unit, released = (load_split(folder, 0, way).part("test")[0] for way in ("unit", "epsilon"))
    assert unit[3, 1] == 1.0
    assert released[3, 1] == pytest.approx(1e7)
    others = np.delete(np.arange(len(unit)), 3)
    assert not unit[others, 1].any()
    assert not released[others, 1].any(), "a constant is the mean itself, whatever it is divided by"
    np.testing.assert_allclose(released[:, 0], unit[:, 0], rtol=1e-6)


def test_data_where_it_matters_is_refused_without_a_word_on_the_scale(folder: Path) -> None:
    with pytest.raises(UserError, match="x_scale_matters"):
        load_split(folder, 0)


def test_scales_are_those_of_the_columns(folder: Path) -> None:
    x = np.array([[1.0, 3.0], [3.0, 3.0]], dtype=np.float32)
    assert [values.tolist() for values in mean_and_scale(x)] == [[2.0, 3.0], [1.0, 1.0]]
    assert mean_and_scale(x, "epsilon")[1].tolist() == [1.0 + 1e-7, 1e-7]
    with pytest.raises(UserError, match="unknown"):
        mean_and_scale(x, "other")  # type: ignore[arg-type]


def test_it_matters_for_rare_categories_and_narrow_columns_only() -> None:
    generator = np.random.default_rng(1)
    wide, half = generator.normal(size=(500, 1)), np.repeat([[0.0], [1.0]], 250, axis=0)
    rare, narrow = np.zeros((500, 1)), 1e-5 * wide
    rare[:5] = 1.0
    constant = np.ones((500, 1))
    assert not x_scale_matters(np.hstack([wide, half, constant]).astype(np.float32))
    assert x_scale_matters(np.hstack([wide, rare]).astype(np.float32))
    assert x_scale_matters(np.hstack([wide, narrow]).astype(np.float32))
