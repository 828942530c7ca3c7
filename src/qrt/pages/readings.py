"""Verdicts under several readings of the same runs: how many of each, and what changes them.

The table `verdicts` has one row per reading and claim (columns: `qrt.claims.judge.COLUMNS`, and `reading`): "study" is
the study's own protocol, "other" the other preset, and the name of a switch is the study with this switch turned alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from qrt.pages.study_words import StudyWords
from qrt.pages.switches import SWITCHES
from qrt.text.words import counted, listed

VERDICTS = ("confirmed", "contradicted", "inconclusive", "not run")
NOT_RUN = "not run"
PAPER = "Probabilistic Calibration by Design for Neural Network Regression"
_LONGEST_LIST = 10


def of_reading(verdicts: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The rows of one reading, by claim."""
    return verdicts[verdicts["reading"] == reading].set_index("id", drop=False)


def tally(verdicts: pd.Series) -> dict[str, int]:
    """How many there are of each verdict."""
    counts = verdicts.value_counts()
    return {verdict: int(counts.get(verdict, 0)) for verdict in VERDICTS}


def tally_words(counts: dict[str, int]) -> str:
    """The numbers of verdicts in one line."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "none"


@dataclass(frozen=True)
class Comparison:
    """A reading beside the study's own."""

    judged: int  # claims with a verdict under both
    lost: int  # claims with a verdict of the study, but not run under this reading
    changed: pd.DataFrame  # columns id, claim, before, after: verdicts that differ

    @property
    def run(self) -> str:
        """Was this reading run: "yes", "in part" or "no"?"""
        if not self.judged:
            return "no"
        return "in part" if self.lost else "yes"

    @property
    def steps(self) -> dict[str, int]:
        """How many verdicts take each step ("confirmed → inconclusive")."""
        steps = (self.changed["before"] + " → " + self.changed["after"]).value_counts(sort=False)
        return {str(step): int(count) for step, count in sorted(steps.items())}


def compare(verdicts: pd.DataFrame, reading: str) -> Comparison:
    """A reading beside the study's own. What was not run under one of them has not changed."""
    study, other = of_reading(verdicts, "study"), of_reading(verdicts, reading)
    both = pd.DataFrame(
        {
            "id": study["id"],
            "claim": study["claim"],
            "before": study["verdict"],
            "after": other["verdict"].reindex(study.index).fillna(NOT_RUN),
        }
    ).reset_index(drop=True)
    ran = both["before"] != NOT_RUN
    judged = ran & (both["after"] != NOT_RUN)
    return Comparison(
        judged=int(judged.sum()),
        lost=int((ran & ~judged).sum()),
        changed=both[judged & (both["before"] != both["after"])].reset_index(drop=True),
    )


def compared_switches(verdicts: pd.DataFrame) -> dict[str, Comparison]:
    """Every switch beside the study's own reading, in the order of docs/protocol.md, section 8."""
    return {switch.name: compare(verdicts, switch.name) for switch in SWITCHES}


def changed_by(verdicts: pd.DataFrame) -> dict[str, list[str]]:
    """Claim -> names of the switches that change its verdict when they are turned alone."""
    names: dict[str, list[str]] = {}
    for name, comparison in compared_switches(verdicts).items():
        for claim in comparison.changed["id"]:
            names.setdefault(str(claim), []).append(name)
    return names


def summary_lines(verdicts: pd.DataFrame, study: StudyWords) -> list[str]:
    """What was replicated, on what, and what came out, in about ten lines of plain text."""
    own = of_reading(verdicts, "study")
    main = own[own["kind"] == "main"]
    lines = [
        f"Replication of “{PAPER}”",
        f"Protocol: {study.protocol}. Data: {study.basis}.",
        f"{counted(len(own), 'claim')} of the paper were judged by rule, {len(main)} of them main claims.",
        f"All claims: {tally_words(tally(own['verdict']))}.",
        f"Main claims: {tally_words(tally(main['verdict']))}.",
        _contradicted(main),
        *_protocol_lines(verdicts, study),
    ]
    if (own["verdict"] == "inconclusive").any():
        lines.append("Inconclusive: the study is too small to tell; the scorecard says what it could have seen.")
    return lines


def _contradicted(main: pd.DataFrame) -> str:
    ids = list(main[main["verdict"] == "contradicted"]["id"])
    if not ids:
        return "No main claim is contradicted."
    more = f" and {len(ids) - _LONGEST_LIST} more" if len(ids) > _LONGEST_LIST else ""
    return f"Contradicted main claims: {', '.join(ids[:_LONGEST_LIST])}{more}."


def _protocol_lines(verdicts: pd.DataFrame, study: StudyWords) -> list[str]:
    """How far the verdicts depend on the protocol."""
    lines = []
    other = compare(verdicts, "other")
    if other.judged:
        lines.append(
            f"Under the protocol “{study.other}”, {len(other.changed)} of the {counted(other.judged, 'verdict')} "
            f"that both protocols give {'differs' if len(other.changed) == 1 else 'differ'}."
        )
    else:
        lines.append(f"The protocol “{study.other}” was not run.")
    switches = compared_switches(verdicts)
    changing = [f"{name} ({len(found.changed)})" for name, found in switches.items() if len(found.changed)]
    lines.append(
        f"Switches that change verdicts when turned alone: {listed(changing)}."
        if changing
        else "No switch changes a verdict when turned alone."
    )
    not_run = [name for name, found in switches.items() if found.run == "no"]
    if not_run:
        lines.append(f"Switches not run: {listed(not_run)}.")
    return lines
