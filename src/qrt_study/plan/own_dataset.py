"""A dataset of the user's as the configuration describes it, checked against the header of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qrt.text.suggestion import did_you_mean
from qrt_study.data.table_shape import column_names, estimated_shape

_ENDINGS = (".csv", ".csv.gz", ".parquet")
_MOST_NAMES = 10  # of columns in a message


@dataclass(frozen=True)
class OwnDataset:
    """A dataset of the user's: a file, its target column, and what is done to the others."""

    path: Path
    target: str
    categorical: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    target_transform: str = "none"
    drop_few_valued: bool = False  # whether numeric columns with fewer than ten values go, as in the paper
    shape: tuple[int, int] = (0, 0)  # rows and columns of the table, about

    @classmethod
    def from_entry(cls, path: Path, entry: Mapping[str, Any]) -> OwnDataset:
        """The dataset of an entry of `own_datasets`, whose file is at `path`."""
        lists = {name: tuple(entry[name]) for name in ("categorical", "drop")}
        shape = estimated_shape(path) if is_file(path) else (0, 0)
        return cls(**{**entry, **lists, "path": path, "shape": shape})

    def entry(self) -> dict[str, Any]:
        """What fetching needs to know, as JSON has it."""
        return {name: value for name, value in vars(self).items() if name != "shape"} | {"path": str(self.path)}

    def problems(self) -> Iterator[str]:
        """What is wrong with it, beginning with the key: the file, and names of columns that the file does not have."""
        if not is_file(self.path):
            yield f"path: there is no file {str(self.path)!r}"
            return
        if not self.path.name.endswith(_ENDINGS):
            yield f"path: {self.path.name!r} is none of .csv, .csv.gz and .parquet"
            return
        if set("{}") & set(str(self.path)):
            yield f"path: {str(self.path)!r} has braces, which Snakemake cannot handle"
        columns = column_names(self.path)
        if columns:  # whoever reads the table says what is wrong with a file that has none
            yield from self._unknown_columns(columns)
        for key, names in (("categorical", self.categorical), ("drop", self.drop)):
            if self.target in names:
                yield f"{key}: {self.target!r} is the target"

    def _unknown_columns(self, columns: tuple[str, ...]) -> Iterator[str]:
        shown = ", ".join(map(repr, columns[:_MOST_NAMES])) + (", ..." if len(columns) > _MOST_NAMES else "")
        for key, names in (("target", (self.target,)), ("categorical", self.categorical), ("drop", self.drop)):
            for name in names:
                if name not in columns:
                    right = did_you_mean(name, columns) or f"; its columns are {shown}"
                    yield f"{key}: {self.path.name} has no column {name!r}{right}"


def is_file(path: Path) -> bool:
    """Whether there is a file at a path that a user has written, whatever it is."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # longer than a name may be, a null byte, half a surrogate pair
        return False
