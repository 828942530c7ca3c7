"""Evaluate the trained networks of one family on one dataset, split by split."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.family import Family


def run(
    dataset: str,
    *,
    seed: int,
    data: Path,
    networks: list[Path],
    splits: list[int],
    family: Family,
    examples: bool = False,
    runs: Path,
    curves: Path,
    predictions: Path,
) -> None:
    """Write the rows of every table; `networks` are the files of the training jobs of these `splits`.

    With `examples`, predictive densities of some test rows are kept.
    """
    from qrt_study.parquet_file import write_rows
    from qrt_study.results.evaluation_job import evaluate_family
    from qrt_study.results.tables import CURVES, PREDICTIONS, RUNS

    files = dict(zip(splits, networks, strict=True))
    rows = evaluate_family(dataset, data, seed, family, files, examples=examples)
    write_rows(runs, rows.runs, RUNS)
    write_rows(curves, rows.curves, CURVES)
    write_rows(predictions, rows.predictions, PREDICTIONS)
    print(f"{dataset}, {family.name}: {len(rows.runs)} rows")
