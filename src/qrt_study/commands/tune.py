"""Tune the methods of one experiment."""

from __future__ import annotations

from pathlib import Path

from qrt_study.plan.config import StudyConfig


def run(experiment: str, *, study: StudyConfig, seed: int, out: Path) -> None:
    """Write the tuned methods, and say what has no result."""
    from qrt_study.results.study_networks import StudyNetworks
    from qrt_study.results.tables import METHODS, write_rows
    from qrt_study.results.tuning import left_out, tuned_methods

    networks = StudyNetworks(study)
    runs = networks.read(networks.places([experiment], seeds=[seed]), "runs").to_pandas()
    methods = tuned_methods(runs, networks.plan.experiments[experiment], study.protocol)
    write_rows(out, methods.astype(object).where(methods.notna(), None).to_dict("records"), METHODS)
    for line in left_out(methods):
        print(line)
