"""Size and columns of a table in a file, without reading all of it: what a user's own data may cost, and be asked."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from pathlib import Path

_SAMPLE_BYTES = 2**18


def estimated_shape(path: Path) -> tuple[int, int]:
    """Rows and columns of a CSV (also .csv.gz) or Parquet file, about; (0, 0) if the file is no such table."""
    try:
        if path.name.endswith(".parquet"):
            import pyarrow.parquet as pq

            metadata = pq.read_metadata(path)
            return metadata.num_rows, metadata.num_columns
        return _shape_of_text(path)
    except (OSError, EOFError, ValueError, csv.Error, zlib.error):  # whoever reads the table says what is wrong with it
        return 0, 0


def column_names(path: Path) -> tuple[str, ...]:
    """The names of the columns of a CSV (also .csv.gz) or Parquet file; none if the file is no such table."""
    try:
        if path.name.endswith(".parquet"):
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names)
        with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as content:
            sample = content.read(_SAMPLE_BYTES)
        header = next(csv.reader(io.StringIO(sample.decode("utf-8-sig", errors="replace"), newline="")), [])
    except (OSError, EOFError, ValueError, csv.Error, zlib.error):
        return ()
    is_whole = len(sample) < _SAMPLE_BYTES or b"\n" in sample or b"\r" in sample
    is_utf8 = not any("\N{REPLACEMENT CHARACTER}" in name for name in header)
    return tuple(header) if is_whole and is_utf8 else ()


def _shape_of_text(path: Path) -> tuple[int, int]:
    size = path.stat().st_size
    with path.open("rb") as file:
        if path.name.endswith(".gz"):
            with gzip.open(file) as content:
                sample = content.read(_SAMPLE_BYTES)
            # How much of the compressed file was read for the sample tells how large all of it is.
            rest = max(1.0, size / max(file.tell(), 1)) if len(sample) == _SAMPLE_BYTES else 1.0
            size = round(len(sample) * rest)
        else:
            sample = file.read(_SAMPLE_BYTES)
    text = sample.decode("utf-8", errors="replace")
    columns = len(next(csv.reader(io.StringIO(text, newline="")), []))
    lines = max(sample.count(b"\n"), sample.count(b"\r"))
    return round(size * lines / max(len(sample), 1)), columns
