"""One figure of the paper, from the files with its numbers to its picture. Nothing is computed here."""

from __future__ import annotations

from pathlib import Path

from qrt_study.figures import style
from qrt_study.figures.kinds import KINDS
from qrt_study.plan.artifacts import FIGURES
from qrt_study.plan.config import StudyConfig
from qrt_study.statistics.figure_statistics import FigureStatistics, read_summary


def draw_figure(name: str, study: StudyConfig, folder: Path, *, pdf: Path, png: Path) -> None:
    """Draw the statistics in a folder, with a footer that says what they are based on."""
    artifact = FIGURES[name]
    kind = KINDS[artifact.kind]
    described = read_summary(folder)
    with style.paper_style():
        title = f"{described['number']}: {described['title']}"
        figure = kind.draw(artifact, FigureStatistics.read(folder, kind.tables), study, title)
        style.add_footer(figure, described["footer"])
        style.save(figure, pdf, png)
