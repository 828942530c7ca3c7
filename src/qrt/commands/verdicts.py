"""Judge every claim of the paper under every reading."""

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
    parser.add_argument("--processes", type=int, default=1)


def run(options: argparse.Namespace) -> None:
    """Write verdicts, key numbers and differences."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.claims.verdict_job import (
        FROZEN_VERDICTS,
        POOL_COLUMNS,
        Pool,
        frozen_verdicts,
        judge_readings,
        with_frozen_verdicts,
    )
    from qrt.results.layout import Layout
    from qrt.results.readings import files_of_other_readings, without_repeats
    from qrt.results.reported import read_reported
    from qrt.study.config import StudyConfig

    # Texts as plain objects, as far as they can be: thousands of small selections are faster than with Arrow's strings.
    pd.options.mode.string_storage = "python"
    study = StudyConfig.from_facts(options.study)
    layout = Layout(study.results, study.networks)

    def of_kind(kind: str) -> pd.DataFrame:
        rows = reported(kind)
        return rows.astype(dict.fromkeys(rows.select_dtypes("str"), object))

    def reported(kind: str) -> pd.DataFrame:
        if kind not in ("runs", "curves", "predictions"):
            return read_reported([Path(layout.table(kind))], kind)
        others = files_of_other_readings(study, kind)
        paths = [Path(path) for path in (layout.table(kind), *others)]
        rows = read_reported(paths, kind, study.splits, POOL_COLUMNS.get(kind))
        return without_repeats(rows) if others else rows

    pool = Pool(
        **{kind: of_kind(kind) for kind in ("runs", "curves", "predictions", "methods", "times", "maps")},
        dataset_table=pd.read_csv(options.datasets),
    )
    judged = judge_readings(study, pool, log=print, processes=options.processes)
    frozen = options.verdicts.with_name(FROZEN_VERDICTS)
    verdicts = with_frozen_verdicts(judged.verdicts, frozen)
    write_text(frozen, frozen_verdicts(verdicts).to_csv(index=False))
    write_text(options.verdicts, verdicts.to_csv(index=False))
    write_text(options.numbers, judged.numbers.to_csv(index=False))
    write_text(options.differences, judged.differences.to_csv(index=False))
