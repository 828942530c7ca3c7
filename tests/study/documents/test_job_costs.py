"""What finished jobs took beside the cost formula."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from conftest import PROJECT
from qrt_study.documents.job_costs import (
    GROUPINGS,
    by_processor,
    finished_jobs,
    grouped,
    hours_at_their_pace,
    pace,
    summaries,
    whole_study,
)

PUBLISHED = PROJECT / "replication/results/networks"


def jobs(*told: tuple[float, dict[str, Any]]) -> pd.DataFrame:
    """Jobs that took so many times what was expected."""
    usual = {"stage": "training", "dataset": "boston", "split": "0", "family": "mlp-3.plain", "rows": 700}
    usual |= {"cpu": "a processor", "expected_seconds": 100.0, "epochs": 50.0, "expected_epochs": 100.0}
    rows = [usual | changed | {"ratio": ratio} for ratio, changed in told]
    table = pd.DataFrame(rows)
    return grouped(table.assign(seconds=table["ratio"] * table["expected_seconds"]))


EVALUATION = {"stage": "evaluation"}


def test_pace_is_the_median_over_long_jobs_of_training() -> None:
    table = jobs((0.5, {}), (0.6, {}), (0.9, {}), (5.0, {"expected_seconds": 1.0}), (9.0, EVALUATION))
    assert pace(table) == pytest.approx(0.6)
    assert pace(table[3:]) == pytest.approx(7.0)  # none is long


def test_summary_counts_jobs_near_the_formula_and_near_the_pace() -> None:
    (all_jobs,) = summaries(jobs((0.5, {}), (0.5, {}), (0.5, {}), (1.0, {})), "stage").to_dict("records")
    expected = {"jobs": 4, "ratio": 0.5, "close": 0.25, "close_to_pace": 0.75, "epochs": 0.5, "per_epoch": 1.0}
    assert all_jobs == pytest.approx(expected | {"hours": 250 / 3600, "expected_hours": 400 / 3600})


def test_each_group_has_one_line() -> None:
    of_sizes = [(0.5, {"rows": rows}) for rows in (499, 500, 1_999, 10_000)]
    table = jobs(*of_sizes, (1.0, {"expected_seconds": 1.0}), (1.0, EVALUATION))
    assert summaries(table, *GROUPINGS)["jobs"].to_dict() == {
        "training": 5,
        "evaluation": 1,
        "training, 10 s or more by the formula": 4,
        "training, shorter": 1,
        "training, mlp-3.plain": 5,
        "evaluation, mlp-3.plain": 1,
        "training, below 500 training rows": 1,
        "training, 500 to 1,999 training rows": 3,
        "training, 10,000 or more training rows": 1,
        "evaluation, 500 to 1,999 training rows": 1,
    }


def test_study_at_the_measured_pace_needs_every_base_model() -> None:
    main, published = (whole_study(PROJECT, "paper", scope) for scope in ("main", "published"))
    measured = jobs((0.5, {}), (2.0, EVALUATION))
    hours = hours_at_their_pace(measured, main)
    as_by_the_formula = hours_at_their_pace(jobs((1.0, {}), (1.0, EVALUATION)), main)
    assert hours is not None
    assert as_by_the_formula is not None
    assert list(hours) == pytest.approx([0.5 * as_by_the_formula[0], 2 * as_by_the_formula[1]])
    assert hours_at_their_pace(measured, published) is None


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="needs the published results, replication/results")
def test_published_jobs_have_all_seconds_of_their_networks() -> None:
    found = pd.concat([of_processor for _, of_processor in by_processor(finished_jobs(PROJECT))])
    seconds = 0.0
    for dataset, of_dataset in found.groupby("dataset"):
        columns = ["seed", "family", "split", "variant", "job_seconds", "evaluation_seconds"]
        networks = pq.read_table(PUBLISHED / f"{dataset}.runs.parquet", columns=columns).to_pandas()
        of_jobs = networks["family"].isin(of_dataset["family"])
        seconds += networks[of_jobs].drop_duplicates(columns[:4])[columns[-2:]].to_numpy(float).sum()
    assert found["seconds"].sum() == pytest.approx(seconds)
