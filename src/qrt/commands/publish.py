"""Pack finished results into a folder that the repository can hold."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--folder", type=Path, default=Path(), help="where the study runs")
    parser.add_argument("--archive", type=Path, default=Path("replication/results"))
    parser.add_argument("--mixed", default="", help="why networks trained by different code belong together")


def run(options: argparse.Namespace) -> None:
    """Pack, and say what is in the archive."""
    import subprocess
    from datetime import UTC, datetime

    from qrt.claims.frozen import claims_checksum
    from qrt.data.record import file_sha256
    from qrt.results.archive import pack
    from qrt.results.layout import PUBLISHED_LAYOUTS

    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    notes = {
        "commit": commit.stdout.strip(),
        "published": datetime.now(UTC).date().isoformat(),
        "lock_file_sha256": file_sha256(Path("requirements.lock")),
        "claims_checksum": claims_checksum(),
    }
    contents = pack(options.folder, PUBLISHED_LAYOUTS, options.archive, notes, mixed=options.mixed)
    for dataset, families in contents.left_out.items():
        print(f"{dataset}: not on all splits yet, so left out: {', '.join(families)} (seed/family, times/protocol)")
    size = sum(path.stat().st_size for path in options.archive.rglob("*") if path.is_file()) / 1e6
    print(
        f"{options.archive}: {contents.networks} networks on {len(contents.datasets)} datasets, "
        f"{contents.cpu_hours:g} CPU-hours of training, {size:.1f} MB"
    )
