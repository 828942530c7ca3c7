"""What finished jobs took beside the cost formula."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from conftest import PROJECT
from qrt_study.documents.job_costs import GROUPINGS, Finished, Processor, finished_jobs, processors, whole_study

PUBLISHED = PROJECT / "replication/results/networks"


def job(ratio: float, expected: float = 100.0, stage: str = "training", rows: int = 700) -> Finished:
    """A job that took so many times what was expected."""
    about = (stage, "boston", "0", "mlp-3.plain", rows, "a processor")
    return Finished(*about, ratio * expected, expected, epochs=50.0, expected_epochs=100.0)


def test_pace_is_the_median_over_long_jobs_of_training() -> None:
    jobs = [job(0.5), job(0.6), job(0.9), job(5.0, expected=1.0), job(9.0, stage="evaluation")]
    assert Processor("a processor", jobs).pace == pytest.approx(0.6)
    assert Processor("a processor", jobs[3:]).pace == pytest.approx(7.0)  # none is long


def test_summary_counts_jobs_near_the_formula_and_near_the_pace() -> None:
    (all_jobs,) = Processor("a processor", [job(0.5), job(0.5), job(0.5), job(1.0)]).summaries("stage")
    assert (all_jobs.jobs, all_jobs.ratio, all_jobs.close, all_jobs.close_to_pace) == (4, 0.5, 0.25, 0.75)
    assert (all_jobs.epochs, all_jobs.per_epoch) == (0.5, 1.0)
    assert [all_jobs.hours, all_jobs.expected_hours] == pytest.approx([250 / 3600, 400 / 3600])


def test_each_group_has_one_line() -> None:
    jobs = [job(0.5, rows=499), job(0.5, rows=500), job(0.5, rows=1_999), job(0.5, rows=10_000), job(1, 1.0)]
    jobs.append(job(1.0, stage="evaluation"))
    counts = {one.name: one.jobs for one in Processor("a processor", jobs).summaries(*GROUPINGS)}
    assert counts == {
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
    measured = [job(0.5), job(2.0, stage="evaluation")]
    hours = Processor("a processor", measured).expected_hours(main)
    as_by_the_formula = Processor("a processor", [job(1.0), job(1.0, stage="evaluation")]).expected_hours(main)
    assert hours is not None
    assert as_by_the_formula is not None
    assert list(hours) == pytest.approx([0.5 * as_by_the_formula[0], 2 * as_by_the_formula[1]])
    assert Processor("a processor", measured).expected_hours(published) is None


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="needs the published results, replication/results")
def test_published_jobs_have_all_seconds_of_their_networks() -> None:
    jobs = [job for processor in processors(list(finished_jobs(PROJECT))) for job in processor.jobs]
    seconds = 0.0
    for dataset in {job.dataset for job in jobs}:
        columns = ["seed", "family", "split", "variant", "job_seconds", "evaluation_seconds"]
        networks = pq.read_table(PUBLISHED / f"{dataset}.runs.parquet", columns=columns).to_pandas()
        of_jobs = networks["family"].isin({job.family for job in jobs if job.dataset == dataset})
        seconds += networks[of_jobs].drop_duplicates(columns[:4])[columns[-2:]].to_numpy(float).sum()
    assert sum(job.seconds for job in jobs) == pytest.approx(seconds)
