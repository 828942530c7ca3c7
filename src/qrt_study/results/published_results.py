"""The published results as a source: which networks they have, by their manifest, and their rows.

`results.archive.pack` writes the folder. Nothing else says what is published: the manifest alone, by dataset, seed and
family, with the checksum of every file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.errors import UserError
from qrt_study.data.record import file_sha256
from qrt_study.results.tables import TABLES

MANIFEST = "manifest.json"


class PublishedResults:
    """The results in `folder`, such as `replication/results`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What `pack` wrote about the results."""
        path = self.folder / MANIFEST
        try:
            manifest: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{path}: not a readable manifest of published results ({error})") from error
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
        """The record of a dataset: what was done to it, or why it is missing."""
        return self._listed(f"records/{dataset}.json")

    def times_file(self, protocol: str) -> str | None:
        """The training times under a protocol."""
        return self._listed(f"times/{protocol}.parquet")

    def timed(self, protocol: str) -> frozenset[str]:
        """The datasets with training times under a protocol."""
        return frozenset(self.manifest["timed"].get(protocol, ()))

    def _listed(self, name: str) -> str | None:
        return str(self.folder / name) if name in self.manifest["files"] else None

    def read(self, path: str, kind: str, columns: Collection[str] | None = None) -> pa.Table:
        """The rows of a published file, or some `columns`, if it is the one of the manifest.

        Columns that are newer than the file have no values.
        """
        name = str(Path(path).relative_to(self.folder))
        if not Path(path).is_file() or file_sha256(Path(path)) != self.manifest["files"].get(name):
            raise UserError(f"{path}: missing or changed since it was published; get it again from its source")
        asked = {name: column for name, (column, _) in TABLES[kind][1].items() if columns is None or name in columns}
        schema = pa.schema(list(asked.items()))
        table = pq.read_table(path, columns=[name for name in pq.read_schema(path).names if name in asked])
        for field in schema:
            if field.name not in table.column_names:
                table = table.append_column(field, pa.nulls(len(table), field.type))
        return table.select(schema.names).cast(schema)
