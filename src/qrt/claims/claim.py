"""The claims of the paper, read from claims.csv beside this file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from qrt.claims.rules import UNDECIDABLE, check
from qrt.errors import UserError
from qrt.study.artifacts import ARTIFACTS

SINGLE = "single"  # dataset set of claims about one dataset, which the parameter `dataset` names


@dataclass(frozen=True)
class Claim:
    """One claim and the rule that decides it."""

    id: str  # of the shared list of claims
    section: str  # of the paper
    figure: str  # artifact to look at; empty: none
    claim: str
    kind: str  # main, secondary, implied, cited, interpretive, design, data, illustration, resource
    metric: str
    left: str
    relation: str
    right: str
    base_model: str
    dataset_set: str  # all, non_discrete, discrete, single, simulated or none
    rule: str
    parameters: dict[str, Any]
    published_value: str
    undecidable_reason: str

    @property
    def settings(self) -> dict[str, Any]:
        """What the rule is given: the columns of the claim, and its parameters, which go before them."""
        of_columns = {
            "comparison": self.figure,
            "metric": self.metric,
            "left": self.left,
            "right": self.right,
            "datasets": "all" if self.dataset_set == SINGLE else self.dataset_set,
        }
        return of_columns | self.parameters


@cache
def paper_claims() -> tuple[Claim, ...]:
    """All claims of the paper."""
    return parse_claims(resources.files("qrt.claims").joinpath("claims.csv").read_text(encoding="utf-8").splitlines())


def parse_claims(lines: Iterable[str]) -> tuple[Claim, ...]:
    """The claims in the lines of a CSV file; a rule that cannot be applied raises UserError."""
    return tuple(_parsed(row) for row in csv.DictReader(lines))


def _parsed(row: dict[str, Any]) -> Claim:
    try:
        claim = Claim(**(row | {"parameters": json.loads(row["parameters"])}))
        check(claim.rule, claim.settings)
    except (UserError, ValueError, TypeError) as error:
        raise UserError(f"claim {row.get('id')}: {error}") from error
    if claim.figure and claim.figure not in ARTIFACTS:
        raise UserError(f"claim {claim.id}: unknown figure {claim.figure!r}")
    if (claim.rule == UNDECIDABLE) != bool(claim.undecidable_reason):
        raise UserError(f"claim {claim.id}: a reason belongs to each undecidable claim, and to no other")
    return claim
