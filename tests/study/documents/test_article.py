"""The article: its results come from the published tables, and nothing else in it is a result."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from conftest import PROJECT
from qrt_study.documents.article import (
    article_numbers,
    compile_article,
    gain_words,
    share_words,
    significant_words,
    stopping_words,
)
from qrt_study.documents.article_tables import OTHER, reason
from qrt_study.documents.front_page import claims_that_can_fail
from qrt_study.plan.artifacts import ARTICLE_READS
from qrt_study.verdicts.evidence import NOT_IN_THE_CODE
from qrt_study.verdicts.verdict import NOT_RUN

SOURCE = PROJECT / "article/article.typ"
PUBLISHED = {"paper": PROJECT / "paper_figures", "released": PROJECT / "replication/released"}


def compiled(out: Path, folders: dict[str, Path]) -> bytes:
    compile_article(SOURCE, project=PROJECT, paper=folders["paper"], released=folders["released"], out=out)
    return out.read_bytes()


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    """What the article reads, and nothing else, in a folder of its own."""
    folders = {protocol: tmp_path / protocol for protocol in PUBLISHED}
    for protocol, folder in folders.items():
        folder.mkdir()
        for file in ARTICLE_READS:
            shutil.copy(PUBLISHED[protocol] / file, folder)
    return folders


@pytest.fixture(scope="module")
def published_numbers() -> dict[str, Any]:
    return article_numbers(PROJECT, PUBLISHED)


def changed(folders: dict[str, Path], file: str, column: str, value: object) -> None:
    for folder in folders.values():
        table = pd.read_csv(folder / file, keep_default_na=False)
        table[column] = value
        table.to_csv(folder / file, index=False)


def test_published_article_is_compiled_again_byte_for_byte_from_what_its_rule_declares(
    tmp_path: Path, copies: dict[str, Path]
) -> None:
    assert compiled(tmp_path / "article.pdf", copies) == (PROJECT / "article/article.pdf").read_bytes()


@pytest.mark.parametrize(
    ("file", "column", "value"),
    [
        ("scorecard.csv", "verdict", "contradicted"),
        ("scorecard.csv", "datasets", 3),
        ("agreement.csv", "inside", False),
        ("robustness.csv", "mean", -1.0),
        ("disagreements.csv", "verdicts_changed", 7),
        ("disagreements_by_dataset.csv", "after", 7.0),
        ("gains_summary.csv", "median_difference", 0.5),
        ("coverage_summary.csv", "left_lower", 1),
        ("coverage_intervals.csv", "worst_slab", 0.123),
        ("stopping_summary.csv", "median_difference", 0.5),
        ("seeds.csv", "seed_share", 0.123),
        ("table2_times.csv", "seconds_per_epoch", 1.0),
        ("table3_datasets.csv", "status", "differs"),
    ],
)
def test_changed_result_changes_the_article(
    tmp_path: Path, copies: dict[str, Path], file: str, column: str, value: object
) -> None:
    changed(copies, file, column, value)
    assert compiled(tmp_path / "article.pdf", copies) != (PROJECT / "article/article.pdf").read_bytes()


def test_article_is_compiled_before_there_are_extensions(tmp_path: Path, copies: dict[str, Path]) -> None:
    for folder in copies.values():
        for name in ("gains", "stopping"):
            table = pd.read_csv(folder / f"{name}_summary.csv")
            table[:0].to_csv(folder / f"{name}_summary.csv", index=False)
    assert compiled(tmp_path / "article.pdf", copies).startswith(b"%PDF")
    numbers = article_numbers(PROJECT, copies)
    assert numbers["stopping"]["paper"] == numbers["gains"]["released"] == {}


MARKUP = (
    *(r"//.*", r"\$[^$]*\$", r"@[\w-]+", r"<[\w-]+>", r"#if [^\[]*", r'show ".*', r'"[^"]*\.pdf"', r"skip: \([\d,]*\)"),
    *(r"#?\(?n\.[\w.]+\)?", r"one\.[\w.]+(\(\))? [=!]= \d", r"#one\.[\w.]+", r"#per\([^)]*\)\.\w+", r"MLP-\d"),
    *(r"\b[\d.]+(pt|fr|cm|em|%\)|%,)",),
)
# What stands in the article with a number that is no result, and the place of its source.
TYPED = {
    "95 % prediction interval": ("docs/verdict.md", "95 % prediction interval"),
    "mass reflected at 0 and 1": ("docs/protocol.md", "with its mass beyond 0 and 1 reflected"),
    "cut off at 0 and 1": ("docs/protocol.md", "cut to [0, 1]"),
    "65 % training, 10 % validation, 15 % calibration and 10 % test rows": (
        "docs/protocol.md",
        "training (65 %), validation (10 %), calibration (15 %) and test (10 %)",
    ),
    "three hidden layers of 128 units": ("docs/protocol.md", "three hidden layers of 128 ReLU units"),
    "learning rate 0.001": ("docs/protocol.md", "learning rate 0.001"),
    "batches of 512 rows": ("docs/protocol.md", "batches of min(512, n) rows"),
    "after 15 validations without improvement": ("docs/protocol.md", "after 15 validations without improvement"),
    "decides by a 95 % interval": ("docs/verdict.md", "**Intervals** have a level of 95 %"),
    "margin and 90 % intervals": ("docs/verdict.md", "Where a margin decides, the level is 90 %"),
    "claims C180 and C181, from confirmed to leaning": ("CHANGELOG.md", "(C180 and C181, from confirmed to leans"),
    "Figure 2": ("docs/verdict.md", "Figure 2 (44 datasets, with both standard errors)"),
    "Figure 3 of the paper": ("README.md", "Figure 3: the main comparison"),
    "would hold 95 % of each": ("src/qrt_study/figures/agreement.py", "the range that holds 95 % of each alone"),
    "scale 1": ("docs/protocol.md", "in the training rows keeps scale 1"),
    "that of 19 quantiles": ("docs/protocol.md", "standard deviation of 19 quantiles"),
    "Algorithm 1": ("docs/protocol.md", "The paper's Algorithm 1"),
    "coverage of intervals with 90 %": ("docs/findings.md", "Mean coverage of 90 % intervals"),
    "central 90 % intervals": ("paper_figures/coverage.md", "the central 90 % interval"),
    "the mean distance from 0.9": ("paper_figures/coverage.md", "mean distance from 0.9"),
    "its shortfall below 0.9": ("paper_figures/coverage.md", "0.9 minus its coverage"),
}


def without_breaks(text: str) -> str:
    return " ".join(text.split())


def prose() -> str:
    """The words of the article, with neither markup nor anything that the workflow inserts."""
    _, text = SOURCE.read_text(encoding="utf-8").split("// Title.", 1)
    for markup in MARKUP:
        text = re.sub(markup, "", text)
    return without_breaks(text)


@pytest.mark.parametrize("words", TYPED)
def test_number_that_is_typed_is_that_of_its_source(words: str) -> None:
    file, source = TYPED[words]
    assert words in prose()
    assert source in without_breaks((PROJECT / file).read_text(encoding="utf-8"))


def test_no_other_number_is_typed() -> None:
    text = prose()
    for words in sorted(TYPED, key=len, reverse=True):
        text = text.replace(words, "")
    assert [text[max(0, one.start() - 40) : one.end() + 20] for one in re.finditer(r"\d", text)] == []


def test_no_semicolon_follows_an_inserted_number_and_is_swallowed() -> None:
    assert not re.findall(r"#(?:n|one|meta)\.[\w.]+;|#per\([^)]*\)\.\w+;", SOURCE.read_text(encoding="utf-8"))


def test_every_number_given_to_the_article_is_text_as_it_is_printed(published_numbers: dict[str, Any]) -> None:
    def leaves(value: object) -> list[object]:
        if isinstance(value, dict):
            return [leaf for one in value.values() for leaf in leaves(one)]
        return [leaf for one in value for leaf in leaves(one)] if isinstance(value, list) else [value]

    assert all(isinstance(leaf, str) for leaf in leaves(published_numbers))


def test_no_identifier_of_a_switch_or_rule_is_in_a_table_of_the_article(published_numbers: dict[str, Any]) -> None:
    tables = published_numbers["tables"]
    shown = (name for name in tables if name != "agreement")  # that one has names of datasets
    assert [cell for name in shown for row in tables[name] for cell in row if re.search(r"[a-z]_[a-z]", cell)] == []


def test_datasets_without_a_copy_are_told_from_those_not_trained_yet(published_numbers: dict[str, Any]) -> None:
    data = published_numbers["data"]
    assert "Yolanda" in data["not_at_hand"]
    assert "Yolanda" not in data["waiting"]
    counts = [int(data[name]) for name in ("verified", "not_at_hand_count", "waiting_count")]
    assert sum(counts) + len(data["differing"].split()) == 57  # the paper's datasets


@pytest.mark.parametrize("protocol", PUBLISHED)
def test_every_claim_that_is_not_judged_has_its_reason(protocol: str) -> None:
    claims = claims_that_can_fail(PUBLISHED[protocol] / "scorecard.csv")
    waiting = claims[claims["verdict"] == NOT_RUN].to_dict("records")
    assert OTHER not in {reason(claim) for claim in waiting}


def test_claims_on_networks_that_the_released_code_lacks_are_not_said_to_wait_for_training() -> None:
    claim = {"short": "Not run: QREGC was not run.", "base_model": "ResNet-3"}
    assert "not trained yet" in reason(claim)
    claim["short"] = f"Not run: QREGC was not run: {NOT_IN_THE_CODE} (row 7)."
    assert "does not have" in reason(claim)


@pytest.mark.parametrize(
    ("part", "word"),
    [
        (-0.12, "all"),
        (-0.095, "nearly all"),
        (-0.06, "most"),
        (-0.03, "a part"),
        (0.0, "hardly any"),
        (0.1, "hardly any"),
    ],
)
def test_part_of_a_gain_is_told_by_its_share(part: float, word: str) -> None:
    assert share_words(part, -0.1) == word


def test_there_is_no_part_of_what_is_no_gain() -> None:
    assert "no gain" in share_words(-0.1, 0.0)


def pairs(metric: str, differences: dict[tuple[str, str], float], significant: bool = True) -> pd.DataFrame:
    """Rows of a summary over 20 datasets: a method is lower on 15 if the median difference is negative."""
    rows = [
        {
            "metric": metric,
            "left": left,
            "right": right,
            "datasets": 20,
            "left_lower": 15 if median < 0 else 5,
            "right_lower": 5 if median < 0 else 15,
            "median_difference": median,
            "p_holm": 0.01 if significant else 0.5,
            "significant": significant,
        }
        for (left, right), median in differences.items()
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("left", "share"),
    [(-0.12, "all"), (-0.095, "nearly all"), (-0.06, "most"), (-0.02, "a part"), (0.01, "hardly any")],
)
def test_what_the_stopping_leaves_of_the_lead_is_told_by_the_medians(left: float, share: str) -> None:
    medians = {("QRTC", "QRC"): -0.1, ("QRC-STOP", "QRC"): -0.05, ("QRTC", "QRC-STOP"): left}
    found = stopping_words(pairs("NLL", medians))
    assert (found["share"], found["significant"]) == (share, "significant")
    assert stopping_words(pairs("NLL", medians, significant=False))["significant"] == "not significant"


@pytest.mark.parametrize(
    ("refined", "crps", "source"),
    [
        (-0.02, -0.01, "marginal calibration"),
        (-0.08, -0.01, "a better network"),
        (-0.08, 0.01, "the shape of the density"),
    ],
)
def test_source_of_a_gain_is_told_by_what_is_left_under_the_best_map(refined: float, crps: float, source: str) -> None:
    of_both = [("QRTC", "BASE"), ("QRC", "BASE")]
    medians = {"NLL": -0.1, "refined NLL": refined, "NLL to calibrate": -0.1, "refined CRPS": crps}
    summary = pd.concat([pairs(metric, dict.fromkeys(of_both, median)) for metric, median in medians.items()])
    assert gain_words(summary)["source"] == source


def test_significant_differences_are_told_with_their_direction() -> None:
    worse = pairs("worst slab", {("QRTC", "BASE"): 0.1})
    assert significant_words(worse, ["worst slab"]) == "the higher shortfall in the worst slab of QRTC (p = 0.010)"
    assert significant_words(worse, ["excess risk"]) == ""
    assert significant_words(pairs("worst slab", {("QRTC", "BASE"): 0.1}, significant=False), ["worst slab"]) == ""
