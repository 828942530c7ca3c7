"""Report what another random start changes."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("methods", type=Path, nargs="*", help="tuned methods of the main comparison, one file per seed")
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    parser.add_argument("--out", type=Path, required=True, help="folder for seeds.*")
    parser.add_argument("--per-seed", type=Path, required=True, help="CSV of what each seed alone reports")
    parser.add_argument("--summary", type=Path, required=True, help="CSV of medians and counts over datasets")


def run(options: argparse.Namespace) -> None:
    """Write the page in all its forms, with its figure and the numbers behind it."""
    import pandas as pd

    from qrt import published
    from qrt.atomic import write_text
    from qrt.figures import style
    from qrt.figures.seeds import draw_seeds
    from qrt.pages.seeds import seeds_markdown, seeds_page
    from qrt.pages.study_words import study_words
    from qrt.results.study_networks import StudyNetworks
    from qrt.results.tables import read_frames
    from qrt.statistics.metrics import figure_metrics
    from qrt.statistics.seeds import seed_statistics
    from qrt.study.config import StudyConfig
    from qrt.text.words import counted

    config = StudyConfig.from_facts(options.study)
    finished = StudyNetworks(config).finished_datasets()
    study = study_words(config, pd.read_csv(options.datasets), finished)
    statistics = seed_statistics(read_frames(options.methods, "methods"), figure_metrics(config.protocol))
    # Networks that are trained for a few epochs have nothing to do with the published values.
    theirs = published.figure2() if config.published and not study.demonstration else None
    with_seeds = f"{counted(len(statistics.datasets), 'dataset')} with up to {counted(statistics.seeds, 'seed')}"
    footer = [f"Protocol: {study.protocol}", study.basis, with_seeds]
    pdf, png = options.out / "seeds.pdf", options.out / "seeds.png"
    with style.paper_style():
        figure = draw_seeds(statistics.per_dataset, statistics.per_seed, theirs)
        style.add_footer(figure, " · ".join(filter(None, [study.demonstration, *footer])))
        style.save(figure, pdf, png)
    write_text(options.out / "seeds.html", seeds_page(statistics, study, png.read_bytes()))
    write_text(options.out / "seeds.md", seeds_markdown(statistics, study))
    write_text(options.out / "seeds.csv", statistics.per_dataset.to_csv(index=False))
    write_text(options.per_seed, statistics.per_seed.to_csv(index=False))
    write_text(options.summary, statistics.summary.to_csv(index=False))
