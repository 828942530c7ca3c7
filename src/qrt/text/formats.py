"""Writing a table of text as LaTeX and Markdown, with whatever the cells hold shown as text."""

from __future__ import annotations

import html
import re

import pandas as pd

UPRIGHT_COLUMNS = 8  # of a table that fits an upright page
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "–": "--",
}
_LATEX_SPECIAL = re.compile("|".join(re.escape(sign) for sign in _LATEX))


def escape_latex(text: str) -> str:
    """`text` as LaTeX that prints it."""
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match.group()], " ".join(text.split()))


def escape_markdown(text: str) -> str:
    """`text` as a cell of a Markdown table: no markup, no HTML, one line."""
    escaped = re.sub(r"([\\`*_\[\]|#~])", r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unescape_markdown(cell: str) -> str:
    """The text behind `escape_markdown`."""
    return html.unescape(re.sub(r"\\([\\`*_\[\]|#~])", r"\1", cell))


def escape_rst(text: str) -> str:
    """`text` without anything that reStructuredText, or the template it goes through, would read as markup."""
    escaped = "".join(f"\\{sign}" if sign in "\\*`_|" else sign for sign in text)
    return escaped.replace("{", "(").replace("}", ")")


def to_latex(table: pd.DataFrame, caption: str, label: str) -> str:
    """A `longtable` that may run over pages; a wide one is in small letters on pages of its own, turned sideways."""
    is_wide = len(table.columns) > UPRIGHT_COLUMNS
    head = " & ".join(escape_latex(str(column)) for column in table.columns) + r" \\"
    lines = [
        f"% needs \\usepackage{{booktabs,longtable{',pdflscape' if is_wide else ''}}}",
        *([r"\begin{landscape}\scriptsize\setlength{\tabcolsep}{3pt}"] if is_wide else []),
        rf"\begin{{longtable}}{{{'l' * len(table.columns)}}}",
        rf"\caption{{{escape_latex(caption)}}}\label{{{label}}}\\",
        rf"\toprule {head} \midrule \endfirsthead",
        rf"\toprule {head} \midrule \endhead",
        r"\bottomrule \endfoot",
    ]
    for row in table.itertuples(index=False):
        lines.append(" & ".join(escape_latex(str(cell)) for cell in row) + r" \\")
    return "\n".join([*lines, r"\end{longtable}", *([r"\end{landscape}"] if is_wide else []), ""])


def to_markdown(table: pd.DataFrame, caption: str) -> str:
    """A Markdown table under its caption."""
    rows = [list(table.columns), ["---"] * len(table.columns), *table.itertuples(index=False)]
    lines = []
    for number, row in enumerate(rows):
        cells = [str(cell) if number == 1 else escape_markdown(str(cell)) for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([escape_markdown(caption), "", *lines, ""])
