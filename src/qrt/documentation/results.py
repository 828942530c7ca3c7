"""The data dictionary, docs/results.md: `python -m qrt.documentation.results`."""

from __future__ import annotations

from collections.abc import Mapping

from qrt.claims.judge import COLUMNS as VERDICTS
from qrt.claims.verdict_job import KEY_NUMBERS
from qrt.figures.kinds import table_columns
from qrt.results.tables import TABLES
from qrt.statistics.seeds import PER_DATASET, PER_SEED, SUMMARY

_HEAD = """\
# Results

Written by `make docs` from the modules that define the tables; edit those, not this page. Result tables are Parquet,
all others CSV.
"""
_STATISTICS = """
# Statistics

Every number of a figure: one folder per figure under `statistics/`, a CSV for each table and `summary.json`, which says
what the figure stands on (protocol, datasets, splits, what was left out and why).
"""
_VERDICTS = """
# Verdicts

Under `statistics/`; `paper_figures/scorecard.csv` has the rows of the study's own reading.
"""
_SEEDS = """
# Seeds

Of a study with more than one seed: `paper_figures/seeds.csv` has a row per metric, difference and dataset; the other
tables are under `statistics/seeds/`.
"""


def documentation() -> str:
    """All tables with their columns, as Markdown."""
    text = _HEAD
    for name, (meaning, columns) in TABLES.items():
        rows = {column: f"{kind} | {words}" for column, (kind, words) in columns.items()}
        text += _table(f"{name}.parquet", rows, "type | meaning", meaning)
    text += _STATISTICS
    for name, described in table_columns().items():
        text += _table(f"{name}.csv", described)
    text += _VERDICTS
    text += _table("verdicts.csv", {"reading": KEY_NUMBERS["reading"]} | VERDICTS)
    text += _table("key_numbers.csv", KEY_NUMBERS)
    text += _SEEDS
    for name, described in (("seeds", PER_DATASET), ("per_seed", PER_SEED), ("summary", SUMMARY)):
        text += _table(f"{name}.csv", described)
    return text


def _table(name: str, columns: Mapping[str, str], heading: str = "meaning", about: str = "") -> str:
    lines = ["", f"## `{name}`", "", *([about, ""] if about else [])]
    lines += [f"| column | {heading} |", "|---" * (heading.count("|") + 2) + "|"]
    lines += [f"| `{column}` | {words} |" for column, words in columns.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(documentation(), end="")
