"""Publishing: finished results are added to those that are published, and nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from qrt.errors import UserError
from qrt_study.data.record import write_record
from qrt_study.parquet_file import write_rows
from qrt_study.results.archive import FINGERPRINTS, FROM_PREDICTIONS, SPLITS, hours_of_times, pack, unfinished
from qrt_study.results.layout import prepared_data, splits_word
from qrt_study.results.prediction_file import PredictionFile, SplitPart, write_predictions
from qrt_study.results.published_results import PublishedResults
from qrt_study.results.study_networks import Place
from qrt_study.results.tables import TABLES
from support.damage import flip, truncate
from support.data_folders import files_below
from support.evaluated_rows import LAYOUT, VARIANTS, write_evaluated, write_prepared_record, write_times

PLAIN, QRT, OTHER = Place("Yacht", 0, "plain"), Place("Yacht", 0, "qrt"), Place("CPU", 1, "plain")


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def publish(archive: Path, *places: Place, **columns: Any) -> PublishedResults:
    """What is published after a study with these networks was packed."""
    study = archive.parent / f"study{len(list(archive.parent.iterdir()))}"
    for place in places:
        write_evaluated(study, place, **columns)
    pack(study, archive, {})
    return PublishedResults(archive)


def content(published: PublishedResults, dataset: str, kind: str = "runs") -> pa.Table:
    path = published.rows_file(dataset, kind)
    assert path is not None
    return published.read(path, kind)


def places_in(published: PublishedResults) -> set[Place]:
    """The networks that are published, by the rows themselves."""
    tables = [content(published, name).select(["dataset", "seed", "family"]) for name in published.manifest["datasets"]]
    return {Place(*row.values()) for table in tables for row in table.to_pylist()}


def test_manifest_says_what_was_packed(archive: Path) -> None:
    published = publish(archive, PLAIN, QRT, OTHER)
    assert published.manifest["families"] == {"CPU": {"1": ["plain"]}, "Yacht": {"0": ["plain", "qrt"]}}
    assert published.manifest["networks"] == 3 * len(VARIANTS) * len(SPLITS)
    assert published.manifest["datasets"] == {"CPU": "the data", "Yacht": "the data"}
    assert published.manifest["cpu_hours"] == round(30 / 3600, 2)
    assert places_in(published) == {PLAIN, QRT, OTHER}
    written = {str(path.relative_to(archive)) for path in archive.rglob("*") if path.is_file()}
    assert written == {"manifest.json", *published.manifest["files"]}


def test_networks_are_added_to_those_of_another_study(archive: Path) -> None:
    before = content(publish(archive, PLAIN, OTHER), "Yacht")
    published = publish(archive, QRT)
    assert places_in(published) == {PLAIN, QRT, OTHER}
    after = content(published, "Yacht")
    assert after.filter(pa.compute.equal(after["family"], "plain")) == before


def test_packing_again_changes_no_file(archive: Path) -> None:
    first = publish(archive, PLAIN, OTHER).manifest["files"]
    assert publish(archive, PLAIN).manifest["files"] == first


def test_networks_that_were_trained_again_replace_their_own_rows_alone(archive: Path) -> None:
    publish(archive, PLAIN, QRT)
    rows = content(publish(archive, QRT, test_nll=7.0), "Yacht").to_pandas()
    assert set(rows.groupby("family")["test_nll"].max()) == {np.float32(4.1), 7.0}
    assert len(rows) == 2 * len(VARIANTS) * len(SPLITS)


def test_networks_on_data_that_has_changed_replace_all_of_the_dataset(archive: Path) -> None:
    publish(archive, PLAIN, QRT, OTHER)
    published = publish(archive, QRT, data="other data")
    assert places_in(published) == {QRT, OTHER}
    assert published.data("Yacht") == "other data"
    assert set(content(published, "Yacht", "curves")["family"].to_pylist()) == {"qrt"}


def test_networks_of_one_dataset_on_different_data_are_refused(tmp_path: Path, archive: Path) -> None:
    write_evaluated(tmp_path, PLAIN)
    write_evaluated(tmp_path, QRT, data="other data")
    with pytest.raises(UserError, match="Yacht"):
        pack(tmp_path, archive, {})
    assert not archive.exists()


def test_networks_of_different_versions_of_training_are_refused_without_a_reason(tmp_path: Path, archive: Path) -> None:
    (fingerprint,) = FINGERPRINTS  # of networks that were trained before there were versions
    publish(archive, PLAIN, code=fingerprint)
    assert publish(archive, OTHER, code="1").manifest["training_version"] == {"1": 20}
    before = (archive / "manifest.json").read_bytes()
    write_evaluated(tmp_path, QRT, code="2")
    with pytest.raises(UserError, match="--mixed"):
        pack(tmp_path, archive, {})
    assert (archive / "manifest.json").read_bytes() == before
    assert pack(tmp_path, archive, {}, mixed="equal in practice").training_version == {"1": 20, "2": 10}


def test_families_that_are_not_on_all_splits_are_left_out(tmp_path: Path, archive: Path) -> None:
    write_evaluated(tmp_path, PLAIN)
    write_evaluated(tmp_path, QRT, [0, 1])
    pack(tmp_path, archive, {})
    assert places_in(PublishedResults(archive)) == {PLAIN}
    assert unfinished(tmp_path) == ["Yacht/seed0/splits0-1/qrt.runs.parquet"]


@pytest.mark.parametrize("status", ["unavailable", "failed"])
def test_networks_that_were_never_trained_are_left_out(tmp_path: Path, archive: Path, status: str) -> None:
    """A study that extends the published results would never train them."""
    write_evaluated(tmp_path, PLAIN)
    write_evaluated(tmp_path, QRT, status=status, code="", data="", cpu="")
    write_evaluated(tmp_path, OTHER, status=status, code="", data="", cpu="")
    pack(tmp_path, archive, {})
    published = PublishedResults(archive)
    assert published.manifest["families"] == {"Yacht": {"0": ["plain"]}}
    assert places_in(published) == {PLAIN}
    assert set(content(published, "Yacht", "curves")["family"].to_pylist()) == {"plain"}


def test_study_without_finished_networks_is_refused(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(UserError, match="results/networks"):
        pack(tmp_path, archive, {})
    write_evaluated(tmp_path, QRT, [0])
    with pytest.raises(UserError, match="results/networks"):
        pack(tmp_path, archive, {})


def test_damaged_rows_are_never_published(tmp_path: Path, archive: Path) -> None:
    write_evaluated(tmp_path, PLAIN)
    path = tmp_path / LAYOUT.evaluated("Yacht", 0, "0-4", "plain", "runs")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UserError, match=r"plain\.runs\.parquet: damaged"):
        pack(tmp_path, archive, {})


def test_measured_values_are_rounded_and_names_of_networks_are_not(archive: Path) -> None:
    published = publish(archive, PLAIN)
    stored = pq.read_table(archive / "networks/Yacht.runs.parquet")
    assert stored["test_nll"].type == pa.float32()
    rows = content(published, "Yacht").to_pandas()
    assert set(rows["bandwidth"]) == {0.1}
    assert set(rows["test_nll"]) == {np.float64(np.float32(0.1 + split)) for split in SPLITS}


def test_times_are_published_of_datasets_that_have_them_on_all_splits(tmp_path: Path, archive: Path) -> None:
    write_evaluated(tmp_path, PLAIN)
    write_times(tmp_path, "paper", "Yacht")
    write_times(tmp_path, "paper", "CPU", [0, 1])
    write_times(tmp_path, "paper", "MPG", status="failed")
    write_times(tmp_path, "released", "CPU")
    contents = pack(tmp_path, archive, {})
    assert contents.timed == {"paper": ["Yacht"], "released": ["CPU"]}
    assert contents.timing_cpu_hours == 2 * len(SPLITS), "a network whose times count for both ways is there once"
    write_times(tmp_path, "paper", "CPU")
    (tmp_path / LAYOUT.times("paper", "Yacht")).unlink()
    assert pack(tmp_path, archive, {}).timed == {"paper": ["CPU", "Yacht"], "released": ["CPU"]}


def test_times_on_data_that_has_changed_leave(tmp_path: Path, archive: Path) -> None:
    for name, data in (("one", "the data"), ("two", "other data")):
        write_evaluated(tmp_path / name, PLAIN, data=data)
    write_times(tmp_path / "one", "paper", "Yacht")
    assert pack(tmp_path / "one", archive, {}).timed["paper"] == ["Yacht"]
    assert pack(tmp_path / "two", archive, {}).timed["paper"] == []


def test_hours_of_times_are_those_of_different_networks() -> None:
    """BASE has no map, so that one network has the times of both ways."""
    rows = [("BASE", "ours", 3600), ("BASE", "released", 3600), ("QRTC", "ours", 1800), ("QRTC", "released", 7200)]
    table = [{"dataset": "d", "split": 0, "method": method, "way": way, "train_seconds": s} for method, way, s in rows]
    assert hours_of_times(pa.Table.from_pylist(table)) == {"d": 3.5}


def test_record_of_available_data_is_not_replaced_by_one_that_says_why_there_is_none(
    tmp_path: Path, archive: Path
) -> None:
    def published_status() -> dict[str, str]:
        return {path.stem: json.loads(path.read_text())["status"] for path in (archive / "records").glob("*.json")}

    write_evaluated(tmp_path, PLAIN)
    write_prepared_record(tmp_path, "Yacht")
    write_prepared_record(tmp_path, "CPU", "unavailable", "no source has it")
    pack(tmp_path, archive, {})
    assert published_status() == {"Yacht": "available", "CPU": "unavailable"}
    write_prepared_record(tmp_path, "Yacht", "unavailable", "no source has it")
    write_prepared_record(tmp_path, "CPU")
    pack(tmp_path, archive, {})
    assert published_status() == {"Yacht": "available", "CPU": "available"}


def test_nothing_is_written_or_removed_outside_of_the_archive(tmp_path: Path, archive: Path) -> None:
    """Whatever the cells, the records and the folders of a study from strangers say."""
    study, outside = tmp_path / "study", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept.json").write_text("{}")
    before = files_below(tmp_path)
    write_evaluated(study, PLAIN)
    write_record(study / prepared_data("Yacht"), {"dataset": "../../escape", "status": "available", "reason": ""})
    with pytest.raises(UserError, match=r"that of '\.\./\.\./escape'"):
        pack(study, archive, {})
    write_prepared_record(study, "Yacht")
    archive.mkdir()
    (archive / "times").symlink_to(outside)
    with pytest.raises(UserError, match="lies outside"):
        pack(study, archive, {})
    (archive / "times").unlink()
    path = study / LAYOUT.evaluated("Yacht", 0, splits_word(SPLITS), "plain", "runs")
    row = {"dataset": "../escape", "split": 0, "seed": 0, "family": "plain", "code": "1", "data": "the data"}
    write_rows(path, [row], TABLES["runs"][1])
    with pytest.raises(UserError, match=r"rows of other datasets: '\.\./escape'"):
        pack(study, archive, {})
    strange = {name for name in files_below(tmp_path) - before if not name.startswith("study/")}
    assert strange == set()


def test_records_that_no_checksum_covers_are_not_published(tmp_path: Path, archive: Path) -> None:
    publish(archive, PLAIN)
    write_record(archive / "records/CPU.json", {"dataset": "CPU", "status": "available", "reason": ""})
    assert set(publish(archive, QRT).manifest["files"]) == {
        f"networks/Yacht.{kind}.parquet" for kind in ("runs", "curves")
    }
    assert not (archive / "records/CPU.json").exists()


def write_predictions_of(study: Path, dataset: str, data: str) -> None:
    """Predictions and scores as a study has them."""
    folder = study / LAYOUT.networks_of(dataset)
    part = SplitPart(0, "test", np.arange(3), np.zeros(3, np.float32), {"one mean1": np.zeros(3, np.float16)})
    write_predictions(folder / "predictions.parquet", [part], {"dataset": dataset, "data": data})
    for kind in FROM_PREDICTIONS:
        row = {"dataset": dataset, "split": 0, "seed": 0, "method": "QRC", "status": "ok"}
        write_rows(folder / f"{kind}.paper.parquet", [row], TABLES[kind][1])


def test_predictions_are_published_beside_the_networks_they_belong_to(archive: Path) -> None:
    study = archive.parent / "study"
    for place in (PLAIN, OTHER):
        write_evaluated(study, place)
    write_predictions_of(study, "Yacht", "the data")
    write_predictions_of(study, "CPU", "other data")
    pack(study, archive, {})
    published = PublishedResults(archive)
    assert published.predictions_file("Yacht") == str(archive / "predictions/Yacht.parquet")
    assert published.predictions_file("CPU") is None
    # What another study adds leaves them where they are.
    again = publish(archive, QRT)
    assert again.predictions_file("Yacht") == str(archive / "predictions/Yacht.parquet")
    path = again.from_predictions_file("scores", "paper")
    assert path is not None
    assert "Yacht" in again.read(path, "scores")["dataset"].to_pylist()


def test_damaged_predictions_are_not_published_again_with_a_new_checksum(archive: Path) -> None:
    study = archive.parent / "study"
    for place in (PLAIN, OTHER):
        write_evaluated(study, place)
    write_predictions_of(study, "Yacht", "the data")
    pack(study, archive, {})
    published = archive / "predictions/Yacht.parquet"
    flip(published, 8 * 100)
    (study / LAYOUT.predictions("Yacht")).unlink()
    before = {path: path.read_bytes() for path in archive.rglob("*.*")}
    with pytest.raises(UserError, match=r"Yacht\.parquet: missing or changed since it was published"):
        pack(study, archive, {})
    assert {path: path.read_bytes() for path in archive.rglob("*.*")} == before
    # Those of the study take their place.
    write_predictions_of(study, "Yacht", "the data")
    pack(study, archive, {})
    assert PredictionFile(published).described == {"dataset": "Yacht", "data": "the data"}


def test_damaged_predictions_of_a_study_are_not_published(archive: Path) -> None:
    study = archive.parent / "study"
    write_evaluated(study, PLAIN)
    write_predictions_of(study, "Yacht", "the data")
    truncate(study / LAYOUT.predictions("Yacht"))
    with pytest.raises(UserError, match=r"predictions\.parquet: damaged .* run the same command again"):
        pack(study, archive, {})
    assert not archive.exists()


def test_predictions_on_data_that_has_changed_leave(archive: Path) -> None:
    study = archive.parent / "study"
    write_evaluated(study, PLAIN)
    write_predictions_of(study, "Yacht", "the data")
    pack(study, archive, {})
    published = publish(archive, PLAIN, data="new data")
    assert published.predictions_file("Yacht") is None
    assert not (archive / "predictions/Yacht.parquet").exists()
    for kind in FROM_PREDICTIONS:
        assert published.from_predictions_file(kind, "paper") is None
