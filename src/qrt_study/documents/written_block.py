"""Parts of documents that are written from results, between two marks: no number there is typed by hand."""

from __future__ import annotations

from qrt.errors import UserError
from qrt.text.formats import escape_markdown, unescape_markdown


def with_block(text: str, name: str, block: str) -> str:
    """The text of a document with this block between the marks of that name."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in text or end not in text:
        raise UserError(f"the document has no lines {begin!r} and {end!r} to write between")
    before, rest = text.split(begin, 1)
    return f"{before}{begin}\n{block}\n{end}{rest.split(end, 1)[1]}"


def markdown_table(*rows: tuple[str, ...]) -> str:
    """A Markdown table whose first row is its head."""
    head, *body = [[escape_markdown(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *body))


def rows_of_table(block: str) -> list[list[str]]:
    """The cells of the first table of a block in Markdown, its head first."""
    lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in block.splitlines() if line[:1] == "|"]
    return [[unescape_markdown(cell) for cell in line] for line in lines if set("".join(line)) != {"-"}]
