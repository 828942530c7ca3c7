"""The study as a workflow: what a change runs again, what survives a kill, what a failure leaves."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from qrt.claims.claim import paper_claims
from qrt.running.targets import targets_in_words
from qrt.study.artifacts import FIGURES, in_order
from qrt.study.artifacts import TABLES as TABLES_OF_THE_PAPER
from support.browser import CHROMIUM, Browser
from support.projects import NETWORKS, RESULTS, TINY, Project, comparable
from support.snakemake_calls import DRY_RUN, environment, planned_jobs

pytestmark = pytest.mark.workflow

# The tables alone: what a test of training need not draw, and need not time.
TRAINED = [f"{RESULTS}/{name}.parquet" for name in ("runs", "methods", "curves", "predictions")]
TABLES = [*TRAINED, f"{RESULTS}/times.parquet"]
# The first figure of each kind, the tables and the pages: all that draws, counts and judges.
KINDS = {artifact.kind: name for name, artifact in reversed(FIGURES.items())}
TARGETS = [*TABLES, "tables", *KINDS.values(), "scorecard", "agreement", "robustness"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A finished tiny study with a figure of each kind; tests that change something work on a copy."""
    project = Project.new(tmp_path_factory.mktemp("finished"))
    run = project.run(*TARGETS)
    assert run.returncode == 0, run.stderr
    return project


@pytest.fixture
def copy(finished: Project, tmp_path: Path) -> Project:
    return Project(Path(shutil.copytree(finished.folder, tmp_path / "copy", symlinks=True)))


def test_study_has_every_table_and_a_second_call_does_nothing(finished: Project) -> None:
    runs, methods = finished.table("runs"), finished.table("methods")
    assert (runs["status"] == "ok").all()
    assert set(methods["experiment"]) == {"main", "bandwidth", "alpha"}
    main = methods[methods["experiment"] == "main"]
    assert set(main["method"]) == {"BASE", "QRC", "QRTC"}
    assert len(main) == 3 * 2
    assert main["test_nll"].notna().all()
    assert set(finished.table("curves")["part"]) == {"train", "validation"}
    assert set(finished.table("times")["method"]) == {"BASE", "QRTC"}
    assert set(finished.table("predictions")["dataset"]) == {"skewed"}
    assert finished.planned(*TARGETS) == {}


def test_call_without_a_target_makes_every_figure_and_table_of_the_paper(finished: Project) -> None:
    made = {path.stem for path in (finished.folder / "paper_figures").iterdir()}
    assert made >= {*KINDS.values(), *TABLES_OF_THE_PAPER, "scorecard", "disagreements", "agreement", "robustness"}
    of_single_datasets = {"collect_dataset"}  # for the figures of predictions that are not drawn yet
    assert finished.planned().keys() - of_single_datasets == {*FIGURES, "everything"} - {*KINDS.values()}


def test_study_has_a_verdict_on_every_claim(finished: Project) -> None:
    made = {path.name for path in (finished.folder / "paper_figures").iterdir()}
    for name in KINDS.values():
        assert {f"{name}.{form}" for form in ("pdf", "png")} <= made
    for name in TABLES_OF_THE_PAPER:
        assert {f"{name}.{form}" for form in ("csv", "tex", "md")} <= made
    for page in ("scorecard", "disagreements", "agreement", "robustness"):
        assert {f"{page}.{form}" for form in ("html", "csv", "md")} <= made
    scorecard = pd.read_csv(finished.folder / "paper_figures/scorecard.csv")
    assert len(scorecard) == len(paper_claims())
    # Two datasets decide nothing that the paper says of 44.
    ranks = scorecard[scorecard["rule"] == "significantly_better"]
    assert set(ranks["verdict"]) <= {"inconclusive", "not run"}


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt install chromium)")
def test_report_opens_from_disk_and_shows_figures_tables_and_verdict(finished: Project) -> None:
    made = finished.run("--report", "report.html")
    assert made.returncode == 0, made.stderr
    missing = re.search(r"Not in the report, since not there yet: (.*)\.\n", made.stderr)
    assert missing is not None, made.stderr
    assert missing[1] == targets_in_words(FIGURES.keys() - KINDS.values())
    with Browser() as browser:
        browser.open(finished.folder / "report.html")
        browser.wait_until("document.body.innerText.includes('Verdict')")
        start = browser.evaluate("document.body.innerText")
        for words in ("Figures", "Tables", "no statement about the paper"):
            assert words in start
        rules = browser.evaluate("rulegraph_spec.data[0].values.map((node) => node.rule)")
        assert not set(rules) & {*FIGURES, *TABLES_OF_THE_PAPER}
        assert f"{len(TABLES_OF_THE_PAPER)} tables" in rules
        browser.evaluate("[...document.querySelectorAll('a')].find(a => a.innerText.trim() == 'Figures').click()")
        browser.wait_until("document.body.innerText.includes('Figure 23')")
        listed = browser.evaluate("document.body.innerText")
        assert browser.errors == []
    for name in KINDS.values():
        assert in_order(FIGURES[name]) in listed


def test_report_of_nothing_and_figures_of_nothing_say_how_to_get_them(tmp_path: Path) -> None:
    project = Project.new(tmp_path)
    report = project.run("--report", "report.html", "fig03")
    assert report.returncode == 1
    assert report.stderr.splitlines()[-1].startswith("There is nothing to report yet.")
    figures = project.run("figures", "tables", *DRY_RUN, only_finished=True)
    missing = "fig01 to fig04, fig08 to fig10, fig12 to fig22, fig24, table2, table3"
    assert f"No results are there yet for {missing}." in figures.stdout
    # From simulated PITs, from the plan, and figures of networks or datasets that this study does not ask for.
    drawn = {name.split("_")[0] for name in planned_jobs(figures)}
    others = {"fig05", "fig06", "fig07", "fig23", "fig25", "fig26", "fig27", "fig28"}
    assert drawn == {"fig11", "maps", "table1", "figures", "tables"} | others


def test_status_counts_what_is_done_and_estimates_what_is_left(copy: Project) -> None:
    def told() -> str:
        command = [sys.executable, "-m", "qrt", "status", "--configfile", "config.yaml", "study.yaml", "--cores", "2"]
        variables = environment(PYTHONPATH=str(copy.folder / "src"))
        return subprocess.run(
            command, cwd=copy.folder, env=variables, capture_output=True, text=True, check=True
        ).stdout

    whole = told()
    assert "4 of 4 training jobs done (100%), 0 waiting" in whole
    assert "Left" not in whole
    next((copy.folder / NETWORKS).rglob("*.networks.parquet")).unlink()
    part = told()
    assert "3 of 4 training jobs done (75%), 1 waiting" in part
    assert "Left: about" in part


def test_new_metric_is_evaluated_and_never_trained(copy: Project) -> None:
    copy.change("src/qrt/engine/evaluation.py", '    "pit_variance",\n', '    "pit_variance",\n    "pit_mean",\n')
    copy.change(
        "src/qrt/engine/evaluation.py",
        '        "pit_variance": pit.var(correction=0),\n',
        '        "pit_variance": pit.var(correction=0),\n        "pit_mean": pit.mean(),\n',
    )
    copy.change(
        "src/qrt/results/tables.py", '    "pit_variance":', '    "pit_mean": "mean of the PITs",\n    "pit_variance":'
    )
    planned = copy.planned(*TARGETS)
    assert planned["evaluate"] == 2 * 2, "two families on two datasets"
    later = {"tune", "tune_for_one", "collect", "collect_dataset", "collect_methods", "verdicts", "scorecard"}
    assert later <= planned.keys()
    # Times are of networks that are trained for that alone, as chosen by the tuning that runs again.
    assert not {"fetch", "prepare", "train", "train_large", "train_last"} & planned.keys()


def test_words_change_nothing_and_a_plot_draws_and_does_nothing_else(copy: Project) -> None:
    copy.change("README.md", "# QRT", "<!-- a comment -->\n# QRT")
    copy.change("src/qrt/engine/trainer.py", '"""Training of stacks', '"""The training of stacks')
    copy.change("src/qrt/figures/style.py", 'GREY, INK = "#8c8c8c"', 'GREY, INK = "#8c8c8d"')
    assert copy.planned(*TARGETS).keys() == {*KINDS.values(), "agreement"}


def test_change_of_the_preparation_prepares_again_and_trains_nothing(copy: Project) -> None:
    """Other numbers would be refused, since networks were trained on these (`test_kept_networks`)."""
    copy.change("src/qrt/data/prepare.py", "MIN_ROWS = 100", "MIN_ROWS = 101")
    planned = copy.planned(*TABLES)
    assert planned["prepare"] == 2
    assert not {"train", "evaluate"} & planned.keys()


def test_more_of_a_study_trains_only_what_is_new_and_less_trains_nothing(copy: Project) -> None:
    methods, datasets = TINY["methods"], TINY["datasets"]
    # The new family on two datasets, and all three families on the new dataset.
    more = copy.planned(*TABLES, methods=[*methods, "QREGC"], datasets=[*datasets, "bimodal"])
    assert (more["train"], more["evaluate"]) == (2 + 3, 2 + 3)
    assert not {"train", "evaluate"} & copy.planned(*TABLES, methods=methods[:2], datasets=["linear"]).keys()


def test_networks_that_a_study_under_another_protocol_left_are_read_and_never_trained(copy: Project) -> None:
    # As if a study with the other kernel width had been run in the same folder.
    for file in (copy.folder / NETWORKS).glob("*/*/*.qrt.variance.*"):
        shutil.copy(file, file.with_name(file.name.replace("variance", "scale")))
    assert copy.planned(*TARGETS) == {"scorecard": 1, "verdicts": 1}


def test_other_protocol_has_its_own_results_and_shares_what_it_can(copy: Project) -> None:
    switches = TINY["switches"] | {"kernel_width": "scale", "pce": "sorted"}
    # Plain networks are there already, and another PCE is one of the same networks.
    planned = copy.planned("main", switches=switches)
    assert (planned["train"], planned["evaluate"]) == (2, 2)


def test_one_experiment_trains_only_what_it_needs(tmp_path: Path) -> None:
    project = Project.new(tmp_path)
    assert project.planned(f"{RESULTS}/methods/seed0/base_train.parquet", methods=["BASE-TRAIN", "QRTC"])["train"] == 2


def kill_training_job(call: subprocess.Popen[bytes]) -> bool:
    """Kill the training jobs of a call, waiting for one to start until the call ends; whether there was one."""
    command = ["pkill", "-KILL", "-g", str(call.pid), "-f", "^python -m qrt train"]
    while call.poll() is None:
        if subprocess.run(command, check=False).returncode == 0:
            return True
        time.sleep(0.25)
    return False


def test_results_survive_kills_at_random_moments(finished: Project, tmp_path: Path) -> None:
    # Many more kills: tests/support/random_kills.py.
    project = Project.new(tmp_path)
    datasets = ["skewed"]
    moments, jobs_killed = random.Random(4), 0
    for number in range(3):
        # The lock of a killed call stays; it is removed once, at the end.
        command, variables = project.command("--nolock", *TRAINED, datasets=datasets)
        process = subprocess.Popen(
            command,
            cwd=project.folder,
            env=variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(2, 7))
        if number % 2:
            # A training job alone, as the kernel does when memory runs out; later everything else.
            jobs_killed += kill_training_job(process)
            time.sleep(1)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert jobs_killed > 0
    assert project.run("--unlock").returncode == 0
    last = project.run(*TRAINED, datasets=datasets)
    assert last.returncode == 0, last.stderr
    got = comparable(project)
    for name, table in comparable(finished).items():
        expected = table[table["dataset"].isin(datasets)].reset_index(drop=True)
        pd.testing.assert_frame_equal(got[name], expected, check_exact=True)
    assert not list((project.folder / "results").rglob("*.partial"))


def test_failures_are_rows_with_reasons_and_the_rest_finishes(tmp_path: Path) -> None:
    """Also for data of the user's: the end of the call tells what came out, and fails if a file could not be used."""
    project = Project.new(tmp_path)
    (tmp_path / "short.csv").write_text("a,y\n" + "".join(f"{i},{i * i}\n" for i in range(50)))
    rows = "".join(f"{i},{i % 2},{'' if i % 10 == 0 else i % 7},{i * i}\n" for i in range(200))
    (tmp_path / "houses.csv").write_text("number,garden,age,price\n" + rows)
    config = {
        "datasets": ["linear", "Power"],  # the second without a source
        "own_datasets": {
            "short": {"path": "short.csv", "target": "y"},
            "houses": {"path": "houses.csv", "target": "price", "drop": ["number"]},
        },
        "grids": TINY["grids"] | {"alpha_study": [0, 1, -1e39]},
        "jobs": "coarse",
    }
    run = project.run("fig14", "scorecard", "own_data", **config)
    assert run.returncode == 1
    assert "Data of your own could not be used: short: invalid: 50 rows are left" in run.stderr
    methods = project.table("methods")
    alpha = methods[methods["experiment"] == "alpha"].set_index(["dataset", "method"])["status"]
    assert alpha["linear"].to_dict() == {"alpha=0": "ok", "alpha=1": "ok", "alpha=-1e+39": "diverged"}
    assert set(alpha["Power"]) == {"unavailable"}
    assert set(alpha["short"]) == {"invalid"}
    failed = methods[methods["status"] != "ok"]
    assert (failed["reason"].str.len() > 0).all()
    assert failed["test_nll"].isna().all()
    assert "2 datasets left out" in run.stdout
    assert "short: invalid: 50 rows are left" in run.stdout
    assert "180 of 200 rows are used; 20 have a missing value" in run.stdout
    text = (tmp_path / "paper_figures/own_data.txt").read_text(encoding="utf-8")
    assert text in run.stdout
    assert "1 column left out: number (as asked for)." in text
    assert all((tmp_path / line.strip()).exists() for line in text.splitlines() if line.startswith("    "))
    assert f"Look first at {(tmp_path / 'paper_figures/own_data.html').as_uri()}" in run.stdout
    scores = pd.read_csv(tmp_path / "paper_figures/own_data/houses.csv").set_index("method")
    assert list(scores.index) == ["BASE", "QRC", "QRTC"]
    of_main = methods[(methods["experiment"] == "main") & (methods["dataset"] == "houses")].set_index("method")
    for column in ("nll", "coverage_90", "length_90"):
        assert scores[column].to_dict() == pytest.approx(of_main.loc[scores.index, f"test_{column}"].to_dict())
    assert "It cannot be used (invalid): 50 rows are left" in text
    # As data that no source has, it is tried again by the next call.
    assert project.planned("own_data", **config)["fetch"] == 1


def test_outputs_of_networks_are_dropped_after_their_evaluation_if_the_study_says_so(tmp_path: Path) -> None:
    project = Project.new(tmp_path)
    config: dict[str, Any] = {"datasets": ["linear"], "methods": ["BASE"], "keep_outputs": False}
    run = project.run("main", **config)
    assert run.returncode == 0, run.stderr
    assert not list((tmp_path / NETWORKS).rglob("*.networks.parquet"))
    assert pd.read_parquet(tmp_path / f"{RESULTS}/methods/seed0/main.parquet")["status"].tolist() == ["ok"]
    assert project.planned("main", **config).keys() <= {"main"}
