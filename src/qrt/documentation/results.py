"""The data dictionary, docs/results.md: `python -m qrt.documentation.results`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qrt.claims.judge import COLUMNS as VERDICTS
from qrt.claims.verdict_job import DIFFERENCES, KEY_NUMBERS
from qrt.data.sheet import paper_datasets
from qrt.documentation.outputs_on_disk import bytes_of_study
from qrt.figures.kinds import table_columns
from qrt.pages.changed_differences import CHANGED_DIFFERENCES
from qrt.results.tables import TABLES
from qrt.statistics import robustness
from qrt.statistics.own_data import COMPARISONS, SCORES
from qrt.statistics.seeds import PER_DATASET, PER_SEED, SUMMARY
from qrt.study.config import load_config, read_schema
from qrt.study.experiments import plan_study
from qrt.training.networks_file import NETWORKS

_PROJECT = Path(__file__).parents[3]

_HEAD = """\
# Results

Written by `make docs` from the modules that define the tables; edit those, not this page. Result tables are Parquet,
all others CSV.
"""
_NETWORKS = """
# Networks

What a training job writes, and all that evaluation needs of it: one file for each dataset, seed, split and family,
`results/networks/DATASET/seedS/splitR/FAMILY.networks.parquet`. Numbers are stored as bytes and read without running
anything.
"""
_ON_DISK = """
## What the outputs take on disk

A network with K components has 3K outputs of 4 bytes for each row: the validation, calibration and test rows, the
min(2048, n) training rows of its map (not without a map, and not for QRI and QRL), and at most 8192 training rows for
its per-epoch records (BASE-TRAIN and QRT of the main base model). Under the paper's protocol, with one seed, the full
study ({networks} networks on each of 57 datasets and five splits) takes {total:.1f} GB, and the main comparison alone
(`scope: main`) {main:.1f} GB.

With `keep_outputs: false` a file is deleted as soon as its networks are evaluated. Results are the same, but a new
metric or map then trains again.

| dataset | training rows | MB, full study | MB, main comparison |
|---|---|---|---|
"""
_STATISTICS = """
# Statistics

Every number of a figure: one folder per figure under `statistics/`, a CSV for each table and `summary.json`, which says
what the figure is based on (protocol, datasets, splits, what was left out and why).
"""
_VERDICTS = """
# Verdicts

Under `statistics/`; `paper_figures/scorecard.csv` has the rows of the study's own reading.
"""
_ROBUSTNESS = """
# Robustness

`paper_figures/robustness.csv` has a row per metric, difference and dataset; the summary is under
`statistics/robustness/`.
"""
_SEEDS = """
# Seeds

Of a study with more than one seed: `paper_figures/seeds.csv` has a row per metric, difference and dataset; the other
tables are under `statistics/seeds/`.
"""
_OWN_DATA = """
# Your own data

Of a study with `own_datasets`: `paper_figures/own_data/DATASET.csv` has a row per method, on test rows under the
study's protocol; `statistics/own_data/comparisons.csv` has the best method beside the others. Random splits of one
table share rows, so the noise of a difference is larger than its standard error over splits says: its variance is
s² (1 / splits + test rows / training rows) (Nadeau and Bengio, 2003).
"""


def documentation() -> str:
    """All tables with their columns, as Markdown."""
    text = _HEAD
    for name, (meaning, columns) in TABLES.items():
        rows = {column: f"{kind} | {words}" for column, (kind, words) in columns.items()}
        text += _table(f"{name}.parquet", rows, "type | meaning", meaning)
    text += _NETWORKS
    text += _table(
        "FAMILY.networks.parquet",
        {name: f"{kind} | {words}" for name, (kind, words) in NETWORKS.items()},
        "type | meaning",
    )
    text += _on_disk()
    text += _STATISTICS
    for name, described in table_columns().items():
        text += _table(f"{name}.csv", described)
    text += _VERDICTS
    text += _table("verdicts.csv", {"reading": KEY_NUMBERS["reading"]} | VERDICTS)
    text += _table("key_numbers.csv", KEY_NUMBERS)
    text += _table("differences.csv", DIFFERENCES)
    text += _table("disagreements_by_dataset.csv", CHANGED_DIFFERENCES)
    text += _ROBUSTNESS
    text += _table("robustness.csv", robustness.PER_DATASET) + _table("summary.csv", robustness.SUMMARY)
    text += _SEEDS
    for name, described in (("seeds", PER_DATASET), ("per_seed", PER_SEED), ("summary", SUMMARY)):
        text += _table(f"{name}.csv", described)
    text += _OWN_DATA
    text += _table("own_data/DATASET.csv", SCORES) + _table("comparisons.csv", COMPARISONS)
    return text


def _on_disk() -> str:
    schema = read_schema(_PROJECT / "workflow/schemas/config.schema.yaml")
    everything, main = ({"scope": scope} for scope in ("everything", "main"))
    studies = [load_config(config, schema, _PROJECT) for config in (everything, main)]
    plans = [plan_study(study) for study in studies]
    whole, of_main = (bytes_of_study(plan, len(study.splits)) for plan, study in zip(plans, studies, strict=True))
    text = _ON_DISK.format(
        networks=sum(len(family.networks) for family in plans[0].families.values()),
        total=sum(whole.values()) / 1e9,
        main=sum(of_main.values()) / 1e9,
    )
    rows = {name: row.published.train_rows for name, row in paper_datasets().items()}
    return text + "".join(
        f"| {name} | {rows[name]:,} | {whole[name] / 1e6:,.0f} | {of_main[name] / 1e6:,.0f} |\n" for name in rows
    )


def _table(name: str, columns: Mapping[str, str], heading: str = "meaning", about: str = "") -> str:
    lines = ["", f"## `{name}`", "", *([about, ""] if about else [])]
    lines += [f"| column | {heading} |", "|---" * (heading.count("|") + 2) + "|"]
    lines += [f"| `{column}` | {words} |" for column, words in columns.items()]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(documentation(), end="")
