from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrt.data.sheet import paper_datasets
from qrt.data.split import MAX_CALIBRATION_ROWS, part_sizes, split_rows


@given(rows=st.integers(100, 200_000))
def test_parts_have_every_row_once_and_calibration_is_capped(rows: int) -> None:
    sizes = part_sizes(rows)
    assert sum(sizes) == rows
    assert min(sizes) > 0
    assert sizes[2] <= MAX_CALIBRATION_ROWS


@pytest.mark.parametrize(("rows", "train"), [(209, 135), (308, 200), (45730, 31328), (76924, 53164)])
def test_training_sizes_are_those_of_the_paper(rows: int, train: int) -> None:
    assert part_sizes(rows)[0] == train


def test_largest_datasets_of_the_paper_are_cut_at_the_row_limit() -> None:
    largest = {row.published.train_rows for row in paper_datasets().values()}
    assert max(largest) == len(split_rows(581_835, 0).train) == 53164


def test_split_is_disjoint_and_in_the_order_of_the_published_study() -> None:
    # The recipe of the spec, section 1, written out.
    import torch

    order = np.random.RandomState(2004).choice(500, 500, replace=False)
    shuffled = order[torch.randperm(500, generator=torch.Generator().manual_seed(2003)).numpy()]
    rows = split_rows(500, 3)
    together = np.concatenate([rows.train, rows.validation, rows.calibration, rows.test])
    assert together.tolist() == shuffled.tolist()
    assert [len(rows.train), len(rows.validation), len(rows.calibration), len(rows.test)] == [325, 50, 75, 50]


def test_splits_differ_and_repeat() -> None:
    assert split_rows(300, 0).train.tolist() == split_rows(300, 0).train.tolist()
    assert split_rows(300, 0).train.tolist() != split_rows(300, 1).train.tolist()
