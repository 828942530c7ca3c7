"""Turn a fetched table into numbers."""

from __future__ import annotations

from pathlib import Path


def run(dataset: str, *, table: Path, record: Path, out: Path, expected: str = "any") -> None:
    """Write x.npy, y.npy and record.json to `out`, and say what came of it.

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
