"""Parts of a page that are written once and shown twice: as HTML, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from qrt.text.formats import escape_markdown
from qrt.text.page import Content, Html, document, filters, joined, paragraph, section, tag
from qrt_study.pages.study_words import StudyWords
from qrt_study.pages.value_table import Shown, markdown_table, value_table


class Block(NamedTuple):
    """A part of a page; what belongs to one form alone is empty in the other."""

    html: Html = Html("")
    lines: tuple[str, ...] = ()  # of Markdown


def words(text: str, *, written: bool = True, **attributes: str) -> Block:
    """A paragraph, if there is a text."""
    if not text:
        return Block()
    return Block(paragraph(text, **attributes), (escape_markdown(text), "") if written else ())


def written(text: str) -> Block:
    """A paragraph of the Markdown alone."""
    return Block(lines=(escape_markdown(text), ""))


def bullets(sentences: Sequence[str], **attributes: str) -> Block:
    """A list."""
    items = tag("ul", *(tag("li", sentence) for sentence in sentences), **attributes)
    return Block(items, (*(f"- {escape_markdown(sentence)}" for sentence in sentences), ""))


def answers(sentences: Sequence[str]) -> Block:
    """What came out: paragraphs that stand out, in Markdown a list."""
    shown = joined([paragraph(sentence, class_="answer") for sentence in sentences], "\n")
    return Block(shown, bullets(sentences).lines)


def values(
    name: str,
    table: pd.DataFrame,
    shown: Sequence[Shown],
    caption: str,
    facts: Sequence[dict[str, str]] | None = None,
    *,
    written: str = "",
) -> Block:
    """A table under its caption, in Markdown perhaps under the one that is `written`; nothing without rows."""
    if not len(table):
        return Block()
    html = value_table(name, table, shown, caption, facts)
    return Block(html, (markdown_table(table, shown, written or caption),))


def filtered(  # noqa: PLR0917 (as `values`)
    name: str,
    table: pd.DataFrame,
    shown: Sequence[Shown],
    caption: str,
    facts: Mapping[str, Sequence[str]],
    buttons: Sequence[tuple[str, str, Content]],
) -> Block:
    """A table that buttons filter; `facts` are columns of what each row is."""
    of_rows = [dict(zip(facts, row, strict=True)) for row in zip(*facts.values(), strict=True)]
    block = values(name, table, shown, caption, of_rows)
    return block._replace(html=joined([filters(name, "datasets", buttons), block.html], "\n")) if len(table) else block


def part(name: str, heading: str, *blocks: Block) -> Block:
    """A part of the page under its own heading."""
    html = section(name, heading, *(block.html for block in blocks if block.html))
    return Block(html, (f"## {heading}", "", *_lines(blocks)))


class Page(NamedTuple):
    """A page in both forms."""

    html: str
    markdown: str


def page(title: str, about: str, study: StudyWords, *blocks: Block, written: str = "") -> Page:
    """The page; `about` (in Markdown: `written`) comes before the protocol and what the page is based on."""
    html = document(
        title,
        f"{about} Protocol: {study.protocol}. {study.basis}." if about else "",
        *(block.html for block in blocks if block.html),
        file=f"{title.lower()}.html",
        pages=study.pages,
        demonstration=study.demonstration,
    )
    head = [f"# {title}", ""]
    if study.demonstration:
        head += [f"**{study.demonstration}**", ""]
    if about:
        head += [f"{written} Protocol: {escape_markdown(study.protocol)}. {study.basis}.".lstrip(), ""]
    return Page(html, "\n".join([*head, *_lines(blocks)]))


def _lines(blocks: Sequence[Block]) -> list[str]:
    return [line for block in blocks for line in block.lines]
