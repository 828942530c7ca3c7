"""Calibration maps of simulated PITs (Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt.figures.figure_kind import Needs, Results
from qrt.statistics.columns import Columns
from qrt.statistics.figure_statistics import FigureStatistics
from qrt.study.artifacts import Artifact
from qrt.study.config import StudyConfig

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TABLES: dict[str, Columns] = {
    "maps": {
        "map": "EMP, KDE, TRUNC or REFL",
        "z": "probability integral transform",
        "cdf": "value of the map",
        "density": "its density; missing for EMP",
    },
    "sample": {"z": "the simulated PITs"},
}


class MapsFigure:
    """Maps of a sample whose true distribution is known; no dataset is behind them."""

    tables = TABLES

    def needs(self, artifact: Artifact, datasets: Sequence[str]) -> Needs:
        """The maps and their sample."""
        return Needs(tables=("maps", "sample"))

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """The maps as they were fitted."""
        return FigureStatistics({"maps": results.maps, "sample": results.sample})

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """Distribution functions and densities."""
        from qrt.figures.calibration_maps import draw_calibration_maps

        return draw_calibration_maps(statistics, title=title)

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """How much mass leaves the unit interval."""
        maps = statistics.tables["maps"]
        kde = maps[maps["map"] == "KDE"].sort_values("z")
        if kde.empty:
            return ""
        inside = kde["cdf"].iloc[-1] - kde["cdf"].iloc[0]
        return f"KDE puts {1 - inside:.1%} of its mass outside of [0, 1]; TRUNC and REFL put none there."
