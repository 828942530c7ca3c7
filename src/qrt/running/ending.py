"""What a call says when it is done: what it has written, where, and what to look at first."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from qrt.results.layout import Layout
from qrt.running.targets import targets_in_words
from qrt.study.artifacts import FIGURES, TABLES

PAGES = ("own_data", "scorecard", "agreement", "seeds")


def what_was_made(rules: Collection[str], layout: Layout, folder: Path) -> list[str]:
    """Lines for people about a call that has run jobs of these rules in `folder`; none where nothing was made."""
    made = [name for name in (*PAGES, *FIGURES, *TABLES) if name in rules]
    if made:
        form = "html" if made[0] in PAGES else "png" if made[0] in FIGURES else "md"
        first = folder / layout.figure(made[0], form)
        return [f"Written to {first.parent}: {targets_in_words(made)}.", f"Look first at {first.as_uri()}"]
    if {"tune", "evaluate", "collect"} & set(rules):
        results = folder / layout.table("runs")
        return [f"Results are in {results.parent}; docs/results.md documents them, and make figures draws them."]
    if "fetch" in rules:
        return [f"The data is in {folder / 'data/raw'}."]
    return []
