"""The one check of paths that come from files of others: a mirror's manifest, a folder of results."""

from __future__ import annotations

from pathlib import Path

from qrt.errors import UserError


def path_inside(folder: Path, name: str) -> Path:
    """`folder / name`, if it is in the folder also when links are followed (UserError)."""
    path = folder / name
    try:
        if path.resolve().is_relative_to(folder.resolve()):
            return path
        reason = "it lies outside"
    except (OSError, ValueError, RuntimeError) as error:  # also a null byte, or links in a circle
        reason = str(error)
    raise UserError(f"{folder}: the path {name!r} is refused ({reason})")
