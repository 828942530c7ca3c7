"""Studies and results of hand-made tables, as figures and comparisons take them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from conftest import PROJECT
from qrt_study.figures.kinds import Results
from qrt_study.plan.config import StudyConfig, load_study
from qrt_study.results.tables import TABLES
from support.mock_results import mock_discreteness


def study_of(datasets: Sequence[str], **config: object) -> StudyConfig:
    study = load_study({"datasets": ["paper"]} | config, PROJECT)
    return StudyConfig.from_facts(json.loads(json.dumps(study.facts())) | {"datasets": list(datasets)})


def results_of(datasets: Sequence[str], **tables: pd.DataFrame) -> Results:
    records = {
        name: {"dataset": name, "status": "available", "top10": share, "train_rows": 100 * len(name)}
        for name, share in mock_discreteness(datasets).items()
    }
    empty = {kind: pd.DataFrame(columns=list(TABLES[kind][1])) for kind in ("methods", "curves", "predictions")}
    empty |= {kind: pd.DataFrame(columns=list(TABLES[kind][1])) for kind in ("maps", "sample")}
    return Results(records=records, **(empty | tables))
