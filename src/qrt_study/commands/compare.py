"""Compute the numbers of one figure or comparison."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(name: str, *, study: StudyConfig, out: Path) -> None:
    """Write tables, summary.json and caption.rst into `out`, and say the headline."""
    from qrt_study.data.record import read_record
    from qrt_study.figures.compare_job import write_statistics
    from qrt_study.figures.figure_kind import Results
    from qrt_study.results.tables import read_frames
    from qrt_study.results.tuning import tuned
    from qrt_study.running.study_files import StudyFiles
    from qrt_study.statistics.curves import CURVE_COLUMNS

    files = StudyFiles(study)
    inputs = files.comparison_inputs(name)
    given = {table: [Path(path) for path in paths] for table, paths in inputs.items()}
    paths = {table: given.get(table, []) for table in ("records", "methods", "maps", "sample")}
    records = [read_record(path) for path in paths["records"]]
    methods, shown = read_frames(paths["methods"], "methods"), files.shown_places(name)
    if "runs" in inputs:
        methods = tuned(files.read(files.example_places(name), "runs").to_pandas(), files.examples, study.protocol)
    curves, predictions = (files.read(shown if kind in inputs else [], kind) for kind in ("curves", "predictions"))
    results = Results(
        records={record["dataset"]: record for record in records},
        methods=methods,
        curves=curves.select(list(CURVE_COLUMNS)).to_pandas(),
        predictions=predictions.to_pandas(),
        maps=read_frames(paths["maps"], "maps"),
        sample=read_frames(paths["sample"], "sample"),
    )
    print(write_statistics(name, study, results, out))
