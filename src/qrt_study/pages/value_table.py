"""Tables of values for pages: what each column shows of a record, as HTML that sorts and as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from qrt.text.formats import to_markdown
from qrt.text.page import Cell, Column, Content, Html, Row, table
from qrt.text.words import interval, is_missing, number, text


class Shown(NamedTuple):
    """A column of a table: how a record is written, and the value of the record that it is sorted by (a number).

    `html`: how it is written in HTML, if otherwise.
    """

    heading: str
    write: Callable[[dict[str, Any]], str]
    key: str = ""
    html: Callable[[dict[str, Any]], Content] | None = None
    look: str | None = None  # class of its cells, if another than usual


def plain(heading: str, column: str, write: Callable[[Any], str] = text) -> Shown:
    """A column of the values as they are."""
    return Shown(heading, lambda record: write(record[column]))


def numbers(heading: str, column: str, write: Callable[[Any], str] = number) -> Shown:
    """A column of numbers."""
    return Shown(heading, lambda record: write(record[column]), column)


def with_error(heading: str, column: str, error: str = "") -> Shown:
    """A column of means with their standard errors, which are in `error` or in the column of that name."""

    def write(record: dict[str, Any]) -> str:
        return with_noise(record[column], record[error or f"{column}_standard_error"])

    return Shown(heading, write, column)


def with_noise(value: float, error: float) -> str:
    """ "12.312 ± 0.066": a number with as many digits as its standard error has, three at least."""
    if is_missing(value) or is_missing(error):
        return number(value)
    digits = 3
    if value and error and np.isfinite([value, error]).all():
        digits = int(np.floor(np.log10(abs(value)))) - int(np.floor(np.log10(error))) + 2
    return f"{number(value, min(max(digits, 3), 7))} ± {number(error, 2)}"


def range_of(heading: str, low: str, high: str) -> Shown:
    """A column of intervals, sorted by their lower ends."""
    return Shown(heading, lambda record: interval(record[low], record[high]), low)


def yes_or_no(value: Any) -> str:
    """The word for a truth value that may be missing."""
    return "" if is_missing(value) else "yes" if value else "no"


def value_table(
    name: str,
    values: pd.DataFrame,
    shown: Sequence[Shown],
    caption: str,
    facts: Sequence[dict[str, str]] | None = None,
) -> Html:
    """The values as a table of a page; `facts` of each row are for the buttons of a filter (`pages.page.Row`)."""
    columns = [
        Column(one.heading, "number" if one.key else "text", usual if one.look is None else one.look)
        for place, one in enumerate(shown)
        for usual in ["number" if one.key else "" if place else "lead"]
    ]
    rows = []
    for place, record in enumerate(values.to_dict("records")):
        cells = [
            Cell((one.html or one.write)(record), _sort_key(record[one.key]) if one.key else None) for one in shown
        ]
        rows.append(Row(cells, facts=facts[place] if facts else {}))
    return table(name, columns, rows, caption=caption)


def _sort_key(value: Any) -> str | float:
    return "" if is_missing(value) else float(value)


def markdown_table(values: pd.DataFrame, shown: Sequence[Shown], caption: str) -> str:
    """The values as a Markdown table."""
    records = values.to_dict("records")
    return to_markdown(pd.DataFrame({one.heading: [one.write(record) for record in records] for one in shown}), caption)
