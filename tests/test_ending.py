"""The last words of a call: what was written, where, and what to look at first."""

from __future__ import annotations

from pathlib import Path

import pytest

from qrt.results.layout import Layout
from qrt.running.ending import what_was_made

LAYOUT = Layout("results", "results/networks", "paper_figures")
FOLDER = Path("/study")


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (
            ["fetch", "train", "tune", "fig03_main", "fig02_nll_difference", "table1_methods", "scorecard", "fig03"],
            [
                "Written to /study/paper_figures: fig02, fig03, table1, scorecard.",
                "Look first at file:///study/paper_figures/scorecard.html",
            ],
        ),
        (
            ["table3_datasets", "fetch"],
            [
                "Written to /study/paper_figures: table3.",
                "Look first at file:///study/paper_figures/table3_datasets.md",
            ],
        ),
        (
            ["fig11_calibration_maps"],
            [
                "Written to /study/paper_figures: fig11.",
                "Look first at file:///study/paper_figures/fig11_calibration_maps.png",
            ],
        ),
        (["fetch", "prepare"], ["The data is in /study/data/raw."]),
        (["all"], []),
    ],
)
def test_call_ends_with_what_it_has_made(rules: list[str], expected: list[str]) -> None:
    assert what_was_made(rules, LAYOUT, FOLDER) == expected


def test_results_without_figures_are_named_with_their_folder() -> None:
    (line,) = what_was_made(["train", "evaluate", "tune", "main"], LAYOUT, FOLDER)
    assert line.startswith("Results are in /study/results;")
