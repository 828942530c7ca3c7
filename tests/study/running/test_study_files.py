"""The files that the jobs of a study read and write, and what a call without a target makes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qrt.errors import UserError
from qrt_study.data.record import write_record
from qrt_study.plan.artifacts import COMPARISONS, FROM_SCORES, PAGES
from qrt_study.plan.switches import SWITCHES
from qrt_study.running.drawn_files import drawn
from qrt_study.running.study_files import StudyFiles
from support.configured import study_with

SMALL: dict[str, Any] = {"datasets": ["Yacht", "abalone"], "base_models": ["MLP-3"], "splits": [0, 1]}
NETWORKS = "results/networks/{}/seed0/splits0-1/{}.{}.parquet"


def files_of(scenario: str = "paper", **config: Any) -> StudyFiles:
    return StudyFiles(study_with(**SMALL | config).under(scenario))


def tuned(*experiments: str) -> list[str]:
    return [f"results/paper/methods/seed0/{experiment}.parquet" for experiment in experiments]


def test_figure_is_computed_from_the_methods_that_it_compares() -> None:
    inputs = files_of().comparison_inputs("fig03_main")
    assert inputs["methods"] == tuned("main", "regularised")
    assert inputs["records"] == ["data/prepared/Yacht/record.json", "data/prepared/abalone/record.json"]
    assert files_of(scope="main").comparison_inputs("fig04_ablation")["methods"] == tuned("main", "base_train")


def test_figure_of_single_datasets_needs_nothing_of_the_others() -> None:
    inputs = files_of().comparison_inputs("fig28_predictions_abalone")
    families = ("mlp-3.plain", "mlp-3.qrt.variance.same_pass")
    assert inputs == {
        "records": ["data/prepared/abalone/record.json"],
        "runs": [NETWORKS.format("abalone", family, "runs") for family in families],
        "predictions": [NETWORKS.format("abalone", family, "predictions") for family in families],
    }
    assert not any(files_of().comparison_inputs("fig27_predictions_space_ga").values()), "not in this study"


def test_simulated_maps_need_no_data() -> None:
    inputs = files_of().comparison_inputs("fig11_calibration_maps")
    files = {table: paths for table, paths in inputs.items() if paths}
    assert files == {"maps": ["results/paper/maps.parquet"], "sample": ["results/paper/sample.parquet"]}


@pytest.mark.parametrize("scenario", ["paper", "released", "paper.sd", "released.map_centres"])
def test_every_file_of_a_scenario_but_its_networks_and_data_is_in_its_own_folder(scenario: str) -> None:
    files = files_of(scenario)
    inputs = [files.comparison_inputs(name) for name in COMPARISONS]
    inputs += [files.page_inputs(page) for page in ("agreement", "robustness", "seeds")]
    inputs += [files.table_inputs(table) for table in ("table2_times", "table3_datasets")]
    paths = {path for one in inputs for found in one.values() for path in found}
    own = {path for path in paths if not path.startswith(("data/prepared/", "results/networks/"))}
    assert own
    assert all(path.startswith((f"results/{scenario}/", f"figures/{scenario}/")) for path in own)


def test_protocol_is_judged_together_with_each_of_its_switches() -> None:
    files = files_of("released.sd")
    assert files.judged_scenarios() == ["released", *(f"released.{switch}" for switch in SWITCHES)]
    inputs = files_of().page_inputs("scorecard")
    assert inputs["verdicts"] == files_of().judged("verdicts.csv")
    assert inputs["verdicts"][0] == "results/paper/verdicts.csv"


def test_claims_are_judged_from_every_experiment_and_all_networks() -> None:
    files = files_of(methods=["BASE", "QRTC"], scope="main")
    inputs = files.judge_inputs()
    assert inputs["methods"] == files.collected("methods") == tuned("main")
    assert set(inputs["runs"]) == set(files.collected("runs"))
    assert inputs["datasets"] == ["figures/paper/table3_datasets.csv"]


def test_page_on_seeds_needs_those_of_every_start() -> None:
    methods = files_of(seeds=3).page_inputs("seeds")["methods"]
    assert methods == [f"results/paper/methods/seed{seed}/main.parquet" for seed in range(3)]


def test_longest_jobs_start_first() -> None:
    files = files_of(datasets=["Yacht", "Protein"], base_models=["MLP-3", "ResNet-3"])
    other = next(name for name in files.plan.families if name.startswith("resnet-3.qreg"))
    first = files.priority("Protein", "mlp-3.plain")
    assert first > files.priority("Yacht", "mlp-3.plain") > files.priority("Protein", other)


def test_data_must_be_what_published_networks_were_trained_on() -> None:
    published = files_of(networks="extend").published
    assert published is not None
    assert files_of(networks="extend").expected_data("Yacht") == published.data("Yacht") != ""
    assert files_of(networks="extend", datasets=["linear"]).expected_data("linear") == "any"
    assert files_of(networks="new").expected_data("Yacht") == "any"


def test_what_is_drawn_are_the_files_behind_its_names() -> None:
    assert drawn(files_of(draw=["fig3"])) == ["figures/paper/fig03_main.pdf", "figures/paper/fig03_main.png"]
    assert drawn(files_of("released", draw=["table1", "results"], name="mine"))[:4] == [
        *(f"figures_mine/released/table1_methods.{form}" for form in ("csv", "tex", "md")),
        "results_mine/released/runs.parquet",
    ]


def test_pages_are_drawn_where_there_is_something_to_compare(tmp_path: Path) -> None:
    def pages(scenario: str = "paper", **config: Any) -> set[str]:
        return {Path(path).stem for path in drawn(files_of(scenario, draw=["pages"], **config))}

    (tmp_path / "mine.csv").write_text("x,y\n1,2\n")
    own = {"mine": {"path": str(tmp_path / "mine.csv"), "target": "y"}}
    usual = {*PAGES, "explorer"} - set(FROM_SCORES)  # which are drawn from published predictions
    assert pages() == usual - {"seeds", "own_data"}
    assert pages(seeds=2, own_datasets=own) == usual
    assert pages(scope="published") == usual - {"seeds", "own_data", "stopping"}
    with pytest.raises(UserError, match="stopping needs QRC-STOP"):
        drawn(files_of(draw=["stopping"], methods=["BASE", "QRC"]))
    assert pages("paper.sd") == set(), "a switch is part of the pages of its protocol"


@pytest.mark.parametrize("page", FROM_SCORES)
def test_extension_is_drawn_where_its_scores_are_published_or_it_is_asked_for_alone(page: str, tmp_path: Path) -> None:
    archive = tmp_path / "replication/results"
    archive.mkdir(parents=True)
    study = replace(files_of(networks="published").study, draw=PAGES)

    def drawn_pages(**files: str) -> set[str]:
        manifest = {"files": files, "families": {}, "splits": [], "datasets": {}, "timed": {}}
        write_record(archive / "manifest.json", manifest)
        return {Path(path).stem for path in drawn(StudyFiles(study, tmp_path))}

    assert page not in drawn_pages()
    assert page in drawn_pages(**{"scores/paper.parquet": "0" * 64, "conditional/paper.parquet": "0" * 64})
    assert drawn(files_of(draw=[page])) == [f"figures/paper/{page}.html"]


@pytest.mark.parametrize("page", ["seeds", "own_data"])
def test_page_that_is_asked_for_alone_and_has_nothing_to_compare_is_refused(page: str) -> None:
    with pytest.raises(UserError, match=page):
        drawn(files_of(draw=[page]))
