"""Which splits the files of evaluated networks have: a study may ask for fewer, and never for others unseen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.errors import UserError
from qrt.text.words import counted, listed


def splits_in(path: Path) -> list[int]:
    """The splits of a file of evaluated networks; none if there is no such file, or it is no readable one."""
    try:
        column = pq.ParquetFile(path).read(["split"], use_threads=False)["split"]
    except (OSError, pa.ArrowException, KeyError):
        return []  # whoever reads its rows says what is wrong
    found: list[int] = column.unique().to_pylist()
    return found


def refuse_missing_splits(paths: Iterable[Path], splits: Iterable[int]) -> None:
    """Raise an error if files of evaluated networks lack some of these splits, so that no gap goes unseen.

    Snakemake evaluates again for further splits, but not where files were restored or data is prepared in the same
    call.
    """
    missing = {path: sorted(set(splits) - set(splits_in(path))) for path in paths}
    lacking = [path for path, numbers in missing.items() if numbers]
    if lacking:
        numbers = listed([str(number) for number in missing[lacking[0]]])
        others = f" and {counted(len(lacking) - 1, 'other file')}" if lacking[1:] else ""
        raise UserError(
            f"{lacking[0]}{others}: no rows of split {numbers}. These networks were evaluated without it. The same "
            "call with `--forcerun evaluate` evaluates them on all splits, and trains those whose outputs are not there"
        )
