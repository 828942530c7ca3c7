"""Claims, rules and margins as they were frozen before the run, and what has changed since.

Each claim has a checksum of its row in claims.csv and of the code that decides it. `frozen.json` beside this file holds
the checksums of the day of freezing; `python -m qrt.claims.frozen` writes it. A claim whose checksum differs is marked
*changed after the run*. No heavy import here: Snakemake asks for the checksum in every call.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from qrt.atomic import write_text
from qrt.code_version import dependencies, fingerprint

FILE = "frozen.json"
_WORDING = ("sentence",)  # columns that decide nothing
# What decides the claims of each module of rules besides it: where its numbers come from.
_RULE_MODULES = {
    "qrt.claims.rank_rules": ("qrt.claims.evidence",),
    "qrt.claims.measure_rules": ("qrt.claims.measures",),
    "qrt.claims.table_rules": (),
}
_FOR_ALL = ("qrt.claims.claim", "qrt.claims.judge", "qrt.claims.rules")
_PACKAGES = ("qrt.claims.", "qrt.statistics.")  # the code of these counts


@dataclass(frozen=True)
class FrozenState:
    """What judges now, beside what was frozen."""

    checksum: str  # of all claims and rules now
    frozen_checksum: str  # of those that were frozen; empty: none yet
    changed: frozenset[str]  # numbers of the claims that differ from the frozen ones

    @property
    def words(self) -> str:
        """One sentence for pages."""
        if not self.frozen_checksum:
            return f"Claims, rules and margins: checksum {self.checksum}, not frozen yet."
        if not self.changed:
            return (
                f"Claims, rules and margins were frozen before the run and have not changed: checksum {self.checksum}."
            )
        return (
            f"Claims, rules and margins have checksum {self.checksum}; before the run they were frozen with "
            f"{self.frozen_checksum}. Changed after the run: {len(self.changed)} of the claims, marked as such."
        )


@cache
def frozen_state() -> FrozenState:
    """The state of the claims in this installation."""
    now, before = claim_checksums(), _frozen()
    frozen: dict[str, str] = before.get("claims", {})
    changed = (name for name, checksum in now.items() if frozen and frozen.get(name) != checksum)
    return FrozenState(claims_checksum(), before.get("checksum", ""), frozenset(changed))


def claims_checksum() -> str:
    """A checksum of all claims, their rules and their margins."""
    return _digest(sorted(claim_checksums().items()))


@cache
def claim_checksums() -> dict[str, str]:
    """A checksum of each claim: of its row, and of the code of its rules."""
    text = resources.files("qrt.claims").joinpath("claims.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    modules = _modules_of_rules()
    checksums = {}
    for row in rows:
        named = {module for rule, module in modules.items() if rule in _rules_of(row)}
        facts = {name: text for name, text in row.items() if name not in _WORDING}
        checksums[row["id"]] = _digest([sorted(facts.items()), [_code(module) for module in sorted(named)], _common()])
    return checksums


def freeze(path: Path) -> FrozenState:
    """Write the checksums of now to `path` as those that are frozen."""
    content = {"checksum": claims_checksum(), "claims": claim_checksums()}
    write_text(path, json.dumps(content, indent=1) + "\n")
    frozen_state.cache_clear()
    return frozen_state()


def _rules_of(row: dict[str, str]) -> set[str]:
    """The rules of a claim, with those of its conditions."""

    def below(settings: dict[str, Any]) -> set[str]:
        inside = (below(condition) for condition in settings.get("conditions", ()))
        return {settings["rule"]}.union(*inside)

    return below({"rule": row["rule"]} | json.loads(row["parameters"]))


@cache
def _modules_of_rules() -> dict[str, str]:
    """Name of a rule -> module that defines it."""
    found: dict[str, str] = {}
    for module in _RULE_MODULES:
        spec = find_spec(module)
        assert spec is not None
        assert spec.origin is not None
        tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
        found |= {node.name: module for node in tree.body if isinstance(node, ast.FunctionDef)}
    return found


@cache
def _code(module: str) -> str:
    """The code of a module of rules and of what it computes with, as far as it can change a verdict."""
    reached = set().union(*(dependencies(name) for name in (module, *_RULE_MODULES[module])))
    return fingerprint(name for name in reached if name.startswith(_PACKAGES))


@cache
def _common() -> str:
    return fingerprint(_FOR_ALL)


def _frozen() -> dict[str, Any]:
    file = resources.files("qrt.claims").joinpath(FILE)
    if not file.is_file():
        return {}
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def main() -> None:
    """Freeze what is in this source tree."""
    print(freeze(Path(__file__).with_name(FILE)).words)


if __name__ == "__main__":
    main()
