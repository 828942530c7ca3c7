"""The data dictionary, docs/results.md."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qrt_study.documents.outputs_on_disk import bytes_of_study
from qrt_study.figures.kinds import KINDS
from qrt_study.pages.changed_differences import CHANGED_DIFFERENCES
from qrt_study.plan.config import load_study
from qrt_study.plan.experiments import plan_study
from qrt_study.results.pit_table import PITS
from qrt_study.results.prediction_file import MOST, PRECISIONS
from qrt_study.results.tables import TABLES
from qrt_study.statistics import robustness
from qrt_study.statistics.own_data import COMPARISONS, SCORES
from qrt_study.statistics.seeds import PER_DATASET, PER_SEED, SUMMARY
from qrt_study.training.networks_file import NETWORKS
from qrt_study.verdicts.judge import COLUMNS as VERDICTS
from qrt_study.verdicts.verdict_job import DIFFERENCES, KEY_NUMBERS

_PROJECT = Path(__file__).parents[3]

_HEAD = """\
# Results

Written by `make docs` from the modules that define the tables; edit those, not this page. Result tables are Parquet,
all others CSV.

| what | where |
|---|---|
| trained networks, and their rows, once for all scenarios | `results/networks/DATASET/seedS/` |
| tuned methods of an experiment | `results/SCENARIO/methods/seedS/EXPERIMENT.parquet` |
| whole tables | `results/SCENARIO/*.parquet` |
| the numbers of a figure or comparison | `results/SCENARIO/comparisons/NAME/` |
| verdicts and their numbers | `results/SCENARIO/verdicts.csv`, `key_numbers.csv`, `differences.csv` |
| figures, tables and pages | `figures/SCENARIO/` |

A scenario is a protocol (`paper`, `released`), or one with a switch changed (`paper.sd`). With a name, other training,
other grids or published networks the folders have a suffix: `results_published`, `figures_published`.
"""
_NETWORKS = """
# Networks

Output of training and input of evaluation: one file for each dataset, seed, split and family,
`results/networks/DATASET/seedS/splitR/FAMILY.networks.parquet`. Numbers are stored as bytes and read without running
anything.
"""
_ON_DISK = """
## Disk space of the outputs

A network with K components has 3K outputs of 4 bytes for each row: the validation, calibration and test rows, the
min(2048, n) training rows of its map (not without a map, and not for QRI and QRL), and at most 8192 training rows for
its per-epoch records (BASE-TRAIN and QRT of the main base model). Under the paper's protocol, with one seed, the full
study ({networks} networks on each of 57 datasets and five splits) takes about {total:.0f} GB, and the main comparison
alone (`scope: main`) about {main:.1f} GB.

With `keep_outputs: false` a file is deleted as soon as its networks are evaluated. Results are the same, but a new
metric or map then needs training again.
"""
_PREDICTIONS = f"""
# Predictions

The mixtures of the main comparison's tuned networks, for everybody: `replication/results/predictions/DATASET.parquet`
where they are published, `results/networks/DATASET/predictions.parquet` where a study makes them (its target
`predictions`). Rows are rows of the prepared data in a split and part; `NETWORK` is family/variant. As distributions:

```python
from qrt_study.results.predictions import predictions

test = predictions("Yacht", protocol="paper", method="QRTC", split=0)
test.distribution.crps(test.y).mean()
```

| column | meaning |
|---|---|
| `split`, `part` | number of the split; calibration, test, or map (the training rows behind a training-time map) |
| `row` | number of the row in the prepared data, from 0 |
| `y` | target, standardised; `splits` of the metadata has mean and scale of each split |
| `NETWORK mean1`, ... | means of the mixture's components, standardised |
| `NETWORK scale1`, ... | their standard deviations |
| `NETWORK log_weight1`, ... | logarithms of their weights, up to a constant |
| `NETWORK pit` | PITs of the rows of `map` |

The metadata `qrt.predictions` (JSON) has the methods of each protocol with their network and maps, how each network was
trained (processor, version, selected epoch), whether it has the test NLL of the published results, and `rounding`: how
far rounding moves the mean of a metric over splits, in standard errors, at most. Numbers are float16 or coarser
({PRECISIONS[0].scale_bits} significant bits of a scale, steps of 1/{round(1 / PRECISIONS[0].weight_step)} of the
logarithm of a weight), or else, where that would move a metric by more than {MOST:g} of its standard error, float16 or
float32, network by network.
"""
_COUNTED = "The PITs of published predictions on test rows under every protocol, counted for the explorer."
_STATISTICS = """
# Statistics

Every number of a figure: a folder in `results/SCENARIO/comparisons/` with a CSV for each table, and `summary.json`,
which says what the figure is based on (protocol, datasets, splits, what was left out and why).
"""
_VERDICTS = """
# Verdicts

In `results/SCENARIO/`, of the protocol and of each of its switches changed alone; `scorecard.csv` beside the figures
has the rows of the study's own reading.
"""
_ROBUSTNESS = """
# Robustness

Beside the figures; `robustness.csv` has a row per metric, difference and dataset.
"""
_SEEDS = """
# Seeds

Beside the figures, of a study with more than one seed; `seeds.csv` has a row per metric, difference and dataset.
"""
_OWN_DATA = """
# Your own data

Beside the figures, of a study with `own_datasets`: `own_data/DATASET.csv` has a row per method, on test rows under the
study's protocol; `own_data.csv` has the best method beside the others. Random splits of one table share rows, so the
noise of a difference is larger than its standard error over splits says: its variance is
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
    text += _PREDICTIONS
    text += _table("pits.csv", PITS, about=_COUNTED)
    text += _STATISTICS
    for name, described in {name: columns for kind in KINDS.values() for name, columns in kind.tables.items()}.items():
        text += _table(f"{name}.csv", described)
    text += _VERDICTS
    text += _table("verdicts.csv", {"reading": KEY_NUMBERS["reading"]} | VERDICTS)
    text += _table("key_numbers.csv", KEY_NUMBERS)
    text += _table("differences.csv", DIFFERENCES)
    text += _table("disagreements_by_dataset.csv", CHANGED_DIFFERENCES)
    text += _ROBUSTNESS
    text += _table("robustness.csv", robustness.PER_DATASET) + _table("robustness_summary.csv", robustness.SUMMARY)
    text += _SEEDS
    for name, described in (("seeds", PER_DATASET), ("seeds_per_seed", PER_SEED), ("seeds_summary", SUMMARY)):
        text += _table(f"{name}.csv", described)
    text += _OWN_DATA
    text += _table("own_data/DATASET.csv", SCORES) + _table("own_data.csv", COMPARISONS)
    return text


def _on_disk() -> str:
    studies = [load_study({"scope": scope}, _PROJECT) for scope in ("everything", "main")]
    plans = [plan_study(study) for study in studies]
    whole, of_main = (bytes_of_study(plan, len(study.splits)) for plan, study in zip(plans, studies, strict=True))
    networks = sum(len(family.networks) for family in plans[0].families.values())
    return _ON_DISK.format(networks=networks, total=whole / 1e9, main=of_main / 1e9)


def _table(name: str, columns: Mapping[str, str], heading: str = "meaning", about: str = "") -> str:
    lines = ["", f"## `{name}`", "", *([about, ""] if about else [])]
    lines += [f"| column | {heading} |", "|---" * (heading.count("|") + 2) + "|"]
    lines += [f"| `{column}` | {words} |" for column, words in columns.items()]
    return "\n".join([*lines, ""])
