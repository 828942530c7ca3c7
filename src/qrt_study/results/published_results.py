"""The published results as a source: which networks they have, by their manifest, and their rows.

`results.archive.pack` writes the folder. Nothing else says what is published: the manifest alone, by dataset, seed and
family, with the checksum of every file and of itself. The folder may come from strangers, so names are those of a
pattern, and no path leads outside.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.errors import UserError
from qrt_study.data.record import file_sha256, parsed_record
from qrt_study.inside import path_inside
from qrt_study.results.tables import TABLES

MANIFEST = "manifest.json"
_NEEDED = frozenset({"datasets", "families", "files", "splits", "timed"})
_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
_FILE = re.compile(
    rf"networks/{_NAME}[.](runs|curves|predictions)[.]parquet|predictions/{_NAME}[.]parquet|records/{_NAME}[.]json"
    "|(times|scores|conditional)/[a-z]+[.]parquet"
)


class PublishedResults:
    """The results in `folder`, such as `replication/results`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What `pack` wrote about the results."""
        path = self.folder / MANIFEST
        try:
            manifest = parsed_record(path.read_bytes(), _NEEDED)
        except OSError as error:
            raise UserError(f"{path}: cannot be read ({error.strerror})") from error
        if manifest is None:
            raise UserError(f"{path}: not a whole manifest of published results; get it again from its source")
        check_manifest(path, manifest)
        return manifest

    def has(self, dataset: str, seed: int, family: str, splits: Collection[int]) -> bool:
        """Whether a family of networks is there, on all these splits."""
        return family in self._families.get((dataset, seed), ()) and self._splits.issuperset(splits)

    @cached_property
    def _families(self) -> dict[tuple[str, int], frozenset[str]]:
        found: Mapping[str, Mapping[str, list[str]]] = self.manifest["families"]
        return {
            (dataset, int(seed)): frozenset(names) for dataset, seeds in found.items() for seed, names in seeds.items()
        }

    @cached_property
    def _splits(self) -> frozenset[int]:
        return frozenset(self.manifest["splits"])

    def data(self, dataset: str) -> str:
        """The checksum of the prepared data that the networks of a dataset were trained on; empty: there are none."""
        return str(self.manifest["datasets"].get(dataset, ""))

    def rows_file(self, dataset: str, kind: str) -> str | None:
        """The file with the rows of all networks of a dataset; None if there are no such rows."""
        return self._listed(f"networks/{dataset}.{kind}.parquet")

    def record_file(self, dataset: str) -> str | None:
        """The record of a dataset, if it is the one of the manifest: what was done to it, or why it is missing."""
        path = self._listed(f"records/{dataset}.json")
        if path is not None:
            self._check(path)
        return path

    def times_file(self, protocol: str) -> str | None:
        """The training times under a protocol."""
        return self._listed(f"times/{protocol}.parquet")

    def predictions_file(self, dataset: str) -> str | None:
        """The predictions of the main comparison on a dataset; `PredictionFile` checks them."""
        return self._listed(f"predictions/{dataset}.parquet")

    def from_predictions_file(self, kind: str, protocol: str) -> str | None:
        """The rows of `scores` or `conditional` under a protocol."""
        return self._listed(f"{kind}/{protocol}.parquet")

    def timed(self, protocol: str) -> frozenset[str]:
        """The datasets with training times under a protocol."""
        return frozenset(self.manifest["timed"].get(protocol, ()))

    def is_content(self, path: str | Path, sha256: str) -> bool:
        """Whether a file below the folder was published with this checksum."""
        return bool(sha256 == self.manifest["files"].get(str(Path(path).relative_to(self.folder))))

    def _listed(self, name: str) -> str | None:
        return str(path_inside(self.folder, name)) if name in self.manifest["files"] else None

    def _check(self, path: str) -> None:
        if not Path(path).is_file() or not self.is_content(path, file_sha256(Path(path))):
            raise changed(path)

    def read(self, path: str, kind: str, columns: Collection[str] | None = None) -> pa.Table:
        """The rows of a published file, or some `columns`, if it is the one of the manifest.

        Columns that are newer than the file have no values.
        """
        self._check(path)
        asked = {name: column for name, (column, _) in TABLES[kind][1].items() if columns is None or name in columns}
        schema = pa.schema(list(asked.items()))
        table = pq.read_table(path, columns=[name for name in pq.read_schema(path).names if name in asked])
        for field in schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(schema.names).cast(schema)


def changed(path: str | Path) -> UserError:
    """The error for a file that is not the published one."""
    return UserError(f"{path}: missing or changed since it was published; get it again from its source")


def check_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse the manifest of `path` if it has names that are no names, or files that are none of ours (UserError)."""
    try:
        files, families = manifest["files"], manifest["families"]
        names = [*manifest["datasets"], *families, *(name for timed in manifest["timed"].values() for name in timed)]
        names += [name for seeds in families.values() for found in seeds.values() for name in found]
        sound = (
            all(_FILE.fullmatch(name) and re.fullmatch("[0-9a-f]{64}", sha256) for name, sha256 in files.items())
            and all(re.fullmatch(_NAME, name) for name in names)
            and all(re.fullmatch("[0-9]{1,9}", seed) for seeds in families.values() for seed in seeds)
            and all(type(split) is int for split in manifest["splits"])
        )
    except (TypeError, AttributeError):
        sound = False
    if not sound:
        raise UserError(f"{path}: has names of datasets, families or files that no study of ours has; it is refused")
