"""The numbers of one figure or comparison, from result tables to files. No PyTorch, no Matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from qrt.atomic import write_text
from qrt_study.data.record import read_record
from qrt_study.figures.caption import UNAVAILABLE, caption, footer
from qrt_study.figures.kinds import KINDS, Results
from qrt_study.plan.artifacts import COMPARISONS, Artifact
from qrt_study.plan.config import StudyConfig
from qrt_study.plan.protocol import describe
from qrt_study.results.archive import FROM_PREDICTIONS
from qrt_study.results.tuning import tuned
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.curves import CURVE_COLUMNS
from qrt_study.statistics.figure_statistics import NOT_RUN_YET, FigureStatistics


def compare(name: str, *, study: StudyConfig, out: Path) -> None:
    """Write the numbers of one figure or comparison into `out`, and say its headline."""
    files = StudyFiles(study)
    inputs = files.comparison_inputs(name)
    shown = files.shown_places(name)
    if "runs" in inputs:
        methods = tuned(files.read(files.example_places(name), "runs").to_pandas(), files.examples, study.protocol)
    else:
        methods = files.frames(inputs.get("methods", ()), "methods")
    curves = files.read(shown if "curves" in inputs else [], "curves", CURVE_COLUMNS)
    predictions = files.read(shown if "predictions" in inputs else [], "predictions")
    records = [read_record(Path(path)) for path in inputs["records"]]
    results = Results(
        records={record["dataset"]: record for record in records},
        methods=methods,
        curves=curves.select(list(CURVE_COLUMNS)).to_pandas(),
        predictions=predictions.to_pandas(),
        maps=files.frames(inputs.get("maps", ()), "maps"),
        sample=files.frames(inputs.get("sample", ()), "sample"),
        **{kind: files.read_from_predictions(kind).to_pandas() for kind in FROM_PREDICTIONS if kind in inputs},
    )
    print(write_statistics(name, study, results, out))


def write_statistics(name: str, study: StudyConfig, results: Results, folder: Path) -> str:
    """Write tables, summary and caption of a figure or comparison; returns its headline."""
    artifact = COMPARISONS[name]
    statistics = compute_statistics(artifact, study, results)
    described = _description(name, artifact, statistics, study)
    statistics.write(folder, KINDS[artifact.kind].tables, described)
    write_text(folder / "caption.rst", caption(described))
    return str(described["headline"])


def compute_statistics(artifact: Artifact, study: StudyConfig, results: Results) -> FigureStatistics:
    """Every number of one figure or comparison."""
    return _with_reasons(KINDS[artifact.kind].compute(artifact, study, results), results.records)


def _with_reasons(statistics: FigureStatistics, records: Mapping[str, Mapping[str, Any]]) -> FigureStatistics:
    """Datasets without data have the reason of their record: they do not run later, as `NOT_RUN_YET` would say."""
    reasons = {
        name: f"{record['status']}: {record['reason']}"
        for name, record in records.items()
        if record["status"] == UNAVAILABLE
    }
    notes = {f"{name}: {NOT_RUN_YET}": f"{name}: {reason}" for name, reason in reasons.items()}
    return replace(
        statistics,
        left_out=tuple(
            replace(entry, reason=reasons.get(entry.what, NOT_RUN_YET)) if entry.reason == NOT_RUN_YET else entry
            for entry in statistics.left_out
        ),
        notes=tuple(notes.get(note, note) for note in statistics.notes),
    )


def _description(name: str, artifact: Artifact, statistics: FigureStatistics, study: StudyConfig) -> dict[str, Any]:
    """What `summary.json` says besides what the statistics are based on."""
    comparison = artifact.comparison.under(study.protocol) if artifact.comparison else None
    return {
        "artifact": name,
        "number": artifact.number,
        "title": artifact.title_in(study.datasets),
        "protocol": describe(study.protocol_name, study.protocol),
        "switches": asdict(study.protocol),
        "baseline": comparison.baseline.label if comparison else None,
        "headline": KINDS[artifact.kind].headline(artifact, statistics),
        "footer": footer(artifact, statistics, study),
    }
