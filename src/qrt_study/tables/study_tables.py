"""The tables of the paper, by name: numbers, what people read, caption and label, and their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, cast

import pandas as pd

from qrt.atomic import write_text
from qrt.text.formats import to_latex, to_markdown
from qrt.text.words import counted
from qrt_study import published
from qrt_study.data.record import read_record
from qrt_study.data.sheet import paper_datasets
from qrt_study.plan.config import StudyConfig
from qrt_study.results.study_networks import StudyNetworks
from qrt_study.statistics.times import times_statistics
from qrt_study.tables import dataset_table, method_table, times_table

Table = tuple[pd.DataFrame, pd.DataFrame, str, str]


def table1_methods(study: StudyNetworks) -> Table:
    """The methods of the unified algorithm, as this study trains them."""
    wanted = ("main", "regularised")
    table = method_table.method_table({name: one for name, one in study.plan.experiments.items() if name in wanted})
    return table, method_table.for_people(table), method_table.CAPTION, "table:methods"


def table2_times(study: StudyNetworks) -> Table:
    """Training times, ours beside the published values."""
    per_epoch = cast("Literal['trained', 'selected']", study.study.protocol.time_per_epoch)
    numbers = times_statistics(study.read_times().to_pandas(), published.table2(), per_epoch)
    return numbers, times_table.times_table(numbers), times_table.caption(per_epoch), "table:times"


def table3_datasets(study: StudyNetworks) -> Table:
    """The datasets, ours beside the published values."""
    records = [read_record(Path(path)) for path in study.records()]
    table = dataset_table.dataset_table(records, paper_datasets())
    words = f"{counted(len(table), 'dataset')}: {dataset_table.status_summary(table)}."
    caption = f"Datasets, the published value in brackets. {words}"
    return table, dataset_table.for_people(table), caption, "table:datasets"


STUDY_TABLES: dict[str, Callable[[StudyNetworks], Table]] = {
    "table1_methods": table1_methods,
    "table2_times": table2_times,
    "table3_datasets": table3_datasets,
}


def write_table(name: str, *, study: StudyConfig, csv: Path, tex: Path, markdown: Path) -> None:
    """Write one table: CSV with the numbers, LaTeX and Markdown for people."""
    numbers, for_people, caption, label = STUDY_TABLES[name](StudyNetworks(study))
    write_text(csv, numbers.to_csv(index=False, float_format="%.6g"))
    write_text(tex, to_latex(for_people, caption, label))
    write_text(markdown, to_markdown(for_people, caption))
