"""The published results as the documents tell them."""

from __future__ import annotations

import pytest

from conftest import PROJECT
from qrt.errors import UserError
from qrt_study.documents import from_code, published
from qrt_study.documents.progress import SpentHours, finished, progress_table
from qrt_study.documents.written_block import with_block
from qrt_study.results.archive import CPU_HOURS
from qrt_study.results.published_results import PublishedResults
from qrt_study.running.steps import Steps

ARCHIVE = PROJECT / "replication/results"
MANIFEST = PublishedResults(ARCHIVE).manifest


def test_documents_have_the_numbers_of_the_published_results() -> None:
    for path, text in published.written_documents(PROJECT).items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m qrt_study.documents.published`"


def test_documents_are_as_the_code_has_them() -> None:
    for path, text in from_code.written_documents(PROJECT).items():
        assert path.read_text(encoding="utf-8") == text, "run `make docs`"


def test_a_block_is_written_between_its_marks_alone() -> None:
    text = "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter"
    assert with_block(text, "a", "new") == text.replace("old", "new")
    with pytest.raises(UserError, match="<!-- b: begin -->"):
        with_block(text, "b", "new")


def test_published_results_are_of_one_version_of_training() -> None:
    assert len(MANIFEST["training_version"]) == 1 or MANIFEST["mixed"]
    assert sum(path.stat().st_size for path in ARCHIVE.rglob("*")) < 80e6


def test_every_published_network_belongs_to_a_step() -> None:
    hours, steps = SpentHours.read(ARCHIVE), Steps(PROJECT).by_name.values()
    planned = {place for step in steps for dataset in step.files.study.datasets for place in step.places(dataset)}
    assert set(hours.networks) <= planned
    spent = sum(hours.networks.values()) + sum(hours.times.values())
    assert spent == pytest.approx(sum(MANIFEST[name] for name in CPU_HOURS), abs=0.016)  # all three were rounded


def test_table_of_steps_counts_what_is_finished() -> None:
    cells = {row.split(" | ")[0].strip("| "): row.split(" | ") for row in progress_table(PROJECT).splitlines()[2:]}
    steps = Steps(PROJECT).by_name
    assert list(cells) == [*steps, "all"]
    for name, step in steps.items():
        assert cells[name][2] == f"{finished(step)} of {len(step.files.study.datasets)}"
    assert finished(steps["1 released"]) > 40
