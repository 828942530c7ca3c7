"""The pages in a real browser: scripts, sorting, filters, links, pictures, hostile names, phones, paper."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import matplotlib.pyplot as plt
import numpy as np
import pytest

from qrt.estimator.calibration_page import calibration_page
from qrt.estimator.diagnosis import Diagnosis
from qrt_study.figures import style
from qrt_study.figures.agreement import draw_agreement
from qrt_study.pages.agreement import agreement_page
from qrt_study.pages.disagreements import disagreements_page
from qrt_study.pages.own_data import METHODS, OwnReport, own_data_page
from qrt_study.pages.readings import Readings
from qrt_study.pages.robustness import robustness_page
from qrt_study.pages.scorecard import scorecard_page
from qrt_study.pages.seeds import seeds_page
from qrt_study.plan.artifacts import ARTIFACTS, FIGURES
from qrt_study.statistics.own_data import own_statistics
from qrt_study.statistics.robustness import robustness_statistics
from qrt_study.statistics.seeds import SeedStatistics, seed_statistics
from qrt_study.verdicts.verdict import VERDICTS
from support.browser import CHROMIUM, Browser
from support.mock_results import mock_methods
from support.mock_verdicts import HOSTILE, mock_agreements, mock_by_dataset, mock_key_numbers, mock_study, mock_verdicts
from support.seed_tables import METRICS, noisy_table

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (Debian: apt install chromium)")
PAGES = ("scorecard", "disagreements", "agreement", "robustness", "own_data", "seeds")
ALL_PAGES = (*PAGES, "calibration")  # the last one stands alone: it has no links
DESKTOP, PHONE = 1400, 390


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a study with hostile names, and its figures; fig02 is missing."""
    path = tmp_path_factory.mktemp("paper_figures")
    verdicts, study, agreements = mock_verdicts(hostile=True), mock_study(hostile=True), mock_agreements(hostile=True)
    study = replace(study, figures=tuple(ARTIFACTS))
    with style.paper_style():
        style.save(draw_agreement(agreements[0].points), path / "agreement.pdf", path / "agreement.png")
        small, _ = plt.subplots(figsize=(1, 1))
        style.save(small, path / "small.pdf", path / "small.png")
    for name in ARTIFACTS:
        if name not in FIGURES:
            (path / f"{name}.md").write_text("a table")
        elif name != "fig02_nll_difference":
            for form in ("pdf", "png"):
                (path / f"{name}.{form}").write_bytes((path / f"small.{form}").read_bytes())
    methods = mock_methods(["mine"], {("main", name): effect for name, effect in (("BASE", 0), ("QRTC", -3))})
    statistics = own_statistics("mine", methods, study.settings, list(METHODS), test_share=0.15)
    (path / "own_data").mkdir()
    (path / "own_data/mine.csv").write_text("a table")
    record = {"status": "invalid", "reason": HOSTILE}
    own = OwnReport("mine", record, statistics, 40, (f"{'a_long_name_of_a_folder_' * 5}/own_data.html",))
    pages = {
        "own_data": own_data_page([own], study.protocol, ""),
        "scorecard": scorecard_page(Readings(verdicts, study), "3f9a12c0").html,
        "disagreements": disagreements_page(Readings(verdicts, study), mock_key_numbers(), mock_by_dataset()).html,
        "agreement": agreement_page(*agreements, study, (path / "agreement.png").read_bytes()).html,
        "robustness": robustness_page(
            robustness_statistics(noisy_table(["a", HOSTILE], seeds=1), METRICS, {"a": 0.9}), study
        ).html,
        "seeds": seeds_page(_seeds(), replace(study, seeds=3), (path / "agreement.png").read_bytes()).html,
        "calibration": calibration_page(_diagnosis(), HOSTILE, [HOSTILE, "long " * 50], "calibration.html"),
    }
    for name, page in pages.items():
        (path / f"{name}.html").write_text(page)
    (path / "scorecard.csv").write_text("a table")
    return path


def _seeds() -> SeedStatistics:
    return seed_statistics(noisy_table(["a", HOSTILE]), METRICS)


def _diagnosis() -> Diagnosis:
    metrics = ("nll", "crps", "pce_levels", "rmse", "mae", "sd", "coverage_90", "length_90")
    return Diagnosis(np.linspace(0.005, 0.995, 100), dict.fromkeys(metrics, 0.5))


def column(browser: Browser, table: str, heading: str, *, keys: bool = False) -> list[str]:
    """The texts (or sort keys) of a column, in the order in which its visible rows stand."""
    value = "(c.dataset.key ?? c.textContent)" if keys else "c.textContent"
    return list(
        browser.evaluate(
            f"Array.from(document.querySelectorAll('#{table} tbody tr:not([hidden])'), (row) => {{"
            f" const c = Array.from(row.cells).find((cell) => cell.dataset.label === {heading!r}); return {value}; }})"
        )
    )


def heading(browser: Browser, table: str, name: str) -> str:
    """A selector of the button in a column's heading."""
    place = browser.evaluate(
        f"Array.from(document.querySelectorAll('#{table} th')).findIndex((th) => th.textContent === {name!r}) + 1"
    )
    assert place > 0
    return f"#{table} th:nth-child({place}) button"


@pytest.mark.parametrize("page", ALL_PAGES)
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_page_opens_without_errors_and_fits_the_window(browser: Browser, folder: Path, page: str, width: int) -> None:
    browser.open(folder / f"{page}.html", width=width, height=844)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    assert browser.evaluate("document.title").endswith("QRT Replication")
    assert browser.evaluate("document.body.innerText").count(HOSTILE) > 0
    assert browser.evaluate("document.querySelectorAll('img[src=x]').length") == 0
    assert browser.errors == []
    assert browser.dialogs == []


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(browser: Browser, folder: Path, page: str) -> None:
    browser.open(folder / f"{page}.html")
    targets = browser.evaluate("Array.from(document.querySelectorAll('a[href]'), (a) => a.getAttribute('href'))")
    anchors = {
        name: set(_anchors(browser, folder / f"{name}.html")) for name in PAGES if any(name in link for link in targets)
    }
    anchors |= {"": set(_anchors(browser, folder / f"{page}.html"))}
    assert len(targets) >= 3
    for target in set(targets):
        file, _, fragment = unquote(target).partition("#")
        if "fig02" in file:  # this study lost it
            continue
        assert not file or (folder / file).is_file(), target
        assert not fragment or fragment in anchors[Path(file).stem], target


def _anchors(browser: Browser, page: Path) -> list[str]:
    browser.open(page)
    return list(browser.evaluate("Array.from(document.querySelectorAll('[id]'), (element) => element.id)"))


def test_pictures_are_visible_and_a_missing_one_leaves_no_hole(browser: Browser, folder: Path) -> None:
    for page, count in (("agreement", 1), ("scorecard", len(FIGURES))):
        browser.open(folder / f"{page}.html")
        browser.evaluate("Array.from(document.images, (img) => { img.loading = 'eager'; })")
        settled = "Array.from(document.images).every((img) => img.complete && (img.naturalWidth > 0 || img.hidden))"
        browser.wait_until(settled)
        pictures = browser.evaluate(
            "Array.from(document.images, (img) => [img.naturalWidth, img.clientWidth, img.currentSrc])"
        )
        assert len(pictures) == count
        for natural, on_page, source in pictures:
            missing = "fig02" in source
            assert (natural == 0, on_page == 0) == (missing, missing), source
        assert browser.errors == []


def test_on_a_phone_a_figure_keeps_readable_letters_and_scrolls_in_its_frame(browser: Browser, folder: Path) -> None:
    browser.open(folder / "agreement.html", width=PHONE, height=844)
    frame, picture = browser.evaluate(
        "[document.querySelector('.picture').clientWidth, document.querySelector('.picture img').clientWidth]"
    )
    assert frame < PHONE < 700 <= picture
    assert browser.evaluate("document.documentElement.scrollWidth") <= PHONE


def test_a_click_on_a_heading_sorts_numbers_up_and_down_with_missing_ones_last(browser: Browser, folder: Path) -> None:
    browser.open(folder / "scorecard.html")
    name = "Verdicts that change"
    before = column(browser, "switches", name, keys=True)
    button = heading(browser, "switches", name)
    for direction, sign in (("ascending", 1), ("descending", -1)):
        browser.click(button)
        keys = column(browser, "switches", name, keys=True)
        numbers = [float(key) for key in keys if key]
        assert numbers == sorted(numbers, key=lambda value: sign * value)
        assert 0 < len(numbers) < len(keys)
        assert keys[len(numbers) :] == [""] * (len(keys) - len(numbers))
        assert sorted(keys) == sorted(before)
        assert keys != before
        assert browser.evaluate(f"document.querySelector({button!r}).parentElement.ariaSort") == direction
    assert browser.evaluate("document.querySelectorAll('#switches th[aria-sort=none]').length") == 3


def test_text_sorts_in_the_order_people_count_and_by_keyboard(browser: Browser, folder: Path) -> None:
    browser.open(folder / "disagreements.html")
    browser.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.click(heading(browser, "pce-verdicts", "Claim"))
    browser.evaluate(f"document.querySelector({heading(browser, 'pce-verdicts', 'Id')!r}).focus()")
    browser.press("Enter", 13)
    ids = column(browser, "pce-verdicts", "Id")
    assert ids == sorted(ids, key=lambda name: int(name[1:]))
    assert ids != sorted(ids)  # C9 comes before C10
    browser.press("Enter", 13)
    assert column(browser, "pce-verdicts", "Id") == ids[::-1]


def claims(browser: Browser, where: str = "#passages .claim:not([hidden])") -> list[dict[str, Any]]:
    """The facts of the claims that a selector finds."""
    return list(
        browser.evaluate(
            f"Array.from(document.querySelectorAll({where!r}), (one) => ({{...one.dataset, text: one.textContent,"
            " id: one.id, seen: one.checkVisibility()}))"
        )
    )


def test_passages_are_folded_and_a_click_opens_one(browser: Browser, folder: Path) -> None:
    browser.open(folder / "scorecard.html")
    assert not any(claim["seen"] for claim in claims(browser))
    assert all(claim["seen"] for claim in claims(browser, "#summary .claim"))
    browser.click(".passage > summary")
    seen = [claim["id"] for claim in claims(browser) if claim["seen"]]
    inside = [claim["id"] for claim in claims(browser, ".passage[open] .claim")]
    assert seen == inside != []
    assert not browser.evaluate("document.querySelector('.passage[open] .notes dl').checkVisibility()")
    browser.click(".passage[open] .notes > summary")
    assert browser.evaluate("document.querySelector('.passage[open] .notes dl').checkVisibility()")


def test_buttons_and_search_filter_the_claims_and_unfold_them(browser: Browser, folder: Path) -> None:
    browser.open(folder / "scorecard.html")
    everything = claims(browser)
    browser.click(".filters button[data-value=contradicted]")
    browser.click(".filters button[data-value=not-run]")
    kept = claims(browser)
    assert [row["id"] for row in kept] == [
        row["id"] for row in everything if row["verdict"] in ("contradicted", "not-run")
    ]
    assert all(row["seen"] for row in kept)
    browser.click(".filters button[data-value=main]")
    browser.evaluate(
        "(() => { const box = document.querySelector('.filters input'); box.value = 'qrtc NLL';"
        " box.dispatchEvent(new Event('input')); })()"
    )
    wanted = [
        row["id"]
        for row in everything
        if row["verdict"] in ("contradicted", "not-run")
        and row["kind"] == "main"
        and "qrtc" in row["text"].lower()
        and "nll" in row["text"].lower()
    ]
    assert 0 < len(wanted) < 100
    assert [row["id"] for row in claims(browser)] == wanted
    assert browser.evaluate("document.querySelector('.shown').textContent") == f"{len(wanted)} of {len(everything)}"
    empty = "Array.from(document.querySelectorAll('.passage:not([hidden])')).filter((p) => !p.querySelector("
    assert browser.evaluate(f"{empty}'.claim:not([hidden])')).length") == 0


def test_a_link_to_a_claim_that_is_filtered_out_or_folded_shows_it(browser: Browser, folder: Path) -> None:
    browser.open(folder / "scorecard.html")
    folded = set(browser.evaluate("Array.from(document.querySelectorAll('#passages .claim'), (claim) => claim.id)"))
    chips = browser.evaluate("Array.from(document.querySelectorAll('#switches .chips a'), (a) => a.textContent)")
    claim = next(name for name in chips if name in folded)
    link = f"#switches .chips a[href='#{claim}']"
    word = browser.evaluate(f"document.getElementById({claim!r}).dataset.verdict")
    browser.click(f".filters button[data-value={'not-run' if word != 'not-run' else 'confirmed'}]")
    assert browser.evaluate(f"document.getElementById({claim!r}).hidden")
    browser.click(link)
    assert browser.evaluate(f"document.getElementById({claim!r}).checkVisibility()")
    place = browser.evaluate(f"document.getElementById({claim!r}).getBoundingClientRect().top")
    assert 0 < place < 900
    assert browser.evaluate("location.hash") == f"#{claim}"
    browser.open(folder / "scorecard.html", fragment=claim)
    assert browser.evaluate(f"document.getElementById({claim!r}).checkVisibility()")


def test_inside_a_report_links_to_other_files_are_text_and_anchors_stay(browser: Browser, folder: Path) -> None:
    page = html.escape((folder / "scorecard.html").read_text())
    (folder / "report.html").write_text(f'<!doctype html><iframe srcdoc="{page}" width=1300 height=800></iframe>')
    browser.open(folder / "report.html")
    inside = "document.querySelector('iframe').contentDocument"
    links = browser.evaluate(f"Array.from({inside}.querySelectorAll('a[href]'), (a) => a.getAttribute('href'))")
    assert links
    assert all(link.startswith("#C") for link in links)
    browser.evaluate(f"{inside}.querySelector('.chips a').click()")
    assert browser.evaluate(f"{inside}.querySelector('.found').id") == links[0][1:]
    assert browser.evaluate("location.hash") == ""
    assert browser.errors == []


@pytest.mark.parametrize("page", ALL_PAGES)
def test_on_paper_there_are_no_controls_and_black_stands_on_white(browser: Browser, folder: Path, page: str) -> None:
    browser.open(folder / f"{page}.html", scheme="dark", media="print")
    hidden = "Array.from(document.querySelectorAll('nav, .filters'), (e) => getComputedStyle(e).display)"
    assert set(browser.evaluate(hidden)) == {"none"}
    colours = "(() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]; })()"
    assert browser.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert browser.evaluate("getComputedStyle(document.querySelector('thead')).display") == "table-header-group"
    unfolded = (
        "window.dispatchEvent(new Event('beforeprint')), Array.from(document.querySelectorAll('.claim, td')).every("
        "(one) => one.checkVisibility())"
    )
    assert browser.evaluate(unfolded)
    printed = browser.pdf()
    assert printed.startswith(b"%PDF-")
    assert len(printed) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground_in_both_schemes(browser: Browser, folder: Path, scheme: str) -> None:
    browser.open(folder / "scorecard.html", scheme=scheme)
    ground = _rgb(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
    words = [f".{verdict.replace(' ', '-')}" for verdict in VERDICTS]
    for selector in (*words, ".lede", "a[href]", ".short", ".mark", "td"):
        ink = _rgb(
            browser.evaluate(f"getComputedStyle(document.querySelector('main {selector}, header {selector}')).color")
        )
        light, dark = sorted((_luminance(ink), _luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, selector  # as WCAG asks for


def _rgb(colour: str) -> list[float]:
    return [float(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def _luminance(rgb: list[float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in rgb)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
