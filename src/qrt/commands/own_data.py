"""Report which method predicts the user's own data best, and how sure that is."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("datasets", nargs="*", help="names of the user's datasets")
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--records", type=Path, nargs="*", default=[], help="their records, in this order")
    parser.add_argument("--methods", type=Path, nargs="*", default=[], help="their tuned methods, in this order")
    parser.add_argument("--comparisons", type=Path, required=True, help="CSV of the best method beside the others")
    parser.add_argument("--out", type=Path, required=True, help="folder for own_data.html, own_data.txt and the tables")


def run(options: argparse.Namespace) -> None:
    """Write the page, the text for the terminal and the tables."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.data.record import read_record
    from qrt.data.split import MAX_ROWS, part_sizes
    from qrt.errors import UserError
    from qrt.pages.own_data import METHODS, OwnReport, own_data_page, own_data_text
    from qrt.results.study_networks import StudyNetworks
    from qrt.results.tables import read_frames
    from qrt.statistics.own_data import own_statistics
    from qrt.study.config import StudyConfig
    from qrt.study.protocol import describe

    if not options.datasets:
        raise UserError(
            "there is nothing to compare: the configuration has no own_datasets, or no method of the main comparison; "
            "docs/data.md says how data of your own joins the study"
        )
    study = StudyConfig.from_facts(options.study)
    layout = StudyNetworks(study).layout
    reports = []
    for dataset, record_file, methods_file in zip(options.datasets, options.records, options.methods, strict=True):
        record = read_record(record_file)
        train_rows, _, _, test_rows = part_sizes(min(record.get("rows", 0), MAX_ROWS))
        methods = read_frames([methods_file], "methods")
        statistics = own_statistics(
            dataset, methods, study.protocol, list(METHODS), test_share=test_rows / max(train_rows, 1)
        )
        table = options.out / f"own_data/{dataset}.csv"
        write_text(table, statistics.scores.to_csv(index=False))
        written = (
            f"{options.out}/own_data.html",
            f"{options.out}/own_data.txt",
            str(table),
            str(options.comparisons),
            str(methods_file),
            layout.networks_of(dataset),
            str(record_file),
        )
        reports.append(OwnReport(dataset, record, statistics, test_rows, written))
    comparisons = pd.concat([report.statistics.comparisons for report in reports], ignore_index=True)
    write_text(options.comparisons, comparisons.to_csv(index=False))
    basis = f"Protocol: {describe(study.protocol_name, study.protocol)}."
    trial = (
        f"A trial: {study.training_words}. Train as long as the paper did before you choose." if study.is_short else ""
    )
    write_text(options.out / "own_data.html", own_data_page(reports, basis, trial))
    write_text(options.out / "own_data.txt", own_data_text(reports, basis, trial))
