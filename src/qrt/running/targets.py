"""Targets that a user asks for by name: a mistyped one gets a suggestion, many of them become few words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from typing import NoReturn

from qrt.running.study_files import StudyFiles
from qrt.study.artifacts import ARTIFACTS, short_target


def what_was_meant(target: str, known: Collection[str]) -> NoReturn:
    """End the call, saying which of the known targets was probably meant; Snakemake would show a traceback."""
    numbered = re.fullmatch(r"(fig|tab)[a-z]*_?0*(\d+)", target.lower())
    if numbered:
        kin = [name for name in map(short_target, ARTIFACTS) if name.startswith(numbered[1])]
        meant = [name for name in kin if int(re.sub(r"\D", "", name)) == int(numbered[2])]
        hint = f"did you mean {meant[0]}?" if meant else f"the paper's are {kin[0]} to {kin[-1]}."
    else:
        close = difflib.get_close_matches(target, known, n=1)
        hint = f"did you mean {close[0]}?" if close else "snakemake --list-target-rules shows all."
    raise SystemExit(f"error: there is no target {target!r}; {hint}")


def targets_in_words(rules: Iterable[str]) -> str:
    """Rules by the names of their targets, neighbouring figures and tables as one span: "fig01 to fig03, scorecard"."""
    asked = {short_target(name) if name in ARTIFACTS else name for name in rules}
    paper = [short_target(name) for name in ARTIFACTS]
    spans: list[list[str]] = []
    for place, name in enumerate(paper):
        if name not in asked:
            continue
        follows = spans and spans[-1][-1] == paper[place - 1] and name[:3] == spans[-1][-1][:3]
        spans = [*spans[:-1], [*spans[-1], name]] if follows else [*spans, [name]]
    words = [f"{span[0]} to {span[-1]}" if len(span) > 2 else ", ".join(span) for span in spans]
    return ", ".join([*words, *sorted(asked - set(paper))])


def without_results(files: StudyFiles) -> str:
    """What to say of figures and tables that no results are there for, since nothing is trained; often nothing."""
    missing = set(ARTIFACTS) - set(files.drawable(ARTIFACTS))
    if not missing:
        return ""
    return (
        f"No results are there yet for {targets_in_words(missing)}.\n"
        "snakemake --cores N fig03 trains what one of them needs, snakemake --cores N what all need; "
        "make replication draws the published results."
    )
