"""The commands of `python -m qrt_study`: where each is, and those of the stages that train and collect.

The signature of a command is its command line. Whatever is large is imported where it is used: jobs are short.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qrt_study.plan.config import StudyConfig
from qrt_study.plan.family import Family

# Name -> module and function; those without a module are below.
COMMANDS = {
    **dict.fromkeys(("fetch", "prepare", "train", "evaluate", "tune", "time", "collect", "maps", "publish"), ""),
    "retrain": "results.retraining:retrain",
    "predict": "results.prediction_job:predict",
    "score": "results.score_job:score",
    "condition": "results.conditional_job:condition",
    "pits": "results.pit_job:pits",
    "compare": "figures.compare_job:compare",
    "judge": "verdicts.verdict_job:judge_study",
    "figure": "figures.figure_job:draw_figure",
    "table": "tables.study_tables:write_table",
    "page": "pages.page_job:write_page",
    "own_data": "pages.own_data:write_own_data",
    "explorer": "pages.explorer:write_explorer",
    "article": "documents.article:compile_article",
    "report": "running.report:make_report",
    "check_sources": "data.check_sources:tell_sources",
    "status": "running.status:tell_status",
    "run_steps": "running.step_calls:run_steps",
}


def fetch(
    dataset: str,
    *,
    table: Path,
    record: Path,
    sources: str = os.environ.get("QRT_SOURCES", "mirror,openml,uci"),
    mirror: str = os.environ.get("QRT_MIRROR", ""),
    own: Mapping[str, Any] | None = None,
    cache: Path = Path("data/cache"),
    lock: Path = Path("datasets.lock.json"),
) -> None:
    """Get one dataset from the first source that has it, into `table` (Parquet) and `record` (JSON).

    `own` is an entry of own_datasets.
    """
    from qrt_study.data import fetch as sources_of_data
    from qrt_study.data.record import record_in_words

    found = sources_of_data.fetch(
        dataset,
        table,
        record,
        sources=sources.split(","),
        mirror=Path(mirror) if mirror else None,
        own=dict(own) if own else None,
        cache=cache,
        lock=lock,
    )
    print(record_in_words(found))


def prepare(dataset: str, *, table: Path, record: Path, out: Path, expected: str = "any") -> None:
    """Turn a fetched table into numbers: x.npy, y.npy and record.json in `out`.

    Other data than that with the checksum `expected` is refused: published networks were trained on it.
    """
    from qrt.errors import UserError
    from qrt_study.data.own_data_words import is_own, own_data_sentences
    from qrt_study.data.prepared_store import prepare_dataset
    from qrt_study.data.record import data_checksum, record_in_words

    prepared = prepare_dataset(dataset, table, record, out)
    print(record_in_words(prepared))
    if is_own(prepared):
        print("\n".join(f"  {sentence}" for sentence in own_data_sentences(prepared)))
    if expected != "any" and prepared["status"] == "available" and data_checksum(prepared) != expected:
        raise UserError(
            f"{dataset}: this is other data than the published networks were trained on, so they cannot be extended. "
            "Train all of its networks anew (networks: new), or get the data of the published study"
        )


def train(
    dataset: str,
    split: int,
    *,
    seed: int,
    data: Path,
    family: Family,
    training: Mapping[str, int],
    out: Path,
    attempt: int,
    asked: str,
    log: Path,
) -> None:
    """Train one family of networks on the prepared `data`, or leave rows that say why not.

    `attempt` is the number of this attempt, `asked` the memory and time that it may take, in words; attempts are noted
    beside `log`.
    """
    from qrt_study.data.record import read_record
    from qrt_study.running.attempts import noted_attempt, notes_beside, reason_to_give_up
    from qrt_study.training.networks_file import NetworkResult, write_networks

    def write_failed(status: str, reason: str) -> None:
        write_networks(out, [NetworkResult(network, status, reason) for network in family.networks])

    record = read_record(data / "record.json")
    if record["status"] != "available":
        write_failed(record["status"], record["reason"])
        return
    if reason := reason_to_give_up(notes_beside(log), attempt):
        print(reason, flush=True)
        write_failed("failed", reason)
        return
    with noted_attempt(notes_beside(log), attempt, asked):
        from qrt_study.training.family_job import train_family

        networks = train_family(data, split, seed, family, training, log=lambda line: print(line, flush=True))
        write_networks(out, networks)


def time(dataset: str, *, study: StudyConfig, data: Path, out: Path, attempt: int, asked: str, log: Path) -> None:
    """Train the tuned networks of the main comparison alone on all splits, and take the time, or say why not.

    For `attempt`, `asked` and `log`: `train`.
    """
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


def evaluate(
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
    """Evaluate the networks of one family; `networks` are the files of the training jobs of these `splits`.

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


def tune(experiment: str, *, study: StudyConfig, seed: int, out: Path) -> None:
    """Tune the methods of one experiment, and say what has no result."""
    from qrt_study.results.tables import METHODS, write_rows
    from qrt_study.results.tuning import left_out, tuned_methods
    from qrt_study.running.study_files import StudyFiles

    files = StudyFiles(study)
    runs = files.read(files.places([experiment], seeds=[seed]), "runs").to_pandas()
    methods = tuned_methods(runs, files.plan.experiments[experiment], study.protocol)
    write_rows(out, methods.astype(object).where(methods.notna(), None).to_dict("records"), METHODS)
    for line in left_out(methods):
        print(line)


def collect(kind: str, *, study: StudyConfig, out: Path) -> None:
    """Join the results of one kind into one table."""
    from qrt_study.parquet_file import read_tables, write_table
    from qrt_study.results.archive import FROM_PREDICTIONS
    from qrt_study.results.tables import TABLES
    from qrt_study.running.study_files import StudyFiles

    files = StudyFiles(study)
    if kind in ("methods", *FROM_PREDICTIONS):
        table = read_tables([Path(path) for path in files.collected(kind)], TABLES[kind][1])
    elif kind == "times":
        table = files.read_times()
    else:
        table = files.read(files.places(with_curves=kind != "runs"), kind)
    write_table(out, table)
    print(f"{out}: {len(table)} rows")


def maps(*, study: StudyConfig, maps: Path, sample: Path) -> None:
    """Fit the calibration maps of Figure 11 to simulated PITs, which are the `sample`."""
    from qrt_study.results.simulated_maps import map_comparison
    from qrt_study.results.tables import MAPS, SAMPLE, write_rows

    rows, points = map_comparison(study.protocol.kernel_width)
    write_rows(maps, rows, MAPS)
    write_rows(sample, points, SAMPLE)


def publish(*, folder: Path = Path(), archive: Path = Path("replication/results"), mixed: str = "") -> None:
    """Add the finished results of the study in `folder` to the `archive`, and say what is in it.

    `mixed` says why networks of different versions of training belong together.
    """
    import subprocess
    from datetime import UTC, datetime

    from qrt_study.data.record import file_sha256
    from qrt_study.results.archive import pack, unfinished
    from qrt_study.verdicts.frozen import claims_checksum

    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    notes = {
        "commit": commit.stdout.strip(),
        "published": datetime.now(UTC).date().isoformat(),
        "lock_file_sha256": file_sha256(Path("requirements.lock")),
        "claims_checksum": claims_checksum(),
    }
    contents = pack(folder, archive, notes, mixed=mixed)
    for path in unfinished(folder):
        print(f"not on all splits, so left out: {path}")
    size = sum(path.stat().st_size for path in archive.rglob("*") if path.is_file()) / 1e6
    print(
        f"{archive}: {contents.networks} networks on {len(contents.datasets)} datasets, "
        f"{contents.cpu_hours:g} CPU-hours of training, {size:.1f} MB"
    )
