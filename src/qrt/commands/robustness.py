"""Report how robust the main comparison is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("methods", type=Path, nargs="*", help="tuned methods of the main comparison")
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    parser.add_argument("--out", type=Path, required=True, help="folder for robustness.*")
    parser.add_argument("--summary", type=Path, required=True, help="CSV of counts over datasets")


def run(options: argparse.Namespace) -> None:
    """Write the page in all its forms, and the numbers behind it."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.pages.robustness import robustness_markdown, robustness_page
    from qrt.pages.study_words import study_words
    from qrt.results.reported import read_reported
    from qrt.results.study_networks import StudyNetworks
    from qrt.statistics.metrics import figure_metrics
    from qrt.statistics.robustness import robustness_statistics
    from qrt.study.config import StudyConfig

    config = StudyConfig.from_facts(options.study)
    table3 = pd.read_csv(options.datasets)
    study = study_words(config, table3, StudyNetworks(config).finished_datasets())
    methods = read_reported(options.methods, "methods")
    discreteness = dict(zip(table3["dataset"], table3["top10"], strict=True))
    statistics = robustness_statistics(methods, figure_metrics(config.protocol), discreteness)
    write_text(options.out / "robustness.html", robustness_page(statistics, study))
    write_text(options.out / "robustness.md", robustness_markdown(statistics, study))
    write_text(options.out / "robustness.csv", statistics.per_dataset.to_csv(index=False))
    write_text(options.summary, statistics.summary.to_csv(index=False))
