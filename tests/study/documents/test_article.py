"""The article: its results come from the published tables, and nothing else in it is a result."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from conftest import PROJECT
from qrt_study.documents.article import article_numbers, compile_article
from qrt_study.plan.artifacts import ARTICLE_READS

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


def test_published_article_is_compiled_again_byte_for_byte_from_what_its_rule_declares(
    tmp_path: Path, copies: dict[str, Path]
) -> None:
    assert compiled(tmp_path / "article.pdf", copies) == (PROJECT / "article/article.pdf").read_bytes()


@pytest.mark.parametrize(
    ("file", "column", "value"),
    [
        ("scorecard.csv", "verdict", "contradicted"),
        ("agreement.csv", "inside", False),
        ("robustness.csv", "mean", -1.0),
        ("disagreements.csv", "verdicts_changed", 7),
        ("table3_datasets.csv", "status", "unavailable"),
    ],
)
def test_changed_result_changes_the_article(
    tmp_path: Path, copies: dict[str, Path], file: str, column: str, value: object
) -> None:
    before = article_numbers(PROJECT, copies)
    for folder in copies.values():
        table = pd.read_csv(folder / file, keep_default_na=False)
        table[column] = value
        table.to_csv(folder / file, index=False)
    assert article_numbers(PROJECT, copies) != before
    assert compiled(tmp_path / "article.pdf", copies) != (PROJECT / "article/article.pdf").read_bytes()


MARKUP = (
    *(r"//.*", r"\$[^$]*\$", r"@[\w-]+", r"<[\w-]+>", r"CC BY [\d.]+"),
    *(r"#n\.[\w.]+", r"#per\([^)]*\)\.\w+", r"\b[\d.]+(pt|fr|%\)|%,)"),
)
DEFINITIONS = ("docs/protocol.md", "docs/verdict.md", "docs/engine.md", "replication/steps.yaml")


def numbers_in(text: str) -> set[str]:
    """The numbers of a text, without what separates thousands."""
    return set(re.findall(r"(?<![\w.^])\d+(?:\.\d+)?", re.sub(r"(?<=\d),(?=\d{3})", "", text)))


def test_numbers_that_stand_in_the_text_are_those_of_the_protocol() -> None:
    _, prose = SOURCE.read_text(encoding="utf-8").split("= Introduction", 1)
    for markup in MARKUP:
        prose = re.sub(markup, "", prose)
    typed = numbers_in(prose)
    assert typed, "the search finds none"
    known = set().union(*(numbers_in((PROJECT / name).read_text(encoding="utf-8")) for name in DEFINITIONS))
    assert typed <= known


def test_every_number_given_to_the_article_is_text_as_it_is_printed() -> None:
    def leaves(value: object) -> list[object]:
        if isinstance(value, dict):
            return [leaf for one in value.values() for leaf in leaves(one)]
        return [leaf for one in value for leaf in leaves(one)] if isinstance(value, list) else [value]

    assert all(isinstance(leaf, str) for leaf in leaves(article_numbers(PROJECT, PUBLISHED)))
