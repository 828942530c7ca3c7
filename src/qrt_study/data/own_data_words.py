"""What was done to a table of the user's, in words: rows and columns that were left out and why, categories, target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qrt.text.words import counted, listed
from qrt_study.data.raw_table import OWN_SOURCE

_MOST_NAMES = 12  # in one sentence


def is_own(record: dict[str, Any]) -> bool:
    """Whether a record is that of prepared data of the user's."""
    return record.get("provenance", {}).get("source") == OWN_SOURCE


def own_data_sentences(record: dict[str, Any]) -> list[str]:
    """What happened to the table behind the record of prepared data of the user's, one sentence each."""
    rows, left_out = record["rows"], record["dropped_rows"]
    sentences = [_rows_used(rows, left_out)]
    if dropped := record["dropped_columns"]:
        reasons = [f"{name} ({reason})" for name, reason in dropped.items()]
        sentences.append(f"{counted(len(dropped), 'column')} left out: {_shortened(reasons)}.")
    else:
        sentences.append("No column was left out.")
    if encoded := record["encoded_columns"]:
        categories = [f"{name} ({number})" for name, number in encoded.items()]
        sentences.append(f"Categories became columns of 0 and 1, one for each: {_shortened(categories)}.")
    sentences.append(f"{counted(record['features'], 'feature')} to predict {record['target']} from.")
    if record["target_transform"] == "log1p":
        sentences.append(
            "The target is sign(y) log(1 + |y|), as asked for: predictions and all scores are on that scale."
        )
    return sentences


def _rows_used(rows: int, left_out: int) -> str:
    if not left_out:
        return f"All {rows} rows are used."
    why = "has a missing value and was" if left_out == 1 else "have a missing value and were"
    return f"{rows} of {rows + left_out} rows are used; {left_out} {why} left out."


def _shortened(parts: Sequence[str]) -> str:
    """The parts as a list; of many the first ones."""
    if len(parts) <= _MOST_NAMES:
        return listed(parts)
    return f"{', '.join(parts[:_MOST_NAMES])} and {len(parts) - _MOST_NAMES} more (all are in the record)"
