"""A figure from result tables to its files: what it stands on, numbers that can be looked up, the same bytes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from conftest import SHARED
from qrt_study.figures.caption import footer, left_out_words
from qrt_study.figures.compare_job import compute_statistics, write_statistics
from qrt_study.figures.figure_job import draw_figure
from qrt_study.figures.kinds import KINDS, Results
from qrt_study.plan import artifacts
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES, required_results
from qrt_study.plan.config import StudyConfig
from qrt_study.statistics.figure_statistics import LeftOut
from support import per_epoch_tables
from support.figure_results import results_of, study_of
from support.mock_results import mock_discreteness, mock_main_study, paper_names

LONG = "a_dataset_whose_name_goes_on_and_on_without_end"
# One figure of each kind that compares methods, and another one with other methods or datasets.
COMPARISONS = ("fig02_nll_difference", "fig03_main", "fig19_discreteness_qrtc")
OTHER_COMPARISONS = ("fig10_bandwidth", "fig13_differences_all")


def written(name: str, study: StudyConfig, results: Results, folder: Path) -> dict[str, bytes]:
    write_statistics(name, study, results, folder)
    draw_figure(name, study=study, statistics=folder, pdf=folder / "figure.pdf", png=folder / "figure.png")
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def awkward(case: str) -> tuple[list[str], pd.DataFrame]:
    datasets = [*paper_names(5), LONG]
    if case == "one dataset only":
        datasets = datasets[:1]
    methods = mock_main_study(datasets, splits=3)
    metrics = [column for column in methods.columns if column.startswith("test_")]
    if case == "one method missing everywhere":
        methods = methods[methods["method"] != "QRTC"].reset_index(drop=True)
    elif case == "all values equal":
        methods[metrics] = 1.0
    elif case == "huge outliers":
        hit = (methods["method"] == "QRTC") & (methods["dataset"] == datasets[0])
        methods.loc[hit, metrics] = 1e6
    elif case == "one dataset unavailable":
        hit = methods["dataset"] == datasets[1]
        methods.loc[hit, [column for column in methods.columns if column.startswith(("test_", "val_"))]] = np.nan
        methods.loc[hit, ["status", "reason"]] = ["unavailable", "no source had it"]
    return datasets, methods


MISSING = ("one method missing everywhere", "one dataset unavailable")  # which methods and datasets a figure has
CASES = ("one dataset only", "all values equal", "huge outliers", *MISSING)


@pytest.mark.parametrize(("name", "case"), [*product(COMPARISONS, CASES), *product(OTHER_COMPARISONS, MISSING)])
def test_awkward_results_still_give_a_whole_figure(name: str, case: str, tmp_path: Path) -> None:
    datasets, methods = awkward(case)
    files = written(name, study_of(datasets), results_of(datasets, methods=methods), tmp_path)
    assert files["figure.pdf"].startswith(b"%PDF")
    assert files["figure.png"].startswith(b"\x89PNG")
    said = json.loads(files["summary.json"])
    if case == "one method missing everywhere" and "QRTC" in str(FIGURES[name].comparison):
        assert any("QRTC" in entry["what"] for entry in said["left_out"])
    if case == "one dataset unavailable":
        assert any("no source had it" in entry["reason"] for entry in said["left_out"])
        assert datasets[1] not in said["datasets"]


@pytest.mark.parametrize("name", ["fig01_per_epoch", "fig15_validation_nll", "fig23_predictions_allstate"])
def test_figure_of_datasets_that_the_study_lacks_says_so(name: str, tmp_path: Path) -> None:
    study = study_of(["linear"])
    files = written(name, study, results_of(["linear"]), tmp_path)
    said = json.loads(files["summary.json"])
    assert said["datasets"] == []
    assert said["notes"] or said["left_out"]


def test_full_size_study_gives_the_statistics_of_every_comparison() -> None:
    datasets = paper_names()
    study, results = study_of(datasets), results_of(datasets, methods=mock_main_study(datasets))
    for name, artifact in FIGURES.items():
        if artifact.comparison is None:
            continue
        statistics = compute_statistics(artifact, study, results)
        expected = 44 if artifact.comparison.dataset_set == "non_discrete" else 57
        assert (len(statistics.datasets), statistics.asked, statistics.splits) == (expected, expected, 5), name
        for table, columns in KINDS[artifact.kind].tables.items():
            assert list(statistics.tables[table].columns) == list(columns), (name, table)
            assert len(statistics.tables[table]), (name, table)


def test_methods_of_a_whole_experiment_that_were_not_run_are_named() -> None:
    datasets = paper_names(4)
    methods = mock_main_study(datasets, splits=2)
    results = results_of(datasets, methods=methods[methods["experiment"] != "map_size"])
    left_out = compute_statistics(FIGURES["fig09_map_size"], study_of(datasets), results).left_out
    assert {entry.what for entry in left_out} == {f"QRTC-{size}" for size in (8, 32, 128, 512, 2048)}
    assert {entry.reason for entry in left_out} == {"not run yet"}


def test_a_figure_without_results_says_whether_they_failed_or_were_not_run() -> None:
    datasets = paper_names(2)
    study, methods = study_of(datasets), mock_main_study(datasets, splits=2)
    failed = results_of(datasets, methods=methods.assign(status="diverged", reason="test NLL is inf"))
    not_run = results_of(datasets, methods=methods.iloc[:0])
    said = [list(compute_statistics(FIGURES["fig03_main"], study, results).notes) for results in (failed, not_run)]
    assert said == [["no usable run of the compared methods on any dataset"], ["not run yet"]]


def test_thirteen_methods_on_57_datasets_are_drawn(tmp_path: Path) -> None:
    datasets = paper_names()
    files = written(
        "fig14_alpha", study_of(datasets), results_of(datasets, methods=mock_main_study(datasets)), tmp_path
    )
    ranks = pd.read_csv(io.BytesIO(files["ranks.csv"]))
    assert ranks.groupby("metric")["method"].nunique().unique() == [12]


def test_numbers_of_a_figure_can_be_looked_up(tmp_path: Path) -> None:
    datasets = paper_names(8)
    study, results = study_of(datasets), results_of(datasets, methods=mock_main_study(datasets))
    files = written("fig03_main", study, results, tmp_path)
    statistics = compute_statistics(FIGURES["fig03_main"], study, results)
    for table, frame in statistics.tables.items():
        saved = pd.read_csv(io.BytesIO(files[f"{table}.csv"]))
        pd.testing.assert_frame_equal(saved, frame.reset_index(drop=True), check_dtype=False, rtol=1e-14, atol=0)


def test_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    datasets = paper_names(4)
    curves, methods = per_epoch_tables.study(datasets, splits=2, epochs=6)
    study = study_of(datasets)
    for name, results in (
        ("fig05_main_mlp_1", results_of(datasets, methods=mock_main_study(datasets, splits=2))),
        ("fig16_validation_pce", results_of(datasets, methods=methods, curves=curves)),
    ):
        first, second = (written(name, study, results, tmp_path / name / number) for number in ("one", "two"))
        assert first == second
        assert b"/FontFile2" in first["figure.pdf"], "fonts are embedded"


def test_footer_says_what_the_figure_stands_on() -> None:
    datasets, methods = awkward("one dataset unavailable")
    study, results = study_of(datasets, protocols=["paper.sd"]), results_of(datasets, methods=methods)
    artifact = FIGURES["fig03_main"]
    said = footer(artifact, compute_statistics(artifact, study, results), study)
    asked = sum(share <= 0.5 for share in mock_discreteness(datasets).values())
    assert said.startswith("Protocol: paper (sd changed)")
    assert f"{asked - 1} of {asked} non-discrete datasets" in said
    assert "3 splits" in said
    assert "no source had it" in said


def footer_of(name: str, study: StudyConfig, methods: pd.DataFrame) -> str:
    statistics = compute_statistics(FIGURES[name], study, results_of(study.datasets, methods=methods))
    return footer(FIGURES[name], statistics, study)


def test_footer_names_what_has_not_run_yet() -> None:
    datasets = paper_names(9)
    study, methods = study_of(datasets), mock_main_study(datasets, splits=2)
    assert "not run" not in footer_of("fig21_main_all", study, methods)
    without_qregc = methods[methods["method"] != "QREGC"]
    assert footer_of("fig21_main_all", study, without_qregc).endswith("2 splits · not run yet: QREGC")
    only_seven = without_qregc[without_qregc["dataset"].isin(datasets[2:])]
    assert footer_of("fig21_main_all", study, only_seven).endswith("not run yet: 2 datasets, QREGC")
    partly = methods[(methods["method"] != "QREGC") | (methods["dataset"].isin(datasets[1:4]))]
    assert "not run yet: QREGC on 6 datasets ·" in footer_of("fig21_main_all", study, partly)
    partly_on_seven = partly[partly["dataset"].isin(datasets[2:])]
    assert "not run yet: 2 datasets, QREGC on 5 others ·" in footer_of("fig21_main_all", study, partly_on_seven)


def test_footer_says_which_methods_have_more_datasets_than_the_boxes() -> None:
    datasets = paper_names(9)
    study, methods = study_of(datasets), mock_main_study(datasets, splits=2)
    assert "boxes" not in footer_of("fig21_main_all", study, methods)
    without = {"QRC": datasets[:2], "QREGC": datasets[:5]}
    gone = [(method, dataset) for method, missing in without.items() for dataset in missing]
    partly = methods[~pd.MultiIndex.from_frame(methods[["method", "dataset"]]).isin(gone)]
    said = footer_of("fig21_main_all", study, partly)
    assert said.endswith("boxes: 4 datasets that all methods have (QRC: 7; QRTC: 9)")
    shown = [name for name, share in mock_discreteness(datasets).items() if share <= 0.5]
    partly = methods[(methods["method"] != "QRTC-8") | methods["dataset"].isin(shown[:3])]
    said = footer_of("fig09_map_size", study, partly)
    assert said.endswith(f"boxes: 3 datasets that all methods have (5 methods: {len(shown)})")


def without_data(results: Results, datasets: Sequence[str]) -> Results:
    """The results where the records of these datasets say that there is no data."""
    missing = {name: {"dataset": name, "status": "unavailable", "reason": f"no source has {name}"} for name in datasets}
    return replace(results, records={**results.records, **missing})


def test_datasets_without_data_are_not_said_to_wait_for_a_run() -> None:
    datasets = paper_names(9)
    artifact, study, methods = FIGURES["fig21_main_all"], study_of(datasets), mock_main_study(datasets, splits=2)
    of_two = results_of(datasets, methods=methods[methods["dataset"].isin(datasets[:2])])
    one_gone, most_gone = (
        compute_statistics(artifact, study, without_data(of_two, names)) for names in (datasets[2:3], datasets[2:8])
    )
    assert LeftOut(datasets[2], 1, f"unavailable: no source has {datasets[2]}") in one_gone.left_out
    said = footer(artifact, one_gone, study)
    assert "not run yet: 6 datasets" in said
    assert f"left out: {datasets[2]} (unavailable: no source has {datasets[2]})" in said
    assert footer(artifact, most_gone, study).endswith("2 splits · unavailable: 6 datasets · not run yet: 1 dataset")


def test_figure_of_one_dataset_without_data_says_why() -> None:
    results = without_data(results_of(["abalone"]), ["abalone"])
    statistics = compute_statistics(FIGURES["fig28_predictions_abalone"], study_of(["abalone"]), results)
    assert list(statistics.notes) == ["abalone: unavailable: no source has abalone"]


def test_method_that_has_not_run_yet_is_in_no_table_and_changes_no_other_row() -> None:
    datasets = paper_names(9)
    study, methods = study_of(datasets), mock_main_study(datasets, splits=2)
    artifact = FIGURES["fig21_main_all"]
    whole, without = (
        compute_statistics(artifact, study, results_of(datasets, methods=table)).tables
        for table in (methods, methods[methods["method"] != "QREGC"])
    )
    for name in ("per_dataset", "letter_values"):
        expected = whole[name][whole[name]["method"] != "QREGC"].reset_index(drop=True)
        pd.testing.assert_frame_equal(without[name].reset_index(drop=True), expected)
    assert set(without["ranks"]["method"]) == {"BASE", "QRC", "QRTC"}


def test_footer_of_a_demonstration_says_so_and_how_long_it_trained() -> None:
    methods = mock_main_study(["linear", "skewed"], splits=2)
    study = study_of(["linear", "skewed"], training={"max_epochs": 4, "patience": 2})
    said = footer_of("fig03_main", study, methods)
    assert "trained for at most 4 epochs (5,000 in the paper), patience 2 (15 in the paper)" in said
    assert said.endswith("demonstration: short training on embedded data, no statement about the paper")
    datasets = paper_names(2)
    assert "train" not in footer_of("fig21_main_all", study_of(datasets), mock_main_study(datasets, splits=2))


def test_titles_name_the_dataset_that_is_shown() -> None:
    artifact = FIGURES["fig28_predictions_abalone"]
    assert artifact.title_in(["abalone", "counts"]) == "predictive densities of single test rows of abalone"
    assert artifact.title_in(["linear", "counts"]) == "predictive densities of single test rows of counts"
    assert FIGURES["fig01_per_epoch"].title_in(["bimodal"]) == FIGURES["fig01_per_epoch"].title


def test_ablations_are_against_the_baseline_of_the_protocol() -> None:
    datasets = paper_names(6)
    results = results_of(datasets, methods=mock_main_study(datasets))
    for protocol, baseline in (("paper", "BASE"), ("released", "BASE-TRAIN")):
        statistics = compute_statistics(FIGURES["fig04_ablation"], study_of(datasets, protocols=[protocol]), results)
        assert set(statistics.tables["per_dataset"]["baseline"]) == {baseline}


def test_discrete_datasets_are_in_figures_of_all_datasets_only() -> None:
    datasets = paper_names()
    discrete = {name for name, share in mock_discreteness(datasets).items() if share > 0.5}
    study, results = study_of(datasets), results_of(datasets, methods=mock_main_study(datasets, splits=2))
    assert len(discrete) == 13
    assert not discrete & set(compute_statistics(FIGURES["fig02_nll_difference"], study, results).datasets)
    assert discrete < set(compute_statistics(FIGURES["fig13_differences_all"], study, results).datasets)


@pytest.mark.parametrize(
    ("modules", "unwanted"),
    [
        (
            "qrt_study.verdicts.verdict_job, qrt_study.statistics.discreteness, qrt_study.statistics.densities, "
            "qrt_study.statistics.times, qrt_study.tables.method_table, qrt_study.tables.times_table",
            {"torch"},
        ),
        # Each figure is two jobs: one computes its numbers, the other draws them.
        ("qrt_study.figures.compare_job", {"torch", "scipy.stats", "sklearn", "matplotlib"}),
        (
            "qrt_study.figures.figure_job, qrt_study.figures.comparison, qrt_study.figures.discreteness, "
            "qrt_study.figures.densities, qrt_study.figures.calibration_maps, qrt_study.figures.per_epoch",
            {"torch", "scipy.stats", "seaborn", "sklearn"},
        ),
        # What each call of Snakemake imports, also once for every job on a cluster.
        (
            "qrt_study.plan.config, qrt_study.data.fetch, qrt_study.data.left_out, "
            "qrt_study.results.readings, qrt_study.running.study_files",
            {"torch", "scipy.stats", "matplotlib", "seaborn", "sklearn"},
        ),
        ("qrt_study.data.prepared_store", {"torch", "scipy.stats"}),
    ],
)
def test_import_brings_nothing_large_that_is_not_needed(modules: str, unwanted: set[str]) -> None:
    code = f"import sys\nimport {modules}\nsys.exit(str({unwanted} & sys.modules.keys() or ''))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.strip() == ""


def test_every_comparison_has_a_kind_and_every_kind_a_comparison() -> None:
    assert {artifact.kind for artifact in artifacts.COMPARISONS.values()} == set(KINDS)


def test_example_figures_need_no_other_dataset_than_those_they_show() -> None:
    datasets = ["bimodal", "linear", "skewed"]
    for name, shown in (("fig01_per_epoch", ("bimodal", "skewed")), ("fig23_predictions_allstate", ("bimodal",))):
        needs = required_results(FIGURES[name], datasets)
        assert (needs.examples, needs.datasets, needs.experiments) == (True, shown, ())
    assert required_results(FIGURES["fig15_validation_nll"], datasets).datasets == tuple(datasets)
    assert required_results(FIGURES["fig11_calibration_maps"], datasets).datasets == ()


def test_comparison_needs_both_baselines_that_a_protocol_may_take() -> None:
    needs = required_results(FIGURES["fig04_ablation"], ["linear"])
    assert needs.experiments == ("main", "base_train", "ablation")


def test_every_figure_and_table_of_the_paper_has_its_artifact() -> None:
    numbers = [artifact.number for artifact in ARTIFACTS.values()]
    assert numbers == [*(f"Figure {n}" for n in range(1, 29)), *(f"Table {n}" for n in range(1, 4))]
    for name, artifact in ARTIFACTS.items():
        kind, number = re.fullmatch(r"(fig|table)0?(\d+)_\w+", name).groups()  # type: ignore[union-attr]
        assert artifact.number == f"{'Figure' if kind == 'fig' else 'Table'} {number}"


@pytest.mark.skipif(not (SHARED / "paper/figures.csv").exists(), reason="needs ../shared/paper beside this clone")
def test_inventory_of_the_paper_is_covered() -> None:
    rows: list[Mapping[str, str]] = list(csv.DictReader((SHARED / "paper/figures.csv").read_text("utf-8").splitlines()))
    wanted = {row["number"] for row in rows if not row["number"].startswith("Algorithm")}
    assert wanted == {artifact.number for artifact in ARTIFACTS.values()}


def test_footer_names_few_things_that_are_left_out_and_counts_many() -> None:
    diverged = [LeftOut(f"{name} on Moneyball", 1, f"diverged: test NLL is {len(name)}e14") for name in ("BASE", "QRC")]
    assert left_out_words(diverged) == ["left out: BASE on Moneyball and QRC on Moneyball (diverged)"]
    many = [LeftOut(f"data{number}", 1, "no source has it") for number in range(4)]
    assert left_out_words([*diverged, *many])[0] == "left out 4×: no source has it"
    reasons = [LeftOut("a", 1, f"reason {number}") for number in range(5)]
    assert left_out_words(reasons)[-1] == "and 2 more reasons (summary.json)"
    names = ["Yacht", "CPU", "MPG", "boston"]
    ranks = LeftOut("rank tests of NLL", 4, f"no split in which all methods have a usable run: {', '.join(names)}")
    assert left_out_words([ranks]) == [
        "left out: rank tests of NLL (no split in which all methods have a usable run: 4 datasets)"
    ]


def test_footer_counts_many_methods_that_lack_the_same_datasets() -> None:
    datasets = paper_names(9)
    study, methods = study_of(datasets), mock_main_study(datasets, splits=2)
    here = (methods["experiment"] == "map_size") & ~methods["dataset"].isin(datasets[:6])
    assert "not run yet: 5 methods on 3 datasets ·" in footer_of("fig09_map_size", study, methods[~here])
