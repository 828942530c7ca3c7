"""Finished results as a folder of few, small files that a repository can hold (`results.published_results` reads it).

One Parquet file per dataset and kind of rows (`runs`, `curves`, `predictions`), one with the predictions of the main
comparison, one per protocol with the times and with what was computed from predictions, and the records of the
datasets. Measured values are rounded to float32 (seven digits), which is far below the noise of a
run; what names a network is exact. `manifest.json` says what is there, how it was computed, and the checksum of each
file and of itself. Packing adds to what is published: networks stay unless their dataset has other data now.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from qrt.atomic import whole_file
from qrt.errors import UserError
from qrt_study.data.record import file_sha256, read_record, write_record
from qrt_study.inside import path_inside
from qrt_study.parquet_file import NUMBER, TEXT, read_tables
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.layout import Layout, prepared_data, splits_word
from qrt_study.results.prediction_file import PredictionFile
from qrt_study.results.published_results import MANIFEST, PublishedResults, check_manifest
from qrt_study.results.tables import TABLES

KINDS = ("runs", "curves", "predictions")
FROM_PREDICTIONS = ("scores", "conditional")
_FOLDERS = ("networks", "times", "predictions", *FROM_PREDICTIONS, "records")
CPU_HOURS = ("cpu_hours", "evaluation_cpu_hours", "timing_cpu_hours")  # of the manifest: all that was spent
SPLITS = (0, 1, 2, 3, 4)  # of the published study
_MEASURED = ("val_", "test_", "train_", "nll", "alpha_entropy_pit", "pce", "density", "y", "target", "seconds_per_")
_COSTS = ("job_seconds", "evaluation_seconds")
# What rows have in place of a version that were trained before there were versions: a fingerprint of the code.
FINGERPRINTS = {"ab181715a39a0554": "1"}
_SUMMARY = ["dataset", "split", "seed", "family", "variant", "data", "code", "cpu", *_COSTS, "status"]


@dataclass(frozen=True)
class Contents:
    """What an archive holds, in numbers for its manifest."""

    networks: int
    rows: dict[str, int]
    training_version: dict[str, int]  # version of training -> networks
    processors: dict[str, int]
    cpu_hours: float  # of the training jobs, from their start to their outputs
    evaluation_cpu_hours: float
    timing_cpu_hours: float  # of networks that were trained alone for their times
    splits: list[int]
    datasets: dict[str, str]  # name -> checksum of the prepared data
    families: dict[str, dict[str, list[str]]]  # dataset -> seed -> families
    timed: dict[str, list[str]]  # protocol -> datasets with training times


def pack(study: Path, archive: Path, notes: Mapping[str, Any], *, mixed: str = "") -> Contents:
    """Add the finished results of the study in the folder `study` to those in `archive`.

    A family of networks is finished on a dataset when it was trained on all splits. Networks of different versions of
    training are refused, unless `mixed` says why they belong together; so are damaged ones.
    """
    for name in _FOLDERS:
        path_inside(archive, name)
    before = PublishedResults(archive) if (archive / MANIFEST).is_file() else None
    layout = Layout("results/networks")
    networks = study / layout.networks
    here = sorted(path.name for path in networks.iterdir() if path.is_dir()) if networks.is_dir() else []
    names = sorted({*here, *(before.manifest["datasets"] if before else ())})
    tables = {name: _rows_of_dataset(name, study, layout, before) for name in names}
    tables = {name: found for name, found in tables.items() if len(found["runs"])}
    if not tables:
        raise UserError(f"{networks}: there are no finished results to publish; run the study first")
    changed = [name for name in tables if before and before.data(name) not in ("", _data_of(tables[name]))]
    times = {protocol: _times(protocol, study, before, changed) for protocol in PROTOCOLS}
    rows = {kind: sum(len(found[kind]) for found in tables.values()) for kind in KINDS}
    rows["times"] = sum(map(len, times.values()))
    contents = _contents(pa.concat_tables([found["runs"].select(_SUMMARY) for found in tables.values()]), rows, times)
    _refuse_mixture(contents, mixed)
    check_manifest(study, vars(contents) | {"files": {}})
    # Read, and checked, before anything is written.
    predictions = _predictions(study, before, contents.datasets)
    computed = {
        archive / kind / f"{protocol}.parquet": _from_predictions(kind, protocol, study, before, changed)
        for kind in FROM_PREDICTIONS
        for protocol in PROTOCOLS
    }
    written = _records(study, archive, before)
    written += [
        _write(archive / "networks" / f"{name}.{kind}.parquet", table)
        for name, found in tables.items()
        for kind, table in found.items()
        if len(table)
    ]
    written += [_write(archive / "times" / f"{name}.parquet", table) for name, table in times.items() if len(table)]
    written += [_copied(source, archive / "predictions" / f"{name}.parquet") for name, source in predictions.items()]
    written += [_write(path, table) for path, table in computed.items() if len(table)]
    _remove_others(archive, written)
    manifest = dict(notes) | vars(contents) | {"mixed": mixed}
    manifest["files"] = {str(path.relative_to(archive)): file_sha256(path) for path in sorted(written)}
    write_record(archive / MANIFEST, manifest)
    return contents


def unfinished(study: Path) -> list[str]:
    """The evaluated networks of a study that are not on all splits, and so are not published."""
    networks = study / Layout("results/networks").networks
    whole = f"splits{splits_word(SPLITS)}"
    found = networks.glob("*/seed*/splits*/*.runs.parquet")
    return sorted(str(path.relative_to(networks)) for path in found if path.parent.name != whole)


def _rows_of_dataset(dataset: str, study: Path, layout: Layout, before: PublishedResults | None) -> dict[str, pa.Table]:
    """The rows of all kinds of a dataset: those published before, and those of the study that are new.

    Where the study has other data than the published networks, these leave.
    """
    folder, whole = study / layout.networks_of(dataset), f"splits{splits_word(SPLITS)}"
    new = {kind: _of_study(sorted(folder.glob(f"seed*/{whole}/*.{kind}.parquet")), kind) for kind in KINDS}
    untrained = _place_names(new["runs"].filter(pc.equal(new["runs"]["code"], "")))  # no data, or given up
    new = {kind: _without(untrained, table) for kind, table in new.items()}
    old = {kind: _of_archive(dataset, kind, before) for kind in KINDS}
    named = {name for table in (*new.values(), *old.values()) for name in table["dataset"].unique().to_pylist()}
    if named - {dataset}:
        raise UserError(f"{dataset}: its files have rows of other datasets: {', '.join(map(repr, named - {dataset}))}")
    data = set(new["runs"]["data"].unique().to_pylist())
    if len(data) > 1:
        raise UserError(f"{dataset}: its networks were trained on {len(data)} different versions of the data")
    if data and before is not None and before.data(dataset) not in ("", *data):
        return new
    kept = {kind: _without(_place_names(new["runs"]), table) for kind, table in old.items()}
    return {kind: _sorted(pa.concat_tables([kept[kind], new[kind]])) for kind in KINDS}


def _of_study(paths: list[Path], kind: str) -> pa.Table:
    return read_tables(paths, TABLES[kind][1])


def _of_archive(dataset: str, kind: str, before: PublishedResults | None) -> pa.Table:
    path = before.rows_file(dataset, kind) if before else None
    return before.read(path, kind) if before and path else _of_study([], kind)


def _place_names(table: pa.Table) -> pa.ChunkedArray:
    """Seed and family of each row."""
    return pc.binary_join_element_wise(table["seed"].cast(pa.string()), table["family"], "/")


def _without(places: pa.ChunkedArray, table: pa.Table) -> pa.Table:
    return table.filter(pc.invert(pc.is_in(_place_names(table), pc.unique(places))))


def _sorted(table: pa.Table) -> pa.Table:
    """By seed and family; the rows of a place stay in their order (Arrow's sort is stable)."""
    return table.sort_by([("seed", "ascending"), ("family", "ascending")])


def _data_of(tables: Mapping[str, pa.Table]) -> str:
    """The checksum of the data behind the rows of a dataset."""
    return str(tables["runs"]["data"][0])


def _times(protocol: str, study: Path, before: PublishedResults | None, changed: list[str]) -> pa.Table:
    """The training times under a protocol: those of the study on all splits, and published ones of other datasets.

    Published times on data that has changed leave.
    """
    new = _of_study(sorted((study / Layout("").results / protocol / "times").glob("*.parquet")), "times")
    untimed = new.filter(pc.invert(pc.is_in(new["status"], pa.array(["ok", "diverged"]))))["dataset"]
    counts = new.group_by("dataset", use_threads=False).aggregate([("split", "count_distinct")])
    whole = pc.equal(counts["split_count_distinct"], len(SPLITS))
    finished = counts.filter(pc.and_not(whole, pc.is_in(counts["dataset"], untimed)))["dataset"].to_pylist()
    new = new.filter(pc.is_in(new["dataset"], pa.array(finished, TEXT)))
    path = before.times_file(protocol) if before else None
    old = before.read(path, "times") if before and path else _of_study([], "times")
    old = old.filter(pc.invert(pc.is_in(old["dataset"], pa.array([*finished, *changed], TEXT))))
    return pa.concat_tables([old, new]).sort_by([("dataset", "ascending"), ("split", "ascending")])


def _predictions(study: Path, before: PublishedResults | None, data: Mapping[str, str]) -> dict[str, Path]:
    """The study's files of predictions by dataset, and those published before; those on other data leave."""
    found = {name: Path(file) for name in data if before and (file := before.predictions_file(name))}
    of_study = sorted((study / Layout("results/networks").networks).glob("*/predictions.parquet"))
    found |= {path.parent.name: path for path in of_study if path.parent.name in data}
    return {name: path for name, path in found.items() if PredictionFile(path).described["data"] == data[name]}


def _copied(source: Path, path: Path) -> Path:
    """Copy a file, unless it is there already."""
    if source != path:
        with whole_file(path) as partial:
            shutil.copyfile(source, partial)
    return path


def _from_predictions(
    kind: str, protocol: str, study: Path, before: PublishedResults | None, changed: list[str]
) -> pa.Table:
    """The rows of `scores` or `conditional`: the study's, and published ones of other datasets."""
    networks = study / Layout("results/networks").networks
    new = _of_study(sorted(networks.glob(f"*/{kind}.{protocol}.parquet")), kind)
    path = before.from_predictions_file(kind, protocol) if before else None
    old = before.read(path, kind) if before and path else _of_study([], kind)
    left = pa.array([*new["dataset"].unique().to_pylist(), *changed], TEXT)
    return pa.concat_tables([old.filter(pc.invert(pc.is_in(old["dataset"], left))), new]).sort_by("dataset")


def _records(study: Path, archive: Path, before: PublishedResults | None) -> list[Path]:
    """Write the records of the study's datasets beside those published before; an available one is not replaced."""
    listed = [Path(name).stem for name in before.manifest["files"] if name.startswith("records/")] if before else []
    published = {name: Path(before.record_file(name) or "") for name in listed} if before else {}
    new = {path.parent.name: read_record(path) for path in sorted(study.glob(prepared_data("*")))}
    for name, record in new.items():
        if record["dataset"] != name:
            raise UserError(f"{study}: the record of {name} is that of {record['dataset']!r}; prepare the data again")
    for name, record in new.items():
        if record["status"] == "available" or name not in published:
            published[name] = archive / "records" / f"{name}.json"
            write_record(published[name], record)
    return list(published.values())


def _write(path: Path, table: pa.Table) -> Path:
    """Write a table small: measured values in float32, similar bytes beside each other, well compressed."""
    rounded = pa.schema(
        [
            (
                field.name,
                pa.float32() if field.type == NUMBER and field.name.startswith((*_MEASURED, *_COSTS)) else field.type,
            )
            for field in table.schema
        ]
    )
    floats = [field.name for field in rounded if pa.types.is_floating(field.type)]
    others = [field.name for field in rounded if field.name not in floats]
    with whole_file(path) as partial:
        pq.write_table(
            table.cast(rounded, safe=False),
            partial,
            compression="zstd",
            compression_level=19,
            use_dictionary=others,
            column_encoding=dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
        )
    return path


def hours_of_times(times: pa.Table) -> dict[str, float]:
    """CPU-hours of the networks in a table of times, by dataset; one whose times count for both ways is there once."""
    networks = times.group_by(["dataset", "split", "method", "train_seconds"], use_threads=False).aggregate([])
    totals = networks.group_by("dataset", use_threads=False).aggregate([("train_seconds", "sum")])
    return {row["dataset"]: (row["train_seconds_sum"] or 0.0) / 3600 for row in totals.to_pylist()}


def _contents(runs: pa.Table, rows: dict[str, int], times: Mapping[str, pa.Table]) -> Contents:
    networks = runs.group_by(["dataset", "split", "seed", "family", "variant"], use_threads=False).aggregate(
        [(name, "min") for name in ("data", "code", "cpu", *_COSTS)]
    )
    known = networks.filter(pc.not_equal(networks["code_min"], ""))
    families: dict[str, dict[str, list[str]]] = {}
    for place in runs.group_by(["dataset", "seed", "family"], use_threads=False).aggregate([]).to_pylist():
        families.setdefault(place["dataset"], {}).setdefault(str(place["seed"]), []).append(place["family"])
    return Contents(
        networks=len(networks),
        rows=rows,
        training_version=_counts(_training_versions(known["code_min"])),
        processors=_counts(known["cpu_min"]),
        cpu_hours=_hours(known["job_seconds_min"]),
        evaluation_cpu_hours=_hours(known["evaluation_seconds_min"]),
        timing_cpu_hours=round(sum(sum(hours_of_times(table).values()) for table in times.values()), 2),
        splits=list(SPLITS),
        datasets=dict(sorted(zip(known["dataset"].to_pylist(), known["data_min"].to_pylist(), strict=True))),
        families={
            dataset: {seed: sorted(names) for seed, names in sorted(seeds.items())}
            for dataset, seeds in sorted(families.items())
        },
        timed={name: sorted(table["dataset"].unique().to_pylist()) for name, table in times.items()},
    )


def _hours(seconds: pa.ChunkedArray) -> float:
    return round((pc.sum(seconds).as_py() or 0.0) / 3600, 2)


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    counted = column.value_counts().to_pylist()
    return dict(sorted((str(one["values"]), one["counts"]) for one in counted))


def _training_versions(codes: pa.ChunkedArray) -> pa.ChunkedArray:
    """The versions in a column `code`. Rows are published as they are, so that packing them again changes no file."""
    for fingerprint, version in FINGERPRINTS.items():
        codes = pc.if_else(pc.equal(codes, fingerprint), version, codes)
    return codes


def _refuse_mixture(contents: Contents, mixed: str) -> None:
    if len(contents.training_version) > 1 and not mixed:
        counts = ", ".join(f"{count} by {version}" for version, count in contents.training_version.items())
        raise UserError(
            f"the networks were trained by {len(contents.training_version)} versions of training ({counts}). Train "
            "those of the old version again (--forcerun), or say with --mixed why they belong together"
        )


def _remove_others(archive: Path, written: Iterable[Path]) -> None:
    """Remove what an earlier call has left and this one did not write."""
    kept = set(written)
    for folder in _FOLDERS:
        for path in (archive / folder).glob("*"):
            if path not in kept:
                path.unlink()
