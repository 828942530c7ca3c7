"""Calibration maps of simulated PITs (Figure 11)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qrt_study.figures.figure_kind import RequiredResults, Results
from qrt_study.plan.artifacts import Artifact
from qrt_study.statistics.columns import Columns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qrt_study.plan.config import StudyConfig
    from qrt_study.statistics.figure_statistics import FigureStatistics

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

    def requires(self, artifact: Artifact, datasets: Sequence[str]) -> RequiredResults:
        """The maps and their sample."""
        return RequiredResults(tables=("maps", "sample"))

    def compute(self, artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
        """The maps as they were fitted."""
        from qrt_study.statistics.figure_statistics import FigureStatistics

        return FigureStatistics({"maps": results.maps, "sample": results.sample})

    def draw(self, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig, title: str) -> Figure:
        """Distribution functions and densities."""
        from qrt_study.figures.calibration_maps import draw_calibration_maps

        return draw_calibration_maps(statistics, title=title)

    def headline(self, artifact: Artifact, statistics: FigureStatistics) -> str:
        """How much mass leaves the unit interval."""
        maps = statistics.tables["maps"]
        kde = maps[maps["map"] == "KDE"].sort_values("z")
        if kde.empty:
            return ""
        inside = kde["cdf"].iloc[-1] - kde["cdf"].iloc[0]
        return f"KDE puts {1 - inside:.1%} of its mass outside of [0, 1]; TRUNC and REFL put none there."
