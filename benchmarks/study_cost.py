"""What the study costs by the formula of src/qrt_study/plan/cost.py: CPU-hours by protocol, scope and base model.

    python benchmarks/study_cost.py
    python benchmarks/study_cost.py --measured      compare with the jobs behind the published results
    python benchmarks/study_cost.py --measured --study ../study     with those of a study that is not published yet

All 57 datasets, 5 splits. Takes a few seconds and trains nothing.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from measuring import PROJECT
from qrt.methods import BASE_MODELS
from qrt_study.documents.job_costs import (
    CLOSE,
    GROUPINGS,
    by_processor,
    finished_jobs,
    hours_at_their_pace,
    jobs_on_a_split,
    pace,
    pace_of_base_models,
    summaries,
    whole_study,
)
from qrt_study.plan.protocol import PROTOCOLS

SCOPES = ("main", "published", "everything")
CORES = 40


def print_costs() -> None:
    """One line for each protocol and scope."""
    columns = ("jobs", "networks", "CPU-hours", *BASE_MODELS, "evaluation", f"on {CORES} cores", "longest job")
    print(f"{'protocol':9} {'scope':11}" + "".join(f"{column:>12}" for column in columns))
    for protocol in PROTOCOLS:
        for scope in SCOPES:
            files = whole_study(PROJECT, protocol, scope)
            splits = len(files.study.splits)
            hours, evaluation, longest, number, networks = dict.fromkeys(BASE_MODELS, 0.0), 0.0, 0.0, 0, 0
            for model, job in jobs_on_a_split(files):
                hours[model] += splits * job.seconds / 3600
                evaluation += job.evaluation_seconds / 3600
                longest = max(longest, job.seconds / 3600)
                number += splits
                networks += splits * len(job.family.networks)
            total = sum(hours.values())
            wall = max((total + evaluation) / CORES, longest)
            numbers = (total, *hours.values(), evaluation, wall, longest)
            counts = "".join(f"{count:12,}" for count in (number, networks))
            print(f"{protocol:9} {scope:11}" + counts + "".join(f"{value:12.1f}" for value in numbers))


def print_comparison(found: pd.DataFrame, *, every: bool) -> None:
    """What finished jobs took beside the formula: by stage, by kind of family, by size of the data, and each job."""
    if every:
        print(f"{'job':80}{'CPU s':>9}{'formula':>9}{'epochs':>8}{'formula':>9}  processor")
        for job in found.itertuples():
            name = f"{job.stage} {job.dataset}, split {job.split}, {job.family}"
            epochs = " " * 17 if np.isnan(job.epochs) else f"{job.epochs:8.0f}{job.expected_epochs:9.0f}"
            print(f"{name:80}{job.seconds:9.1f}{job.expected_seconds:9.1f}{epochs}  {job.cpu}")
    for processor, jobs in by_processor(found):
        print(f"\n{processor}: pace {pace(jobs):.2f}")
        columns = ("jobs", "median", "close", "to pace", "epochs", "per epoch", "CPU-hours", "formula")
        print(f"{'CPU seconds / formula':50}" + "".join(f"{column:>11}" for column in columns))
        for one in summaries(jobs, *GROUPINGS).itertuples():
            shares = "".join(f"{share:11.0%}" for share in (one.close, one.close_to_pace))
            ratios = (f"{value:11.2f}" if np.isfinite(value) else f"{'':11}" for value in (one.epochs, one.per_epoch))
            numbers = f"{shares}{''.join(ratios)}{one.hours:11.2f}{one.expected_hours:11.2f}"
            print(f"{one.Index:50}{one.jobs:11}{one.ratio:11.2f}{numbers}")
        paces = pace_of_base_models(jobs).items()
        print("CPU-hours measured / formula: " + "; ".join(f"{name} {of_model:.2f}" for name, of_model in paces))
        for scope in SCOPES:
            hours = hours_at_their_pace(jobs, whole_study(PROJECT, "paper", scope))
            if hours is None:
                print(f"paper, {scope}: not every base model was measured")
            else:
                print(f"paper, {scope}: {hours[0]:.0f} CPU-hours of training, {hours[1]:.0f} of evaluation")
    print(
        f"\nclose, to pace: within a factor of {CLOSE} of the formula, and of the formula times the pace; "
        "epochs, per epoch: median ratios of epochs and of seconds for each"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", action="store_true", help="compare with the jobs behind the published results")
    parser.add_argument("--study", type=Path, help="those of the study in this folder instead")
    parser.add_argument("--every", action="store_true", help="each job, too")
    options = parser.parse_args()
    if options.measured:
        print_comparison(finished_jobs(PROJECT, options.study), every=options.every)
    else:
        print_costs()


if __name__ == "__main__":
    main()
