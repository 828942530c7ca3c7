"""The first page of the report: what was replicated, on what, and what came out."""

from __future__ import annotations

from collections.abc import Sequence

from qrt.text.formats import escape_rst

_HEAD = """\
Replication of *Probabilistic Calibration by Design for Neural Network Regression* (Dheur and Ben Taieb, AISTATS 2024).
Every figure and table was rebuilt from the datasets on. Start with the *Verdict*: the scorecard of every claim.

"""


def landing_page(lines: Sequence[str]) -> str:
    """The summary of the scorecard in reStructuredText, as Snakemake's report shows it."""
    return _HEAD + "\n".join(f"* {escape_rst(line)}" for line in lines) + "\n"
