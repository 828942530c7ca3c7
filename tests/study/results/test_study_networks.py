"""Where the networks of a study come from: trained, published, or both; by configuration and manifest alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from qrt.errors import UserError
from qrt_study.data.record import file_sha256, write_record
from qrt_study.results.archive import pack
from qrt_study.results.layout import prepared_data
from qrt_study.results.published_results import PublishedResults
from qrt_study.results.study_networks import Place, StudyNetworks
from support.configured import study_with
from support.evaluated_rows import VARIANTS, write_evaluated, write_prepared_record, write_times

PLAIN, QRT, SCALED = "mlp-3.plain", "mlp-3.qrt.variance.same_pass", "mlp-3.qrt.scale.second_pass"
PUBLISHED = [Place("Yacht", 0, PLAIN), Place("Yacht", 0, QRT), Place("Yacht", 0, SCALED), Place("CPU", 0, PLAIN)]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with published networks of Yacht, and some of those of CPU."""
    folder = tmp_path_factory.mktemp("published")
    for place in PUBLISHED:
        write_evaluated(folder, place, package_version="published")
    for dataset in ("Yacht", "CPU"):
        write_prepared_record(folder, dataset)
    write_times(folder, "paper", "Yacht")
    pack(folder, folder / "archive", {})
    return folder / "archive"


@pytest.fixture
def networks_of(published: Path, tmp_path: Path) -> Any:
    def networks_of(**config: Any) -> StudyNetworks:
        study = {"datasets": ["CPU", "Yacht"], "base_models": ["MLP-3"], "methods": ["BASE", "QRT"], "scope": "main"}
        return StudyNetworks(replace(study_with(**study | config), archive=str(published)), tmp_path)

    return networks_of


def made(*places: Place) -> list[str]:
    """The files of networks that the study makes itself."""
    return [f"results/networks/{name}/seed{seed}/splits0-4/{family}.runs.parquet" for name, seed, family in places]


ALL = [Place(dataset, 0, family) for dataset in ("CPU", "Yacht") for family in (PLAIN, QRT)]


def test_all_networks_of_a_new_study_are_its_own(networks_of: Any) -> None:
    networks = networks_of()
    assert networks.places() == ALL
    assert networks.files(ALL, "runs") == made(*ALL)
    assert networks.records() == [prepared_data("CPU"), prepared_data("Yacht")]
    assert networks.times() == ["results/paper/times/CPU.parquet", "results/paper/times/Yacht.parquet"]
    assert networks.datasets_with_results() is None


def test_study_of_published_results_has_nothing_but_them(networks_of: Any, published: Path) -> None:
    networks = networks_of(networks="published", datasets=["CPU", "Yacht", "MPG"])
    assert networks.places() == [place for place in ALL if place in PUBLISHED]
    files = [str(published / f"networks/{name}.runs.parquet") for name in ("CPU", "Yacht")]
    assert networks.files(networks.places(), "runs") == files
    assert networks.records() == [str(published / f"records/{name}.json") for name in ("CPU", "Yacht")]
    assert networks.times() == [str(published / "times/paper.parquet")]
    assert networks.datasets_with_results() == ["CPU", "Yacht"]


def test_study_that_extends_published_results_makes_the_others(networks_of: Any, published: Path) -> None:
    networks = networks_of(networks="extend")
    assert networks.places() == ALL
    (lacking,) = (place for place in ALL if place not in PUBLISHED)
    theirs = {str(published / f"networks/{name}.runs.parquet") for name in ("CPU", "Yacht")}
    assert set(networks.files(ALL, "runs")) == {*made(lacking), *theirs}
    # A dataset that networks are trained on has to be prepared; the record of the other is the published one.
    assert networks.records() == [prepared_data("CPU"), str(published / "records/Yacht.json")]
    assert networks.times() == ["results/paper/times/CPU.parquet", str(published / "times/paper.parquet")]
    assert networks.datasets_with_results() is None


def test_one_more_split_is_added_to_the_published_ones(networks_of: Any, tmp_path: Path) -> None:
    more = networks_of(networks="extend", splits=[0, 5], datasets=["Yacht"])
    places = more.places()
    assert not any(map(more.is_published, places))
    own = [path for path in more.files(places, "runs") if path.startswith("results/")]
    assert own == [path.replace("splits0-4", "splits5") for path in made(*places)]
    for place in places:
        write_evaluated(tmp_path, place, [5], package_version="own")
    rows = more.read(places, "runs").to_pandas()
    expected = [(place.family, *row) for place in places for row in ((0, "published"), (5, "own")) for _ in VARIANTS]
    assert list(rows[["family", "split", "package_version"]].itertuples(index=False, name=None)) == expected


def test_one_more_seed_is_not_published(networks_of: Any) -> None:
    more = networks_of(networks="extend", seeds=2, datasets=["Yacht"])
    assert [place for place in more.places() if not more.is_published(place)] == [
        Place("Yacht", 1, PLAIN),
        Place("Yacht", 1, QRT),
    ]
    fewer = networks_of(networks="published", splits=[1, 3])
    assert fewer.places() == [place for place in ALL if place in PUBLISHED]


@pytest.mark.parametrize("mode", ["new", "published", "extend"])
def test_rows_are_read_in_the_order_of_the_places_on_the_splits_of_the_study(
    networks_of: Any, tmp_path: Path, mode: str
) -> None:
    networks = networks_of(networks=mode, splits=[1, 3])
    for place in networks.places():
        if not networks.is_published(place):
            write_evaluated(tmp_path, place, [1, 3], package_version="own")
    places = networks.places()[::-1]
    rows = networks.read(places, "runs").to_pandas()
    expected = [(*place, split, variant) for place in places for split in (1, 3) for variant in VARIANTS]
    assert list(rows[["dataset", "seed", "family", "split", "variant"]].itertuples(index=False, name=None)) == expected
    origin = [("published" if networks.is_published(Place(*row[:3])) else "own") for row in expected]
    assert rows["package_version"].tolist() == origin
    curves = networks.read(places, "curves").to_pandas()
    assert curves["epoch"].tolist() == [2, 4] * len(expected)
    assert len(networks.read([], "runs")) == 0


def test_times_are_read_by_dataset_whatever_their_source(networks_of: Any, tmp_path: Path) -> None:
    write_times(tmp_path, "paper", "CPU")
    for order in (["CPU", "Yacht"], ["Yacht", "CPU"]):
        times = networks_of(networks="extend", datasets=order, splits=[4]).read_times().to_pandas()
        assert times["dataset"].unique().tolist() == order
        assert set(times["split"]) == {4}


def test_claims_are_judged_from_all_networks_that_are_asked_for_or_published(networks_of: Any) -> None:
    def judged(**config: Any) -> list[Place]:
        return networks_of(datasets=["Yacht"], **config).places_to_judge()

    own = [Place("Yacht", 0, PLAIN), Place("Yacht", 0, QRT)]
    assert judged() == own
    assert judged(networks="extend") == judged(networks="published") == [*own, Place("Yacht", 0, SCALED)]
    both = judged(protocols=["paper", "released"])
    assert both[:2] == own
    assert Place("Yacht", 0, SCALED) in both
    assert judged(seeds=3) == own, "further random starts are studies of their own"


def test_experiments_have_the_networks_of_their_methods_alone(networks_of: Any) -> None:
    networks = networks_of(methods=["BASE", "BASE-TRAIN", "QRT", "QREGC"])
    regularised = "mlp-3.qreg.variance.nll.same_pass"
    assert {place.family for place in networks.places()} == {PLAIN, QRT, regularised}
    assert {place.family for place in networks.places(["main"])} == {PLAIN, QRT}
    assert networks.places(["base_train"], ["Yacht"]) == [Place("Yacht", 0, PLAIN)]
    assert {place.family for place in networks.places(with_curves=True)} == {PLAIN, QRT}
    assert networks.places(["unknown"]) == []


def test_published_file_that_was_changed_is_refused(networks_of: Any, published: Path) -> None:
    networks, path = networks_of(networks="published"), published / "networks/Yacht.runs.parquet"
    content = path.read_bytes()
    try:
        path.write_bytes(content + b"\n")
        with pytest.raises(UserError, match=r"Yacht\.runs\.parquet"):
            networks.read(networks.places(), "runs")
        path.unlink()
        with pytest.raises(UserError, match=r"Yacht\.runs\.parquet"):
            networks.read(networks.places(), "runs")
    finally:
        path.write_bytes(content)


def test_column_that_is_newer_than_the_published_rows_has_no_values(tmp_path: Path) -> None:
    write_evaluated(tmp_path, PUBLISHED[0])
    pack(tmp_path, tmp_path / "archive", {})
    path, manifest = tmp_path / "archive/networks/Yacht.runs.parquet", tmp_path / "archive/manifest.json"
    pq.write_table(pq.read_table(path).drop_columns("x_scale"), path)
    content = json.loads(manifest.read_text())
    content.pop("record_sha256")
    content["files"]["networks/Yacht.runs.parquet"] = file_sha256(path)
    write_record(manifest, content)
    rows = PublishedResults(tmp_path / "archive").read(str(path), "runs")
    assert rows["x_scale"].null_count == len(rows) > 0


@pytest.mark.parametrize("content", [None, "", "[", '{"families": {}'])
def test_archive_without_a_readable_manifest_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UserError, match=r"manifest\.json"):
        PublishedResults(tmp_path).has("Yacht", 0, PLAIN, [0])


HOSTILE: list[dict[str, Any]] = [
    {"files": {"networks/../../escape.runs.parquet": "0" * 64}},
    {"files": {"networks/Yacht.runs.parquet\n": "0" * 64}},
    {"files": {"networks/Yacht.runs.parquet": "0" * 63}},
    {"datasets": {"../escape": "data"}},
    {"families": {"Yacht": {"0": ["../../escape"]}}},
    {"families": {"Yacht": {"-1": ["plain"]}}},
    {"families": ["Yacht"]},
    {"splits": ["0"]},
    {"timed": {"paper": ["a/b"]}},
    {"files": None},
]


@pytest.mark.parametrize("changes", HOSTILE, ids=str)
def test_manifest_with_other_names_than_a_studys_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    sound = {"datasets": {"Yacht": "data"}, "families": {}, "files": {}, "splits": [0], "timed": {}}
    write_record(tmp_path / "manifest.json", sound)
    assert PublishedResults(tmp_path).data("Yacht") == "data"
    write_record(tmp_path / "manifest.json", sound | changes)
    with pytest.raises(UserError, match=r"manifest\.json"):
        PublishedResults(tmp_path).data("Yacht")


def test_published_manifest_that_was_changed_is_refused(tmp_path: Path) -> None:
    write_evaluated(tmp_path, PUBLISHED[0])
    pack(tmp_path, tmp_path / "archive", {})
    manifest = tmp_path / "archive/manifest.json"
    sound = manifest.read_text()
    for old, new in (('"the data"', '"other data"'), ('"record_sha256"', '"secord_sha256"')):
        manifest.write_text(sound.replace(old, new))
        with pytest.raises(UserError, match=r"manifest\.json: not a whole manifest"):
            PublishedResults(tmp_path / "archive").data("Yacht")


def test_published_files_are_those_of_the_manifest_in_the_folder(tmp_path: Path) -> None:
    """A file that no checksum covers is not published, and a link does not lead out of the folder."""
    write_evaluated(tmp_path, PUBLISHED[0])
    write_prepared_record(tmp_path, "Yacht")
    archive = tmp_path / "archive"
    pack(tmp_path, archive, {})
    write_record(archive / "records/CPU.json", {"dataset": "CPU", "status": "available", "reason": ""})
    assert PublishedResults(archive).record_file("CPU") is None
    record = archive / "records/Yacht.json"
    assert PublishedResults(archive).record_file("Yacht") == str(record)
    record.write_text(record.read_text().replace("available", "invalid"))
    with pytest.raises(UserError, match=r"Yacht\.json: missing or changed"):
        PublishedResults(archive).record_file("Yacht")
    (archive / "records").rename(tmp_path / "elsewhere")
    (archive / "records").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="lies outside"):
        PublishedResults(archive).record_file("Yacht")
