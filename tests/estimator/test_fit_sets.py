"""The sets of a fit: disjoint, of the study's sizes, standardised by the training rows alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qrt.engine.split import MAX_CALIBRATION_ROWS
from qrt.estimator.columns import learned_columns
from qrt.estimator.fit_sets import FitSets, Rows, drawn_sets
from qrt.estimator.unusable_input import UnusableInput


def numbered(rows: int) -> Rows:
    """Rows that are told apart by their target."""
    y = np.arange(rows, dtype=np.float64)
    return Rows(np.column_stack([y, -y]), y)


def parts_of(sets: FitSets) -> list[np.ndarray]:
    return [sets.train[1], sets.validation[1], sets.calibration[1]]


@given(rows=st.integers(4, 400), seed=st.integers(0, 1000))
def test_every_row_is_in_exactly_one_set_with_its_features(rows: int, seed: int) -> None:
    sets = drawn_sets(numbered(rows), 0.1, 0.15, seed, needs_calibration=True)
    assert sorted(np.concatenate(parts_of(sets))) == list(range(rows))
    assert [len(part) for part in parts_of(sets)[1:]] == [max(1, int(0.1 * rows)), max(1, int(0.15 * rows))]
    for x, y, _ in (sets.train, sets.validation, sets.calibration):
        np.testing.assert_array_equal(x, np.column_stack([y, -y]))


def test_drawn_calibration_set_is_capped_and_the_rest_is_shared_equally() -> None:
    sets = drawn_sets(numbered(20_000), 0.1, 0.15, 0, needs_calibration=True)
    excess = 3000 - MAX_CALIBRATION_ROWS
    assert [len(part) for part in parts_of(sets)] == [15_000 + excess // 2, 2000 + excess // 2, MAX_CALIBRATION_ROWS]


def test_seed_decides_which_rows_are_drawn() -> None:
    first, second, other = (drawn_sets(numbered(50), 0.1, 0.15, seed, needs_calibration=True) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.calibration[1], second.calibration[1])
    assert (first.calibration[1] != other.calibration[1]).any()


def test_own_set_is_taken_as_it_is_and_only_the_other_is_drawn() -> None:
    own = numbered(7)
    sets = drawn_sets(numbered(40), 0.1, own, 0, needs_calibration=True)
    assert sets.calibration is own
    assert [len(part) for part in parts_of(sets)] == [36, 4, 7]
    both = drawn_sets(numbered(40), own, own, 0, needs_calibration=True)
    np.testing.assert_array_equal(both.train[1], np.arange(40))


def test_scales_are_those_of_the_training_rows_and_the_order_is_that_of_a_split() -> None:
    generator = np.random.default_rng(0)
    sets = FitSets(*(Rows(generator.normal(place, 2, (30, 2)), generator.normal(place, 3, 30)) for place in (0, 5, 9)))
    data, columns = sets.standardised(learned_columns(sets.train[0], None))
    train_x, train_y = data.part("train")
    np.testing.assert_allclose([train_x.mean(), train_y.mean()], 0, atol=1e-6)
    np.testing.assert_allclose([*train_x.std(axis=0), train_y.std()], 1, rtol=1e-5)
    for part, (x, y, _) in (("validation", sets.validation), ("calibration", sets.calibration)):
        np.testing.assert_allclose(data.part(part)[0], (x - columns.means) / columns.scales, rtol=1e-6)
        np.testing.assert_allclose(data.part(part)[1] * data.y_scale + data.y_mean, y, rtol=1e-5, atol=1e-5)


def test_too_few_rows_and_targets_without_variation_are_refused() -> None:
    with pytest.raises(UnusableInput, match="1 sample is too few"):
        drawn_sets(numbered(1), 0.1, 0.15, 0, needs_calibration=True)
    x = numbered(30).x
    with pytest.raises(UnusableInput, match=r"constant \(2 in all 23 training rows\)"):
        drawn_sets(Rows(x, np.full(30, 2.0)), 0.1, 0.15, 0, needs_calibration=True)
    with pytest.raises(UnusableInput, match="0 calibration rows"):
        drawn_sets(numbered(30), 0.1, numbered(0), 0, needs_calibration=True)
