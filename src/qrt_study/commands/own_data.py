"""Report which method predicts the user's own data best, and how sure that is."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(datasets: list[str], *, study: StudyConfig, out: Path) -> None:
    """Write the page, the text for the terminal and the tables of these datasets into `out`."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.engine.split import MAX_ROWS, part_sizes
    from qrt.errors import UserError
    from qrt_study.data.record import read_record
    from qrt_study.pages.own_data import METHODS, OwnReport, own_data_page, own_data_text
    from qrt_study.plan.protocol import describe
    from qrt_study.results.layout import prepared_data
    from qrt_study.results.tuning import tuned
    from qrt_study.running.study_files import StudyFiles
    from qrt_study.statistics.own_data import own_statistics

    files = StudyFiles(study)
    experiments = [files.plan.experiments[name] for name in files.own_data_experiments]
    if not datasets or not experiments:
        raise UserError(
            "there is nothing to compare: the configuration has no own_datasets, or no method of the main comparison; "
            "docs/data.md says how data of your own joins the study"
        )
    reports = []
    for dataset in datasets:
        record = read_record(Path(prepared_data(dataset)))
        train_rows, _, _, test_rows = part_sizes(min(record.get("rows", 0), MAX_ROWS))
        runs = files.read(files.places(files.own_data_experiments, [dataset], [0]), "runs").to_pandas()
        methods = tuned(runs, experiments, study.protocol)
        statistics = own_statistics(
            dataset, methods, study.protocol, list(METHODS), test_share=test_rows / max(train_rows, 1)
        )
        table = out / f"own_data/{dataset}.csv"
        write_text(table, statistics.scores.to_csv(index=False))
        written = (
            f"{out}/own_data.html",
            f"{out}/own_data.txt",
            str(table),
            f"{out}/own_data.csv",
            files.layout.networks_of(dataset),
            prepared_data(dataset),
        )
        reports.append(OwnReport(dataset, record, statistics, test_rows, written))
    comparisons = pd.concat([report.statistics.comparisons for report in reports], ignore_index=True)
    write_text(out / "own_data.csv", comparisons.to_csv(index=False))
    basis = f"Protocol: {describe(study.scenario, study.protocol)}."
    trial = (
        f"A trial: {study.training_words}. Train as long as the paper did before you choose." if study.is_short else ""
    )
    write_text(out / "own_data.html", own_data_page(reports, basis, trial))
    write_text(out / "own_data.txt", own_data_text(reports, basis, trial))
