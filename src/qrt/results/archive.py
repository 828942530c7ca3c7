"""Finished results as a folder of few, small files that a repository can hold, and the way back.

One Parquet file per dataset and kind of rows (`runs`, `curves`, `predictions`), one per study with the times, and the
records of the datasets. Measured values are rounded to float32 (seven digits), which is far below the noise of a run;
what names a network is exact. `manifest.json` says what is there, how it was computed, and the checksum of each file.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from qrt.atomic import whole_file, write_json
from qrt.data.record import file_sha256, read_record, write_record
from qrt.errors import UserError
from qrt.parquet_file import NUMBER, Column, read_tables, write_table
from qrt.results.layout import Layout
from qrt.results.tables import TABLES

KINDS = ("runs", "curves", "predictions")
MANIFEST = "manifest.json"
CPU_HOURS = ("cpu_hours", "evaluation_cpu_hours", "timing_cpu_hours")  # of the manifest: all that was spent
_MEASURED = ("val_", "test_", "train_", "nll", "alpha_entropy_pit", "pce", "density", "y", "target", "seconds_per_")
_COSTS = ("job_seconds", "evaluation_seconds")
_SUMMARY = ["dataset", "split", "seed", "family", "variant", "data", "code", "cpu", *_COSTS, "status"]


@dataclass(frozen=True)
class Contents:
    """What an archive holds, in numbers for its manifest."""

    networks: int
    rows: dict[str, int]
    codes: dict[str, int]  # fingerprint of the training code -> networks
    processors: dict[str, int]
    cpu_hours: float  # of the training jobs, from their start to their outputs
    evaluation_cpu_hours: float
    timing_cpu_hours: float  # of networks that were trained alone for their times
    datasets: dict[str, str]  # name -> checksum of the prepared data
    families: dict[str, list[str]]  # family -> datasets on which it is finished, with the first seed
    left_out: dict[str, list[str]]  # dataset -> families and times that are there on some of the splits only


def pack(
    folder: Path, layouts: Mapping[str, Layout], archive: Path, notes: Mapping[str, Any], *, mixed: str = ""
) -> Contents:
    """Write the finished results below `folder` into `archive`; `layouts` are those of the studies, by name.

    A family of networks is finished on a dataset when it has all splits that the study has, and so are times. Results
    that were trained by different code or on different data are refused, unless `mixed` says why they belong together;
    so are damaged ones.
    """
    networks = folder / next(iter(layouts.values())).networks
    datasets = sorted(path.name for path in networks.iterdir() if path.is_dir()) if networks.is_dir() else []
    runs = {dataset: table for dataset in datasets if len(table := _rows_of(networks / dataset, "runs"))}
    splits = {split for table in runs.values() for split in table["split"].unique().to_pylist()}
    finished = {dataset: _families_with(splits, table) for dataset, table in runs.items()}
    summaries = [_of_families(table, finished[dataset]).select(_SUMMARY) for dataset, table in runs.items()]
    if not summaries:
        raise UserError(f"{networks}: there are no finished results to publish; run the study first")
    _refuse_loss(summaries, archive)
    rows: dict[str, int] = dict.fromkeys((*KINDS, "times"), 0)
    left_out = _left_out(runs, finished)
    times = {}
    for name, layout in layouts.items():
        times[name], unfinished = _times_of(folder, layout, splits)
        for dataset in unfinished:
            left_out.setdefault(dataset, []).append(f"times/{name}")
    timing_hours = sum(sum(hours_of_times(table).values()) for table in times.values())
    contents = _contents(pa.concat_tables(summaries), rows, left_out, timing_hours)
    _refuse_mixture(contents, summaries, mixed)
    written = []
    for dataset in runs:
        for kind in KINDS:
            if len(table := _of_families(_rows_of(networks / dataset, kind), finished[dataset])):
                written.append(_write(archive / "networks" / f"{dataset}.{kind}.parquet", table))
                rows[kind] += len(table)
    for name, table in times.items():
        if len(table):
            written.append(_write(archive / "times" / f"{name}.parquet", table))
            rows["times"] += len(table)
    for path in sorted(folder.glob("data/prepared/*/record.json")):
        record = read_record(path)
        written.append(archive / "records" / f"{record['dataset']}.json")
        write_record(written[-1], record)
    _remove_others(archive, written)
    manifest = dict(notes) | vars(contents) | {"mixed": mixed, "files": {}}
    manifest["files"] = {str(path.relative_to(archive)): file_sha256(path) for path in sorted(written)}
    write_json(archive / MANIFEST, manifest)
    return contents


def _rows_of(folder: Path, kind: str) -> pa.Table:
    """All rows of a kind that a study has of the dataset with this folder."""
    return read_tables(sorted(folder.glob(f"seed*/*.{kind}.parquet")), _columns(kind))


def _times_of(folder: Path, layout: Layout, splits: set[int]) -> tuple[pa.Table, list[str]]:
    """The training times of the study with this layout, and the datasets that lack them on some of these splits."""
    times = read_tables(sorted((folder / layout.results / "times").glob("*/split*.parquet")), _columns("times"))
    counts = times.group_by("dataset", use_threads=False).aggregate([("split", "count_distinct")])
    unfinished = counts.filter(pc.less(counts["split_count_distinct"], len(splits)))["dataset"]
    return times.filter(pc.invert(pc.is_in(times["dataset"], unfinished))), unfinished.to_pylist()


def _families_with(splits: set[int], runs: pa.Table) -> pa.Array:
    """The names (`_family_names`) of the families of a dataset that have rows of all these splits."""
    pairs = pa.table({"family": _family_names(runs), "split": runs["split"]}).group_by("family")
    counts = pairs.aggregate([("split", "count_distinct")])
    return counts.filter(pc.equal(counts["split_count_distinct"], len(splits)))["family"]


def _of_families(table: pa.Table, names: pa.Array) -> pa.Table:
    return table.filter(pc.is_in(_family_names(table), names))


def _family_names(table: pa.Table) -> pa.ChunkedArray:
    """Seed and family of each row."""
    return pc.binary_join_element_wise(table["seed"].cast(pa.string()), table["family"], "/")


def _left_out(runs: Mapping[str, pa.Table], finished: Mapping[str, pa.Array]) -> dict[str, list[str]]:
    found = {}
    for dataset, table in runs.items():
        names = set(_family_names(table).to_pylist()) - set(finished[dataset].to_pylist())
        if names:
            found[dataset] = sorted(names)
    return found


def unpack(archive: Path, folder: Path, layouts: Mapping[str, Layout], processes: int = 1) -> int:
    """Write the results of `archive` where a study in `folder` would have them; returns the number of files written.

    A file that is there already is left alone: results are never replaced.
    """
    manifest = read_manifest(archive)
    for name, checksum in manifest["files"].items():
        if not (archive / name).is_file() or file_sha256(archive / name) != checksum:
            raise UserError(
                f"{archive / name}: missing or changed since it was published; get it again from its source"
            )
    layout = next(iter(layouts.values()))
    count = 0
    # Data first: to Snakemake, networks that are older than the record of their data would be out of date.
    for path in sorted((archive / "records").glob("*.json")):
        target = folder / layout.prepared(path.stem)
        if not target.exists():
            write_record(target, read_record(path))
            count += 1
    unpack_networks = functools.partial(_unpack_networks, archive, folder, layout)
    if processes == 1:
        count += sum(map(unpack_networks, _packed_networks(archive)))
    else:
        with ProcessPoolExecutor(processes, get_context("spawn")) as workers:  # Arrow has threads, which a fork loses
            count += sum(workers.map(unpack_networks, _packed_networks(archive)))
    for name, one in layouts.items():
        if (path := archive / "times" / f"{name}.parquet").exists():
            for (dataset, split), table in _parts(_read(path, "times"), ("dataset", "split")):
                count += _put(folder / one.times(dataset, split), table)
    return count


def _unpack_networks(archive: Path, folder: Path, layout: Layout, packed: tuple[str, str, Path]) -> int:
    """Write one packed table of networks as a file for each family; returns the number of files written."""
    dataset, kind, path = packed
    count = 0
    for (seed, family), table in _parts(_read(path, kind), ("seed", "family")):
        count += _put(folder / layout.evaluated(dataset, seed, family, kind), table)
        if kind == "curves":  # a family with curves has a file of predictions too, with or without rows
            empty = _schema("predictions").empty_table()
            predictions = archive / "networks" / f"{dataset}.predictions.parquet"
            if not predictions.exists():
                count += _put(folder / layout.evaluated(dataset, seed, family, "predictions"), empty)
    return count


def read_manifest(archive: Path) -> dict[str, Any]:
    """What `pack` wrote about an archive."""
    try:
        manifest: dict[str, Any] = json.loads((archive / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{archive / MANIFEST}: not a readable manifest ({error})") from error
    return manifest


def _columns(kind: str) -> Mapping[str, Column]:
    return TABLES[kind][1]


def _schema(kind: str) -> pa.Schema:
    return pa.schema([(name, column[0]) for name, column in _columns(kind).items()])


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


def _read(path: Path, kind: str) -> pa.Table:
    """A packed table; a column that is newer than the archive has no values."""
    table, schema = pq.read_table(path), _schema(kind)
    for field in schema:
        if field.name not in table.column_names:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table.select(schema.names).cast(schema)


def _packed_networks(archive: Path) -> Iterator[tuple[str, str, Path]]:
    for path in sorted((archive / "networks").glob("*.parquet")):
        dataset, kind = path.name.removesuffix(".parquet").rsplit(".", 1)
        yield dataset, kind, path


def _parts(table: pa.Table, by: tuple[str, str]) -> Iterator[tuple[tuple[Any, Any], pa.Table]]:
    """The rows of each pair of values, in their order."""
    for pair in table.select(list(by)).group_by(list(by), use_threads=False).aggregate([]).to_pylist():
        chosen = pc.and_(*(pc.equal(table[name], pair[name]) for name in by))
        yield (pair[by[0]], pair[by[1]]), table.filter(chosen)


def _put(path: Path, table: pa.Table) -> int:
    if path.exists():
        return 0
    write_table(path, table)
    return 1


def hours_of_times(times: pa.Table) -> dict[str, float]:
    """CPU-hours of the networks in a table of times, by dataset; one whose times count for both ways is there once."""
    networks = times.group_by(["dataset", "split", "method", "train_seconds"], use_threads=False).aggregate([])
    totals = networks.group_by("dataset", use_threads=False).aggregate([("train_seconds", "sum")])
    return {row["dataset"]: (row["train_seconds_sum"] or 0.0) / 3600 for row in totals.to_pylist()}


def _contents(runs: pa.Table, rows: dict[str, int], left_out: dict[str, list[str]], timing_hours: float) -> Contents:
    networks = runs.group_by(["dataset", "split", "seed", "family", "variant"]).aggregate(
        [(name, "min") for name in ("data", "code", "cpu", *_COSTS)]
    )
    known = networks.filter(pc.not_equal(networks["code_min"], ""))
    return Contents(
        networks=len(networks),
        rows=rows,
        codes=_counts(known["code_min"]),
        processors=_counts(known["cpu_min"]),
        cpu_hours=_hours(known["job_seconds_min"]),
        evaluation_cpu_hours=_hours(known["evaluation_seconds_min"]),
        timing_cpu_hours=round(timing_hours, 2),
        datasets=dict(sorted(zip(known["dataset"].to_pylist(), known["data_min"].to_pylist(), strict=True))),
        families=_finished_families(known),
        left_out=left_out,
    )


def _finished_families(networks: pa.Table) -> dict[str, list[str]]:
    first = networks.filter(pc.equal(networks["seed"], 0))
    found: dict[str, list[str]] = {}
    for place in first.group_by(["family", "dataset"]).aggregate([]).to_pylist():
        found.setdefault(place["family"], []).append(place["dataset"])
    return {family: sorted(datasets) for family, datasets in sorted(found.items())}


def _hours(seconds: pa.ChunkedArray) -> float:
    return round((pc.sum(seconds).as_py() or 0.0) / 3600, 2)


def _counts(column: pa.ChunkedArray) -> dict[str, int]:
    counted = column.value_counts().to_pylist()
    return dict(sorted((str(one["values"]), one["counts"]) for one in counted))


def _refuse_mixture(contents: Contents, summaries: Iterable[pa.Table], mixed: str) -> None:
    for table in summaries:
        data = {one for one in table["data"].unique().to_pylist() if one}
        if len(data) > 1:
            raise UserError(
                f"{table['dataset'][0]}: its networks were trained on {len(data)} different versions of the data"
            )
    if len(contents.codes) > 1 and not mixed:
        raise UserError(
            f"the networks were trained by {len(contents.codes)} versions of the code ({contents.codes}). Train those "
            "of the old version again (--forcerun), or say with --mixed why they belong together"
        )


def _refuse_loss(summaries: Iterable[pa.Table], archive: Path) -> None:
    """Networks that were published stay published: a study that does not have them must not replace the archive."""
    place = ["family", "seed"]
    now = {table["dataset"][0].as_py(): _pairs(table.select(place)) for table in summaries if len(table)}
    for dataset, kind, path in _packed_networks(archive):
        if kind == "runs" and (lost := _pairs(pq.read_table(path, columns=place)) - now.get(dataset, set())):
            names = ", ".join(sorted({family for family, _ in lost}))
            raise UserError(
                f"{archive} has networks on {dataset} that this study does not have: {names}. Bring them here first "
                "with `python -m qrt restore`, or remove the folder if its results are to be replaced"
            )


def _pairs(table: pa.Table) -> set[tuple[str, int]]:
    return {tuple(row.values()) for row in table.group_by(table.column_names).aggregate([]).to_pylist()}


def _remove_others(archive: Path, written: list[Path]) -> None:
    """Remove what an earlier call has left and this one did not write."""
    for folder in ("networks", "times", "records"):
        for path in (archive / folder).glob("*"):
            if path not in written:
                path.unlink()
