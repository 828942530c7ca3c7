"""Golden files: what the dear stages of the study made when they got their version.

`make golden` writes them anew, and refuses to where a value has moved under the same version.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

from conftest import PROJECT
from qrt.engine.version import TRAINING_VERSION
from qrt_study.training.machine import processor
from qrt_study.versions import EVALUATION_VERSION, PREPARATION_VERSION
from support import golden_verdicts
from support.golden_networks import golden_networks, network_difference
from support.golden_stages import golden_evaluation, golden_preparation, metrics_difference, record_difference

Entries = Mapping[str, Mapping[str, Any]]


class Difference(Protocol):
    """Says what differs between an entry before and now; `exactly`: on the machine that it came from."""

    def __call__(self, before: Mapping[str, Any], now: Mapping[str, Any], *, exactly: bool) -> str: ...


@dataclass(frozen=True)
class GoldenFile:
    """A file of entries by name, and how they are computed and compared."""

    path: Path
    what: str
    version: int
    version_in: str
    compute: Callable[[], Entries]
    difference: Difference

    def stored(self) -> dict[str, Any]:
        """The content of the file: version, machine and entries."""
        content: dict[str, Any] = json.loads(self.path.read_text(encoding="utf-8"))
        return content

    def moved(self, stored: Mapping[str, Any], now: Entries) -> dict[str, str]:
        """The entries that are not as stored, with what differs; new entries have not moved."""
        exactly = stored["machine"] == this_machine()
        gone = dict.fromkeys(stored["entries"].keys() - now.keys(), "is not there any more")
        both = {name: before for name, before in stored["entries"].items() if name in now}
        found = {name: self.difference(before, now[name], exactly=exactly) for name, before in both.items()}
        return gone | {name: reason for name, reason in found.items() if reason}

    def complaint(self, stored: Mapping[str, Any], now: Entries) -> str:
        """What has moved, and what to do about it; empty if nothing has."""
        if not (moved := self.moved(stored, now)):
            return ""
        lines = [f"this change moves {self.what} {name}: {reason}" for name, reason in moved.items()]
        return "\n".join([*lines, f"If it is meant, raise {self.version_in}, then `make golden`."])

    def write(self) -> None:
        """Store what is computed now, unless it has moved under the same version."""
        now = self.compute()
        stored = self.stored() if self.path.is_file() else {"version": 0}
        if stored["version"] == self.version and (complaint := self.complaint(stored, now)):
            sys.exit(complaint)
        facts = f'"version": {self.version},\n"machine": {json.dumps(this_machine())}'
        entries = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in now.items())
        self.path.write_text(f'{{{facts},\n"entries": {{\n{entries}\n}}}}\n', encoding="utf-8")
        print(f"{self.path.name}: {len(now)} entries of version {self.version}")


def this_machine() -> dict[str, str]:
    """What decides how sums are rounded."""
    capability = torch.backends.cpu.get_cpu_capability()
    return {"processor": f"{processor()}, {capability}", "torch": torch.__version__}


_FOLDER = PROJECT / "tests/golden"
GOLDEN_FILES = (
    GoldenFile(
        _FOLDER / "networks.json",
        "network",
        TRAINING_VERSION,
        "TRAINING_VERSION in src/qrt/engine/version.py",
        golden_networks,
        network_difference,
    ),
    GoldenFile(
        _FOLDER / "evaluation.json",
        "the evaluation of",
        EVALUATION_VERSION,
        "EVALUATION_VERSION in src/qrt_study/versions.py",
        golden_evaluation,
        metrics_difference,
    ),
    GoldenFile(
        _FOLDER / "preparation.json",
        "the preparation of",
        PREPARATION_VERSION,
        "PREPARATION_VERSION in src/qrt_study/versions.py",
        golden_preparation,
        record_difference,
    ),
)

if __name__ == "__main__":
    for golden_file in GOLDEN_FILES:
        golden_file.write()
    golden_verdicts.write()
