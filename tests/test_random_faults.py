"""Nothing is lost or wrong, whatever is killed, damaged, forged or hostile (docs/faults.md: thousands of each)."""

from __future__ import annotations

import pytest

from support.random_faults import TRIALS, trials


@pytest.mark.parametrize(("promise", "count"), [("kills", 20), ("damaged", 150), ("tables", 40)])
def test_faults_are_refused_with_a_reason_or_do_no_harm(promise: str, count: int) -> None:
    found = trials(promise, count, seed=1)
    assert set(found) == set(TRIALS[promise])
    assert sum(outcomes.total() for outcomes in found.values()) == count
    wrong = [(name, outcome) for name, outcomes in found.items() for outcome in outcomes if outcome.startswith("WRONG")]
    assert wrong == []
