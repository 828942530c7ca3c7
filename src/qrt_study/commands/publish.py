"""Pack finished results into a folder that the repository can hold."""

from __future__ import annotations

from pathlib import Path


def run(*, folder: Path = Path(), archive: Path = Path("replication/results"), mixed: str = "") -> None:
    """Add the results of the study in `folder` to the `archive`, and say what is in it.

    `mixed` says why networks of different versions of training belong together.
    """
    import subprocess
    from datetime import UTC, datetime

    from qrt_study.data.record import file_sha256
    from qrt_study.results.archive import pack, unfinished
    from qrt_study.verdicts.frozen import claims_checksum

    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    notes = {
        "commit": commit.stdout.strip(),
        "published": datetime.now(UTC).date().isoformat(),
        "lock_file_sha256": file_sha256(Path("requirements.lock")),
        "claims_checksum": claims_checksum(),
    }
    contents = pack(folder, archive, notes, mixed=mixed)
    for path in unfinished(folder):
        print(f"not on all splits, so left out: {path}")
    size = sum(path.stat().st_size for path in archive.rglob("*") if path.is_file()) / 1e6
    print(
        f"{archive}: {contents.networks} networks on {len(contents.datasets)} datasets, "
        f"{contents.cpu_hours:g} CPU-hours of training, {size:.1f} MB"
    )
