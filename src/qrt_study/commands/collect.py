"""Join the results of one kind into one table."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(kind: str, *, study: StudyConfig, out: Path) -> None:
    """Join, and say how many rows there are."""
    from qrt_study.parquet_file import read_tables, write_table
    from qrt_study.results.tables import METHODS
    from qrt_study.running.study_files import StudyFiles

    files = StudyFiles(study)
    if kind == "methods":
        table = read_tables([Path(path) for path in files.collected(kind)], METHODS)
    elif kind == "times":
        table = files.read_times()
    else:
        table = files.read(files.places(with_curves=kind != "runs"), kind)
    write_table(out, table)
    print(f"{out}: {len(table)} rows")
