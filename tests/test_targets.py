"""Targets by name: what was meant by one that there is none of, and many of them in few words."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import PROJECT
from qrt.data.record import write_record
from qrt.running.study_files import StudyFiles
from qrt.running.targets import targets_in_words, what_was_meant, without_results
from qrt.study.artifacts import ARTIFACTS, short_target
from qrt.study.config import load_config, read_schema

KNOWN = [*ARTIFACTS, *map(short_target, ARTIFACTS), "all", "figures", "tables", "scorecard"]


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("fig3", "did you mean fig03?"),
        ("figure3", "did you mean fig03?"),
        ("Fig03", "did you mean fig03?"),
        ("table03", "did you mean table3?"),
        ("fig29", "the paper's are fig01 to fig28."),
        ("table4", "the paper's are table1 to table3."),
        ("scorecrd", "did you mean scorecard?"),
        ("xyz", "snakemake --list-target-rules shows all."),
    ],
)
def test_mistyped_target_gets_a_suggestion(asked: str, hint: str) -> None:
    with pytest.raises(SystemExit) as ended:
        what_was_meant(asked, KNOWN)
    assert str(ended.value) == f"error: there is no target {asked!r}; {hint}"


def test_neighbouring_figures_are_one_span() -> None:
    assert targets_in_words(ARTIFACTS) == "fig01 to fig28, table1 to table3"
    some = ["scorecard", "table1_methods", "fig28_predictions_abalone", "fig02_nll_difference", "fig01_per_epoch"]
    assert targets_in_words(some) == "fig01, fig02, fig28, table1, scorecard"


def test_figure_of_a_dataset_without_data_is_drawn_and_does_not_wait_for_results(tmp_path: Path) -> None:
    schema = read_schema(PROJECT / "workflow/schemas/config.schema.yaml")
    config = {"datasets": ["abalone", "space_ga"], "only_finished": True}
    files = StudyFiles(load_config(config, schema, PROJECT), tmp_path)
    write_record(tmp_path / files.layout.prepared("abalone"), {"status": "unavailable", "reason": "no source has it"})
    write_record(tmp_path / files.layout.prepared("space_ga"), {"status": "available", "reason": ""})
    assert "fig28_predictions_abalone" in files.drawable(ARTIFACTS)
    assert "fig27_predictions_space_ga" not in files.drawable(ARTIFACTS)
    assert "fig27" in without_results(files)
    assert "fig28" not in without_results(files)
