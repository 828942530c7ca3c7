"""Tell how far the study in this folder is."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--configfile", type=Path, nargs="+", default=[Path("config.yaml")], help="later ones win")
    parser.add_argument("--folder", type=Path, default=Path(), help="where the study runs")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="for the estimate of the time left")


def run(options: argparse.Namespace) -> None:
    """Say it."""
    from qrt.running.status import JobFiles, all_training_jobs, is_running
    from qrt.running.study_files import StudyFiles
    from qrt.study.config import load_config, read_config, read_schema

    config = read_config(options.configfile)
    study = load_config(config, read_schema(Path("workflow/schemas/config.schema.yaml")), root=Path())
    found = JobFiles(all_training_jobs(StudyFiles(study, options.folder))).status()
    print("\n".join(found.lines(options.cores, study_runs=is_running(options.folder))))
