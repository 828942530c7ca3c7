"""A finished tiny study: what one call makes under both protocols, and what more or less of it plans."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from qrt_study.plan.artifacts import FIGURES, TABLES, artifacts_by_name, in_order
from qrt_study.plan.protocol import PROTOCOLS, SCENARIOS
from qrt_study.running.status import last_call
from qrt_study.verdicts.claim import paper_claims
from support.browser import CHROMIUM, Browser
from support.finished_study import SAID
from support.projects import LAYOUT, TINY, Project
from support.snakemake_calls import environment

DRAWN = [name for name in artifacts_by_name(TINY["draw"])[0] if name in FIGURES]
DATASETS = len(TINY["datasets"])
FAMILIES = 3  # networks with a map under each protocol, and those without, which are the same under both


def test_one_call_makes_figures_tables_pages_and_verdicts_of_both_protocols(finished: Project) -> None:
    for protocol in PROTOCOLS:
        made = {path.name for path in (finished.folder / LAYOUT.figures / protocol).iterdir()}
        assert made >= {f"{name}.{form}" for name in DRAWN for form in ("pdf", "png")}
        assert made >= {f"{name}.{form}" for name in TABLES for form in ("csv", "tex", "md")}
        assert made >= {f"scorecard.{form}" for form in ("html", "csv", "md")}
        scorecard = pd.read_csv(finished.folder / LAYOUT.figure(protocol, "scorecard", "csv"))
        assert list(scorecard["id"]) == [claim.id for claim in paper_claims()]
    assert finished.planned() == {}, "a second call has nothing to do"


def test_networks_are_trained_once_for_all_scenarios(finished: Project) -> None:
    call = last_call(finished.folder)
    assert call is not None
    assert call["done"]["train"] == call["done"]["evaluate"] == FAMILIES * DATASETS
    for dataset in TINY["datasets"]:
        files = (finished.folder / LAYOUT.networks_of(dataset)).glob("seed0/split0/*.networks.parquet")
        assert len(list(files)) == FAMILIES


def test_methods_are_tuned_under_each_protocol(finished: Project) -> None:
    for protocol in PROTOCOLS:
        main = finished.read(LAYOUT.methods(protocol, "main"))
        assert set(main["method"]) >= set(TINY["methods"])
        assert (main["status"] == "ok").all()
        assert main["test_nll"].notna().all()
    one, other = (finished.read(LAYOUT.methods(protocol, "main")) for protocol in PROTOCOLS)
    assert not one["test_nll"].equals(other["test_nll"])


def test_any_scenario_can_be_asked_for_by_its_path(finished: Project) -> None:
    for scenario in SCENARIOS:
        verdicts = pd.read_csv(finished.folder / LAYOUT.verdicts(scenario, "verdicts.csv"))
        assert set(verdicts["id"]) == {claim.id for claim in paper_claims()}
    figure = LAYOUT.figure("released.sd", "fig03_main", "pdf")
    assert finished.planned(LAYOUT.verdicts("released.sd", "verdicts.csv"), figure) == {
        "tune": 1,
        "compare": 1,
        "figure": 1,
    }


def test_folder_of_the_study_is_told_and_published_files_are_left_alone(finished: Project) -> None:
    said = (finished.folder / SAID).read_text()
    for protocol in PROTOCOLS:
        assert str(finished.folder / LAYOUT.figures / protocol) in said
    for name in ("paper_figures", "replication"):
        assert [path.read_text() for path in (finished.folder / name).rglob("*") if path.is_file()] == ["published"]


def qrt_study(project: Project, *arguments: str) -> str:
    command = [sys.executable, "-m", "qrt_study", *arguments]
    variables = environment(PYTHONPATH=str(project.folder / "src"))
    return subprocess.run(command, cwd=project.folder, env=variables, capture_output=True, text=True, check=True).stdout


def test_status_of_a_finished_study_is_finished(finished: Project) -> None:
    call = last_call(finished.folder)
    assert call is not None
    assert (call["state"], call["left"], call["failed"]) == ("finished", {}, [])
    assert "Finished" in qrt_study(finished, "status")


@pytest.fixture(scope="module")
def report(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the last study in the folder; config.yaml is about another one."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    qrt_study(finished, "report", str(path))
    return path


def test_report_has_the_figures_of_the_last_study_and_no_others(report: Path) -> None:
    found = re.findall(r"(\w+)/([a-z]+)/(fig\d\d_\w+)\.png", report.read_text(encoding="utf-8"))
    assert set(found) == {(LAYOUT.figures, protocol, name) for protocol in PROTOCOLS for name in DRAWN}


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt install chromium)")
def test_report_opens_from_disk(report: Path) -> None:
    with Browser() as browser:
        browser.open(report)
        browser.wait_until("document.body.innerText.includes('Verdict')")
        start = browser.evaluate("document.body.innerText")
        assert all(words in start for words in ("Figures", "Tables", "no statement about the paper"))
        for shown, next_one in (("Figures", "released"), ("released", "Figure 24")):
            browser.evaluate(f"[...document.querySelectorAll('a')].find(a => a.innerText.trim() == '{shown}').click()")
            browser.wait_until(f"document.body.innerText.includes('{next_one}')")
        listed = browser.evaluate("document.body.innerText")
        assert browser.errors == []
    assert all((in_order(FIGURES[name]) in listed) == (name in DRAWN) for name in FIGURES)


def test_more_of_a_study_trains_only_what_is_new_and_less_trains_nothing(finished: Project) -> None:
    methods, datasets = TINY["methods"], TINY["datasets"]
    # A family of regularised networks for each protocol on all three datasets, and the old families on the new one.
    more = finished.planned("networks", methods=[*methods, "QREGC"], datasets=[*datasets, "bimodal"])
    new = 2 * (DATASETS + 1) + FAMILIES
    assert (more["fetch"], more["train"], more["evaluate"]) == (1, new, new)
    assert finished.planned("networks", seeds=2)["train"] == FAMILIES * DATASETS
    # Evaluated splits are in one file, trained ones are not.
    split = finished.planned("networks", splits=[0, 1])
    assert (split["train"], split["evaluate"]) == (FAMILIES * DATASETS, FAMILIES * DATASETS)
    assert finished.planned("networks", methods=methods[:2], datasets=["linear"]) == {}
    assert not {"train", "evaluate"} & finished.planned(methods=methods[:2], datasets=["linear"]).keys()


def test_a_study_that_trains_longer_has_folders_of_its_own(finished: Project) -> None:
    longer = finished.planned("networks", training={"max_epochs": 6, "patience": 2})
    assert longer["train"] == FAMILIES * DATASETS
    assert finished.planned("networks") == {}
