"""The explorer: its numbers are those of the comparisons, and every view draws them in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from qrt_study.pages.explorer import CURVES, MAIN, ProtocolResults, explorer_data, explorer_page
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.results.pit_table import BINS, HISTOGRAM, LEVELS, RELIABILITY
from qrt_study.statistics.metrics import figure_metrics
from support.browser import CHROMIUM, Browser

METHODS, METRICS = ("BASE", "QRC", "QRTC"), ("NLL", "PCE", "CRPS", "SD")
LONG_NAME = "Mercedes_Benz_Greener_Manufacturing"
DATASETS = ("Yacht", "space_ga", LONG_NAME, "A</script>")
EXAMPLE = "fig27_predictions_space_ga"
VIEWS = ("matrix", "splits", "published", "switch", "curves", "calibration", "densities", "ranks")
EPOCHS, ALIVE = (2, 4, 6, 8), 4  # the last epoch of all splits
PUBLISHED = (-0.9, 0.06)  # of QRTC on Yacht
CLAIM = "QRTC is <better>."
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
                points = [
                    {"epoch": epoch, "mean": draw.normal(), "standard_error": 0.1, "all_alive": epoch <= ALIVE}
                    for epoch in EPOCHS
                ]
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
    methods = {
        start: pd.DataFrame(
            [
                {"experiment": "main", "method": method, "dataset": dataset, "split": split, "status": "ok"}
                | dict(zip(columns, draw.normal(size=len(columns)), strict=True))
                for method in METHODS
                for dataset in DATASETS
                for split in range(5)
            ]
        )
        for start in (0, 1)
    }
    for start, table in methods.items():
        table.to_csv(folder / f"methods{start}.csv", index=False)
    differences = pd.DataFrame(
        [
            {"reading": reading, "method": "QRTC", "dataset": "Yacht", "difference": value, "standard_error": 0.1}
            for reading, value in (("study", -1.0), ("posthoc_on", -2.0), ("sd", -1.0), ("other", -3.0))
        ]
    )
    change = {"before": -1.25, "before_standard_error": 0.15, "after": -2.25, "after_standard_error": 0.25, "seeds": 3}
    by_dataset = pd.DataFrame([{"switch": "posthoc_on", "method": "QRTC", "dataset": "Yacht"} | change])
    numbers = dict.fromkeys(
        ("estimate", "low", "high", "p_value", "datasets_for", "datasets_against", "smallest_detectable"), 1.0
    )
    verdicts = pd.DataFrame(
        [
            {"reading": reading, "id": "C1", "claim": CLAIM, "verdict": verdict} | numbers
            for reading, verdict in (("study", "confirmed"), ("posthoc_on", "contradicted"), ("sd", "confirmed"))
        ]
    )
    folders = {path.name: path for path in folder.iterdir() if path.is_dir()}
    return ProtocolResults(settings, folders, methods, differences, by_dataset, verdicts, counted_pits(folder, draw))


def counted_pits(folder: Path, draw: np.random.Generator) -> pd.DataFrame:
    """Counted PITs of one dataset, of two methods."""
    place = {"dataset": "Yacht", "splits": 5, "rows": 160, "effective_rows": 108}
    rows: list[dict[str, Any]] = []
    for method in ("BASE", "QRTC"):
        shares = draw.dirichlet(np.ones(BINS))
        for shows, levels, values in (
            (HISTOGRAM, np.arange(1, BINS + 1) / BINS, shares),
            (RELIABILITY, LEVELS, np.interp(LEVELS, np.arange(BINS + 1) / BINS, [0, *shares.cumsum()])),
        ):
            for level, share in zip(levels, values, strict=True):
                ends = {"lower": max(0.0, level - 0.1), "upper": min(1.0, level + 0.1)}
                if shows == HISTOGRAM:
                    ends = {"lower": 0.01, "upper": 0.09}
                rows.append(place | {"method": method, "shows": shows, "level": level, "share": share} | ends)
    table = pd.DataFrame(rows)
    table.to_csv(folder / "pits.csv", index=False)
    return table


def published_curves() -> pd.DataFrame:
    """A curve of the paper, with epochs from 0."""
    points = [{"epoch": epoch, "value": 0.5 - epoch / 20} for epoch in range(5)]
    return pd.DataFrame([{"dataset": "Yacht", "method": "QRC", "metric": "pce"} | point for point in points])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("explored")


@pytest.fixture(scope="module")
def data(folder: Path) -> dict[str, Any]:
    theirs = dict(zip(("difference", "standard_error"), PUBLISHED, strict=True))
    published = pd.DataFrame([{"method": "QRTC", "dataset": "Yacht"} | theirs])
    found = {name: results(folder / name, name, at) for at, name in enumerate(PROTOCOLS)}
    return explorer_data(found, published, published_curves())


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


def test_demonstration_says_so_and_shows_nothing_of_the_paper(folder: Path) -> None:
    one = results(folder / "demonstration", "paper", 9)
    published = pd.DataFrame([{"method": "QRTC", "dataset": "Yacht", "difference": 1.0, "standard_error": 1.0}])
    shown = explorer_data({"paper": one}, published, published_curves(), "a demonstration")
    assert shown["published"] == shown["published_curves"] == {}
    assert not any(switch["verdicts"] for switch in shown["protocols"]["paper"]["switches"].values())
    assert "a demonstration" in explorer_page(shown, "a demonstration")


class Explorer:
    """The page in a browser, by what it shows."""

    def __init__(self, browser: Browser, page: Path, *, width: int = 1400, **choices: str) -> None:
        self.browser = browser
        browser.open(page, width=width, height=844)
        self.choose(**choices)

    def choose(self, **choices: str) -> None:
        self.browser.evaluate(f"change({json.dumps(choices)})")
        assert self.browser.errors == []

    def texts(self, selector: str) -> list[str]:
        """The texts of elements, with plain minus signs and spaces."""
        found = self.browser.evaluate(
            f"Array.from(document.querySelectorAll({json.dumps(selector)}), (one) => one.textContent)"
        )
        return [text.replace("\N{MINUS SIGN}", "-").replace("\N{NO-BREAK SPACE}", " ") for text in found]

    def titled(self, view: str) -> dict[str, float]:
        """What the marks of a view say of themselves: the words before the colon, and the number behind it."""
        titles = (text.split(": ") for text in self.texts(f"#{view} .view svg title"))
        return {words: float(value.split(" ")[0]) for words, value in titles}

    def drawn(self, plot: str, kind: str) -> list[np.ndarray[Any, Any]]:
        """The points (n, 2) of each path of a plot, in the units of its axes."""
        paths = self.browser.evaluate(
            f"""(() => {{
              const plot = {plot}, [x, y] = ["x", "y"].map((name) => plot.scale(name));
              return Array.from(plot.querySelectorAll('[aria-description={kind}] path'), (path) =>
                Array.from(path.getAttribute("d").matchAll(/(-?[0-9.]+),(-?[0-9.]+)/g), (at) =>
                  [x.invert(+at[1]), y.invert(+at[2])]));
            }})()"""
        )
        return [np.array(path) for path in paths]


def of_splits(folder: Path, protocol: str, metric: str, dataset: str, start: int = 0) -> pd.DataFrame:
    """Test values by split and method."""
    column = f"test_{figure_metrics(PROTOCOLS[protocol])[metric]}"
    table = pd.read_csv(folder / protocol / f"methods{start}.csv").query("dataset == @dataset")
    return table.pivot_table(index="split", columns="method", values=column)


@in_browser
@pytest.mark.parametrize("width", [1400, 390])
def test_every_view_draws_and_fits_the_window(browser: Browser, page: Path, width: int) -> None:
    explorer = Explorer(browser, page, width=width)
    for dataset, without in (("Yacht", {"densities"}), ("space_ga", {"calibration", "published", "switch"})):
        explorer.choose(dataset=dataset, method="QRTC")
        for name in VIEWS:
            drawn = browser.evaluate(f"document.querySelectorAll('#{name} .view svg, #{name} .view tbody tr').length")
            assert name in without or drawn >= 1, name
            assert name not in without or explorer.texts(f"#{name} .nothing"), name
        assert browser.evaluate("document.documentElement.scrollWidth") <= width


@in_browser
def test_matrix_shows_the_values_of_the_table_and_the_address_has_their_order(
    browser: Browser, page: Path, folder: Path
) -> None:
    explorer = Explorer(browser, page, protocol="released", metric="CRPS", effect="difference")
    table = pd.read_csv(folder / "released" / MAIN / "per_dataset.csv").query("metric == 'CRPS' and method == 'QRTC'")
    expected = sorted(table["difference"])
    browser.click("#matrix [data-sort=QRTC]")

    def shown() -> list[float]:
        return [float(text) for text in explorer.texts("#matrix tbody td[data-method=QRTC]")]

    assert shown() == pytest.approx(expected, rel=0.01)
    browser.click("#matrix [data-sort=QRTC]")
    assert shown() == pytest.approx(expected[::-1], rel=0.01)
    browser.open(page, fragment=browser.evaluate("location.hash").removeprefix("#"))
    assert shown() == pytest.approx(expected[::-1], rel=0.01)


@in_browser
def test_cells_are_links_that_the_keyboard_follows_to_the_views(browser: Browser, page: Path) -> None:
    explorer = Explorer(browser, page, width=390, dataset="space_ga", method="QRTC")
    cell = "#matrix tbody tr:has(a[href*='dataset=Yacht']) td[data-method=QRC] a"
    address = browser.evaluate(f"document.querySelector({json.dumps(cell)}).href")
    browser.evaluate(f"document.querySelector({json.dumps(cell)}).focus()")
    browser.press("Enter", 13)
    explorer.browser.wait_until("state.dataset === 'Yacht' && state.method === 'QRC'")
    assert browser.evaluate("location.href") == address
    browser.wait_until("Math.abs(document.getElementById('splits').getBoundingClientRect().top) < 200")
    assert browser.evaluate("document.activeElement === document.querySelector('#splits h2')")
    browser.evaluate("history.back()")
    browser.wait_until("state.dataset === 'space_ga' && state.method === 'QRTC'")


@in_browser
def test_names_of_datasets_never_break_within_a_word(browser: Browser, page: Path) -> None:
    explorer = Explorer(browser, page, width=390)
    assert LONG_NAME in explorer.texts("#matrix tbody th a")
    lines = browser.evaluate(
        """Array.from(document.querySelectorAll('#matrix tbody th a'), (link) =>
          Array.from(link.childNodes).filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => {
            const range = document.createRange();
            range.selectNode(node);
            return range.getClientRects().length;
          })).flat()"""
    )
    assert set(lines) == {1}


@in_browser
def test_splits_are_those_of_the_table_with_the_published_value_beside_them(
    browser: Browser, page: Path, folder: Path
) -> None:
    explorer = Explorer(browser, page, protocol="paper", dataset="Yacht", metric="NLL")
    values = of_splits(folder, "paper", "NLL", "Yacht")
    plots = browser.evaluate("document.querySelectorAll('#splits svg').length")
    assert plots == 2
    for number, table, methods in (
        (1, values, METHODS),
        (2, values.sub(values["BASE"], axis=0), METHODS[1:]),
    ):
        titles = dict(text.split(": ") for text in explorer.texts(f"#splits svg:nth-of-type({number}) title"))
        published = titles.pop("QRTC, published", None)
        found = {words: float(value) for words, value in titles.items()}
        expected = {f"{method}, split {split}": table.loc[split, method] for method in methods for split in range(5)}
        expected |= {f"{method}, mean": table[method].mean() for method in methods}
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)
        assert published == (None if number == 1 else f"{PUBLISHED[0]} ± {PUBLISHED[1]}")
    said = " ".join(explorer.texts("#splits .beneath"))
    assert "the paper has none of QRC" in said
    explorer.choose(metric="CRPS")
    assert not [text for text in explorer.texts("#splits svg title") if "published" in text]
    assert "no CRPS" in " ".join(explorer.texts("#splits .beneath"))
    explorer.choose(metric="NLL", dataset="space_ga")
    assert "no value of this dataset" in " ".join(explorer.texts("#splits .beneath"))


@in_browser
def test_random_start_changes_its_view_alone(browser: Browser, page: Path, folder: Path) -> None:
    explorer = Explorer(browser, page, dataset="Yacht", metric="SD")

    def contents() -> dict[str, str]:
        written = "Array.from(document.querySelectorAll('section .view'), (one) => one.innerHTML)"
        without_addresses = (re.sub(r"seed=\d", "", html) for html in browser.evaluate(written))
        return dict(zip(VIEWS, without_addresses, strict=True))

    before = contents()
    explorer.choose(seed="1")
    after = contents()
    assert {name for name in VIEWS if _unnumbered(before[name]) != _unnumbered(after[name])} == {"splits"}
    values = of_splits(folder, "paper", "SD", "Yacht", start=1)
    assert explorer.titled("splits")["QRC, mean"] == pytest.approx((values["QRC"] - values["BASE"]).mean(), rel=1e-3)


def _unnumbered(html: str) -> str:
    """A view without the names that Plot gives its clips and styles, which it numbers."""
    return re.sub(r"plot-[a-z0-9-]+", "", html)


@in_browser
def test_published_value_stands_beside_ours_and_switches_that_change_it(browser: Browser, page: Path) -> None:
    explorer = Explorer(browser, page, dataset="Yacht", method="QRTC")
    expected = {"published": PUBLISHED[0]}
    for protocol in PROTOCOLS:
        expected |= {protocol: -1.0, f"{protocol}.posthoc_on": -2.25, f"{protocol}.posthoc_on, without": -1.25}
    assert explorer.titled("published") == pytest.approx(expected)
    explorer.choose(dataset="nowhere", protocol="neither", comparison="none")
    assert browser.evaluate("state.dataset") in DATASETS


@in_browser
def test_switch_shows_values_with_and_without_it_and_the_verdicts_that_change(browser: Browser, page: Path) -> None:
    explorer = Explorer(browser, page, dataset="Yacht", method="QRTC", switch="posthoc_on")
    row = ["QRTC", "-1.25 ± 0.15", "-2.25 ± 0.25", "-0.900 ± 0.060"]
    assert explorer.texts("#switch .values tbody :is(th, td)") == row
    assert "3 random starts" in explorer.texts("#switch .values caption")[0]
    assert explorer.texts("#switch .claims tbody :is(th, td)") == ["C1", CLAIM, "confirmed", "contradicted"]
    explorer.choose(switch="sd")
    assert explorer.texts("#switch .values tbody td")[1] == "unchanged"
    assert not explorer.texts("#switch .claims td")
    explorer.choose(switch="pce")
    assert explorer.texts("#switch .nothing")


@in_browser
def test_curves_are_those_of_the_table_and_dotted_where_splits_have_stopped(
    browser: Browser, page: Path, folder: Path
) -> None:
    explorer = Explorer(browser, page, protocol="released", dataset="Yacht", part="training PCE")
    table = pd.read_csv(folder / "released" / CURVES["training PCE"] / "curves.csv").query("dataset == 'Yacht'")
    plot = "document.querySelector('#curves .view').firstElementChild"
    for kind, chosen in (("curve", table["epoch"] <= ALIVE), ("tail", table["epoch"] >= ALIVE)):
        paths = explorer.drawn(plot, kind)
        assert len(paths) == len(METHODS)
        for (_, rows), path in zip(table[chosen].groupby("method", sort=False), paths, strict=True):
            assert path[:, 0] == pytest.approx(rows["epoch"], abs=0.01)
            assert path[:, 1] == pytest.approx(rows["mean"], abs=0.01)
    explorer.choose(part="validation PCE")
    (path,) = explorer.drawn(plot, "published")
    theirs = published_curves()
    assert path[:, 0] == pytest.approx(theirs["epoch"] + 1, abs=0.01)
    assert path[:, 1] == pytest.approx(theirs["value"], abs=0.01)


@in_browser
def test_pits_and_their_bands_are_those_of_the_table(browser: Browser, page: Path, folder: Path) -> None:
    explorer = Explorer(browser, page, protocol="released", dataset="Yacht", method="QRTC")
    table = pd.read_csv(folder / "released" / "pits.csv")
    assert all(words in explorer.texts("#calibration .beneath")[0] for words in ("160", "108", "pointwise", "pooled"))
    for place, method in enumerate(("QRTC", "BASE")):
        rows = table[table["method"] == method]
        bars, curve = (f"document.querySelectorAll('#calibration .pair')[{place}].children[{one}]" for one in (0, 1))
        of_bins, of_levels = (rows[rows["shows"] == shows] for shows in (HISTOGRAM, RELIABILITY))
        heights = browser.evaluate(
            f"Array.from({bars}.querySelectorAll('rect:has(title)'), (one) => [+one.getAttribute('y') - 0.5,"
            f" +one.getAttribute('y') + 0.5 + +one.getAttribute('height')].map({bars}.scale('y').invert))"
        )
        assert [top for top, _ in heights] == pytest.approx(list(BINS * of_bins["share"]), abs=0.02)
        assert [bottom for _, bottom in heights] == pytest.approx(np.zeros(BINS), abs=0.02)
        (path,) = explorer.drawn(curve, "curve")
        assert path == pytest.approx(of_levels[["level", "share"]].to_numpy(), abs=0.002)
        (band,) = explorer.drawn(curve, "band")
        upper, lower = np.split(band, 2)
        assert upper[1:-1, 1] == pytest.approx(of_levels["upper"].to_numpy(), abs=0.002)
        assert lower[::-1][1:-1, 1] == pytest.approx(of_levels["lower"].to_numpy(), abs=0.002)
    explorer.choose(dataset="space_ga")
    assert explorer.texts("#calibration .nothing a") == ["Yacht"]
    explorer.choose(dataset="Yacht", method="QRC")
    assert browser.evaluate("document.querySelectorAll('#calibration .pair').length") == 1, "of BASE"
    assert "QRC" in explorer.texts("#calibration .nothing")[0]


@in_browser
def test_densities_and_ranks_are_those_of_the_tables(browser: Browser, page: Path, folder: Path) -> None:
    explorer = Explorer(browser, page, protocol="paper", dataset="space_ga", metric="PCE")
    densities = pd.read_csv(folder / "paper" / EXAMPLE / "densities.csv")
    paths = explorer.drawn("document.querySelector('#densities .view').firstElementChild", "density")
    for (_, rows), path in zip(densities.groupby("method", sort=False), paths, strict=True):
        assert path == pytest.approx(rows[["y", "density"]].to_numpy()[::2], abs=0.01)
    ranks = pd.read_csv(folder / "paper" / MAIN / "ranks.csv").query("metric == 'PCE'")
    assert explorer.titled("ranks") == pytest.approx(
        dict(zip(ranks["method"], ranks["mean_rank"], strict=True)), rel=1e-3
    )


@in_browser
def test_address_holds_the_choice_and_the_view(browser: Browser, page: Path) -> None:
    explorer = Explorer(browser, page, width=390)
    explorer.choose(protocol="released", dataset="Yacht", metric="PCE", method="QRC", switch="sd", seed="1")
    browser.click(".jumps [data-view=curves]")
    address = browser.evaluate("location.hash").removeprefix("#")
    browser.open(page, width=390, height=844, fragment=address)
    chosen = browser.evaluate("[state.protocol, state.dataset, state.metric, state.method, state.switch, state.seed]")
    assert chosen == ["released", "Yacht", "PCE", "QRC", "sd", "1"]
    assert browser.evaluate("document.getElementById('choose-dataset').value") == "Yacht"
    assert 0 <= browser.evaluate("document.getElementById('curves').getBoundingClientRect().top") < 700


@in_browser
def test_explorer_within_another_page_draws_and_leads_to_its_views(browser: Browser, page: Path, folder: Path) -> None:
    report = folder / "report.html"
    report.write_text(f'<iframe srcdoc="{escape(page.read_text(encoding="utf-8"))}"></iframe>', encoding="utf-8")
    browser.open(report)
    inside = "document.querySelector('iframe').contentDocument"
    browser.wait_until(f"{inside}.querySelectorAll('#ranks svg').length === 1")
    browser.evaluate(f"{inside}.querySelector('#matrix tbody tr:last-child td:last-child a').click()")
    browser.wait_until(f"{inside}.getElementById('choose-dataset').value === 'Yacht'")
    assert browser.errors == []


@in_browser
def test_study_of_a_single_split_without_differences_and_predictions_draws(browser: Browser, folder: Path) -> None:
    whole = results(folder / "small", "paper", 8)
    few = {name: getattr(whole, name).iloc[:0] for name in ("differences", "by_dataset", "pits")}
    one_split = {0: whole.methods[0].query("split == 0")}
    for curves in (folder / "small").glob("*/curves.csv"):
        pd.read_csv(curves).assign(standard_error=np.nan).to_csv(curves, index=False)
    small = replace(whole, methods=one_split, **few)
    shown = explorer_data({"paper": small}, pd.DataFrame(), pd.DataFrame(), "a demonstration")
    path = folder / "small.html"
    path.write_text(explorer_page(shown, "a demonstration"), encoding="utf-8")
    explorer = Explorer(browser, path, dataset="Yacht", method="QRTC")
    assert explorer.titled("splits")
    assert {name for name in VIEWS if explorer.texts(f"#{name} .nothing")} >= {"published", "switch", "calibration"}
