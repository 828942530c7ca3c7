"""Figures, tables and pages by the names that `draw:` takes."""

from __future__ import annotations

import pytest

from qrt_study.plan.artifacts import ARTIFACTS, FIGURES, PAGES, TABLES, artifacts_by_name, is_example


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (["all"], (*ARTIFACTS, *PAGES, "results", "explorer", "article")),
        (["tables", "figures"], (*FIGURES, *TABLES)),
        (["pages"], (*PAGES, "explorer")),
        (["scorecard", "fig03", "table2"], ("fig03_main", "table2_times", "scorecard")),
        (["fig3", "fig03", "fig03_main"], ("fig03_main",)),
        (["results"], ("results",)),
    ],
)
def test_names_of_what_is_drawn_are_resolved_in_the_order_of_the_paper(
    asked: list[str], found: tuple[str, ...]
) -> None:
    assert artifacts_by_name(asked) == (found, [])


@pytest.mark.parametrize(("asked", "meant"), [("fig29", "fig28"), ("scorecrd", "scorecard"), ("xyz", "scorecard")])
def test_unknown_name_is_told_with_those_that_are_known(asked: str, meant: str) -> None:
    found, (problem,) = artifacts_by_name(["fig01", asked])
    assert found == ("fig01_per_epoch",)
    assert repr(asked) in problem
    assert meant in problem


def test_numbers_are_those_of_the_paper() -> None:
    assert [figure.number for figure in FIGURES.values()] == [f"Figure {number}" for number in range(1, 29)]
    assert [ARTIFACTS[table].number for table in TABLES] == ["Table 1", "Table 2", "Table 3"]


def test_figure_of_single_datasets_shows_stand_ins_in_a_study_without_them() -> None:
    figure = FIGURES["fig28_predictions_abalone"]
    assert figure.shown(["abalone", "counts"]) == ("abalone",)
    assert figure.shown(["linear", "counts"]) == ("counts",)
    assert figure.shown(["linear"]) == ()
    assert "counts" in figure.title_in(["counts"])
    assert is_example("abalone")
    assert is_example("counts")
    assert not is_example("Power")
