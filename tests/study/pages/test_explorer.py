"""The explorer: its numbers are those of the comparisons, and every view draws them in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt_study.pages.explorer import CURVES, MAIN, ProtocolResults, explorer_data, explorer_page
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.statistics.metrics import figure_metrics
from support.browser import CHROMIUM, Browser

METHODS, DATASETS, METRICS = ("BASE", "QRC", "QRTC"), ("Yacht", "space_ga", "A</script>"), ("NLL", "PCE", "CRPS", "SD")
EXAMPLE = "fig27_predictions_space_ga"
VIEWS = ("matrix", "splits", "published", "curves", "densities", "ranks")
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt install chromium)")


def results(folder: Path, protocol: str, seed: int) -> ProtocolResults:
    """Made-up numbers of a protocol, as the comparisons and the tuned methods have them."""
    draw = np.random.default_rng(seed)
    tables: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for dataset in DATASETS:
        for method in METHODS:
            for metric in METRICS:
                effects = dict(zip(("difference", "cohens_d", "relative_difference"), draw.normal(size=3), strict=True))
                row = {"metric": metric, "method": method, "dataset": dataset, "mean": draw.normal()}
                row |= {"standard_error": 0.1, "difference_standard_error": 0.2}
                row |= dict.fromkeys(effects) if method == "BASE" else effects
                tables.setdefault((MAIN, "per_dataset"), []).append(row)
            for name in CURVES.values():
                points = [{"epoch": epoch, "mean": draw.normal(), "standard_error": 0.1} for epoch in (2, 4, 6)]
                tables.setdefault((name, "curves"), []).extend(
                    {"dataset": dataset, "method": method} | point for point in points
                )
    for method in METHODS:
        for metric in METRICS:
            rank = {"metric": metric, "method": method, "mean_rank": draw.uniform(1, 3), "datasets": 3}
            tables.setdefault((MAIN, "ranks"), []).append(rank)
        example = {"dataset": "space_ga", "row": 0, "method": method}
        tables.setdefault((EXAMPLE, "instances"), []).append(example | {"target": 0.5, "nll": 1.0})
        tables.setdefault((EXAMPLE, "densities"), []).extend(
            example | {"y": y, "density": np.exp(-(y**2))} for y in np.linspace(-2, 2, 41)
        )
    for (name, table), rows in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_csv(folder / name / f"{table}.csv", index=False)
    settings = PROTOCOLS[protocol]
    columns = [f"test_{metric}" for metric in figure_metrics(settings).values()]
    methods = pd.DataFrame(
        [
            {"experiment": "main", "method": method, "dataset": dataset, "split": split, "status": "ok"}
            | dict(zip(columns, draw.normal(size=len(columns)), strict=True))
            for method in METHODS
            for dataset in DATASETS
            for split in range(5)
        ]
    )
    differences = pd.DataFrame(
        [
            {"reading": reading, "method": "QRTC", "dataset": "Yacht", "difference": value, "standard_error": 0.1}
            for reading, value in (("study", -1.0), ("posthoc_on", -2.0), ("sd", -1.0), ("other", -3.0))
        ]
    )
    folders = {path.name: path for path in folder.iterdir()}
    return ProtocolResults(settings, folders, {0: methods, 1: methods}, differences)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explored")


@pytest.fixture(scope="module")
def data(folder: Path) -> dict[str, Any]:
    published = pd.DataFrame([{"method": "QRTC", "dataset": "Yacht", "difference": -0.9, "standard_error": 0.06}])
    return explorer_data({name: results(folder / name, name, at) for at, name in enumerate(PROTOCOLS)}, published)


@pytest.fixture(scope="module")
def page(folder: Path, data: dict[str, Any]) -> Path:
    path = folder / "explorer.html"
    path.write_text(explorer_page(data), encoding="utf-8")
    return path


def test_numbers_are_those_of_the_comparison(folder: Path, data: dict[str, Any]) -> None:
    for protocol in PROTOCOLS:
        cells = data["protocols"][protocol]["comparisons"][MAIN]["cells"]
        for row in pd.read_csv(folder / protocol / MAIN / "per_dataset.csv").to_dict("records"):
            mean, _, difference, _, relative, effect = cells[row["metric"]][row["method"]][row["dataset"]]
            expected = [row[name] for name in ("mean", "difference", "relative_difference", "cohens_d")]
            found = [np.nan if value is None else value for value in (mean, difference, relative, effect)]
            assert found == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_page_needs_no_other_file_and_shows_names_as_text(page: Path, data: dict[str, Any]) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)
    stored = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, flags=re.S)
    assert stored
    assert json.loads(stored[1]) == json.loads(json.dumps(data))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@in_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_every_view_draws_and_fits_the_window(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width, height=844)
    browser.evaluate("change({dataset: 'space_ga', method: 'QRTC'})")
    assert browser.errors == []
    for name in VIEWS:
        drawn = browser.evaluate(f"document.querySelectorAll('#{name} .view svg, #{name} .view table').length")
        if name != "published":  # of Yacht alone
            assert drawn >= 1, name
    assert browser.evaluate("document.documentElement.scrollWidth") <= width


@in_browser
def test_matrix_shows_the_values_of_the_table_and_sorts_them(browser: Browser, page: Path, folder: Path) -> None:
    browser.open(page)
    browser.evaluate("change({protocol: 'released', metric: 'CRPS', effect: 'difference'})")
    table = pd.read_csv(folder / "released" / MAIN / "per_dataset.csv").query("metric == 'CRPS' and method == 'QRTC'")
    browser.evaluate("document.querySelectorAll('#matrix th button')[2].click()")
    shown = browser.evaluate(
        "Array.from(document.querySelectorAll('#matrix tbody td[data-method=QRTC]'), (td) => td.textContent)"
    )
    found = [float(value.replace("\N{MINUS SIGN}", "-")) for value in shown]
    assert found == pytest.approx(sorted(table["difference"]), rel=0.01)


@in_browser
def test_address_holds_the_choice(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("change({protocol: 'released', dataset: 'Yacht', metric: 'PCE', method: 'QRC'})")
    address = browser.evaluate("location.hash")
    browser.open(page)
    browser.evaluate(f"(location.hash = {address!r}, change(fromAddress()))")
    chosen = browser.evaluate("[state.protocol, state.dataset, state.metric, state.method].join(' ')")
    assert chosen == "released Yacht PCE QRC"
    assert browser.evaluate("document.getElementById('choose-dataset').value") == "Yacht"


@in_browser
def test_published_value_stands_beside_ours_and_switches_that_change_it(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.evaluate("change({dataset: 'Yacht', method: 'QRTC'})")
    text = browser.evaluate("document.querySelector('#published .view').textContent")
    assert {name for name in ("published", "paper.posthoc_on", "paper.sd", "paper.other") if name in text} == {
        "published",
        "paper.posthoc_on",
    }
    browser.evaluate("change({dataset: 'nowhere', protocol: 'neither', comparison: 'none'})")
    assert browser.evaluate("state.dataset") in DATASETS
    assert browser.errors == []
