"""The pages as text: right numbers, everything escaped, the same bytes; in a browser: test_pages_in_browser.py."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from qrt.text.page import Cell, Column, Html, Row, document, html, table, tag
from qrt.text.words import counted, interval, listed, number, p_value, percent
from qrt_study.pages.agreement import agreement_page
from qrt_study.pages.changed_differences import CHANGED_DIFFERENCES, changed_differences, distances_to_published
from qrt_study.pages.disagreements import (
    disagreements_csv,
    disagreements_page,
    in_order,
    sd_answer,
)
from qrt_study.pages.passages import TITLES
from qrt_study.pages.readings import Readings, changed_verdicts, summary_lines, tally
from qrt_study.pages.scorecard import scorecard_csv, scorecard_page
from qrt_study.pages.strip import strip
from qrt_study.pages.study_words import PAGES, StudyWords
from qrt_study.pages.value_table import with_noise
from qrt_study.plan.protocol import PROTOCOLS
from qrt_study.plan.switches import SWITCHES
from qrt_study.published import figure2
from qrt_study.results.readings import study_on_datasets_of
from qrt_study.statistics.agreement import Agreement
from qrt_study.statistics.switch_seeds import switch_differences
from qrt_study.verdicts.verdict import VERDICTS
from support.mock_verdicts import (
    ABSTRACT,
    BY_DEFINITION,
    CHANGED_AFTER_RUN,
    DEMONSTRATION,
    HOSTILE,
    mock_agreements,
    mock_by_dataset,
    mock_differences,
    mock_key_numbers,
    mock_study,
    mock_verdicts,
)
from support.page_texts import STORED, page_texts


def small_verdicts() -> pd.DataFrame:
    """Four claims whose changes are known by hand."""
    words = {
        "study": ["confirmed", "confirmed", "inconclusive", "not run"],
        "other": ["contradicted", "confirmed", "not run", "confirmed"],
        "sd": ["inconclusive", "confirmed", "confirmed", "confirmed"],
        "pce": ["inconclusive", "confirmed", "inconclusive", "not run"],
        "resnet": ["confirmed", "not run", "not run", "not run"],
        "kernel_width": ["not run"] * 4,
    }
    own = mock_verdicts(4)
    own = own[own["reading"] == "study"]
    return pd.concat(
        [own.assign(reading=name, verdict=verdicts) for name, verdicts in words.items()], ignore_index=True
    )


def all_pages(study: StudyWords | None = None) -> dict[str, str]:
    """Every page of a study with hostile names."""
    study = study or mock_study(hostile=True)
    verdicts, numbers, agreements = mock_verdicts(20, hostile=True), mock_key_numbers(), mock_agreements(hostile=True)
    return {
        "scorecard.html": scorecard_page(Readings(verdicts, study)).html,
        "disagreements.html": disagreements_page(Readings(verdicts, study), numbers, mock_by_dataset()).html,
        "agreement.html": agreement_page(*agreements, study, b"png").html,
    }


# --- toolkit ---------------------------------------------------------------------------------------------------------


def test_text_is_escaped_and_html_is_not_escaped_twice() -> None:
    assert html("a < b & 'c'") == "a &lt; b &amp; &#x27;c&#x27;"
    assert html(html("a < b")) == "a &lt; b"
    assert tag("td", "<b>", tag("i", "&")) == "<td>&lt;b&gt;<i>&amp;</i></td>"


def test_attributes_are_escaped_and_left_out_where_there_is_no_value() -> None:
    assert tag("a", "x", href='"><script>', id=None, hidden=True, class_="c", data_a=1) == (
        '<a href="&quot;&gt;&lt;script&gt;" hidden class="c" data-a="1">x</a>'
    )


def test_missing_sort_keys_are_empty_and_cells_name_their_column() -> None:
    written = table("t", [Column("Size", "number")], [Row([Cell("", math.nan)]), Row(["3"])], caption="c")
    assert '<td data-label="Size" data-key="" class="none"></td>' in written
    assert '<td data-label="Size">3</td>' in written


def test_a_row_with_too_few_cells_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        table("t", [Column("a"), Column("b")], [Row(["1"])], caption="c")


def test_numbers_are_written_for_readers() -> None:
    written = [number(value) for value in (0, -0.031, 9.999, 1234.6, 1e-7, math.nan, None, math.inf)]
    assert written == ["0", "−0.0310", "10.0", "1235", "1.00e−07", "", "", "∞"]
    noisy = [with_noise(*pair) for pair in ((12.3118, 0.066), (0.0489, 0.0092), (32324.4, 2171.3), (-0.5, 0.00123))]
    assert noisy == ["12.312 ± 0.066", "0.0489 ± 0.0092", "32324 ± 2171", "−0.5000 ± 0.0012"]
    assert [with_noise(2.0, math.nan), with_noise(2.0, 0.0), with_noise(0.0, 0.5)] == ["2.00", "2.00 ± 0", "0 ± 0.50"]
    assert (p_value(1e-9), p_value(0.031), p_value(math.nan)) == ("p < 0.0001", "p = 0.031", "")
    assert (percent(-0.0213), interval(0.1, 0.2), interval(math.nan, 1)) == ("−2.1 %", "[0.100, 0.200]", "")
    assert (counted(1, "claim"), counted(2, "claim"), listed(["a", "b", "c"])) == ("1 claim", "2 claims", "a, b and c")


# --- readings --------------------------------------------------------------------------------------------------------


def test_what_was_not_run_under_one_reading_has_not_changed() -> None:
    other = changed_verdicts(small_verdicts(), "other")
    assert (other.judged, other.lost, other.run) == (2, 1, "in part")
    assert other.changed[["before", "after"]].to_numpy().tolist() == [["confirmed", "contradicted"]]
    assert changed_verdicts(small_verdicts(), "sd").run == "yes"
    assert changed_verdicts(small_verdicts(), "kernel_width").run == "no"
    assert changed_verdicts(small_verdicts(), "time_per_epoch").run == "no"  # not even a row


def test_switch_without_any_effect_is_told_from_one_that_changes_no_verdict() -> None:
    verdicts = small_verdicts()
    own = verdicts[verdicts["reading"] == "study"]
    others = verdicts[~verdicts["reading"].isin(["sd", "pce"])]
    same, shifted = own.assign(reading="sd"), own.assign(reading="pce", estimate=own["estimate"] + 0.01)
    table = pd.concat([others, same, shifted], ignore_index=True)
    without_effect, without_change = (changed_verdicts(table, name) for name in ("sd", "pce"))
    assert without_effect.judged == without_change.judged > 0
    assert without_effect.changed.empty
    assert without_change.changed.empty
    assert (without_effect.run, without_change.run) == ("nothing to change", "yes")
    # With claims that were not run this way, other networks would be needed.
    some_lost = pd.concat([others, same.assign(verdict=["not run", *same["verdict"].iloc[1:]])], ignore_index=True)
    assert changed_verdicts(some_lost, "sd").run == "no"


def test_what_a_switch_changes_is_told_on_its_own_datasets() -> None:
    verdicts = small_verdicts()
    changed = changed_verdicts(verdicts, "sd").changed
    # With the datasets of `sd` alone the study says the same, so that the switch itself changes nothing.
    same = verdicts[verdicts["reading"] == "sd"].assign(reading=study_on_datasets_of("sd"))
    found = changed_verdicts(pd.concat([verdicts, same], ignore_index=True), "sd")
    assert len(changed) > 0
    assert found.changed.empty
    assert (found.judged, found.lost) == (changed_verdicts(verdicts, "sd").judged, 0)


def test_switches_that_change_a_verdict_are_listed_per_claim() -> None:
    first, _, third, _ = small_verdicts()["id"].unique()
    assert Readings(small_verdicts(), mock_study()).switches == {first: ["pce", "sd"], third: ["sd"]}


def test_steps_are_counted_by_before_and_after() -> None:
    assert changed_verdicts(small_verdicts(), "sd").steps == {
        "confirmed → inconclusive": 1,
        "inconclusive → confirmed": 1,
    }


def test_study_of_the_papers_datasets_alone_says_so_once() -> None:
    assert mock_study().basis == "6 of 7 datasets (5 of the paper's 57), 5 splits"
    paper = replace(mock_study(), asked=57, datasets=45, of_paper=45)
    assert paper.basis == "45 of the paper's 57 datasets, 5 splits"
    assert replace(paper, of_paper=44).basis == "45 of 57 datasets (44 of the paper's 57), 5 splits"


# --- scorecard -------------------------------------------------------------------------------------------------------


def test_scorecard_has_one_row_per_claim_with_the_other_verdict_and_the_switches() -> None:
    written = scorecard_csv(Readings(small_verdicts(), mock_study()))
    assert written["verdict"].tolist() == ["confirmed", "confirmed", "inconclusive", "not run"]
    assert written["other_verdict"].tolist() == ["contradicted", "confirmed", "", "confirmed"]
    assert written["changed_by"].tolist() == ["pce;sd", "", "sd", ""]
    assert "reading" not in written


def test_scorecard_page_counts_claims_by_definition_apart() -> None:
    verdicts = mock_verdicts()
    own = verdicts[verdicts["reading"] == "study"]
    counted_in = own[~own["id"].isin(BY_DEFINITION)]
    page = scorecard_page(Readings(verdicts, mock_study())).html
    for rows in (counted_in, counted_in[counted_in["abstract"]]):
        words = ", ".join(f"{count} {word}" for word, count in tally(rows["verdict"]).items() if count)
        assert f'aria-label="{words}"' in page
    assert f"All claims ({231 - len(BY_DEFINITION)})" in page


def test_scorecard_begins_with_abstract_and_conclusion_and_has_every_claim_once() -> None:
    verdicts = mock_verdicts()
    own = verdicts[verdicts["reading"] == "study"]
    page = scorecard_page(Readings(verdicts, mock_study())).html
    assert sorted(re.findall(r'<article class="claim" id="(C\d+)"', page)) == sorted(own["id"])
    first, rest = page.split('<section id="claims">')
    assert len(re.findall(r"<article", first)) == ABSTRACT
    folded = [len(re.findall("<article", passage)) for passage in rest.split('<details class="passage"')[1:]]
    assert sum(folded) == 231 - ABSTRACT
    assert len(folded) == own[~own["abstract"]]["statement"].nunique()


def test_a_claim_shows_its_sentence_and_its_short_finding_and_folds_the_rest() -> None:
    verdicts = mock_verdicts(3)
    own = verdicts[verdicts["reading"] == "study"].iloc[1]
    page = scorecard_page(Readings(verdicts, mock_study())).html
    card = page[page.index(f'id="{own["id"]}"') :].split("</article>")[0]
    shown, folded = card.split('<details class="notes">')
    assert html(own["sentence"]) in shown
    assert html(own["short"]) in shown
    assert "Wilcoxon" not in shown
    assert html(own["explanation"]) in folded


def test_a_claim_that_was_changed_after_the_run_is_marked() -> None:
    page = scorecard_page(Readings(mock_verdicts(), mock_study())).html
    marked = re.findall(r'<article class="claim" id="(C\d+)"(?:(?!</article>).)*changed after the run', page, re.DOTALL)
    assert tuple(marked) == CHANGED_AFTER_RUN


def test_a_claim_by_definition_has_no_verdict_unless_it_failed() -> None:
    verdicts = mock_verdicts(20).assign(verdict="confirmed")
    for word, shown in (("confirmed", "≡ by definition"), ("contradicted", "✗ contradicted")):
        verdicts.loc[verdicts["id"] == BY_DEFINITION[0], "verdict"] = word
        page = scorecard_page(Readings(verdicts, mock_study())).html
        card = page[page.index(f'id="{BY_DEFINITION[0]}"') :].split("</article>")[0]
        assert f">{shown}</span>" in card


def test_passages_of_the_paper_have_titles() -> None:
    verdicts = mock_verdicts(20).assign(statement="S24", abstract=False)
    assert html(TITLES["S24"]) in scorecard_page(Readings(verdicts, mock_study())).html
    assert len(TITLES) == len(set(TITLES.values())) == 57


def test_a_strip_draws_all_values_on_one_scale() -> None:
    drawn = strip({"estimate": 0.7, "low": 0.6, "high": 1.0, "limit": 0.5, "published": 0.65})
    at = {
        "low": float(re.findall(r'x1="([\d.]+)"[^>]*class="interval"', drawn)[0]),
        "high": float(re.findall(r'x2="([\d.]+)"[^>]*class="interval"', drawn)[0]),
        "limit": float(re.findall(r'x1="([\d.]+)"[^>]*class="limit"', drawn)[0]),
        "estimate": float(re.findall(r'cx="([\d.]+)"', drawn)[0]),
        "published": float(re.findall(r'points="([\d.]+),', drawn)[0]),
    }
    scale = (at["high"] - at["limit"]) / 0.5
    for name, value in (("low", 0.6), ("estimate", 0.7), ("published", 0.65)):
        assert at[name] == pytest.approx(at["limit"] + scale * (value - 0.5), abs=0.11)
    assert 'aria-label="estimate 0.700 [0.600, 1.00], limit 0.500, published 0.650"' in drawn


@pytest.mark.parametrize("missing", [None, math.nan, math.inf])
def test_a_strip_leaves_out_what_is_not_known(missing: float | None) -> None:
    unknown = dict.fromkeys(("estimate", "low", "high", "limit", "published"), missing)
    assert strip(unknown | {"limit": 0.5}) == ""
    alone = strip(unknown | {"estimate": 2.0})
    assert "interval" not in alone
    assert "polygon" not in alone
    assert 'class="limit"' not in alone
    assert 'cx="90.0"' in alone  # nothing to compare with: in the middle


def test_scorecard_links_figures_that_the_study_has_and_names_the_others() -> None:
    verdicts = mock_verdicts(3)
    verdicts["figure"] = verdicts["id"].map(
        dict(zip(verdicts["id"].unique(), ["fig03_main", "fig04_ablation", "table2_times"], strict=True))
    )
    page = scorecard_page(Readings(verdicts, replace(mock_study(), figures=("fig03_main", "table2_times")))).html
    assert 'href="fig03_main.png"' in page
    assert 'href="fig03_main.pdf"' in page
    assert 'href="table2_times.md"' in page
    assert "fig04_ablation" not in page
    assert "Figure 4" in page


# --- disagreements ---------------------------------------------------------------------------------------------------


def test_disagreements_start_with_those_that_favour_methods_and_go_on_by_number() -> None:
    rows = [switch.row for switch in in_order()]
    first = [row for row in (13, 4) if row in rows]
    assert rows == [*first, *sorted(set(rows) - set(first))]
    page = disagreements_page(Readings(mock_verdicts(20), mock_study()), mock_key_numbers(), mock_by_dataset()).html
    assert re.findall(r'<section id="(\w+)"', page) == [switch.name for switch in in_order()]


def test_table_of_disagreements_has_numbers_before_and_after() -> None:
    written = disagreements_csv(Readings(small_verdicts(), mock_study()), mock_key_numbers())
    of_sd = written[(written["switch"] == "sd") & (written["metric"] == "SD")]
    assert of_sd["method"].tolist() == ["QRC", "QREGC", "QRTC"]
    assert of_sd["lower_on_before"].tolist() == [28, 31, 34]
    assert of_sd["lower_on_after"].tolist() == [15, 15, 15]
    assert of_sd["changes"].unique().tolist() == ["confirmed -> inconclusive: 1; inconclusive -> confirmed: 1"]
    not_run = written[written["switch"] == "kernel_width"]
    assert not_run[["acts", "run"]].to_numpy().tolist() == [["on training", "no"]]
    assert set(written["switch"]) == set(SWITCHES)


@pytest.mark.parametrize(
    ("ranks", "answer"), [([1.5, 1.2, 1.1], "Yes"), ([3.0, 1.2, 3.0], "In part"), ([3.0, 3.0, 3.0], "No")]
)
def test_answer_on_sharpness_follows_the_ranks_with_one_estimator(ranks: list[float], answer: str) -> None:
    numbers = mock_key_numbers()
    numbers["baseline_mean_rank"] = 2.0
    concerned = (numbers["reading"] == "sd") & (numbers["metric"] == "SD")
    numbers.loc[concerned, "mean_rank"] = ranks
    assert sd_answer(numbers, mock_study()).startswith(f"{answer}, ")
    # Where the study itself has one estimator, its own numbers answer.
    consistent = replace(mock_study(), settings=PROTOCOLS["paper"])
    assert "28 of 44" in sd_answer(numbers, consistent)


def test_answer_without_numbers_says_that_it_cannot_be_given() -> None:
    assert not sd_answer(mock_key_numbers().iloc[:0], mock_study()).startswith(("Yes", "In part", "No,"))


def test_numbers_that_were_read_from_a_file_make_the_same_page(tmp_path: Path) -> None:
    mock_key_numbers().to_csv(tmp_path / "numbers.csv", index=False)
    read = pd.read_csv(tmp_path / "numbers.csv")
    study, differences = mock_study(), mock_by_dataset()
    both = (mock_key_numbers(), read)
    pages = [disagreements_page(Readings(mock_verdicts(9), study), numbers, differences).html for numbers in both]
    assert pages[0] == pages[1]


def test_differences_that_a_switch_changes_are_told_with_the_largest_first() -> None:
    found = mock_by_dataset()
    assert list(found) == list(CHANGED_DIFFERENCES)
    assert found[["switch", "method", "dataset"]].to_numpy().tolist() == [
        ["x_scale", "QRTC", "boston"],
        ["x_scale", "QRTC", "Yacht"],
    ]
    assert found[["before", "after"]].to_numpy().tolist() == [[0.0, 0.5], [-0.9, -0.65]]
    yacht = figure2().set_index(["dataset", "method"]).loc[("Yacht", "QRTC")]
    assert found["published"].iloc[1] == yacht["difference"]
    page = disagreements_page(Readings(mock_verdicts(5), mock_study()), mock_key_numbers(), found).html
    assert page.count("Datasets that change most") == 1


def test_distance_to_the_published_values_is_in_units_of_the_joint_standard_error() -> None:
    published = figure2()
    published = published[published["method"] == "QRTC"].head(8)
    found = pd.DataFrame(
        {
            "row": 1,
            "switch": "posthoc_on",
            "method": "QRTC",
            "dataset": published["dataset"],
            "published": published["difference"],
            "published_standard_error": 0.3,
            "before_standard_error": 0.4,
            "after_standard_error": 0.0,
            "before": published["difference"] + 0.5,
            "after": published["difference"] - 0.66,
        }
    )
    (row,) = distances_to_published(found).to_dict("records")
    assert (row["row"], row["switch"], row["values"]) == (1, "posthoc_on", 8)
    assert (row["median_before"], row["beyond_two_before"]) == (pytest.approx(1), 0)
    assert (row["median_after"], row["beyond_two_after"]) == (pytest.approx(2.2), 8)
    assert distances_to_published(found.head(5)).empty


def test_differences_are_compared_on_the_datasets_that_both_readings_have() -> None:
    differences = mock_differences()
    fewer = differences[(differences["reading"] == "x_scale") & (differences["dataset"] == "Yacht")]
    beside = fewer.assign(reading=study_on_datasets_of("x_scale"), difference=-0.7)
    study = differences[differences["reading"] == "study"]
    one_seed = switch_differences({}, "study", "nll")
    found = changed_differences(pd.concat([study, fewer, beside], ignore_index=True), one_seed)
    assert set(found["dataset"]) == {"Yacht"}
    assert set(found["before"]) == {-0.7}


def test_differences_of_several_seeds_take_the_place_of_those_of_one() -> None:
    row = {"switch": "x_scale", "method": "QRTC", "dataset": "Yacht", "seeds": 5}
    several = row | {"before": -0.8, "before_standard_error": 0.02, "after": -0.5, "after_standard_error": 0.03}
    elsewhere = several | {"dataset": "counts"}  # not in the comparison, since its targets are discrete
    found = changed_differences(mock_differences(), pd.DataFrame([several, elsewhere])).set_index("dataset")
    assert found.loc["Yacht", ["seeds", "before", "after", "after_standard_error"]].tolist() == [5, -0.8, -0.5, 0.03]
    assert found.loc["boston", ["seeds", "before", "after"]].tolist() == [1, 0.0, 0.5]
    assert set(found.index) == {"Yacht", "boston"}


@pytest.mark.parametrize("name", sorted(path.name for path in STORED.iterdir()))
def test_wording_is_as_stored(name: str) -> None:
    assert page_texts()[name] == (STORED / name).read_text(encoding="utf-8"), "python tests/support/page_texts.py"


# --- all pages -------------------------------------------------------------------------------------------------------


def test_hostile_names_are_text_on_every_page() -> None:
    for name, page in all_pages().items():
        assert "&lt;img src=x onerror=alert(1)&gt;" in page, name
        assert HOSTILE not in page, name


def test_pages_need_no_other_files_and_no_network() -> None:
    for name, page in all_pages().items():
        loaded = re.findall(r'(?:src|href)="([^"]*)"', page)
        assert not [address for address in loaded if "//" in address and not address.startswith("data:image/png;")], (
            name
        )
        assert not re.search(r"@import|url\(|<link|<script src", page), name


def test_the_same_input_gives_the_same_bytes() -> None:
    assert all_pages() == all_pages()


def test_markdown_tables_keep_their_columns_whatever_the_cells_hold() -> None:
    verdicts, numbers, study = mock_verdicts(20, hostile=True), mock_key_numbers(), mock_study(hostile=True)
    for text in (
        scorecard_page(Readings(verdicts, study)).markdown,
        disagreements_page(Readings(verdicts, study), numbers, mock_by_dataset()).markdown,
        agreement_page(*mock_agreements(hostile=True), study).markdown,
    ):
        assert HOSTILE not in text
        tables = re.split(r"\n(?!\|)", text)
        widths = [
            {len(re.findall(r"(?<!\\)\|", line)) for line in rows.splitlines() if line[:1] == "|"} for rows in tables
        ]
        assert all(len(width) <= 1 for width in widths)
        assert any(widths)


def test_an_agreement_page_without_common_datasets_says_so() -> None:
    empty = [Agreement(full.points.iloc[:0], full.summary.iloc[:0], "Nothing here.") for full in mock_agreements()]
    page = agreement_page(empty[0], empty[1], empty[2], mock_study()).html
    assert page.count("Nothing here.") == 3
    assert "<table" not in page
    assert agreement_page(empty[0], empty[1], empty[2], mock_study()).markdown.count("Nothing here.") == 3


def test_a_demonstration_says_so_everywhere_and_judges_nothing() -> None:
    study = mock_study(demonstration=True)
    verdicts, numbers = mock_verdicts(), mock_key_numbers()
    lines = summary_lines(Readings(verdicts, study))
    texts = all_pages(study) | {
        "scorecard.md": scorecard_page(Readings(verdicts, study)).markdown,
        "disagreements.md": disagreements_page(Readings(verdicts, study), numbers, mock_by_dataset()).markdown,
        "agreement.md": agreement_page(*mock_agreements(), study).markdown,
        "terminal": "\n".join(lines),
    }
    for name, text in texts.items():
        assert DEMONSTRATION in text, name
        assert set(re.findall(r'data-verdict="([\w-]+)"', text)) <= {"not-run"}, name
        assert "svg" not in text.split("</head>")[-1], name
    assert not [word for word in VERDICTS[:-1] if word in texts["terminal"] + texts["disagreements.md"]]
    assert set(scorecard_csv(Readings(verdicts, study))["verdict"]) == {"not run"}
    assert disagreements_csv(Readings(verdicts, study), numbers)["verdicts_judged"].eq(0).all()
    assert DEMONSTRATION not in "".join(all_pages().values())


def test_the_agreement_page_of_a_demonstration_explains_itself_and_compares_nothing() -> None:
    page = agreement_page(*mock_agreements(), mock_study(demonstration=True), b"png").html
    assert "<table" not in page
    assert "<img" not in page


def test_a_document_is_whole() -> None:
    page = document("A & B", "lede", Html("<p>text</p>"), file="scorecard.html", pages=PAGES)
    assert page.startswith("<!doctype html>")
    assert "<title>A &amp; B · QRT Replication</title>" in page
    assert '<a href="scorecard.html" aria-current="page">' in page


def test_pages_do_not_import_torch() -> None:
    modules = "qrt_study.pages.scorecard, qrt_study.pages.disagreements, qrt_study.pages.agreement"
    code = f"import sys, {modules}; sys.exit('torch' in sys.modules or 'matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
