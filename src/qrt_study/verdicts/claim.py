"""The claims of the paper, read from claims.csv beside this file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from qrt.errors import UserError
from qrt_study.plan.artifacts import ARTIFACTS
from qrt_study.verdicts.rules import TABLE_RULES, UNDECIDABLE, check, single_conditions

SINGLE = "single"  # dataset set of claims about one dataset, which the parameter `dataset` names


@dataclass(frozen=True)
class Claim:
    """One claim and the rule that decides it."""

    id: str  # of the shared list of claims
    statement: str  # passage of the paper; claims of one passage are corrected together
    section: str  # of the paper
    figure: str  # artifact to look at; empty: none
    claim: str
    sentence: str  # the claim in one short plain sentence, for those of abstract and conclusion
    kind: str  # main, secondary, implied, cited, interpretive, design, data, illustration, resource
    abstract: bool  # one of those that abstract and conclusion make
    by_definition: bool  # holds by how things are defined or built: it cannot fail
    metric: str
    left: str
    relation: str
    right: str
    base_model: str
    dataset_set: str  # all, non_discrete, discrete, single, simulated or none
    rule: str
    parameters: dict[str, Any]
    margin: str  # what counts as no difference: a number and its unit; empty: the rule needs none
    published_value: str
    undecidable_reason: str

    @property
    def settings(self) -> dict[str, Any]:
        """What the rule is given: the columns of the claim, and its parameters, which go before them."""
        of_columns: dict[str, Any] = {
            "comparison": self.figure,
            "metric": self.metric,
            "left": self.left,
            "right": self.right,
            "datasets": "all" if self.dataset_set == SINGLE else self.dataset_set,
        }
        if self.margin:
            of_columns["margin"] = float(self.margin.split()[0])
        return of_columns | self.parameters

    @property
    def conditions(self) -> list[dict[str, Any]]:
        """The single conditions of the claim, each with its rule and all its settings."""
        return list(single_conditions({"rule": self.rule} | self.settings))

    @property
    def needs_no_training(self) -> bool:
        """Is it about the data themselves, or about simulated PITs?"""
        return all(condition["rule"] in TABLE_RULES for condition in self.conditions)


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of the paper."""
    file = resources.files("qrt_study.verdicts").joinpath("claims.csv")
    try:
        return parse_claims(file.read_text(encoding="utf-8").splitlines())
    except UserError as error:
        raise UserError(f"{file}: {error}") from error


def parse_claims(lines: Iterable[str]) -> tuple[Claim, ...]:
    """The claims in the lines of a CSV file; a rule that cannot be applied raises UserError."""
    return tuple(_parsed(row) for row in csv.DictReader(lines))


def _parsed(row: dict[str, Any]) -> Claim:
    try:
        flags = {name: _yes(row[name]) for name in ("abstract", "by_definition")}
        claim = Claim(**(row | flags | {"parameters": json.loads(row["parameters"])}))
        check(claim.rule, claim.settings)
    except (UserError, ValueError, TypeError) as error:
        raise UserError(f"claim {row.get('id')}: {error}") from error
    if claim.figure and claim.figure not in ARTIFACTS:
        raise UserError(f"claim {claim.id}: unknown figure {claim.figure!r}")
    if (claim.rule == UNDECIDABLE) != bool(claim.undecidable_reason):
        raise UserError(f"claim {claim.id}: a reason belongs to each undecidable claim, and to no other")
    return claim


def _yes(text: str) -> bool:
    if text not in ("yes", ""):
        raise UserError(f"{text!r} is neither yes nor empty")
    return text == "yes"
