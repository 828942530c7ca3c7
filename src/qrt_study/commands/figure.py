"""Draw one figure of the paper from its numbers."""

from __future__ import annotations

import gc
from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(name: str, *, study: StudyConfig, statistics: Path, pdf: Path, png: Path) -> None:
    """Draw the numbers in the folder `statistics`."""
    gc.disable()  # the process ends with the picture; looking for unused objects would take a tenth of its time
    from qrt_study.figures.figure_job import draw_figure

    draw_figure(name, study, statistics, pdf=pdf, png=png)
