"""Result tables as figures and verdicts read them: the rows of the study's own random start."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from qrt.parquet_file import COUNT, read_tables
from qrt.results.tables import TABLES

if TYPE_CHECKING:
    import pandas as pd


def read_reported(
    paths: Sequence[Path], kind: str, splits: Sequence[int] | None = None, columns: Sequence[str] | None = None
) -> pd.DataFrame:
    """The rows of seed 0 in result tables of one kind, or those of some splits and columns, in their order.

    Rows and columns are left out before pandas has them: its texts take most of the time.
    """
    table = read_tables(paths, TABLES[kind][1])
    for column, values in (("seed", [0]), ("split", splits)):
        if values is not None and column in table.column_names:
            table = table.filter(pc.is_in(table[column], pa.array(values, COUNT)))
    return table.select(list(columns or table.column_names)).to_pandas()
