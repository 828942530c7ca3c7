"""Verdicts under several readings of the same runs: how many of each, and what changes them.

The table `verdicts` has one row per reading and claim (columns: `verdicts.judge.COLUMNS`, and `reading`): "study" is
the study's own protocol, "other" the other preset, and the name of a switch is the study with this one changed alone.
Where such a reading has some of the datasets only, what it changes is told from the study on the same datasets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from qrt.text.words import counted, listed
from qrt_study.pages.study_words import StudyWords
from qrt_study.plan.switches import SWITCHES
from qrt_study.results.readings import OTHER, STUDY, study_on_datasets_of
from qrt_study.verdicts.verdict import NOT_RUN, VERDICTS

YES, IN_PART, NO, NOTHING_TO_CHANGE = "yes", "in part", "no", "nothing to change"  # was a reading run?
BOTH_RUN = (YES, IN_PART)
NOT_JUDGED = "A demonstration judges no claim."
PAPER = "Probabilistic Calibration by Design for Neural Network Regression"
TITLE = f"Replication of “{PAPER}”"
_LONGEST_LIST = 10
_FOUND = ("estimate", "low", "high", "p_value", "datasets_for", "datasets_against", "smallest_detectable")


def presentable(verdicts: pd.DataFrame, study: StudyWords) -> pd.DataFrame:
    """The verdicts that may be shown: a demonstration says nothing about the paper, so it has none."""
    if not study.demonstration:
        return verdicts
    return verdicts.assign(
        verdict=NOT_RUN, explanation=NOT_JUDGED, short=NOT_JUDGED, datasets=0, splits=0, **dict.fromkeys(_FOUND, np.nan)
    )


def of_reading(verdicts: pd.DataFrame, reading: str) -> pd.DataFrame:
    """The rows of one reading, by claim."""
    return verdicts[verdicts["reading"] == reading].set_index("id", drop=False)


def beside(table: pd.DataFrame, reading: str) -> str:
    """The reading of the study to compare another one with: on the same datasets."""
    same_datasets = study_on_datasets_of(reading)
    return same_datasets if (table["reading"] == same_datasets).any() else STUDY


def marked(claims: pd.DataFrame, mark: str) -> pd.Series:
    """Which claims have a mark: `abstract`, `by_definition` or `changed_after_run`."""
    return claims[mark].astype(bool)


def tally(verdicts: pd.Series) -> dict[str, int]:
    """How many there are of each verdict."""
    counts = verdicts.value_counts()
    return {verdict: int(counts.get(verdict, 0)) for verdict in VERDICTS}


def tally_words(counts: dict[str, int]) -> str:
    """The numbers of verdicts in one line."""
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count) or "none"


@dataclass(frozen=True)
class ChangedVerdicts:
    """What a reading changes in the study's own verdicts."""

    judged: int  # claims with a verdict under both
    lost: int  # claims with a verdict of the study, but not run under this reading
    changed: pd.DataFrame  # columns id, claim, before, after: verdicts that differ
    touched: int  # claims with a verdict under both whose numbers differ

    @property
    def run(self) -> str:
        """Whether this reading was run, or nothing is there that it could change."""
        if not self.touched:
            return NO if self.lost or not self.judged else NOTHING_TO_CHANGE
        return IN_PART if self.lost else YES

    @property
    def steps(self) -> dict[str, int]:
        """How many verdicts take each step ("confirmed → inconclusive")."""
        steps = (self.changed["before"] + " → " + self.changed["after"]).value_counts(sort=False)
        return {str(step): int(count) for step, count in sorted(steps.items())}


def changed_verdicts(verdicts: pd.DataFrame, reading: str) -> ChangedVerdicts:
    """A reading beside the study's own on the same datasets. What was not run under one of them has not changed."""
    study, other = of_reading(verdicts, STUDY), of_reading(verdicts, reading)
    same_datasets = of_reading(verdicts, beside(verdicts, reading))
    both = pd.DataFrame(
        {
            "id": study["id"],
            "claim": study["claim"],
            "before": same_datasets["verdict"].reindex(study.index).fillna(NOT_RUN),
            "after": other["verdict"].reindex(study.index).fillna(NOT_RUN),
        }
    ).reset_index(drop=True)
    ran = study["verdict"].to_numpy() != NOT_RUN
    judged = ran & (both["before"] != NOT_RUN) & (both["after"] != NOT_RUN)
    changed = judged & (both["before"] != both["after"])
    before, after = (table[list(_FOUND)].reindex(study.index).astype(float) for table in (same_datasets, other))
    differs = ((before != after) & ~(before.isna() & after.isna())).any(axis=1).to_numpy()
    return ChangedVerdicts(
        judged=int(judged.sum()),
        lost=int((ran & ~judged).sum()),
        changed=both[changed].reset_index(drop=True),
        touched=int((changed | (judged & differs)).sum()),
    )


class Readings:
    """The study's own verdicts, and what other readings make of them, each compared once for all pages."""

    def __init__(self, verdicts: pd.DataFrame, study: StudyWords) -> None:
        self.study = study
        self._verdicts = presentable(verdicts, study)

    @cached_property
    def own(self) -> pd.DataFrame:
        """The study's own verdicts, by claim."""
        return of_reading(self._verdicts, STUDY)

    @cached_property
    def other(self) -> dict[str, str]:
        """Claim -> its verdict under the other protocol, where that was run."""
        other = of_reading(self._verdicts, OTHER)
        return {str(claim): verdict for claim, verdict in other["verdict"].items() if verdict != NOT_RUN}

    @cached_property
    def changed_by_protocol(self) -> ChangedVerdicts:
        """What the other protocol changes."""
        return changed_verdicts(self._verdicts, OTHER)

    @cached_property
    def changed_by_switch(self) -> dict[str, ChangedVerdicts]:
        """What each switch changes alone, in the order of docs/protocol.md, section 8."""
        return {switch.name: changed_verdicts(self._verdicts, switch.name) for switch in SWITCHES.values()}

    @cached_property
    def switches(self) -> dict[str, list[str]]:
        """Claim -> names of the switches that change its verdict when they are changed alone."""
        names: dict[str, list[str]] = {}
        for name, found in self.changed_by_switch.items():
            for claim in found.changed["id"]:
                names.setdefault(str(claim), []).append(name)
        return names

    def differs(self, claim: Mapping[str, Any]) -> bool:
        """Whether the other protocol gives another verdict."""
        other = self.other.get(claim["id"], "")
        return bool(other) and claim["verdict"] not in (NOT_RUN, other)


def summary_lines(readings: Readings) -> list[str]:
    """On what the replication (TITLE) is based, and what came out, in about ten lines of plain text."""
    study = readings.study
    basis = f"Protocol: {study.protocol}. Data: {study.basis}."
    if study.demonstration:
        return [basis, f"This is a {study.demonstration}.", NOT_JUDGED]
    own = readings.own
    counted_apart = marked(own, "by_definition")
    own, by_definition = own[~counted_apart], own[counted_apart]
    groups = {
        "Abstract and conclusion": own[marked(own, "abstract")],
        "Main claims": own[own["kind"] == "main"],
        "All claims": own,
    }
    lines = [
        basis,
        f"{counted(len(own), 'claim')} of the paper were judged by rule.",
        *(f"{name}: {tally_words(tally(rows['verdict']))}." for name, rows in groups.items() if len(rows)),
        _contradicted(groups["Main claims"]),
    ]
    if len(by_definition):
        lines.append(f"{counted(len(by_definition), 'claim')} that cannot fail, by definition, are not among them.")
    return [*lines, *_protocol_lines(readings)]


def _contradicted(main: pd.DataFrame) -> str:
    ids = list(main[main["verdict"] == "contradicted"]["id"])
    if not ids:
        return "No main claim is contradicted."
    more = f" and {len(ids) - _LONGEST_LIST} more" if len(ids) > _LONGEST_LIST else ""
    return f"Contradicted main claims: {', '.join(ids[:_LONGEST_LIST])}{more}."


def _protocol_lines(readings: Readings) -> list[str]:
    """How far the verdicts depend on the protocol."""
    lines = []
    study, other = readings.study, readings.changed_by_protocol
    if other.judged:
        lines.append(
            f"Under the protocol “{study.other}”, {len(other.changed)} of the {counted(other.judged, 'verdict')} "
            f"that both protocols give {'differs' if len(other.changed) == 1 else 'differ'}."
        )
    else:
        lines.append(f"The protocol “{study.other}” was not run.")
    switches = readings.changed_by_switch
    changing = [f"{name} ({len(found.changed)})" for name, found in switches.items() if len(found.changed)]
    lines.append(
        f"Switches that change verdicts when changed alone: {listed(changing)}."
        if changing
        else "No switch changes a verdict when changed alone."
    )
    not_run = [name for name, found in switches.items() if found.run == NO]
    if not_run:
        names = listed(not_run) if len(not_run) <= _LONGEST_LIST else f"{len(not_run)} of {len(switches)}"
        lines.append(f"Switches not run: {names}.")
    return lines
