"""The files of a table: CSV with the numbers, LaTeX and Markdown for people."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from qrt.atomic import write_text
from qrt.text.formats import to_latex, to_markdown


def write_table(
    numbers: pd.DataFrame, for_people: pd.DataFrame, caption: str, label: str, *, csv: Path, tex: Path, markdown: Path
) -> None:
    """Write a table in its three forms."""
    write_text(csv, numbers.to_csv(index=False, float_format="%.6g"))
    write_text(tex, to_latex(for_people, caption, label))
    write_text(markdown, to_markdown(for_people, caption))
