"""HTML from text: everything is escaped, tables sort and filter, and a page is one file that needs no other."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import resources
from typing import Literal


class Html(str):
    """Text that is HTML already. Every other string is escaped on its way into a page."""

    __slots__ = ()


Content = Html | str | float


def html(content: Content) -> Html:
    """The content as HTML."""
    return content if isinstance(content, Html) else Html(escape(str(content)))


def joined(parts: Iterable[Content], between: str = "") -> Html:
    """The parts one after the other, with `between` (text) in between."""
    return Html(html(between).join(html(part) for part in parts))


def tag(name: str, *content: Content, **attributes: str | float | bool | None) -> Html:
    """An element. Underscores in names of attributes become hyphens; None and False leave an attribute out."""
    written = []
    for attribute, value in attributes.items():
        key = attribute.rstrip("_").replace("_", "-")
        if value is True:
            written.append(f" {key}")
        elif value is not None and value is not False:
            written.append(f' {key}="{escape(str(value))}"')
    start = f"<{name}{''.join(written)}>"
    return Html(start) if name in ("img", "input", "br") else Html(f"{start}{joined(content)}</{name}>")


def link(target: str, *content: Content, **attributes: str) -> Html:
    """A link to an anchor (#...) of the page or to a file beside it."""
    return tag("a", *content, href=target, **attributes)


@dataclass(frozen=True)
class Column:
    """A column of a table. `sort` says how its values compare; empty: the table is not sorted by it."""

    heading: str
    sort: Literal["text", "number", ""] = "text"
    look: str = ""  # class of its cells


@dataclass(frozen=True)
class Cell:
    """A cell, with the value that it is sorted by where this is not its text."""

    content: Content
    key: str | float | None = None


@dataclass(frozen=True)
class Row:
    """A row. `facts` are compared with the buttons of a filter: name -> values, separated by spaces."""

    cells: Sequence[Cell | Content]
    id: str = ""
    facts: dict[str, str] = field(default_factory=dict)


def table(name: str, columns: Sequence[Column], rows: Sequence[Row], *, caption: str) -> Html:
    """A table that sorts by a click on a heading; on a phone each row is a card. `name` is its id."""
    head = [
        tag("th", column.heading, scope="col", data_sort=column.sort or None, class_=column.look or None)
        for column in columns
    ]
    body = []
    for row in rows:
        cells = [_cell(cell, column) for cell, column in zip(row.cells, columns, strict=True)]
        facts = {f"data_{key}": value for key, value in row.facts.items()}
        body.append(tag("tr", *cells, id=row.id or None, **facts))
    parts = (
        tag("caption", caption),
        tag("thead", tag("tr", *head)),
        tag("tbody", joined(body, "\n")),
    )
    return tag("div", tag("table", *parts, id=name), class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cell(cell: Cell | Content, column: Column) -> Html:
    content, key = (cell.content, cell.key) if isinstance(cell, Cell) else (cell, None)
    if isinstance(key, float) and math.isnan(key):
        key = ""
    look = " ".join(filter(None, [column.look, "" if str(content) else "none"]))
    if isinstance(content, Html) and content:
        content = tag("div", content)  # one box beside the label of a card
    return tag("td", content, data_label=column.heading, data_key=key, class_=look or None)


def filters(table_name: str, what: str, buttons: Sequence[tuple[str, str, Content]] = ()) -> Html:
    """A search box for a table or for folded claims, and buttons (fact, value, words) that keep what has this fact.

    Buttons of one fact are alternatives: any of the pressed ones will do. Without scripts there are no controls.
    """
    presses = [
        tag("button", words, type="button", aria_pressed="false", data_fact=fact, data_value=value)
        for fact, value, words in buttons
    ]
    search = tag("input", type="search", placeholder=f"Search {what}", aria_label=f"Search {what}", autocomplete="off")
    status = tag("span", class_="shown", role="status")
    group = tag("span", *presses, class_="presses", role="group", aria_label=f"Show {what}")
    return tag("div", search, group, status, class_="filters", data_for=table_name, hidden=True)


def document(
    title: str,
    lede: Content,
    *content: Content,
    file: str,
    pages: Mapping[str, str],
    demonstration: str = "",
) -> str:
    """A whole page: heading, menu of the `pages` beside it (file -> name), first paragraph, content.

    `demonstration` is said at the top.
    """
    notice = [tag("p", demonstration, class_="demonstration", role="note")] if demonstration else []
    menu = [tag("a", name, href=page, aria_current="page" if page == file else None) for page, name in pages.items()]
    first = [tag("p", lede, class_="lede")] if lede else []
    body = tag(
        "body",
        tag("header", tag("nav", *menu, aria_label="Pages"), tag("h1", title), *notice, *first),
        "\n",
        tag("main", joined(content, "\n")),
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"{tag('title', f'{title} · QRT Replication')}<style>{_asset('page.css')}</style>"
        f"<script>{_asset('page.js')}</script>"
    )
    return f'<!doctype html>\n<html lang="en">\n<head>{head}</head>\n{body}\n</html>\n'


def details(summary: Content | Sequence[Content], *content: Content, **attributes: str) -> Html:
    """Content that is folded below its summary."""
    heading = summary if isinstance(summary, tuple | list) else (summary,)
    return tag("details", tag("summary", *heading), *content, **attributes)


def section(name: str, heading: Content, *content: Content) -> Html:
    """A part of a page under its own heading; `name` is its anchor."""
    return tag("section", tag("h2", heading), joined(content, "\n"), id=name)


def paragraph(*content: Content, **attributes: str) -> Html:
    """A paragraph."""
    return tag("p", *content, **attributes)


def picture_of(png: bytes, words: str) -> Html:
    """A picture that is part of the page; `words` say what it shows."""
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    return tag("figure", tag("img", src=source, alt=words), class_="picture")


def _asset(name: str) -> str:
    return resources.files("qrt.text").joinpath(name).read_text(encoding="utf-8")
