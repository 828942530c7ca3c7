"""Train the tuned networks of the main comparison alone, and take the time."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(dataset: str, *, study: StudyConfig, data: Path, out: Path, attempt: int, asked: str, log: Path) -> None:
    """Write the times on all splits, or rows that say why there are none. For `attempt`, `asked`, `log`: `train`."""
    from qrt_study.results.tables import TIMES, write_rows
    from qrt_study.results.tuning import tuned
    from qrt_study.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt_study.running.study_files import TIMED_EXPERIMENTS, StudyFiles
    from qrt_study.training.timing import time_methods, untimed

    files = StudyFiles(study)
    runs = files.read(files.places(TIMED_EXPERIMENTS, [dataset], [0]), "runs").to_pandas()
    experiments = [files.plan.experiments[name] for name in TIMED_EXPERIMENTS if name in files.plan.experiments]
    methods = tuned(runs, experiments, study.protocol)
    if reason := reason_to_give_up(notes_beside(log), attempt):
        print(reason, flush=True)
        rows = [row for split in study.splits for row in untimed(dataset, split, methods, reason)]
        write_rows(out, rows, TIMES)
        return
    with noted_attempt(notes_beside(log), attempt, asked):
        rows = []
        for split in study.splits:
            rows += time_methods(
                dataset, split, methods, data, study.training, log=lambda line: print(line, flush=True)
            )
        write_rows(out, rows, TIMES)
