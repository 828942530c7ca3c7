"""Compare our values with the published ones."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    parser.add_argument("--differences", type=Path, required=True, help="statistics of Figure 2")
    parser.add_argument("--methods", type=Path, required=True, help="result table of the tuned methods")
    parser.add_argument("--selected", type=Path, required=True, help="statistics of Figure 1")
    parser.add_argument("--times", type=Path, required=True, help="Table 2 as CSV")
    parser.add_argument("--out", type=Path, required=True, help="folder for agreement.*")


def run(options: argparse.Namespace) -> None:
    """Write the page in all its forms, with its figure."""
    import pandas as pd

    from qrt import published
    from qrt.atomic import write_text
    from qrt.figures import style
    from qrt.figures.agreement import draw_agreement
    from qrt.pages.agreement import agreement_markdown, agreement_page
    from qrt.pages.study_words import study_words
    from qrt.results.study_networks import StudyNetworks
    from qrt.statistics.agreement import agreement_statistics, figure1_agreement, split_differences, time_agreement
    from qrt.statistics.metrics import figure_metrics
    from qrt.statistics.times import RELEASED, time_ratios
    from qrt.study.config import StudyConfig

    config = StudyConfig.from_facts(options.study)
    finished = StudyNetworks(config).finished_datasets()
    study = study_words(config, pd.read_csv(options.datasets), finished)
    per_split = split_differences(pd.read_parquet(options.methods), f"test_{figure_metrics(config.protocol)['NLL']}")
    figure2 = agreement_statistics(pd.read_csv(options.differences), published.figure2(), per_split)
    times = time_agreement(time_ratios(pd.read_csv(options.times), RELEASED))
    figure1 = figure1_agreement(pd.read_csv(options.selected), published.figure1_marks())
    points = figure2.points.iloc[:0] if study.demonstration else figure2.points
    pdf, png = options.out / "agreement.pdf", options.out / "agreement.png"
    with style.paper_style():
        figure = (
            style.message_figure(study.demonstration, "Agreement") if study.demonstration else draw_agreement(points)
        )
        style.add_footer(figure, f"Protocol: {study.protocol} · {study.basis}")
        style.save(figure, pdf, png)
    page = agreement_page(figure2, times, figure1, study, png.read_bytes())
    write_text(options.out / "agreement.html", page)
    write_text(options.out / "agreement.md", agreement_markdown(figure2, times, figure1, study))
    write_text(options.out / "agreement.csv", points.to_csv(index=False))
