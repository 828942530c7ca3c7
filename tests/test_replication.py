"""The published results: complete, drawn again byte for byte, and told on the front page."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import yaml

from conftest import PROJECT
from qrt.atomic import write_json
from qrt.documentation.progress import at_hand, steps
from qrt.documentation.published import written_documents
from qrt.documentation.written_block import with_block
from qrt.errors import UserError
from qrt.parquet_file import read_tables, write_table
from qrt.results.archive import CPU_HOURS, hours_of_times, pack, read_manifest, unpack
from qrt.results.layout import PUBLISHED_LAYOUTS
from qrt.results.tables import TABLES
from support.snakemake_calls import DRY_RUN, call_snakemake, planned_jobs

ARCHIVE = PROJECT / "replication/results"
# One of each kind, and what most others are based on; `make replication` draws them all.
DRAWN = (
    "fig02_nll_difference.png",
    "fig03_main.png",
    "fig15_validation_nll.png",
    "table3_datasets.csv",
    "scorecard.csv",
    "agreement.csv",
    "robustness.csv",
)

SMALL = ("CPU", "Yacht", "space_ga")  # the last has densities of single rows

published = pytest.mark.skipif(
    not ARCHIVE.is_dir(), reason="this clone has no published results in replication/results"
)


@pytest.fixture(scope="module")
def small_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published results of a few small datasets, as if no others had been published."""
    archive, whole = tmp_path_factory.mktemp("small") / "archive", read_manifest(ARCHIVE)
    names = [name for name in whole["files"] if Path(name).name.split(".")[0] in {*SMALL, *PUBLISHED_LAYOUTS}]
    for name in names:
        (archive / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ARCHIVE / name, archive / name)
    files = {name: whole["files"][name] for name in names}
    datasets = {name: whole["datasets"][name] for name in SMALL}
    write_json(archive / "manifest.json", whole | {"files": files, "datasets": datasets})
    return archive


@published
def test_documents_have_the_numbers_of_the_published_results() -> None:
    for path, text in written_documents(PROJECT).items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m qrt.documentation.published`"


def test_a_block_is_written_between_its_marks_alone() -> None:
    text = "before\n<!-- a: begin -->\nold\n<!-- a: end -->\nafter"
    assert with_block(text, "a", "new") == text.replace("old", "new")
    with pytest.raises(UserError, match="<!-- b: begin -->"):
        with_block(text, "b", "new")


@published
def test_published_results_are_of_one_version_of_the_code() -> None:
    manifest = read_manifest(ARCHIVE)
    assert len(manifest["codes"]) == 1 or manifest["mixed"]
    assert sum(path.stat().st_size for path in ARCHIVE.rglob("*")) < 80e6


@published
def test_every_published_network_belongs_to_one_step() -> None:
    manifest, found = read_manifest(ARCHIVE), list(steps(PROJECT))
    spent = sum(manifest[name] for name in CPU_HOURS)
    assert sum(step.spent for step in found) == pytest.approx(spent, abs=0.016)  # all three were rounded
    assert all(set(step.finished) <= set(step.planned) for step in found)
    assert found[0].finished


@published
def test_a_step_lacks_a_dataset_whose_networks_are_not_all_there(tmp_path: Path) -> None:
    for name in ("workflow/schemas/config.schema.yaml", "replication/steps.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    (tmp_path / "replication/results/networks").mkdir(parents=True)
    before = {step.name: step for step in steps(tmp_path)}
    assert not any(step.finished or step.spent for step in before.values())
    shutil.copy(ARCHIVE / "networks/Yacht.runs.parquet", tmp_path / "replication/results/networks")
    after = {step.name: step for step in steps(tmp_path)}
    assert after["1 released"].finished == after["2 paper"].finished == ("Yacht",)
    assert after["3 paper"].finished == ("Yacht",)
    assert not after["3t paper"].finished  # its times are not there
    assert sum(after["1 released"].left.values()) < sum(before["1 released"].left.values())


def test_datasets_that_are_not_at_hand_are_those_that_the_mirror_lacks(shared_datasets: Path) -> None:
    with (shared_datasets / "manifest.csv").open(encoding="utf-8", newline="") as manifest:
        missing = {row["name"] for row in csv.DictReader(manifest) if not row["file"]}
    plan = yaml.safe_load((PROJECT / "replication/steps.yaml").read_text(encoding="utf-8"))
    assert set(plan["not_at_hand"]) == missing
    assert at_hand(PROJECT) == 57 - len(missing)


@published
def test_packing_what_was_restored_gives_the_same_archive(small_archive: Path, tmp_path: Path) -> None:
    restored = tmp_path / "study"
    unpack(small_archive, restored, PUBLISHED_LAYOUTS)
    pack(restored, PUBLISHED_LAYOUTS, tmp_path / "archive", {}, mixed=read_manifest(small_archive)["mixed"])
    assert read_manifest(tmp_path / "archive")["files"] == read_manifest(small_archive)["files"]


@published
def test_several_processes_restore_the_same_files(small_archive: Path, tmp_path: Path) -> None:
    folders = {processes: tmp_path / str(processes) for processes in (1, 2)}
    counts = {
        unpack(small_archive, folder, PUBLISHED_LAYOUTS, processes=processes) for processes, folder in folders.items()
    }
    found = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in folders.values()
    ]
    assert counts == {len(found[0])}
    assert found[0] == found[1]


@published
def test_family_that_lacks_a_split_is_left_out(small_archive: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    unpack(small_archive, study, PUBLISHED_LAYOUTS)
    family = "mlp-3.qrt.variance.same_pass"
    for kind in ("runs", "curves"):
        path = study / f"results/networks/Yacht/seed0/{family}.{kind}.parquet"
        table = read_tables([path], TABLES[kind][1])
        write_table(path, table.filter(pc.not_equal(table["split"], 3)))
    contents = pack(study, PUBLISHED_LAYOUTS, tmp_path / "archive", {}, mixed=read_manifest(small_archive)["mixed"])
    assert contents.left_out == {"Yacht": [f"0/{family}"]}
    assert "Yacht" not in contents.families[family]
    assert contents.datasets == read_manifest(small_archive)["datasets"]
    for kind in ("runs", "curves"):
        packed = pq.read_table(tmp_path / f"archive/networks/Yacht.{kind}.parquet", columns=["seed", "family"])
        assert (0, family) not in set(zip(*packed.to_pydict().values(), strict=True))


@published
def test_times_that_lack_a_split_are_left_out(small_archive: Path, tmp_path: Path) -> None:
    study = tmp_path / "study"
    unpack(small_archive, study, PUBLISHED_LAYOUTS)
    (study / PUBLISHED_LAYOUTS["paper"].times("Yacht", 3)).unlink()
    contents = pack(study, PUBLISHED_LAYOUTS, tmp_path / "archive", {}, mixed=read_manifest(small_archive)["mixed"])
    assert contents.left_out == {"Yacht": ["times/paper"]}
    before, after = (pq.read_table(folder / "times/paper.parquet") for folder in (small_archive, tmp_path / "archive"))
    assert set(before["dataset"].to_pylist()) - set(after["dataset"].to_pylist()) == {"Yacht"}
    hours = {name: sum(hours_of_times(table).values()) for name, table in (("before", before), ("after", after))}
    assert contents.timing_cpu_hours == round(hours["after"], 2)
    assert hours["after"] < hours["before"]


def test_hours_of_times_count_a_network_once() -> None:
    """BASE has no map, so that one network has the times of both ways."""
    rows = [
        ("BASE", "ours", 3600.0),
        ("BASE", "released", 3600.0),
        ("QRTC", "ours", 1800.0),
        ("QRTC", "released", 7200.0),
    ]
    table = [{"dataset": "d", "split": 0, "method": method, "way": way, "train_seconds": s} for method, way, s in rows]
    assert hours_of_times(pa.Table.from_pylist(table)) == {"d": 3.5}


@published
def test_archive_is_not_replaced_by_one_with_fewer_networks(small_archive: Path, tmp_path: Path) -> None:
    archive, study = tmp_path / "archive", tmp_path / "study"
    shutil.copytree(small_archive, archive)
    unpack(archive, study, PUBLISHED_LAYOUTS)
    next(study.glob("results/networks/Yacht/seed0/mlp-3.qrt.*.runs.parquet")).unlink()
    with pytest.raises(UserError, match=r"networks on Yacht that this study does not have: mlp-3\.qrt.*restore"):
        pack(study, PUBLISHED_LAYOUTS, archive, {})
    assert read_manifest(archive) == read_manifest(small_archive)


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all published results, for both protocols."""
    folder = tmp_path_factory.mktemp("restored")
    unpack(ARCHIVE, folder, PUBLISHED_LAYOUTS, processes=2)
    return folder


@published
@pytest.mark.workflow
@pytest.mark.parametrize("study", ["paper", "released"])
def test_published_figures_are_drawn_again_byte_for_byte(study: str, restored: Path) -> None:
    layout = PUBLISHED_LAYOUTS[study]
    targets = [f"{layout.figures}/{name}" for name in DRAWN]
    place = ("--cores", "2", "--directory", str(restored), "--configfile", f"replication/{study}.yaml")
    call = call_snakemake(PROJECT, *place, "--", *targets)
    assert call.returncode == 0, call.stderr[-3000:]
    assert not list(restored.glob("results/networks/*/seed*/split*")), "nothing is trained"
    for target in targets:
        assert (restored / target).read_bytes() == (PROJECT / target).read_bytes(), target


# The published networks of Yacht that the next test starts from; what is asked for beyond them -> jobs that are new.
KEPT = {"mlp-3.plain", "mlp-3.qrt.scale.second_pass"}
NEW = {
    "one more dataset": (["datasets=[Yacht,linear]"], {"train": 10, "evaluate": 2}),
    "one more seed": (["datasets=[Yacht]", "seeds=2"], {"train": 10, "evaluate": 2}),
    "one more experiment": (["datasets=[Yacht]", "switches={kernel_width: variance}"], {"train": 5, "evaluate": 1}),
}


@published
@pytest.mark.workflow
@pytest.mark.parametrize("what", NEW)
def test_one_more_thing_plans_only_what_is_new(what: str, small_archive: Path, tmp_path: Path) -> None:
    unpack(small_archive, tmp_path, PUBLISHED_LAYOUTS)
    for path in tmp_path.glob("results/networks/Yacht/seed*/*.parquet"):
        if path.parent.name != "seed0" or path.name.rsplit(".", 2)[0] not in KEPT:
            path.unlink()
    study = ["protocol=released", "scope=main", "base_models=[MLP-3]", "methods=[BASE,QRC,QRT,QRTC]"]
    asked, jobs = NEW[what]
    place = ("--directory", str(tmp_path))
    call = call_snakemake(PROJECT, *DRY_RUN, *place, "--config", *study, *asked, "--", "networks")
    # The data of one dataset is fetched and prepared, and nothing that was published is trained or evaluated again.
    assert planned_jobs(call) == {"fetch": 1, "prepare": 1, "networks": 1} | jobs
