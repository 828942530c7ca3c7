"""Judge every claim of the paper under every reading."""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--study", type=json.loads, required=True, help="the study's facts as JSON")
    parser.add_argument("--results", type=Path, required=True, help="folder of the study's result tables")
    parser.add_argument("--datasets", type=Path, required=True, help="Table 3 as CSV")
    parser.add_argument("--networks", type=Path, required=True, help="folder of the training jobs' results")
    parser.add_argument("--other-families", nargs="*", default=[], help="families trained for other readings")
    parser.add_argument("--verdicts", type=Path, required=True)
    parser.add_argument("--numbers", type=Path, required=True)


def run(options: argparse.Namespace) -> None:
    """Write verdicts and key numbers."""
    import pandas as pd

    from qrt.atomic import write_text
    from qrt.claims.verdict_job import FROZEN_VERDICTS, Pool, frozen_verdicts, judge_readings, with_frozen_verdicts
    from qrt.results.tables import read_frames
    from qrt.study.config import StudyConfig

    study = StudyConfig.from_facts(options.study)

    def everything(kind: str) -> pd.DataFrame:
        others = [
            options.networks / dataset / f"split{split}" / f"{family}.{kind}.parquet"
            for family in options.other_families
            for dataset in study.datasets
            for split in study.splits
        ]
        return read_frames([options.results / f"{kind}.parquet", *others], kind)

    pool = Pool(
        **{kind: everything(kind) for kind in ("runs", "curves", "predictions")},
        **{kind: read_frames([options.results / f"{kind}.parquet"], kind) for kind in ("methods", "times", "maps")},
        dataset_table=pd.read_csv(options.datasets),
    )
    verdicts, numbers = judge_readings(study, pool, log=print)
    frozen = options.verdicts.with_name(FROZEN_VERDICTS)
    verdicts = with_frozen_verdicts(verdicts, frozen)
    write_text(frozen, frozen_verdicts(verdicts).to_csv(index=False))
    write_text(options.verdicts, verdicts.to_csv(index=False))
    write_text(options.numbers, numbers.to_csv(index=False))
