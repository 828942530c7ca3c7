"""Get one dataset from the first source that has it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def run(
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
    """Fetch into `table` (Parquet) and `record` (JSON), and say what came; `own` is an entry of own_datasets."""
    from qrt_study.data.fetch import fetch
    from qrt_study.data.record import record_in_words

    found = fetch(
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
