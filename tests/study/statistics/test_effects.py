"""Means, standard errors, Cohen's d and letter values (docs/protocol.md, section 7 and row 5)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from qrt_study.statistics.effects import LETTER_QUANTILES, cohens_d, letter_values, moments, relative_difference

NAN = math.nan
numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))
runs_of_five = st.lists(numbers, min_size=5, max_size=5, unique=True)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


def test_mean_and_standard_error_are_those_of_scipy() -> None:
    values = np.random.default_rng(0).normal(size=(3, 4, 5)) * 1e3
    found = moments(values)
    np.testing.assert_allclose(found.mean, values.mean(axis=-1), rtol=1e-12)
    np.testing.assert_allclose(found.standard_error, stats.sem(values, axis=-1), rtol=1e-12)
    assert (found.runs == 5).all()


def test_runs_that_cannot_be_used_do_not_count() -> None:
    found = moments(np.array([[1.0, NAN, 4.0, NAN], [NAN, NAN, NAN, NAN], [NAN, 7.0, NAN, NAN]]))
    assert found.runs.tolist() == [2, 0, 1]
    np.testing.assert_array_equal(found.mean, [2.5, NAN, 7.0])
    np.testing.assert_allclose(found.standard_error, [1.5, NAN, NAN])


def test_no_split_at_all_gives_no_mean() -> None:
    found = moments(np.empty((2, 0)))
    assert found.runs.tolist() == [0, 0]
    assert np.isnan(found.mean).all()


@given(value=st.floats(-1e6, 1e6), runs=st.integers(1, 7))
def test_equal_runs_have_their_value_as_mean_and_no_deviation(value: float, runs: int) -> None:
    found = moments(np.full(runs, value))
    assert found.mean == value
    assert found.squares == 0


@given(values=runs_of_five, order=st.permutations(range(5)))
def test_moments_do_not_depend_on_the_order_of_the_runs(values: list[float], order: list[int]) -> None:
    one, two = moments(array(*values)), moments(array(*values)[order])
    assert (one.mean, one.squares) == (two.mean, two.squares)


def test_pooled_d_by_hand() -> None:
    # Means 2 and 5, sums of squares 2 and 8: d = -3 / sqrt(10 / 4).
    assert cohens_d(array(1, 2, 3), array(3, 5, 7), "pooled") == pytest.approx(-3 / math.sqrt(2.5))


def test_released_d_by_hand() -> None:
    # Population variances 2/3 and 8/3: d = -3 / sqrt((10 / 3) / 4).
    assert cohens_d(array(1, 2, 3), array(3, 5, 7), "released") == pytest.approx(-3 / math.sqrt(10 / 12))


def test_both_forms_by_hand_for_different_numbers_of_runs() -> None:
    # Means 2 and 5, sums of squares 2 (2 runs) and 8 (3 runs), 3 degrees of freedom.
    one, two = array(1, NAN, 3), array(3, 5, 7)
    assert cohens_d(one, two, "pooled") == pytest.approx(-3 / math.sqrt(10 / 3))
    assert cohens_d(one, two, "released") == pytest.approx(-3 / math.sqrt((2 / 2 + 8 / 3) / 3))


@given(one=runs_of_five, two=runs_of_five)
def test_released_d_of_five_and_five_runs_is_larger_by_the_root_of_five(one: list[float], two: list[float]) -> None:
    pooled, released = (cohens_d(array(*one), array(*two), form) for form in ("pooled", "released"))
    assert released == pytest.approx(math.sqrt(5) * pooled, rel=1e-12)


@given(one=runs_of_five, two=runs_of_five)
def test_pooled_d_is_the_t_statistic_without_the_sample_size(one: list[float], two: list[float]) -> None:
    t = stats.ttest_ind(one, two).statistic
    assert cohens_d(array(*one), array(*two), "pooled") == pytest.approx(t * math.sqrt(2 / 5), rel=1e-6)


@pytest.mark.parametrize("form", ["pooled", "released"])
@given(one=runs_of_five, two=runs_of_five)
def test_d_changes_its_sign_with_the_roles(form: str, one: list[float], two: list[float]) -> None:
    assert cohens_d(array(*one), array(*two), form) == -cohens_d(array(*two), array(*one), form)


@pytest.mark.parametrize("form", ["pooled", "released"])
def test_d_where_it_is_a_limit_or_undefined(form: str) -> None:
    # 0.1 three times has a sum whose third is not 0.1 in floating point: rounding must not pass for a deviation.
    equal = array(0.1, 0.1, 0.1)
    assert cohens_d(equal, equal, form) == 0
    assert np.isnan(cohens_d(equal, array(0.3, 0.3, 0.3), form))
    assert np.isnan(cohens_d(array(1, NAN), array(2, NAN), form))
    assert np.isnan(cohens_d(array(1, NAN), array(1, NAN), form))
    assert np.isnan(cohens_d(array(NAN, NAN), array(1, 2), form))
    assert np.isfinite(cohens_d(array(1, NAN), array(2, 4), form))


@pytest.mark.parametrize("form", ["pooled", "released"])
def test_an_outlier_of_a_million_makes_d_small(form: str) -> None:
    d = cohens_d(array(1, 2, 3, 4, 1e6), array(1, 2, 3, 4, 5), form)
    assert 0 < d < 2


def test_unknown_form_is_refused() -> None:
    with pytest.raises(ValueError, match="'glass': must be one of pooled, released"):
        cohens_d(array(1, 2), array(1, 2), "glass")


def test_relative_difference_stands_on_the_size_of_the_baseline() -> None:
    found = relative_difference(array(-1, -1, 1), array(-4, 2, 0))
    np.testing.assert_array_equal(found, [-0.25, -0.5, NAN])


@settings(deadline=None)
@given(values=st.lists(numbers, min_size=1, max_size=60))
def test_letter_values_are_quantiles_of_the_finite_values(values: list[float]) -> None:
    found, count = letter_values(array(NAN, *values, math.inf))
    assert count == len(values)
    expected = [np.quantile(values, eighths / 8) for eighths in (1, 2, 4, 6, 7)]
    np.testing.assert_array_equal(found, expected)


def test_letter_values_by_hand() -> None:
    found, count = letter_values(array(*range(9)))
    assert dict(zip(LETTER_QUANTILES, found.tolist(), strict=True)) == {0.125: 1, 0.25: 2, 0.5: 4, 0.75: 6, 0.875: 7}
    assert count == 9


def test_nothing_finite_has_no_letter_values() -> None:
    found, count = letter_values(array(NAN, NAN))
    assert count == 0
    assert np.isnan(found).all()
