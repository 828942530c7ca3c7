"""Draw one figure of the paper from result tables."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("name")
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    for table in ("records", "methods", "curves", "predictions", "maps", "sample"):
        parser.add_argument(f"--{table}", type=Path, nargs="*", default=[])
    parser.add_argument("--statistics", type=Path, required=True, help="folder for the figure's numbers")
    parser.add_argument("--pdf", type=Path, required=True)
    parser.add_argument("--png", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Write numbers, caption and picture, and say the headline."""
    from qrt.data.record import read_record
    from qrt.figures.figure_job import write_figure
    from qrt.figures.figure_kind import Results
    from qrt.results.reported import read_reported
    from qrt.results.tables import read_frames
    from qrt.study.config import StudyConfig

    records = [read_record(path) for path in options.records]
    results = Results(
        records={record["dataset"]: record for record in records},
        methods=read_reported(options.methods, "methods"),
        curves=read_reported(options.curves, "curves"),
        predictions=read_reported(options.predictions, "predictions"),
        maps=read_frames(options.maps, "maps"),
        sample=read_frames(options.sample, "sample"),
    )
    study = StudyConfig.from_facts(options.study)
    print(write_figure(options.name, study, results, options.statistics, pdf=options.pdf, png=options.png))
