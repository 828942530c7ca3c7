"""The data that networks were trained on: other data under the same name is refused, so that nothing is replaced."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from qrt.errors import UserError


def refuse_other_data(dataset: str, checksum: str, results: Path) -> None:
    """Refuse data with this checksum if networks below `results` were trained on other data of that name."""
    for folder in sorted(results.glob(f"networks*/{dataset}")):
        files = [*folder.rglob("*.networks.parquet"), *folder.rglob("*.runs.parquet")]
        other = [file for file in files if _trained_on(file) - {checksum}]
        if other:
            raise UserError(
                f"{dataset}: its data has changed since {len(other)} file(s) of networks in {folder} were trained. "
                "Nothing was replaced: give the new data another name, or move that folder away, and run again."
            )


def _trained_on(file: Path) -> set[str]:
    """The checksums of the data in a file of networks or runs."""
    try:
        table = pq.read_table(file, columns=["data"])
    except (OSError, pa.ArrowException, KeyError):
        return set()  # damaged: whoever needs it says so
    return {checksum for checksum in table["data"].unique().to_pylist() if checksum}
