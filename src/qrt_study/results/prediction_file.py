"""Predictions as a file for everybody: the mixtures of the main comparison's networks on calibration and test rows.

One Parquet file per dataset. Its rows are rows of the prepared data, once for each split and part, in the order of the
study; its columns are the standardised target and, for each network, the parameters of its mixture. What else there is
to know (methods, scale of the targets, how each network was trained) is in the metadata of the file, with a checksum of
the table. Parameters are rounded as far as no metric feels it (`qrt_study.results.prediction_job`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from qrt.atomic import set_aside, unreadable, whole_file
from qrt.errors import UserError
from qrt_study.data.record import parsed_record, with_checksum
from qrt_study.parquet_file import content_checksum
from qrt_study.results.layout import Layout
from qrt_study.results.published_results import MANIFEST, PublishedResults, changed

Array = npt.NDArray[Any]

# Rows of the part `map` have the PITs of the training rows behind the networks' training-time maps, and no mixture.
PARTS = ("calibration", "test", "map")
PARAMETERS = ("mean", "scale", "log_weight")
PIT = "pit"
_PIT_STEP = 2.0**-16
_METADATA = b"qrt.predictions"
_TABLE_SHA256 = "table_sha256"  # among the facts; files from before November 2026 have none
_NEEDED = frozenset({"dataset", "data"})


@dataclass(frozen=True)
class Precision:
    """How parameters are rounded: to a type, means and scales to significant bits, logarithms of weights to a step."""

    name: str
    kind: type[np.floating[Any]]
    mean_bits: int
    scale_bits: int
    weight_step: float

    def rounded(self, *parameters: Array) -> list[Array]:
        """Means, scales and logarithms of weights as they are stored; infinite where the type does not reach."""
        means, scales, log_weights = parameters
        means, scales = _to_bits(means, self.mean_bits), _to_bits(scales, self.scale_bits)
        log_weights = np.rint(log_weights / self.weight_step) * self.weight_step
        with np.errstate(over="ignore"):
            return [values.astype(self.kind) for values in (means, scales, log_weights)]


# A network has the first one that moves no metric, as its mean over splits, by more of its standard error than this.
MOST = 0.1
PRECISIONS = (
    Precision("coarse", np.float16, mean_bits=11, scale_bits=8, weight_step=2.0**-7),
    Precision("float16", np.float16, mean_bits=11, scale_bits=11, weight_step=2.0**-12),
    Precision("float32 to 16 bits", np.float32, mean_bits=16, scale_bits=12, weight_step=2.0**-12),
    Precision("float32", np.float32, mean_bits=24, scale_bits=24, weight_step=2.0**-24),
)


def _to_bits(values: Array, bits: int) -> Array:
    """The values with so many significant bits."""
    significand, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(significand, bits)), exponent - bits))


def rounded_pits(pits: Array) -> Array:
    """PITs as they are stored."""
    return np.asarray(np.rint(pits / _PIT_STEP) * _PIT_STEP)


@dataclass(frozen=True)
class SplitPart:
    """Rows of one part of a split: numbers in the prepared data, targets, and values of networks by column.

    Rows of the part `map` have neither number nor target.
    """

    split: int
    part: str
    rows: Array | None
    y: Array | None  # standardised
    columns: Mapping[str, Array]


def write_predictions(path: Path, parts: Sequence[SplitPart], described: Mapping[str, Any]) -> None:
    """Write the predictions on a dataset, small: similar bytes beside each other, well compressed."""
    schema = {"split": pa.int8(), "part": pa.string(), "row": pa.int32(), "y": pa.float32()}
    for part in parts:
        schema |= {name: pa.from_numpy_dtype(values.dtype) for name, values in part.columns.items()}
    tables = []
    for one in parts:
        number = len(next(iter(one.columns.values())))
        there = {"row": one.rows, "y": one.y} | dict(one.columns)
        columns = {name: pa.array(values, schema[name]) for name, values in there.items() if values is not None}
        columns |= {"split": pa.array([one.split] * number, pa.int8()), "part": pa.array([one.part] * number)}
        nothing = {name: pa.nulls(number, kind) for name, kind in schema.items()}
        tables.append(pa.table(nothing | columns))
    table = pa.concat_tables(tables).combine_chunks()
    facts = with_checksum({**described, _TABLE_SHA256: content_checksum(table).decode()})
    table = table.replace_schema_metadata({_METADATA: json.dumps(facts, sort_keys=True).encode()})
    few = ["split", "part"]
    with whole_file(path) as partial:
        pq.write_table(
            table,
            partial,
            compression="zstd",
            compression_level=19,
            use_dictionary=few,
            column_encoding={name: "BYTE_STREAM_SPLIT" for name in schema if name not in few},
            write_statistics=False,
        )


@dataclass(frozen=True)
class PredictionFile:
    """The predictions on one dataset; UserError if they are not as they were published, or written by a study."""

    path: Path

    @property
    def described(self) -> dict[str, Any]:
        """What the file says of itself."""
        return self._read[0]

    @property
    def _table(self) -> pa.Table:
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[dict[str, Any], pa.Table]:
        """What the file says of itself, and its table."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise unreadable(self.path, error) from error
        results = self.path.parent.parent
        is_published = self.path.parent.name == "predictions" and (results / MANIFEST).is_file()
        if is_published and not PublishedResults(results).is_content(self.path, hashlib.sha256(content).hexdigest()):
            raise changed(self.path)
        try:
            table = pq.read_table(pa.BufferReader(content))
            described = parsed_record((table.schema.metadata or {}).get(_METADATA, b""), _NEEDED)
            if described is None:
                raise self._damaged("it does not say what it holds")
            recorded = described.pop(_TABLE_SHA256, None)
            if recorded not in (None, content_checksum(table).decode()):
                raise self._damaged("its content does not have its checksum")
        except MemoryError:  # which says nothing about the file
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(str(error).splitlines()[0][:200] if str(error) else "unreadable") from error
        return described, table

    def _damaged(self, reason: str) -> UserError:
        """The error for a damaged file; one of a study is rebuilt by the next call."""
        if self.path.name == Path(Layout("").predictions("")).name:
            return set_aside(self.path, reason)
        return UserError(f"{self.path}: not a whole file of predictions ({reason}); get it again from its source")

    def _chosen(self, split: int, part: str) -> pa.ChunkedArray:
        return pc.and_(pc.equal(self._table["split"], split), pc.equal(self._table["part"], part))

    def rows(self, split: int, part: str) -> tuple[Array, Array]:
        """Numbers of the rows of a part in the prepared data, from 0, and their standardised targets."""
        here = self._table.select(["row", "y"]).filter(self._chosen(split, part))
        return here["row"].to_numpy(), here["y"].to_numpy().copy()

    def parameters(self, network: str, split: int, part: str) -> list[Array]:
        """Means, scales and logarithms of weights, each (N, K) float64, of a network's mixtures."""
        of_network = {name.removeprefix(f"{network} "): name for name in self._table.schema.names}
        return [
            self._values([name for short, name in of_network.items() if short.startswith(parameter)], split, part)
            for parameter in PARAMETERS
        ]

    def pits(self, network: str, split: int) -> Array:
        """The PITs behind a network's training-time map."""
        return self._values([f"{network} {PIT}"], split, "map")[:, 0]

    def _values(self, names: Sequence[str], split: int, part: str) -> Array:
        table = self._table.select(list(names)).filter(self._chosen(split, part))
        return np.column_stack([table[name].to_numpy().astype(np.float64) for name in names])
