"""The claims as they were frozen before the run, and what has changed since.

`frozen.json` holds two checksums of each claim from the day of freezing (`make freeze`): one of its row in claims.csv,
with rule, parameters and margin but not its wording, and one of its golden verdicts: what the claim and its rules come
to on synthetic evidence (golden_verdicts.csv). A test holds the code to the golden verdicts, so that code may change as
long as they do not. A claim with another checksum is marked *changed after the run*.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from qrt.atomic import write_text

FILE = "frozen.json"
GOLDEN_VERDICTS = "golden_verdicts.csv"
_WORDING = ("sentence",)  # columns that decide nothing


@dataclass(frozen=True)
class FrozenState:
    """The claims that judge now, beside those that were frozen."""

    checksum: str  # of all claims now
    frozen_checksum: str  # of those that were frozen; empty: none yet
    changed: frozenset[str]  # numbers of the claims that differ from the frozen ones

    @property
    def words(self) -> str:
        """One sentence for pages."""
        if not self.frozen_checksum:
            return f"The claims have checksum {self.checksum} and are not frozen yet."
        if not self.changed:
            return (
                "All claims were frozen before the run with their rules, parameters and margins "
                f"(checksum {self.checksum}). Neither they nor the verdicts of their rules on synthetic evidence have "
                "changed since."
            )
        return (
            f"The claims were frozen before the run with checksum {self.frozen_checksum} and have {self.checksum} now. "
            f"Of {len(self.changed)} claims the rule, a parameter, the margin or a verdict on synthetic evidence has "
            "changed after the run; they are marked."
        )


@cache
def frozen_state() -> FrozenState:
    """The state of the claims in this installation."""
    now, before = _checksums(), _frozen()
    frozen: dict[str, dict[str, str]] = before.get("claims", {})
    changed = (name for name, checksums in now.items() if frozen and frozen.get(name) != checksums)
    return FrozenState(claims_checksum(), before.get("checksum", ""), frozenset(changed))


def claims_checksum() -> str:
    """A checksum of all claims with their rules, parameters and margins."""
    return _digest([checksums["row"] for checksums in _checksums().values()])


def freeze(path: Path, note: str = "") -> FrozenState:
    """Write the checksums of now to `path` as those that are frozen."""
    content = {"note": note, "checksum": claims_checksum(), "claims": _checksums()}
    write_text(path, json.dumps(content, indent=1) + "\n")
    frozen_state.cache_clear()
    return frozen_state()


@cache
def _checksums() -> dict[str, dict[str, str]]:
    """Number of each claim -> checksums of its row and of its golden verdicts."""
    verdicts: dict[str, list[dict[str, str]]] = {}
    for row in _rows(GOLDEN_VERDICTS):
        verdicts.setdefault(row["of"], []).append(row)
    checksums = {}
    for row in _rows("claims.csv"):
        facts = {name: text for name, text in row.items() if name not in _WORDING}
        golden = [verdicts.get(of, []) for of in (row["id"], *sorted(_rules_of(row)))]
        checksums[row["id"]] = {"row": _digest(facts), "golden_verdicts": _digest(golden)}
    return checksums


def _rules_of(row: dict[str, str]) -> set[str]:
    """The rules of a claim, with those of its conditions."""

    def below(settings: dict[str, Any]) -> set[str]:
        inside = (below(condition) for condition in settings.get("conditions", ()))
        return {settings["rule"]}.union(*inside)

    return below({"rule": row["rule"]} | json.loads(row["parameters"]))


def _rows(file: str) -> list[dict[str, str]]:
    text = resources.files("qrt_study.verdicts").joinpath(file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def _frozen() -> dict[str, Any]:
    file = resources.files("qrt_study.verdicts").joinpath(FILE)
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return content


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]


if __name__ == "__main__":
    print(freeze(Path(__file__).with_name(FILE), " ".join(sys.argv[1:])).words)
