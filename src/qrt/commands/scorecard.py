"""Write the scorecard and the page of disagreements."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    parser.add_argument("--verdicts", type=Path, required=True)
    parser.add_argument("--numbers", type=Path, required=True)
    parser.add_argument("--differences", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder for scorecard.* and disagreements.*")
    parser.add_argument("--landing", type=Path, required=True, help="text of the report's first page")


def run(options: argparse.Namespace) -> None:
    """Write both pages in all their forms, and say what came out."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.claims.frozen import frozen_state
    from qrt.claims.verdict_job import read_verdicts
    from qrt.pages import disagreements, scorecard
    from qrt.pages.changed_differences import changed_differences
    from qrt.pages.landing import landing_page
    from qrt.pages.readings import TITLE, Readings, summary_lines
    from qrt.pages.study_words import study_words
    from qrt.results.study_networks import StudyNetworks
    from qrt.study.config import StudyConfig

    numbers = pd.read_csv(options.numbers)
    by_dataset = changed_differences(pd.read_csv(options.differences))
    config = StudyConfig.from_facts(options.study)
    finished = StudyNetworks(config).finished_datasets()
    study = study_words(config, pd.read_csv(options.datasets), finished)
    readings = Readings(read_verdicts(options.verdicts), study)
    frozen = frozen_state().words
    write_text(options.out / "scorecard.csv", scorecard.scorecard_csv(readings).to_csv(index=False))
    write_text(options.out / "scorecard.html", scorecard.scorecard_page(readings, frozen))
    write_text(options.out / "scorecard.md", scorecard.scorecard_markdown(readings, frozen))
    table = disagreements.disagreements_csv(readings, numbers)
    write_text(options.out / "disagreements.csv", table.to_csv(index=False))
    write_text(options.out / "disagreements_by_dataset.csv", by_dataset.to_csv(index=False))
    page = disagreements.disagreements_page(readings, numbers, by_dataset)
    write_text(options.out / "disagreements.html", page)
    text = disagreements.disagreements_markdown(readings, numbers, by_dataset)
    write_text(options.out / "disagreements.md", text)
    lines = summary_lines(readings)
    write_text(options.landing, landing_page(lines))
    print("\n".join([TITLE, *lines]))
