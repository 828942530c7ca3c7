"""Targets by name: what was meant by one that there is none of, and many of them in few words."""

from __future__ import annotations

import pytest

from qrt.running.targets import targets_in_words, what_was_meant
from qrt.study.artifacts import ARTIFACTS, short_target

KNOWN = [*ARTIFACTS, *map(short_target, ARTIFACTS), "all", "figures", "tables", "scorecard"]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("fig3", "did you mean fig03?"),
        ("figure3", "did you mean fig03?"),
        ("Fig03", "did you mean fig03?"),
        ("table03", "did you mean table3?"),
        ("fig29", "the paper's are fig01 to fig28."),
        ("table4", "the paper's are table1 to table3."),
        ("scorecrd", "did you mean scorecard?"),
        ("xyz", "snakemake --list-target-rules shows all."),
    ],
)
def test_mistyped_target_gets_a_suggestion(asked: str, hint: str) -> None:
    with pytest.raises(SystemExit) as ended:
        what_was_meant(asked, KNOWN)
    assert str(ended.value) == f"error: there is no target {asked!r}; {hint}"


def test_neighbouring_figures_are_one_span() -> None:
    assert targets_in_words(ARTIFACTS) == "fig01 to fig28, table1 to table3"
    some = ["scorecard", "table1_methods", "fig28_predictions_abalone", "fig02_nll_difference", "fig01_per_epoch"]
    assert targets_in_words(some) == "fig01, fig02, fig28, table1, scorecard"
