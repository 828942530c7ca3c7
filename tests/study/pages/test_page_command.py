"""The command behind the pages: from the files that the rules declare to those that a page has."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from conftest import PROJECT
from qrt.errors import UserError
from qrt_study import published
from qrt_study.pages.own_data import write_own_data
from qrt_study.pages.page_job import write_page
from qrt_study.plan.config import StudyConfig, load_study
from qrt_study.results.readings import readings_of
from qrt_study.results.tables import METHODS, RUNS, write_rows
from qrt_study.running.study_files import StudyFiles
from qrt_study.statistics.agreement import FIGURE2_POINTS
from qrt_study.statistics.seeds import seed_statistics
from support.mock_verdicts import DEMONSTRATION, mock_differences, mock_key_numbers, mock_verdicts
from support.seed_tables import METRICS, noisy_table

FILES = {
    "scorecard": set[str](),
    "disagreements": {"disagreements_by_dataset.csv"},
    "agreement": {"agreement.pdf", "agreement.png"},
    "robustness": {"robustness_summary.csv"},
    "seeds": {"seeds.pdf", "seeds.png", "seeds_per_seed.csv", "seeds_summary.csv"},
}
TABLE = pd.concat([noisy_table(["Yacht", "CPU"], seeds=2), noisy_table(["Kin8nm"], seeds=1)], ignore_index=True)


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StudyConfig:
    """A study whose folder is this one, with everything that its pages are written from."""
    monkeypatch.chdir(tmp_path)
    study = load_study({"datasets": ["Yacht", "CPU", "Kin8nm"], "seeds": 2}, PROJECT)
    files = StudyFiles(study)
    for seed, rows in TABLE.groupby("seed"):
        records = rows.reindex(columns=list(METHODS)).astype(object)
        (path,) = files.tuned(["main"], int(str(seed)))
        write_rows(Path(path), records.where(records.notna(), None).to_dict("records"), METHODS)
    for file, table in {
        "verdicts.csv": mock_verdicts(9),
        "key_numbers.csv": mock_key_numbers(),
        "differences.csv": mock_differences(),
    }.items():
        for scenario, path in zip(files.judged_scenarios(), files.judged(file), strict=True):
            _write(path, table[table["reading"].isin(readings_of(scenario))])
    for path in files.page_inputs("disagreements")["runs"]:
        write_rows(Path(path), [], RUNS)
    inputs = files.page_inputs("agreement")
    _write(inputs["datasets"][0], pd.DataFrame({"dataset": study.datasets, "status": "verified", "top10": 0.1}))
    ours = published.figure2().rename(columns={"standard_error": "difference_standard_error"})
    ours = ours[ours["dataset"].isin(study.datasets)].assign(metric="NLL", common_splits=5)
    _write(f"{inputs['differences'][0]}/per_dataset.csv", ours)
    _write(f"{inputs['curves'][0]}/selected.csv", published.figure1_marks().assign(part="validation", standard_error=1))
    seconds = {"way": "released", "seconds_per_epoch": 1.0, "published_train_seconds": 10.0, "published_epochs": 5.0}
    _write(
        inputs["times"][0], pd.DataFrame([{"dataset": "Yacht", "method": name} | seconds for name in ("BASE", "QRTC")])
    )
    return study


def _write(path: str, table: pd.DataFrame) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    table.to_csv(path, index=False)


@pytest.mark.parametrize("demonstration", [False, True])
@pytest.mark.parametrize("name", FILES)
def test_page_has_its_files_and_says_if_it_is_a_demonstration(
    name: str, demonstration: bool, study: StudyConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StudyConfig, "demonstration", DEMONSTRATION if demonstration else "")
    write_page(name, study=study, out=Path("out"))
    forms = {f"{name}.{form}" for form in ("html", "md", "csv")}
    assert {path.name for path in Path("out").iterdir()} == forms | FILES[name]
    for form in ("html", "md"):
        text = Path(f"out/{name}.{form}").read_text(encoding="utf-8")
        assert (DEMONSTRATION in text) == demonstration
    assert f'href="{name}.html" aria-current="page"' in Path(f"out/{name}.html").read_text(encoding="utf-8")


def test_numbers_beside_the_page_on_seeds_are_those_of_all_seeds(study: StudyConfig) -> None:
    write_page("seeds", study=study, out=Path("out"))
    expected = seed_statistics(TABLE, METRICS)
    for file, frame in zip(("seeds", "seeds_per_seed", "seeds_summary"), expected, strict=False):
        pd.testing.assert_frame_equal(pd.read_csv(f"out/{file}.csv"), frame, check_dtype=False)


@pytest.mark.parametrize(("demonstration", "datasets"), [("", {"Yacht", "CPU", "Kin8nm"}), (DEMONSTRATION, set())])
def test_demonstration_is_not_compared_with_published_values(
    demonstration: str, datasets: set[str], study: StudyConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StudyConfig, "demonstration", demonstration)
    write_page("agreement", study=study, out=Path("out"))
    points = pd.read_csv("out/agreement.csv")
    assert set(points["dataset"]) == datasets
    assert list(points.columns) == list(FIGURE2_POINTS)


def test_page_on_own_data_needs_own_data(study: StudyConfig) -> None:
    with pytest.raises(UserError, match="own_datasets"):
        write_own_data([], study=study, out=Path("out"))
