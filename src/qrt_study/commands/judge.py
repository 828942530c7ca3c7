"""Judge every claim of the paper under a protocol, and with each of its switches changed alone."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(*, study: StudyConfig, results: Path, processes: int = 1) -> None:
    """Write verdicts, key numbers and differences of every scenario into its folder below `results`."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt_study.figures.kinds import KINDS
    from qrt_study.plan.artifacts import COMPARISONS
    from qrt_study.results.readings import readings_of, without_repeats
    from qrt_study.results.tables import read_frames
    from qrt_study.running.study_files import JUDGED, JUDGED_COMPARISONS, StudyFiles
    from qrt_study.statistics.figure_statistics import FigureStatistics
    from qrt_study.verdicts.verdict_job import RECORD_COLUMNS, ResultTables, judge_readings

    # Texts as plain objects, as far as they can be: thousands of small selections are faster than with Arrow's strings.
    pd.options.mode.string_storage = "python"
    files = StudyFiles(study)
    inputs, places = files.judge_inputs(), files.places_to_judge()

    def with_objects(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.astype(dict.fromkeys(rows.select_dtypes("str"), object))

    def of_networks(kind: str) -> pd.DataFrame:
        return without_repeats(with_objects(files.read(places, kind, RECORD_COLUMNS[kind]).to_pandas()))

    compared = zip(JUDGED_COMPARISONS, inputs["comparisons"], strict=True)
    tables = ResultTables(
        **{kind: of_networks(kind) for kind in ("runs", "curves", "predictions")},
        methods=with_objects(read_frames([Path(path) for path in inputs["methods"]], "methods")),
        times=with_objects(files.read_times().to_pandas()),
        maps=with_objects(read_frames([Path(path) for path in inputs["maps"]], "maps")),
        dataset_table=pd.read_csv(inputs["datasets"][0]),
        compared={
            name: FigureStatistics.read(Path(folder), KINDS[COMPARISONS[name].kind].tables) for name, folder in compared
        },
    )
    judged = judge_readings(study, tables, log=print, processes=processes)
    for scenario in files.judged_scenarios():
        ours = readings_of(scenario)
        for file, table in zip(JUDGED, (judged.verdicts, judged.numbers, judged.differences), strict=True):
            write_text(results / scenario / file, table[table["reading"].isin(ours)].to_csv(index=False))
