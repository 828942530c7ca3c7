from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from qrt.engine.split import MAX_CALIBRATION_ROWS, MAX_ROWS, PARTS, SplitData, SplitTargets, part_sizes, split_rows
from qrt_study.data.sheet import paper_datasets


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


@pytest.mark.parametrize("split", range(5))
@pytest.mark.parametrize("rows", [100, 101, 500, 2048, 76_924, 100_000])
def test_split_is_in_the_order_of_the_published_study(rows: int, split: int) -> None:
    # The recipe of docs/protocol.md, section 1, written out.
    used = min(rows, MAX_ROWS)
    order = np.random.RandomState(2001 + split).choice(rows, used, replace=False)
    shuffled = order[torch.randperm(used, generator=torch.Generator().manual_seed(2000 + split)).numpy()]
    found = split_rows(rows, split)
    together = np.concatenate([found.train, found.validation, found.calibration, found.test])
    assert np.array_equal(together, shuffled)


def test_split_has_disjoint_parts_of_the_published_shares() -> None:
    rows = split_rows(500, 3)
    parts = (rows.train, rows.validation, rows.calibration, rows.test)
    assert [len(part) for part in parts] == [325, 50, 75, 50]
    assert sorted(np.concatenate(parts).tolist()) == list(range(500))


def test_splits_differ_and_repeat() -> None:
    assert split_rows(300, 0).train.tolist() == split_rows(300, 0).train.tolist()
    assert split_rows(300, 0).train.tolist() != split_rows(300, 1).train.tolist()


def test_parts_in_another_order_are_refused_since_validation_rows_would_train() -> None:
    y, sizes = np.arange(10, dtype=np.float32), dict(zip(PARTS, (4, 3, 2, 1), strict=True))
    split = SplitData(y=y, sizes=sizes, y_mean=0.0, y_scale=1.0, x=y[:, None])
    assert split.part("train+calibration")[1].tolist() == list(range(7))
    assert split.part("validation")[0].tolist() == [[7], [8]]
    wrong = (
        {name: sizes[name] for name in ("train", "validation", "calibration", "test")},
        {name: sizes[name] for name in PARTS[:3]},
        sizes | {"test": 2},
        sizes | {"more": 0},
    )
    for one in wrong:
        with pytest.raises(ValueError, match="train, calibration, validation, test in this order"):
            SplitData(y=y, sizes=one, y_mean=0.0, y_scale=1.0, x=y[:, None])
        with pytest.raises(ValueError, match="in this order"):
            SplitTargets(y=y, sizes=one, y_mean=0.0, y_scale=1.0)
