"""Tell how far the study in this folder is."""

from __future__ import annotations

import argparse
import os
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--configfile",
        type=Path,
        nargs="+",
        help="later ones win; without it the study that runs here, or the last that did",
    )
    parser.add_argument("--folder", type=Path, default=Path(), help="where the study runs")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="for the estimate of the time left")


def run(options: argparse.Namespace) -> None:
    """Say it."""
    from qrt.running.status import JobFiles, all_training_jobs, is_running, noted_study, study_in_words
    from qrt.running.study_files import StudyFiles
    from qrt.study.config import load_config, read_config, read_schema

    study = None if options.configfile else noted_study(options.folder)
    if study is None:
        config = read_config(options.configfile or [Path("config.yaml")])
        study = load_config(config, read_schema(Path("workflow/schemas/config.schema.yaml")), root=Path())
    print(f"Study: {study_in_words(study)}")
    found = JobFiles(all_training_jobs(StudyFiles(study, options.folder))).status()
    print("\n".join(found.lines(options.cores, study_runs=is_running(options.folder))))
