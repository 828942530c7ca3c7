"""Fit the calibration maps of Figure 11 to simulated PITs."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(*, study: StudyConfig, maps: Path, sample: Path) -> None:
    """Write the maps and the sample they are fitted to."""
    from qrt_study.results.simulated_maps import map_comparison
    from qrt_study.results.tables import MAPS, SAMPLE, write_rows

    rows, points = map_comparison(study.protocol.kernel_width)
    write_rows(maps, rows, MAPS)
    write_rows(sample, points, SAMPLE)
