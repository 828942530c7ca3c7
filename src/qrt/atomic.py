"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qrt.errors import UserError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it becomes `path`, on any failure it is removed."""
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)
        os.close(handle)
        partial = Path(name)
        yield partial
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes private files; results are to be read by everyone the umask allows.
        umask = os.umask(0)
        os.umask(umask)
        partial.chmod(0o666 & ~umask)
        os.replace(partial, path)
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}). Nothing was left behind; "
            "free some space or mend the permissions, then run the same command again."
        ) from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` in UTF-8, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    """Write `content` as readable JSON with sorted keys, whole or not at all."""
    write_text(path, json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
