"""Write one table of the paper, or one that goes with the pages."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(name: str, *, study: StudyConfig, csv: Path, tex: Path, markdown: Path) -> None:
    """Write the table in its three forms."""
    from qrt_study.running.study_files import StudyFiles
    from qrt_study.tables.study_tables import STUDY_TABLES
    from qrt_study.tables.table_files import write_table

    write_table(*STUDY_TABLES[name](StudyFiles(study)), csv=csv, tex=tex, markdown=markdown)
